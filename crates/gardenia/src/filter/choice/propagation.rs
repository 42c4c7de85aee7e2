//! Belief propagation: which group should each key take, if all keys decide together?
//!
//! Keys and bits send each other probabilities. A bit that others use anyway is free, a bit that
//! nobody else uses costs 1; so a bit b tells a key how likely it is that *no other* key uses it,
//! Q, and the key weighs a group by the product of `1/(1 + Q·(e^β - 1))` over its bits: at
//! temperature 1/β, the weight of using a bit against not using it. The key tells b how likely it
//! is to use it, judged by all its other bits. Left alone this would settle on averages over many
//! good arrangements; so each key's own weights are fed back to it, a little more in each iteration
//! (*reinforcement*), until nearly every key has made up its mind. Rounds then tidy up what is
//! left.
//!
//! Two rules matter: a message never counts what came from its receiver, and messages are mixed
//! with those before (*damping*), for without it they swing between two states where β is high
//! enough to be of use.
//!
//! Sources: the form of the equations is the usual one (Mézard and Montanari, "Information,
//! Physics, and Computation", 2009; reinforcement after Braunstein and Zecchina, 2006); their use
//! here is ours.

use super::groups::{Groups, group_digest};
use super::offline::Ties;
use crate::SizeError;
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::theory::choices::floor_beta;
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// How belief propagation runs.
///
/// Time and memory are proportional to keys × choices × hashes: each iteration takes some 3 ns for
/// each of them, and a message with its place takes 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagation {
    /// The inverse temperature β: what a bit costs, in natural units. From 0 to 8; what is outside
    /// is taken as the nearest.
    pub beta: f32,
    /// The share of a message that stays from one iteration to the next: from 0 to below 1.
    pub damping: f32,
    /// How fast keys make up their minds: after t iterations a share `1 - (1 - rate)^t` of a key's
    /// weights comes back to it.
    pub rate: f32,
    /// Iterations. The last quarter of them is spent on the keys that are still in doubt.
    pub iterations: u32,
}

impl Propagation {
    /// What suits a filter of this many bits for this many keys.
    ///
    /// β is that at which good arrangements become rare ([`floor_beta`]) times `1 + 5/c^1.3`: the
    /// fewer the choices, the colder it may start without freezing in a bad arrangement. Many
    /// choices also need a slower pace.
    #[must_use]
    pub fn new(bits: u64, items: u64, hashes: u32, choices: u32) -> Self {
        let per_item = bits as f64 / items.max(1) as f64;
        let above = 1.0 + 5.0 / libm::pow(f64::from(choices.max(1)), 1.3);
        let beta = (floor_beta(per_item, hashes, choices) * above) as f32;
        let (rate, iterations) = match choices {
            0..=3 => (0.001, 80),
            4..=11 => (0.001, 100),
            _ => (0.0005, 160),
        };
        Self { beta, damping: 0.3, rate, iterations }
    }

    /// Bytes that it takes while it runs, beside the filter and what a
    /// [`ChoiceOffline`](crate::filter::ChoiceOffline) has.
    ///
    /// ```
    /// let bytes = gardenia::filter::Propagation::memory_bytes(80_000, 10_000, 9, 3);
    /// assert_eq!(bytes / 10_000, 8 * 27 + 4 * 3 + 4 * 8 * (1 + 3)); // messages, fields, four numbers per bit
    /// ```
    #[must_use]
    pub fn memory_bytes(bits: u64, items: u64, hashes: u32, choices: u32) -> u64 {
        let edges = u64::from(choices) * u64::from(hashes);
        items * (8 * edges + 4 * u64::from(choices)) + 4 * bits * (1 + chunks(edges as usize) as u64)
    }
}

/// Keys are dealt to chunks whose products are multiplied in order: threads take chunks, and how
/// many threads there are changes no rounding. The number depends on the work per key against that
/// per bit.
fn chunks(edges: usize) -> usize {
    (edges / 8).clamp(1, 16)
}

/// The smallest probability that a key leaves a bit alone: keeps quotients in range.
const LEAST: f32 = 1e-4;

/// Weights below e^-60 of the best are as good as none.
const FAINT: f32 = -60.0;

/// How many times faster minds are made up towards the end.
const HURRY: f32 = 20.0;

/// Chooses a group for each key; `report` gets the iterations done.
pub(super) fn propagate(
    how: &Propagation,
    form: Groups,
    scheme: &impl Scheme,
    cells: u64,
    digests: &[Digest],
    threads: usize,
    report: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Vec<u8>, SizeError> {
    scheme.dispatch(Propagate { how, form, cells, digests, threads, report })
}

struct Propagate<'a, R> {
    how: &'a Propagation,
    form: Groups,
    cells: u64,
    digests: &'a [Digest],
    threads: usize,
    report: R,
}

impl<R: FnMut(u64) -> ControlFlow<()>> SchemeVisitor for Propagate<'_, R> {
    type Output = Result<Vec<u8>, SizeError>;
    fn visit<S: Scheme>(mut self, scheme: &S) -> Self::Output {
        let how = self.how;
        let choices = self.form.choices as usize;
        let edges = choices * scheme.hashes() as usize;
        if u32::try_from(self.cells).is_err() {
            return Err(SizeError::TooManyCells { cells: self.cells, max: u32::MAX.into() });
        }
        let cells = self.cells as usize;
        let mut ties = Ties::new();
        let mut parts = Vec::new();
        for digests in self.digests.chunks(self.digests.len().div_ceil(chunks(edges)).max(1)) {
            let mut part = Chunk::new(digests.len(), choices, edges, cells, &mut ties)?;
            for (digest, places) in digests.iter().zip(part.places.chunks_exact_mut(edges)) {
                locate(scheme, self.cells, choices, *digest, places);
            }
            parts.push(part);
        }
        let mut unused = room(cells, 1.0)?;
        let work =
            Work { choices, edges, beta: how.beta.clamp(0.0, 8.0), damping: how.damping.clamp(0.0, 0.99) };
        each(&mut parts, self.threads, Chunk::multiply);
        for iteration in 0..how.iterations {
            combine(&mut unused, &parts, self.threads);
            // The last quarter runs faster: by then keys differ in how sure they are, not in what they want.
            let late = iteration.saturating_sub(how.iterations - how.iterations / 4);
            let time = iteration as f32 + HURRY * late as f32;
            let kept = 1.0 - libm::powf(1.0 - how.rate.clamp(0.0, 1.0), time);
            each(&mut parts, self.threads, |part| part.turn(&work, &unused, kept));
            if (self.report)(u64::from(iteration) + 1).is_break() {
                break;
            }
        }
        Ok(parts.iter().flat_map(|part| part.fields.chunks(choices)).map(strongest).collect())
    }
}

/// What all chunks share.
struct Work {
    choices: usize,
    edges: usize,
    beta: f32,
    damping: f32,
}

/// Some keys and their messages.
struct Chunk {
    /// Per key, position and group: the bit.
    places: Vec<u32>,
    /// For the same: the probability that the key does not use the bit.
    messages: Vec<f32>,
    /// Per key and group: the logarithm of its weight, that of the best being 0.
    fields: Vec<f32>,
    /// Per bit: the product of the messages of these keys.
    product: Vec<f32>,
    /// Room for one key.
    factors: Vec<f32>,
    weights: Vec<f32>,
}

impl Chunk {
    /// Keys that are nearly undecided: exactly so they might stay.
    fn new(
        keys: usize,
        choices: usize,
        edges: usize,
        cells: usize,
        ties: &mut Ties,
    ) -> Result<Self, SizeError> {
        let mut messages = room(keys * edges, 0.0)?;
        for message in &mut messages {
            let tenth = (ties.draw() >> 40) as f32 / (1u32 << 24) as f32 * 0.2 - 0.1;
            *message = (1.0 - (1.0 + tenth) / choices as f32).max(LEAST);
        }
        Ok(Self {
            places: room(keys * edges, 0)?,
            messages,
            fields: room(keys * choices, 0.0)?,
            product: room(cells, 1.0)?,
            factors: room(edges, 0.0)?,
            weights: room(choices, 0.0)?,
        })
    }

    /// The products of the messages.
    fn multiply(&mut self) {
        let Self { places, messages, product, .. } = self;
        places.iter().zip(messages).for_each(|(at, message)| product[*at as usize] *= *message);
    }

    /// One iteration for these keys: `unused` is the product of all messages, per bit.
    fn turn(&mut self, work: &Work, unused: &[f32], kept: f32) {
        let (edges, choices) = (work.edges, work.choices);
        let cost = libm::expf(work.beta) - 1.0;
        let (new, old) = (1.0 - work.damping, work.damping);
        self.product.fill(1.0);
        let Self { places, messages, fields, product, factors, weights } = self;
        let keys = messages.chunks_exact_mut(edges).zip(fields.chunks_exact_mut(choices));
        for (places, (messages, fields)) in places.chunks_exact(edges).zip(keys) {
            // The probability that no other key uses the bit, and what that makes the bit cost.
            factors.iter_mut().zip(places).for_each(|(factor, at)| *factor = unused[*at as usize]);
            for (factor, message) in factors.iter_mut().zip(&*messages) {
                *factor = 1.0 + cost * (*factor / *message).min(1.0);
            }
            fields.iter_mut().for_each(|field| *field *= kept);
            // Logarithms of eight factors at a time: at most e^64.
            for factors in factors.chunks(8 * choices) {
                weights.fill(1.0);
                for factors in factors.chunks_exact(choices) {
                    weights.iter_mut().zip(factors).for_each(|(weight, factor)| *weight *= factor);
                }
                fields.iter_mut().zip(&*weights).for_each(|(field, weight)| *field -= ln(*weight));
            }
            let best = fields.iter().fold(f32::MIN, |best, field| best.max(*field));
            fields.iter_mut().for_each(|field| *field = (*field - best).max(FAINT));
            weights.iter_mut().zip(&*fields).for_each(|(weight, field)| *weight = exp(*field));
            let sum: f32 = weights.iter().sum();
            // A group's weight without this bit against the weight of all other groups.
            for (messages, factors) in messages.chunks_exact_mut(choices).zip(factors.chunks_exact(choices)) {
                for ((message, factor), weight) in messages.iter_mut().zip(factors).zip(&*weights) {
                    let others = (sum - weight).max(1e-6);
                    let free = (others / (others + weight * factor)).max(LEAST);
                    *message = old * *message + new * free;
                }
            }
            places.iter().zip(&*messages).for_each(|(at, message)| product[*at as usize] *= message);
        }
    }
}

/// The positions of a key, position by position and in it group by group.
fn locate<S: Scheme>(scheme: &S, cells: u64, choices: usize, digest: Digest, places: &mut [u32]) {
    for group in 0..choices {
        let mut walk = scheme.walk(group_digest(digest, group as u32), cells);
        places[group..].iter_mut().step_by(choices).for_each(|at| *at = walk.step() as u32);
    }
}

/// The group of greatest weight, the first of several.
fn strongest(fields: &[f32]) -> u8 {
    let first = |(best, value): (usize, f32), (i, field): (usize, &f32)| {
        if *field > value { (i, *field) } else { (best, value) }
    };
    fields.iter().enumerate().fold((0, f32::MIN), first).0 as u8
}

/// The product of all chunks' products.
fn combine(unused: &mut [f32], parts: &[Chunk], threads: usize) {
    const RANGE: usize = 1 << 14;
    let mut ranges: Vec<(usize, &mut [f32])> = unused.chunks_mut(RANGE).enumerate().collect();
    each(&mut ranges, threads, |(number, range)| {
        range.fill(1.0);
        for part in parts {
            let product = &part.product[*number * RANGE..][..range.len()];
            range.iter_mut().zip(product).for_each(|(all, one)| *all *= one);
        }
    });
}

/// Does `work` on each item, by up to `threads` threads.
fn each<T: Send>(items: &mut [T], threads: usize, work: impl Fn(&mut T) + Sync) {
    #[cfg(feature = "std")]
    if threads > 1 && items.len() > 1 {
        let share = items.len().div_ceil(threads);
        return std::thread::scope(|scope| {
            for items in items.chunks_mut(share) {
                let work = &work;
                scope.spawn(move || items.iter_mut().for_each(work));
            }
        });
    }
    let _ = threads;
    items.iter_mut().for_each(work);
}

/// `len` numbers, or an error.
fn room<T: Copy>(len: usize, value: T) -> Result<Vec<T>, SizeError> {
    let mut room = Vec::new();
    room.try_reserve_exact(len).map_err(|_| SizeError::Memory { bytes: (len as u64).saturating_mul(4) })?;
    room.resize(len, value);
    Ok(room)
}

/// The natural logarithm of a number from 1 on, to 2e-5: plain arithmetic, so that it is the same
/// everywhere and the compiler can do several at once.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    let mantissa = f32::from_bits(bits & 0x7f_ffff | 0x3f80_0000);
    // ln m = 2·artanh((m-1)/(m+1)), by its series.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let s = t * t;
    exponent as f32 * core::f32::consts::LN_2 + 2.0 * t * (1.0 + s * (1.0 / 3.0 + s * (0.2 + s / 7.0)))
}

/// e^x for x from -60 to 0, to 5e-6; as [`ln`].
#[inline(always)]
fn exp(x: f32) -> f32 {
    let y = x * core::f32::consts::LOG2_E;
    let whole = (y - 0.5) as i32; // to the nearest, for y ≤ 0
    let r = (y - whole as f32) * core::f32::consts::LN_2;
    let series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r / 120.0))));
    f32::from_bits(((whole + 127) as u32) << 23) * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_logarithm_and_exponential_are_near_the_long_ones() {
        for i in 0..20_000 {
            let x = libm::expf(i as f32 * 0.0035);
            assert!((ln(x) - libm::logf(x)).abs() < 2e-5, "ln {x}");
            let y = -60.0 * i as f32 / 20_000.0;
            assert!((exp(y) / libm::expf(y) - 1.0).abs() < 5e-6, "exp {y}");
        }
    }
}
