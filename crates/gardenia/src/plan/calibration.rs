//! What a query costs on a machine: nanoseconds per cache line, kind by kind.
//!
//! A query of a batch costs about as much as the lines that it touches, at a price that depends on
//! the kind (arithmetic between the lines, and whether a batch can ask ahead) and on whether the
//! table is near the core. So a kind is measured at two sizes, and the figures between them go by
//! the logarithm of the size.

use crate::Kind;
#[cfg(feature = "std")]
use crate::{Digest, Filter};
use alloc::vec::Vec;

/// Nanoseconds per cache line of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Of a table of [`Calibration::near_bytes`] or less.
    pub near: f64,
    /// Of a table of [`Calibration::far_bytes`] or more.
    pub far: f64,
}

impl Cost {
    /// Nanoseconds per cache line of a small table and of a large one.
    #[must_use]
    pub const fn new(near: f64, far: f64) -> Self {
        Self { near, far }
    }
}

/// What the kinds cost on one machine. The default has the figures of the table of kinds: the
/// better of two runs of `gardenia bench --calibrate --items 1e4,1e7` on one core of an AMD EPYC
/// server with other work to do. On another machine `gardenia bench --calibrate` measures them.
///
/// ```
/// use gardenia::{Kind, plan::{Calibration, Cost, Need}};
/// let mut slow = Calibration::default();
/// slow.set(Kind::Blocked, Cost::new(1e6, 1e6));
/// let of = |calibration: &Calibration| Need::of(1_000).fpp(0.01).plan_with(calibration).unwrap().best().kind;
/// assert_eq!(of(&Calibration::default()), Kind::Blocked);
/// assert_ne!(of(&slow), Kind::Blocked);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Tables up to this size cost `near`.
    pub near_bytes: u64,
    /// Tables from this size on cost `far`.
    pub far_bytes: u64,
    costs: Vec<(Kind, Cost)>,
}

impl Default for Calibration {
    fn default() -> Self {
        let costs = Kind::ALL.into_iter().filter_map(|kind| Some((kind, kind.cost()?))).collect();
        Self { near_bytes: 16 << 10, far_bytes: 12 << 20, costs }
    }
}

impl Calibration {
    /// The kinds that have figures: those that can be planned.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, Cost)> + '_ {
        self.costs.iter().copied()
    }

    /// Sets the figures of a kind. What is not a positive number is left out.
    pub fn set(&mut self, kind: Kind, cost: Cost) {
        let sane = |ns: f64| ns.is_finite() && ns > 0.0;
        if !(sane(cost.near) && sane(cost.far)) {
            return;
        }
        match self.costs.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known = cost,
            None => self.costs.push((kind, cost)),
        }
    }

    /// Nanoseconds of a query that touches `lines` cache lines of a table of `bytes`; NaN for a
    /// kind without figures.
    ///
    /// ```
    /// use gardenia::{Kind, plan::{Calibration, Cost}};
    /// let mut here = Calibration::default();
    /// (here.near_bytes, here.far_bytes) = (1 << 10, 1 << 20);
    /// here.set(Kind::Bloom, Cost::new(1.0, 3.0));
    /// let of = |bytes| here.ns(Kind::Bloom, bytes, 2.0);
    /// assert_eq!([of(1), of(1 << 15), of(1 << 30)], [2.0, 4.0, 6.0]);
    /// ```
    #[must_use]
    pub fn ns(&self, kind: Kind, bytes: u64, lines: f64) -> f64 {
        let Some((_, cost)) = self.costs.iter().find(|(known, _)| *known == kind) else { return f64::NAN };
        let (near, far) = (self.near_bytes.max(1) as f64, self.far_bytes.max(2) as f64);
        let way = libm::log(bytes.max(1) as f64 / near) / libm::log(far.max(near * 1.001) / near);
        lines * (cost.near + (cost.far - cost.near) * way.clamp(0.0, 1.0))
    }
}

/// Keys per batch, about as many as an engine hands over.
#[cfg(feature = "std")]
const BATCH: usize = 8192;

/// How many of these keys a filter finds, and the nanoseconds per key, asked in batches.
///
/// The time is one that a quarter of the batches stay below: other work on the machine lengthens
/// some of them, and the shortest would be luck. `gardenia bench --calibrate` and the lab's
/// experiment `speed` measure with it.
///
/// ```
/// use gardenia::{BlockedBloom, Digest, plan::time_queries};
/// let mut filter = BlockedBloom::new(1_000, 1e-9)?;
/// let keys: Vec<Digest> = (0..20_000u64).map(|key| filter.hasher().digest_key(&key)).collect();
/// filter.insert_digests(&keys[..1_000], &mut [false; 1_000]);
/// let (found, ns) = time_queries(&filter, &keys);
/// assert!(found == 1_000 && ns > 0.0);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[cfg(feature = "std")]
#[must_use]
pub fn time_queries(filter: &dyn Filter, keys: &[Digest]) -> (u64, f64) {
    let (mut answers, mut found, mut times) = (alloc::vec![false; BATCH], 0, Vec::new());
    for keys in keys.chunks(BATCH) {
        let answers = &mut answers[..keys.len()];
        let start = std::time::Instant::now();
        filter.contains_digests(keys, answers);
        core::hint::black_box(&answers);
        times.push(start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64);
        found += answers.iter().map(|&found| u64::from(found)).sum::<u64>();
    }
    times.sort_unstable_by(f64::total_cmp);
    (found, times.get(times.len() / 4).copied().unwrap_or_default())
}
