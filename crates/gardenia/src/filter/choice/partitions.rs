//! Partitioned hashing: a few keys choose one of 256 hash sets together, and the choice is stored.
//!
//! A hash of the key names its partition; a byte per partition names the hash set of its keys. So a query probes k
//! bits, as in a plain filter, and its error is p^k without a factor for the choices; the price is the table of
//! bytes, which is counted as part of the filter's bits.
//!
//! The 256 sets are 4 times 64: a set turns all positions of a key by one number *within their 64-bit words*. So
//! one look at the k words of a key tells for 64 sets at once which bits they would find, and all 256 are compared
//! with four times the loads of a single insertion. That makes so many sets, and many passes, affordable.
//!
//! Sources: Hao, Kodialam and Lakshman, "Building High Accuracy Bloom Filters Using Partitioned Hashing" (2007);
//! the turned words are ours.

use super::lanes::Lanes;
use super::offline::Ties;
use super::probe::{Choose, FIRST, all_set, fetch_lines};
use super::tally::Tally;
use crate::cells::{Bits, Memory};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk, scale};

/// Groups of 64 sets each.
const TURNED: u32 = 4;

/// Hash sets to choose from: what a byte can name.
pub(super) const SETS: u32 = TURNED * 64;

/// An odd number without structure: times the digest it names the partition. One multiplication, and not a derived word,
/// because all probes of a query wait for it.
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// The digest that stands for a key in one of the four groups of sets. All its bits are as good as random, so that turned
/// it is another; without a branch, which would be wrong every other time.
#[inline(always)]
fn set_digest(digest: Digest, turned: u32) -> Digest {
    Digest(digest.0.rotate_left(16 * turned))
}

/// Where things stand in the bits of a partitioned filter: first the cells, a whole number of words, then a byte
/// per partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partitions {
    pub(super) cells: u64,
    pub(super) partitions: u64,
}

/// A walk whose positions are turned within their words.
#[derive(Clone, Debug)]
pub(super) struct Turned<W> {
    walk: W,
    by: u64,
}

impl<W: Walk> Walk for Turned<W> {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.walk.step();
        at & !63 | (at + self.by) & 63
    }
}

impl Partitions {
    /// So many partitions in a filter of `bits` bits, table included.
    #[inline]
    pub(super) fn in_bits(bits: u64, partitions: u64) -> Self {
        Self { cells: bits - Self::table_bits(partitions), partitions }
    }

    /// Bits that the table of so many partitions takes.
    pub(super) fn table_bits(partitions: u64) -> u64 {
        partitions.div_ceil(8) * 64
    }

    /// The partition of a key.
    #[inline]
    pub(super) fn of(self, digest: Digest) -> u64 {
        scale(digest.0.wrapping_mul(SPREAD), self.partitions)
    }

    /// The set that the partition has chosen.
    #[inline]
    pub(super) fn choice(self, bits: &Bits<impl Memory>, partition: u64) -> u8 {
        (bits.memory().load((self.cells / 64 + partition / 8) as usize) >> (partition % 8 * 8)) as u8
    }

    fn choose(self, bits: &mut Bits, partition: u64, choice: u8) {
        let word = &mut bits.words_mut()[(self.cells / 64 + partition / 8) as usize];
        let shift = partition % 8 * 8;
        *word = *word & !(255 << shift) | u64::from(choice) << shift;
    }

    /// The walk of a key whose partition has chosen so.
    #[inline]
    fn walk<S: Scheme>(self, scheme: &S, digest: Digest, choice: u8) -> Turned<S::Walk> {
        let walk = scheme.walk(set_digest(digest, u32::from(choice / 64)), self.cells);
        Turned { walk, by: u64::from(choice % 64) }
    }

    #[inline]
    fn positions<S: Scheme>(self, scheme: &S, digest: Digest, choice: u8) -> impl Iterator<Item = u64> {
        let mut walk = self.walk(scheme, digest, choice);
        (0..scheme.hashes()).map(move |_| walk.step())
    }
}

impl Choose for Partitions {
    #[inline(always)]
    fn covers<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest) -> bool {
        let choice = self.choice(bits, self.of(digest));
        let mut walk = scheme.walk(set_digest(digest, u32::from(choice / 64)), self.cells);
        let by = u64::from(choice % 64);
        all_set(scheme.hashes() as usize, || {
            // The turned position in the same word: shifts take the lowest six bits.
            let at = walk.step();
            bits.memory().load((at / 64) as usize) >> ((at + by) % 64)
        })
    }

    #[inline(always)]
    fn fetch<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest, all: bool) {
        let hashes = scheme.hashes() as usize;
        let choice = self.choice(bits, self.of(digest));
        fetch_lines(bits, if all { hashes } else { hashes.min(FIRST) }, self.walk(scheme, digest, choice));
    }

    #[inline(always)]
    fn set<S: Scheme>(self, scheme: &S, bits: &mut Bits, digest: Digest) -> bool {
        let choice = self.choice(bits, self.of(digest));
        bits.set_all(self.positions(scheme, digest, choice))
    }
}

/// One pass: each partition in turn takes back its bits, compares all sets and puts its keys by the cheapest;
/// of several, one at random. In the first pass there is nothing to take back.
pub(super) struct Pass<'a> {
    pub(super) form: Partitions,
    pub(super) bits: &'a mut Bits,
    pub(super) tally: &'a mut Tally,
    /// By partition.
    pub(super) digests: &'a [Digest],
    pub(super) ties: &'a mut Ties,
    pub(super) first: bool,
}

impl SchemeVisitor for Pass<'_> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { form, bits, tally, digests, ties, first } = self;
        let far = tally.is_far();
        let mut done = 0;
        for keys in digests.chunk_by(|a, b| form.of(*a) == form.of(*b)) {
            let partition = form.of(keys[0]);
            if far {
                // The digests lie by partition: those to come are known.
                let next = digests[done + keys.len()..].iter().take(AHEAD);
                next.for_each(|key| fetch_all(form, scheme, bits, tally, *key));
            }
            let before = tally.ones();
            let old = form.choice(bits, partition);
            if !first {
                keys.iter().for_each(|key| tally.take(bits, form.positions(scheme, *key, old)));
            }
            let new = cheapest(form, scheme, bits, keys, ties);
            keys.iter().for_each(|key| tally.put(bits, form.positions(scheme, *key, new)));
            if first || tally.ones() <= before {
                form.choose(bits, partition, new);
            } else {
                // Two of the keys share bits under the old set, which the comparison cannot see.
                keys.iter().for_each(|key| tally.take(bits, form.positions(scheme, *key, new)));
                keys.iter().for_each(|key| tally.put(bits, form.positions(scheme, *key, old)));
            }
            done += keys.len();
        }
    }
}

/// Keys whose words are asked for before their partition comes: about one partition.
const AHEAD: usize = 4;

/// Asks for the words that all sets of a key look at, and for the counters of the set it has.
fn fetch_all<S: Scheme>(form: Partitions, scheme: &S, bits: &Bits, tally: &Tally, key: Digest) {
    for turned in 0..TURNED {
        fetch_lines(bits, scheme.hashes() as usize, scheme.walk(set_digest(key, turned), form.cells));
    }
    let choice = form.choice(bits, form.of(key));
    form.positions(scheme, key, choice).for_each(|at| tally.prefetch(at));
}

/// The set that finds the fewest clear bits for these keys; of several, one at random. A bit that two of the keys
/// would set counts twice.
#[inline]
fn cheapest<S: Scheme>(form: Partitions, scheme: &S, bits: &Bits, keys: &[Digest], ties: &mut Ties) -> u8 {
    let mut best = (u64::MAX, 0);
    for turned in 0..TURNED {
        let mut lanes = Lanes::default();
        for key in keys {
            let mut walk = scheme.walk(set_digest(*key, turned), form.cells);
            for _ in 0..scheme.hashes() {
                let at = walk.step();
                let word = bits.memory().load((at / 64) as usize);
                lanes.add(!word.rotate_right((at % 64) as u32));
            }
        }
        let (clear, which) = lanes.least();
        let lane = nth_one(which, scale(ties.draw(), which.count_ones().into()));
        best = best.min((u64::from(clear) << 32 | ties.draw() >> 32, turned * 64 + lane));
    }
    best.1 as u8
}

/// The place of set bit number `n`, which is below the number of set bits.
fn nth_one(mut mask: u64, n: u64) -> u32 {
    for _ in 0..n {
        mask &= mask - 1;
    }
    mask.trailing_zeros()
}
