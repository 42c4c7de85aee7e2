//! Which positions does a digest choose? The *schemes* of Kirsch and Mitzenmacher, one file each.
//!
//! A scheme turns a [`Digest`] into k positions in `0..cells`: pure arithmetic, no memory. Each has
//! a number that goes into files and is frozen by golden tests. "h1" is word 0 of the digest and
//! "h2", "h3" are words 1 and 2 (see [`Digest::word`]), each reduced to its range by multiply-high;
//! sums are reduced by conditional subtraction. No division happens per probe, sizes need not be
//! powers of two, and positions are right from 1 to [`MAX_CELLS`] cells.
//!
//! | no. | scheme | position i | keys that meet (n keys, fill ½) | a key that meets itself |
//! |---|---|---|---|---|
//! | 1 | [`Independent`] | h_i | none | by chance |
//! | 2 | [`Partition`] | i·m' + (h1 + i·h2 mod m') | n·k²/m² | never |
//! | 3 | [`PartitionPrime`] | the same, m' prime | n·k²/m² | never |
//! | 4 | [`Double`] | h1 + i·h2 | 6n/m² | short cycles, about 1/(2m) |
//! | 5 | [`EnhancedSquare`] | h1 + i·h2 + i² | 6n/m² | folds |
//! | 6 | [`EnhancedCube`] | h1 + i·h2 + i³ | n/m² | as by chance |
//! | 7 | [`Enhanced`] | h1 + i·h2 + (i³−i)/6 | n/m² | as by chance |
//! | 8 | [`Triple`] | h1 + i·h2 + (i(i−1)/2)·h3 | 6n/m³ | folds and short cycles |
//! | 9 | [`PartitionIndependent`] | i·m' + h_i | none | never |
//! | 10 | [`Fractional`] | as 8, in fractions of the table; the default | 3n/(k·m³) | folds, a few at a time |
//! | 11 | [`Dcso`] | of a foreign format | up to 3n/m if m is a power of two, none if it is odd | as by chance |
//! | 12 | [`DoubleOdd`] | as 4, h2 odd; m a multiple of a power of two that is not below k | 12n/m² | never |
//!
//! **A step of zero** (h2 = 0) would send all k probes of a key to one cell under plain double
//! hashing, so [`Double`] draws its step from 1..m. In the enhanced schemes f(i) still spreads the
//! probes, and in partitions each probe has its own slice, so there zero is as good as any step. In
//! [`Triple`] it takes a zero step *and* a zero bend, which its excess counts.
//!
//! **A parabola** ([`EnhancedSquare`], [`Triple`], [`Fractional`]) folds onto itself if its axis
//! lies between two positions, and leaves a key half of its cells. In tables of a few hundred cells
//! that shows: [`Distinct`] counts it, and so sizing does.
//!
//! **A step that shares a factor with m** gives a key of [`Double`] only m/gcd different cells.
//! That is allowed, as in the papers; [`Scheme::distinct`] counts it, so sizing and
//! [`Scheme::planned_fpp`] stay honest. The default scheme does not suffer from it, and neither
//! does [`DoubleOdd`], whose m is rounded up for that.

mod any;
mod dcso;
mod double;
mod enhanced;
mod enhanced_with;
mod fractional;
mod independent;
pub(crate) mod linear;
mod partition;
pub(crate) mod prime;
pub(crate) mod rows;
pub(crate) mod shifts;
mod triple;
mod walks;

pub use any::AnyScheme;
#[doc(hidden)]
pub use any::{AnyWalk, WordOrDcsoWalk};
pub use dcso::Dcso;
#[doc(hidden)]
pub use dcso::DcsoWalk;
pub use double::{Double, DoubleOdd};
pub use enhanced::Enhanced;
#[doc(hidden)]
pub use enhanced::EnhancedWalk;
#[doc(hidden)]
pub use enhanced_with::EnhancedWithWalk;
pub use enhanced_with::{Cube, EnhancedCube, EnhancedSquare, EnhancedWith, Offset, Square};
pub use fractional::Fractional;
#[doc(hidden)]
pub use fractional::FractionalWalk;
pub use independent::Independent;
pub use partition::{Partition, PartitionIndependent, PartitionPrime};
pub use rows::Form;
pub use triple::Triple;
#[doc(hidden)]
pub use triple::TripleWalk;
#[doc(hidden)]
pub use walks::{CurveWalk, LineWalk, WordWalk};

use crate::hash::Digest;
use crate::numbered::numbered;
use crate::theory;
use crate::theory::distinct::Distinct;
use core::fmt::Debug;

/// The largest number of cells: 2⁴⁰ (128 GiB of bits). Positions keep at least 24 spare bits of the
/// digest up to here.
pub const MAX_CELLS: u64 = 1 << 40;

/// The largest number of probes per key.
pub const MAX_HASHES: u32 = 255;

numbered! {
    /// Number of a scheme, as stored in files. A number never changes its meaning.
    #[derive(Default)]
    pub enum SchemeId: u8 {
        /// [`Independent`]
        Independent = 1 "independent",
        /// [`Partition`]
        Partition = 2 "partition",
        /// [`PartitionPrime`]
        PartitionPrime = 3 "partition-prime",
        /// [`Double`]
        Double = 4 "double",
        /// [`EnhancedSquare`]
        EnhancedSquare = 5 "enhanced-square",
        /// [`EnhancedCube`]
        EnhancedCube = 6 "enhanced-cube",
        /// [`Enhanced`]
        Enhanced = 7 "enhanced",
        /// [`Triple`]
        Triple = 8 "triple",
        /// [`PartitionIndependent`]
        PartitionIndependent = 9 "partition-independent",
        /// [`Fractional`]
        #[default]
        Fractional = 10 "fractional",
        /// [`DoubleOdd`]
        DoubleOdd = 12 "double-odd",
    }
    foreign {
        /// [`Dcso`], which only files of that format need
        Dcso = 11 "dcso",
    }
}

/// A way to choose k positions from a digest.
///
/// Static on purpose: the probe loop is compiled for each scheme. Code that learns the scheme at
/// run time uses [`AnyScheme`], whose [`dispatch`](Scheme::dispatch) picks the compiled loop once
/// per call or batch.
///
/// ```
/// use gardenia::index::{Enhanced, Scheme};
/// use gardenia::Digest;
/// let at: Vec<u64> = Enhanced::new(4).positions(Digest(u64::MAX / 2), 1000).collect();
/// assert_eq!(at.len(), 4);
/// assert!(at.iter().all(|&p| p < 1000));
/// ```
pub trait Scheme: Clone + Debug + PartialEq + Sync {
    /// The walk through one key's positions.
    type Walk: Walk;

    /// The number, or `None` for a scheme that no file can name (an own f in [`EnhancedWith`]).
    fn id(&self) -> Option<SchemeId>;

    /// Probes per key, k.
    fn hashes(&self) -> u32;

    /// The walk of `digest` through `0..cells`: probe loops, which know k, take this.
    fn walk(&self, digest: Digest, cells: u64) -> Self::Walk;

    /// The k positions of `digest` in `0..cells`. They may repeat.
    #[inline]
    fn positions(&self, digest: Digest, cells: u64) -> Positions<Self::Walk> {
        Positions { walk: self.walk(digest, cells), left: self.hashes() }
    }

    /// The smallest usable number of cells that is at least `cells`: partitions need a multiple of
    /// k, and odd steps one of a power of two.
    fn fit(&self, cells: u64) -> u64 {
        cells
    }

    /// What sizing chooses for at least `cells` cells. Sums modulo m fall into classes where m has
    /// small factors, which shows in small tables: up to 4,096 cells these schemes get a prime
    /// number, and a word of cells at least.
    ///
    /// ```
    /// use gardenia::index::{Double, Fractional, Partition, Scheme};
    /// assert_eq!([Fractional::new(3).best_fit(100), Double::new(3).best_fit(100)], [100, 101]);
    /// assert_eq!(Partition::new(3).best_fit(100), 3 * 37);
    /// ```
    fn best_fit(&self, cells: u64) -> u64 {
        self.fit(cells)
    }

    /// Whether each probe has its own slice of the cells.
    fn partitioned(&self) -> bool {
        false
    }

    /// The number modulo which positions are sums of hash values: m, or the cells of a slice;
    /// without the power of two that odd steps share no factor with. `None` for a scheme that takes
    /// no such sums.
    ///
    /// Hash values that share a factor with it keep a key to some residue classes of the cells. In
    /// a plain filter that is counted ([`distinct`](Self::distinct)); keys that choose between
    /// groups gather in such classes, so that [`ChoiceBloom`](crate::ChoiceBloom) makes the modulus
    /// a prime.
    ///
    /// ```
    /// use gardenia::index::{Double, Fractional, Partition, Scheme};
    /// assert_eq!(Double::new(3).modulus(102), Some(102));
    /// assert_eq!(Partition::new(3).modulus(102), Some(34));
    /// assert_eq!(Fractional::new(3).modulus(102), None);
    /// ```
    fn modulus(&self, cells: u64) -> Option<u64> {
        let _ = cells;
        None
    }

    /// How many distinct cells the positions of a key have. Independent positions unless a scheme
    /// knows better.
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::independent(cells, self.hashes())
    }

    /// What stored keys that resemble the query add, at finite size, to the false-positive
    /// probability: `items` keys are in, a share `fill` of the cells is set.
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        let _ = (cells, items, fill);
        0.0
    }

    /// What this scheme adds, at finite size, to the false-positive probability of independent
    /// positions: `items` keys are in, a share `fill` of the cells is set. The
    /// [`distinct`](Self::distinct) cells of a query and the [`overlap`](Self::overlap) of keys; a
    /// scheme whose positions never coincide can have less than independent ones.
    fn excess(&self, cells: u64, items: f64, fill: f64) -> f64 {
        let own = if self.partitioned() {
            0.0
        } else {
            self.distinct(cells).passes(fill * cells as f64) - libm::pow(fill, f64::from(self.hashes()))
        };
        own + self.overlap(cells, items, fill)
    }

    /// The false-positive probability expected after `items` keys: by the
    /// [`distinct`](Self::distinct) cells of queries and keys, plus the [`overlap`](Self::overlap)
    /// of keys, plus the floor of 64-bit digests.
    ///
    /// Exact for independent positions. For every scheme it is good to 1 % from 1,000 keys on, and
    /// to some 5 % from 100. For fewer keys it is good to 5 % at the sizes that builders choose
    /// (see [`best_fit`](Self::best_fit)), and to 10 % with the default scheme and one key in some
    /// 30 cells ([`Distinct::fractional`]). At other sizes the schemes of two or three values
    /// modulo m can have a higher rate, the more so the more positions and small factors of m there
    /// are. With up to eight positions that shows below ten keys, where it is up to 1.5 times as
    /// high; with up to twenty it is up to 1.3 times as high at 50 keys, and twice at ten and
    /// fewer. The `fpp()` of such a filter counts, and has no such error.
    ///
    /// ```
    /// use gardenia::index::{Double, Enhanced, Scheme};
    /// let (m, n) = (16_000, 1_000);
    /// let [double, enhanced] = [Double::new(11).planned_fpp(m, n), Enhanced::new(11).planned_fpp(m, n)];
    /// assert!(double > 1.05 * enhanced); // 16 bits per key, few keys: plain double hashing shows
    /// ```
    fn planned_fpp(&self, cells: u64, items: u64) -> f64 {
        let k = self.hashes();
        let apart = if self.partitioned() {
            theory::bloom::fpp_partitioned(cells, items, k)
        } else {
            self.distinct(cells).fpp(items)
        };
        let fill = theory::bloom::expected_fill(cells, items, k);
        (apart + self.overlap(cells, items as f64, fill) + digest_floor(items as f64)).min(1.0)
    }

    /// The capacity of `cells` cells: the most keys up to which [`planned_fpp`](Self::planned_fpp)
    /// is at most `fpp`. In the limit of many cells `κ = -(m/k)·ln(1 - fpp^(1/k))`. Vallentin, "A
    /// Garden Variety of Bloom Filters" (2011), has the term.
    ///
    /// ```
    /// use gardenia::index::{Independent, Scheme};
    /// let (m, k, fpp) = (1_000_000, 7, 0.01_f64);
    /// let limit = -(m as f64 / 7.0) * (1.0 - fpp.powf(1.0 / 7.0)).ln();
    /// let capacity = Independent::new(k).capacity(m, fpp);
    /// assert!((capacity as f64 / limit - 1.0).abs() < 1e-4);
    /// assert!(Independent::new(k).planned_fpp(m, capacity + 1) > fpp);
    /// ```
    fn capacity(&self, cells: u64, fpp: f64) -> u64 {
        theory::first(|items| self.planned_fpp(cells, items) > fpp).saturating_sub(1)
    }

    /// The false-positive probability of a filter with this share of cells set, whatever went in.
    /// As accurate as [`planned_fpp`](Self::planned_fpp); the `fpp()` of filters up to 2,048 cells
    /// looks at the cells as well.
    fn fpp_at_fill(&self, cells: u64, fill: f64) -> f64 {
        let k = self.hashes();
        let items = theory::bloom::estimate_items(cells, k, libm::round(fill * cells as f64) as u64).items;
        let apart = if self.partitioned() {
            theory::bloom::fpp_of_slices(cells, fill, k)
        } else {
            self.distinct(cells).passes(fill * cells as f64)
        };
        (apart + self.overlap(cells, items, fill) + digest_floor(items)).min(1.0)
    }

    /// Calls `visitor` with the scheme whose loop is compiled: itself, or for [`AnyScheme`] the
    /// default scheme or a group of others.
    #[inline]
    fn dispatch<V: SchemeVisitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// Goes from position to position of one key.
pub trait Walk: Clone + Debug {
    /// The next position. It means something k times; how often to ask is the caller's knowledge,
    /// so that probe loops are counted once.
    fn step(&mut self) -> u64;
}

/// The k positions of one key, in probing order.
#[derive(Clone, Debug)]
pub struct Positions<W> {
    walk: W,
    left: u32,
}

impl<W: Walk> Iterator for Positions<W> {
    type Item = u64;
    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        Some(self.walk.step())
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<W: Walk> ExactSizeIterator for Positions<W> {}

/// A scheme that a file can name.
pub trait NumberedScheme: Scheme {
    /// The scheme of this type with `hashes` probes, if `id` is its number.
    ///
    /// ```
    /// use gardenia::index::{Double, Enhanced, NumberedScheme, SchemeId};
    /// assert_eq!(Double::restore(SchemeId::Double, 4), Some(Double::new(4)));
    /// assert_eq!(Enhanced::restore(SchemeId::Double, 4), None);
    /// ```
    fn restore(id: SchemeId, hashes: u32) -> Option<Self>;
}

/// Implements [`NumberedScheme`] for the schemes with one number each.
macro_rules! restored {
    ($($scheme:ty, $id:ident, $new:expr;)+) => {$(
        impl NumberedScheme for $scheme {
            fn restore(id: SchemeId, hashes: u32) -> Option<Self> {
                let new: fn(u32) -> Self = $new;
                (id == SchemeId::$id).then(|| new(hashes))
            }
        }
    )+};
}
restored! {
    Independent, Independent, Self::new;
    Partition, Partition, Self::new;
    PartitionPrime, PartitionPrime, Self::new;
    Double, Double, Self::new;
    EnhancedSquare, EnhancedSquare, |k| Self::new(k, Square);
    EnhancedCube, EnhancedCube, |k| Self::new(k, Cube);
    Enhanced, Enhanced, Self::new;
    Triple, Triple, Self::new;
    PartitionIndependent, PartitionIndependent, Self::new;
    Fractional, Fractional, Self::new;
    Dcso, Dcso, Self::new;
    DoubleOdd, DoubleOdd, Self::new;
}

impl NumberedScheme for AnyScheme {
    fn restore(id: SchemeId, hashes: u32) -> Option<Self> {
        Some(Self::new(id, hashes))
    }
}

/// Work to be done with a scheme whose type is known at compile time (see [`Scheme::dispatch`]).
pub trait SchemeVisitor {
    /// What the work gives.
    type Output;
    /// Does the work.
    fn visit<S: Scheme>(self, scheme: &S) -> Self::Output;
}

/// The share of false positives that equal digests cause: n / 2⁶⁴.
fn digest_floor(items: f64) -> f64 {
    if items.is_finite() { items / 18_446_744_073_709_551_616.0 } else { 0.0 }
}

/// The next prime, in tables so small that factors show; `least` is one.
fn small_prime(cells: u64, least: u64) -> u64 {
    if cells <= 4_096 { prime::at_least(cells.max(least)) } else { cells }
}

/// The fewest cells of sums modulo m: the largest prime of a word. In fewer, keys meet in more ways
/// than theory counts.
const LEAST: u64 = 61;

/// `word` scaled to `0..range` by multiply-high (Lemire's reduction): uniform up to range/2⁶⁴.
#[inline]
pub(crate) const fn scale(word: u64, range: u64) -> u64 {
    ((word as u128 * range as u128) >> 64) as u64
}

/// `sum` mod `m` for a sum of two values below `m`.
///
/// A conditional move and not a branch: a branch would be mispredicted every second time and cost
/// more than all the rest of a probe.
#[inline]
pub(crate) fn wrap(sum: u64, m: u64) -> u64 {
    let (less, borrowed) = sum.overflowing_sub(m);
    core::hint::select_unpredictable(borrowed, sum, less)
}

/// `value` mod `m` where `value` is nearly always below `m` already: a predicted branch, not a
/// division.
#[inline]
fn settle(value: u64, m: u64) -> u64 {
    #[cold]
    fn divide(value: u64, m: u64) -> u64 {
        value % m
    }
    if value < m { value } else { divide(value, m) }
}
