//! Filters of true random hash values, played for speed: a position takes a nanosecond or two.
//!
//! Nothing of the library is used here, on purpose. Positions of all schemes but the standard one
//! are polynomials in i, and a polynomial is walked by its differences: h1 + i·h2 + i³, for one,
//! adds the first difference to the position, the second to the first and the third, 6, to the
//! second. No multiplication, and a minimum in place of each remainder.
//!
//! Two hash values are the halves of one random word, each scaled to the range by multiply-high:
//! even to range/2³², which is 4·10⁻⁵ at most. A query looks at four positions at a time: one that
//! is clear among them ends it, and that there is none is rare enough to be predicted.
//!
//! Source: Kirsch and Mitzenmacher (2008), sections 5 and 8.

use super::{Size, Way};
use crate::Stream;

/// Positions that a query looks at before it asks whether to go on.
const AT_ONCE: u32 = 4;

/// Both halves of a random word, each scaled to `range`.
#[inline(always)]
fn two(stream: &mut Stream, range: u64) -> [u32; 2] {
    let word = stream.word();
    [(((word >> 32) * range) >> 32) as u32, (((word & 0xffff_ffff) * range) >> 32) as u32]
}

/// A sum of two numbers below `range`, modulo `range`: below it the difference wraps to a huge
/// value.
#[inline(always)]
fn wrap(sum: u32, range: u32) -> u32 {
    sum.min(sum.wrapping_sub(range))
}

/// The positions of one key, one after the other.
trait Walk {
    fn next(&mut self, stream: &mut Stream) -> u32;
}

/// A hash value for every position.
struct Independent {
    range: u64,
    /// The other half of the last word, if it was not used yet.
    other: u32,
    used: bool,
    /// Uses every value twice: a bug that verdicts must notice.
    broken: bool,
}

impl Walk for Independent {
    #[inline(always)]
    fn next(&mut self, stream: &mut Stream) -> u32 {
        self.used = !self.used;
        if self.used {
            return self.other;
        }
        let [now, other] = two(stream, self.range);
        self.other = if self.broken { now } else { other };
        now
    }
}

/// A polynomial: its value and its differences, the last of which never changes.
struct Polynomial<const N: usize> {
    differences: [u32; N],
    range: u32,
}

impl<const N: usize> Walk for Polynomial<N> {
    #[inline(always)]
    fn next(&mut self, _: &mut Stream) -> u32 {
        let now = self.differences[0];
        for order in 1..N {
            self.differences[order - 1] =
                wrap(self.differences[order - 1] + self.differences[order], self.range);
        }
        now
    }
}

/// The same, position i in slice i.
struct Slices {
    within: Polynomial<2>,
    base: u32,
}

impl Walk for Slices {
    #[inline(always)]
    fn next(&mut self, stream: &mut Stream) -> u32 {
        let now = self.base + self.within.next(stream);
        self.base += self.within.range;
        now
    }
}

/// Evaluates `$body` with `$key`, a function that draws a key's walk. What is broken leaves out
/// what makes the scheme: independence of the second value, odd steps, the term of second or third
/// order.
macro_rules! with_keys {
    ($size:expr, $way:expr, $broken:expr, $key:ident => $body:expr) => {{
        let (range, broken): (u64, bool) = ($size.range($way), $broken);
        let m = range as u32;
        match $way {
            Way::Standard => {
                let $key = |_: &mut Stream| Independent { range, other: 0, used: true, broken };
                $body
            }
            Way::Partition => {
                let $key = |stream: &mut Stream| {
                    let [h1, h2] = two(stream, range);
                    let differences = [h1, if broken { h1 } else { h2 }];
                    Slices { within: Polynomial { differences, range: m }, base: 0 }
                };
                $body
            }
            Way::Double => {
                let $key = |stream: &mut Stream| {
                    let [h1, h2] = two(stream, range);
                    Polynomial { differences: [h1, if broken { h2 & !1 } else { h2 }], range: m }
                };
                $body
            }
            Way::Square => {
                let [first, second] = if broken { [0, 0] } else { [1, 2] };
                let $key = |stream: &mut Stream| {
                    let [h1, h2] = two(stream, range);
                    Polynomial { differences: [h1, wrap(h2 + first, m), second], range: m }
                };
                $body
            }
            Way::Cube => {
                let [first, second, third] = if broken { [0, 0, 0] } else { [1, 6, 6] };
                let $key = |stream: &mut Stream| {
                    let [h1, h2] = two(stream, range);
                    Polynomial { differences: [h1, wrap(h2 + first, m), second, third], range: m }
                };
                $body
            }
            Way::Triple => {
                let $key = |stream: &mut Stream| {
                    let ([h1, h2], [h3, _]) = (two(stream, range), two(stream, range));
                    Polynomial { differences: [h1, h2, if broken { 0 } else { h3 }], range: m }
                };
                $body
            }
        }
    }};
}

/// What a trial comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tally {
    /// False positives among the queries.
    pub(crate) found: u64,
    /// Positions that were drawn, by keys and queries.
    pub(crate) drawn: u64,
    /// How long it took; differs from run to run.
    pub(crate) nanos: u64,
}

/// A filled filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) bits: Vec<u64>,
}

impl Filter {
    /// Draws the keys and sets their positions; `broken` makes the scheme another one.
    pub(crate) fn new(size: &Size, way: Way, broken: bool, stream: &mut Stream) -> Self {
        with_keys!(size, way, broken, key => Self::filled(size, way, key, stream))
    }

    fn filled<W: Walk>(size: &Size, way: Way, key: impl Fn(&mut Stream) -> W, stream: &mut Stream) -> Self {
        let mut bits = vec![0; size.cells(way).div_ceil(64) as usize];
        for _ in 0..size.items {
            let mut walk = key(stream);
            for _ in 0..size.hashes {
                let at = walk.next(stream);
                bits[(at / 64) as usize] |= 1 << (at % 64);
            }
        }
        Self { bits }
    }

    /// Asks for fresh keys.
    fn ask<W: Walk>(
        &self,
        size: &Size,
        key: impl Fn(&mut Stream) -> W,
        queries: u64,
        stream: &mut Stream,
    ) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..queries {
            let (mut walk, mut left) = (key(stream), size.hashes);
            loop {
                let now = left.min(AT_ONCE);
                let mut set = 1;
                for _ in 0..now {
                    let at = walk.next(stream);
                    set &= self.bits[(at / 64) as usize] >> (at % 64);
                }
                tally.drawn += u64::from(now);
                left -= now;
                if set == 0 || left == 0 {
                    tally.found += set;
                    break;
                }
            }
        }
        tally
    }

    /// How many cells are set.
    pub(crate) fn ones(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// One trial of section 8: a filter is filled, and asked for keys that are not in it.
pub(crate) fn trial(size: &Size, way: Way, broken: bool, queries: u64, stream: &mut Stream) -> Tally {
    let start = std::time::Instant::now();
    let tally = with_keys!(size, way, broken, key => {
        Filter::filled(size, way, key, stream).ask(size, key, queries, stream)
    });
    let drawn = tally.drawn + size.items * u64::from(size.hashes);
    Tally { drawn, nanos: start.elapsed().as_nanos() as u64, ..tally }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn stream(trial: u64) -> Stream {
        Stream::new(5, "schemes", "tests", trial)
    }

    const SIZE: Size = Size { items: 40, per_item: 12, hashes: 7 };

    /// The positions of the first key, from the hash values by the definition; `None` if they do
    /// not fit any.
    fn walked(way: Way, trial: u64) -> Vec<u64> {
        let size = &SIZE;
        let mut stream = stream(trial);
        with_keys!(size, way, false, key => {
            let mut walk = key(&mut stream);
            (0..7).map(|_| u64::from(walk.next(&mut stream))).collect()
        })
    }

    #[test]
    fn walks_are_what_the_definitions_say() {
        let m = SIZE.range(Way::Double);
        for trial in 0..200 {
            let [h1, h2] = two(&mut stream(trial), m).map(u64::from);
            let by = |f: &dyn Fn(u64) -> u64| (0..7).map(|i| (h1 + i * h2 + f(i)) % m).collect::<Vec<_>>();
            assert_eq!(walked(Way::Double, trial), by(&|_| 0));
            assert_eq!(walked(Way::Square, trial), by(&|i| i * i));
            assert_eq!(walked(Way::Cube, trial), by(&|i| i * i * i));
            let mut both = stream(trial);
            let ([_, _], [h3, _]) = (two(&mut both, m), two(&mut both, m));
            assert_eq!(walked(Way::Triple, trial), by(&|i| i * i.saturating_sub(1) / 2 * u64::from(h3)));
            let slice = SIZE.range(Way::Partition);
            let [h1, h2] = two(&mut stream(trial), slice).map(u64::from);
            let slices = (0..7).map(|i| i * slice + (h1 + i * h2) % slice).collect::<Vec<_>>();
            assert_eq!(walked(Way::Partition, trial), slices);
            let mut words = stream(trial);
            let values: Vec<u64> = (0..4).flat_map(|_| two(&mut words, m)).map(u64::from).collect();
            assert_eq!(walked(Way::Standard, trial), values[..7]);
        }
    }

    #[test]
    fn filters_hold_their_keys_and_count_what_they_draw() {
        for way in Way::ALL {
            let filter = Filter::new(&SIZE, way, false, &mut stream(1));
            // The first key is the first that is drawn.
            let first = walked(way, 1);
            assert!(first.iter().all(|&at| filter.bits[at as usize / 64] >> (at % 64) & 1 == 1));
            let ones = filter.ones();
            assert!((100..=280).contains(&ones) && first.iter().all(|&at| at < SIZE.cells(way)), "{ones}");
            let tally = trial(&SIZE, way, false, 1_000, &mut stream(1));
            // Forty keys; each query draws four or seven.
            let asked = tally.drawn - 280;
            assert!(asked >= 4_000 && (asked - 4_000).is_multiple_of(3) && asked <= 7_000);
            assert!(tally.found <= (asked - 4_000) / 3);
        }
        // Of one key, asked as the same key: all is found.
        let one = Size { items: 1, per_item: 480, hashes: 7 };
        let filter = Filter::new(&one, Way::Double, false, &mut stream(2));
        let found = with_keys!(&one, Way::Double, false, key => filter.ask(&one, key, 1, &mut stream(2)));
        assert_eq!((found.found, found.drawn), (1, 7));
    }

    #[test]
    fn what_is_broken_is_another_scheme() {
        let bits = |way, broken| Filter::new(&SIZE, way, broken, &mut stream(3)).bits;
        let different: BTreeSet<_> =
            Way::ALL.iter().flat_map(|&way| [bits(way, false), bits(way, true)]).collect();
        // Without their own terms both i² and i³ are double hashing.
        assert_eq!(different.len(), 10);
        assert_eq!(bits(Way::Square, true), bits(Way::Double, false));
        assert_eq!(bits(Way::Cube, true), bits(Way::Double, false));
    }
}
