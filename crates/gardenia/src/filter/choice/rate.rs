//! The rate of a filter with choices, from its cells.
//!
//! With independent positions a group of k cells is all ones with probability p^k, p being the
//! fill. Schemes that take sums modulo m deviate from it in two ways.
//!
//! * **Classes.** If the values of a group share a factor with m, its cells lie in one residue
//!   class of that factor, or go through the classes in a fixed pattern. Keys that choose prefer
//!   the groups whose classes others have filled, so that some classes fill and others empty: the
//!   fill falls, and the rate rises. In slices the pattern has a class in every slice. The builder
//!   makes the modulus a prime, which has no classes; filters of files may have any. For these the
//!   ones of every class are counted, and the rate is the mean, over many groups, of the product of
//!   the fills of their classes.
//! * **Overlap** of groups with those of stored keys or with themselves: [`Scheme::excess`], a
//!   formula of first order. In small filters, where it is not good enough, groups are shifted over
//!   the cells and counted instead ([`shifts`](crate::index::shifts)).
//!
//! Both draw the same groups every time: a filter always states the same rate.

use super::bloom::ChoiceForm;
use super::lanes::Lanes;
use super::partitions::{Partitions, different_sets};
use crate::cells::{Bits, Memory};
use crate::hash::Digest;
use crate::index::shifts::{Counted, Cyclic, by_shifts};
use crate::index::{Scheme, SchemeId, SchemeVisitor, wrap};
use alloc::vec;
use alloc::vec::Vec;

/// The probability that one of `choices` groups, each found with probability `more` beside, or
/// something of probability `ideal` happens.
pub(super) fn either(ideal: f64, more: f64, choices: u32) -> f64 {
    if ideal >= 1.0 || more >= 1.0 {
        return 1.0;
    }
    -libm::expm1(libm::log1p(-ideal) + f64::from(choices) * libm::log1p(-more))
}

/// What the scheme adds to the rate of a group, with the floor of digests.
///
/// In a partitioned filter a group overlaps with that of another key only if both are turned alike,
/// or by what lies between them in their words; and with itself only if its set turns all positions
/// alike.
pub(super) fn excess<S: Scheme>(scheme: &S, form: ChoiceForm, cells: u64, items: f64, fill: f64) -> f64 {
    let (all, hashes) = (scheme.excess(cells, items, fill), scheme.hashes());
    let more = match form {
        ChoiceForm::Groups { .. } => all,
        ChoiceForm::Partitions { .. } => {
            let (own, sets) = (scheme.excess(cells, 0.0, fill), f64::from(different_sets(hashes)));
            let beside = (1..64).map(|bits| libm::pow(f64::from(64 - bits) / 64.0, hashes.into()));
            own * 64.0 / sets + (all - own).max(0.0) * (1.0 + 2.0 * beside.sum::<f64>()) / sets
        }
    };
    more + items / 18_446_744_073_709_551_616.0
}

/// Factors of the modulus whose classes are looked at. Larger ones leave too few groups within a
/// class.
const PRIMES: [u64; 11] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31];

/// The most classes.
const CLASSES: u64 = 128;

/// Groups whose classes are looked up.
const GROUPS: u32 = 1 << 16;

/// Words of 64 shifts to look at.
const WORDS: u64 = 1 << 21;

/// The excess from which, as a share of the rate, its formula is not relied on.
const SMALL: f64 = 0.01;

/// Where drawn groups start.
const SEED: Digest = Digest(0x7265_7369_6475_6573);

/// The probability that one group of an absent key is all ones.
pub(super) struct GroupRate<'a, M> {
    pub(super) bits: &'a Bits<M>,
    pub(super) form: ChoiceForm,
    pub(super) items: f64,
}

impl<M: Memory> SchemeVisitor for GroupRate<'_, M> {
    type Output = f64;
    fn visit<S: Scheme>(self, scheme: &S) -> f64 {
        let Self { bits, form, items } = self;
        let (cells, hashes) = (form.cells(bits.len()), scheme.hashes());
        let slices = if scheme.partitioned() { u64::from(hashes) } else { 1 };
        let table = Table { bits, slices, slice: cells / slices };
        let even = table.counts(1).even(hashes);
        let classes = table.classes(scheme.modulus(cells));
        let model = |rate: f64| {
            // The excess at the fill that an even filter of this rate has.
            let fill = libm::pow(rate, 1.0 / f64::from(hashes));
            (rate + excess(scheme, form, cells, items, fill)).clamp(0.0, 1.0)
        };
        let shiftable = matches!(form, ChoiceForm::Groups { .. })
            && scheme.id().is_some_and(|id| id != SchemeId::Dcso)
            && (classes.is_some() || (model(even) - even).abs() > SMALL * even);
        let counted = shiftable.then(|| by_shifts(scheme, &table, WORDS, NEARER));
        if let Some(Counted { rate, .. }) = counted.filter(|counted| counted.error <= NEAR * counted.rate) {
            return rate;
        }
        let model = model(classes.map_or(even, |classes| classes.rate(scheme, form, table)));
        // The formula is not believed against what was counted.
        counted.map_or(model, |Counted { rate, error }| {
            let allowed = if error < 0.1 * rate { error } else { 3.0 * error };
            model.clamp((rate - allowed).max(0.0), (rate + allowed).min(1.0))
        })
    }
}

impl ChoiceForm {
    /// Bits that positions fall on, of `bits` in all.
    pub(super) fn cells(self, bits: u64) -> u64 {
        match self {
            Self::Groups { .. } => bits,
            Self::Partitions { partitions } => Partitions::in_bits(bits, partitions).cells,
        }
    }
}

/// The cells: slices of the same length, or one.
struct Table<'a, M> {
    bits: &'a Bits<M>,
    slices: u64,
    slice: u64,
}

impl<M> Clone for Table<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for Table<'_, M> {}

impl<M: Memory> Table<'_, M> {
    #[cold]
    fn wrapped(self, base: u64, at: u64) -> u64 {
        let (mut word, mut have, mut at) = (0, 0, at);
        while have < 64 {
            let from = base + at;
            let more = (self.slice - at).min(64 - from % 64).min(64 - have);
            word |= (self.bits.shifted(from) & u64::MAX >> (64 - more)) << have;
            have += more;
            at = if at + more == self.slice { 0 } else { at + more };
        }
        word
    }

    /// The ones of each class modulo `modulus`, slice by slice.
    fn counts(self, modulus: u64) -> Classes {
        let period = modulus / (1 << modulus.trailing_zeros().min(6));
        let mut ones = vec![0u64; (self.slices * modulus) as usize];
        for (slice, ones) in ones.chunks_exact_mut(modulus as usize).enumerate() {
            let (slice, words) = (slice as u64, self.slice / 64);
            for phase in 0..period {
                let mut lanes = Lanes::default();
                let mut flush = |lanes: &mut Lanes| {
                    for (lane, sum) in core::mem::take(lanes).sums().into_iter().enumerate() {
                        ones[((phase * 64 + lane as u64) % modulus) as usize] += u64::from(sum);
                    }
                };
                for (count, word) in (phase..words).step_by(period as usize).enumerate() {
                    if count % (1 << 19) == (1 << 19) - 1 {
                        flush(&mut lanes);
                    }
                    lanes.add(self.word(slice, word * 64));
                }
                flush(&mut lanes);
            }
            for at in words * 64..self.slice {
                ones[(at % modulus) as usize] += self.bits.shifted(slice * self.slice + at) & 1;
            }
        }
        Classes { modulus, slice: self.slice, ones }
    }

    /// The classes that are filled unequally, if there are any: as many as can be told apart.
    fn classes(self, modulus: Option<u64>) -> Option<Classes> {
        let modulus = modulus?;
        let uneven = |prime: &u64| {
            let classes = (modulus.is_multiple_of(*prime) && modulus > *prime).then(|| self.counts(*prime));
            classes.is_some_and(|classes| classes.is_uneven())
        };
        let primes: Vec<u64> = PRIMES.into_iter().filter(uneven).collect();
        let mut divisor = 1;
        loop {
            let before = divisor;
            for prime in &primes {
                let next = divisor * prime;
                if next <= CLASSES && modulus.is_multiple_of(next) && modulus / next >= 64 {
                    divisor = next;
                }
            }
            if divisor == before {
                break;
            }
        }
        (divisor > 1).then(|| self.counts(divisor))
    }
}

impl<M: Memory> Cyclic for Table<'_, M> {
    fn slices(&self) -> u64 {
        self.slices
    }
    fn slice(&self) -> u64 {
        self.slice
    }
    #[inline(always)]
    fn word(&self, slice: u64, at: u64) -> u64 {
        let (base, at) = (slice * self.slice, wrap(at, self.slice));
        if at + 64 > self.slice {
            return self.wrapped(base, at);
        }
        let (from, shift) = ((base + at) / 64, (base + at) % 64);
        let low = self.bits.memory().load(from as usize) >> shift;
        if shift == 0 { low } else { low | self.bits.memory().load(from as usize + 1) << (64 - shift) }
    }
}

/// The standard error, as a share of the rate, with which counting ends; and with which it is good
/// enough.
const NEARER: f64 = 0.01;
const NEAR: f64 = 0.035;

/// The ones in each residue class of each slice.
struct Classes {
    modulus: u64,
    slice: u64,
    ones: Vec<u64>,
}

impl Classes {
    /// Cells of a class.
    fn size(&self, class: u64) -> f64 {
        ((self.slice + self.modulus - 1 - class) / self.modulus) as f64
    }

    /// The rate if classes make no difference: slices do.
    fn even(&self, hashes: u32) -> f64 {
        match &self.ones[..] {
            [ones] => libm::pow(*ones as f64 / self.slice as f64, hashes.into()),
            slices => slices.iter().map(|ones| *ones as f64 / self.slice as f64).product(),
        }
    }

    /// Whether the classes differ by more than chance in one slice or all: five standard deviations
    /// of chi-square.
    fn is_uneven(&self) -> bool {
        let (mut chi_square, mut freedom) = (0.0, 0.0);
        for ones in self.ones.chunks_exact(self.modulus as usize) {
            let fill = ones.iter().sum::<u64>() as f64 / self.slice as f64;
            if fill > 0.0 && fill < 1.0 {
                for (class, ones) in (0..).zip(ones) {
                    let (size, ones) = (self.size(class), *ones as f64);
                    chi_square += (ones - fill * size) * (ones - fill * size) / (fill * (1.0 - fill) * size);
                }
                freedom += self.modulus as f64 - 1.0;
            }
        }
        chi_square > freedom + 5.0 * libm::sqrt(2.0 * freedom)
    }

    /// The mean over many groups of the product of the fills of their classes.
    fn rate<S: Scheme, M: Memory>(&self, scheme: &S, form: ChoiceForm, table: Table<'_, M>) -> f64 {
        let fills: Vec<f64> =
            (0..).zip(&self.ones).map(|(at, ones)| *ones as f64 / self.size(at % self.modulus)).collect();
        let fill = |(at, i): (u64, u64)| {
            let slice = if table.slices > 1 { i } else { 0 };
            fills[(slice * self.modulus + (at - slice * self.slice) % self.modulus) as usize]
        };
        let cells = table.slices * table.slice;
        let one = |drawn: u32| {
            let digest = Digest(SEED.word(drawn));
            match form {
                ChoiceForm::Groups { .. } => {
                    scheme.positions(digest, cells).zip(0..).map(fill).product::<f64>()
                }
                ChoiceForm::Partitions { partitions } => {
                    let form = Partitions { cells, partitions };
                    let choice = form.choice(table.bits, form.of(digest));
                    form.positions(scheme, digest, choice).zip(0..).map(fill).product()
                }
            }
        };
        (1..=GROUPS).map(one).sum::<f64>() / f64::from(GROUPS)
    }
}
