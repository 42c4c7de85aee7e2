//! What the schemes should come to at finite size.
//!
//! The false-positive probability of independent positions is known exactly (`fpp_exact`), and so
//! is that of the partition scheme: with d the difference of two keys' steps, of order L modulo the
//! slice, they meet in the slices of one class modulo L, so that inclusion and exclusion over the
//! 2^k sets of slices is a matter of counting.
//!
//! The other schemes have three terms of first order over independent positions. *Overlap*: one
//! stored key meets the query in several positions. If it meets a of them, and the k - a others are
//! left to chance, that adds `fill^(k-a) - fill^k - a(1-fill)·fill^(k-1)`; which keys do so follows
//! from all pairs of positions. Equal steps are most of it, as in the library's `same_step_excess`,
//! and small multiples of a step the rest. *Repeats of the query*: one whose positions coincide has
//! fewer of them to be set. Steps of few multiples do that to double hashing (short cycles); and a
//! parabola folds: under i² and triple hashing positions i and j coincide with all pairs of the
//! same sum if the axis lies between them, which leaves half of the positions. *Repeats of stored
//! keys*: they set fewer cells.

use super::{Size, Way};
use crate::Stream;
use gardenia::theory::bloom::{expected_fill, fpp_asymptotic, fpp_exact, fpp_partitioned};
use std::collections::BTreeSet;

/// Steps of queries over which overlaps are averaged: they all overlap in nearly the same way.
const STEPS: u64 = 64;

/// The limit p = (1 - e^(-k/c))^k.
pub(crate) fn limit(size: &Size) -> f64 {
    fpp_asymptotic(size.per_item as f64, size.hashes)
}

/// What to expect of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// The false-positive probability.
    pub(crate) rate: f64,
    /// How much of it is above that of independent positions (in slices, for the partition scheme),
    /// and of first order.
    pub(crate) excess: f64,
}

/// The false-positive probability of a simulated scheme.
pub(crate) fn expected(size: &Size, way: Way) -> Expected {
    let (n, m, k) = (size.items, size.cells(way), size.hashes);
    if way == Way::Partition {
        let rate = partition(n, size.range(way), k);
        return Expected { rate, excess: rate - fpp_partitioned(m, n, k) };
    }
    let (ideal, fill) = (fpp_exact(m, n, k), expected_fill(m, n, k));
    if way == Way::Standard {
        return Expected { rate: ideal, excess: 0.0 };
    }
    let overlap = overlaps(m, k, way, fill) * n as f64 / m as f64 / m as f64;
    let (own, independent) = (repeats(m, k, way, fill), independent_repeats(m, k, fill));
    // A position less in every stored key leaves the share 1 - fill of a cell clear.
    let lost = (1.0 - fill) * n as f64 / m as f64 * (own.fewer - independent.fewer);
    let excess = overlap + own.passes - independent.passes - ideal * f64::from(k) * lost / fill;
    Expected { rate: ideal + excess, excess }
}

/// The mean share of ones after all keys.
pub(crate) fn mean_fill(size: &Size, way: Way) -> f64 {
    let (n, m, k) = (size.items, size.cells(way), size.hashes);
    let fewer = match way {
        Way::Standard => return expected_fill(m, n, k),
        Way::Partition => return expected_fill(size.range(way), n, 1),
        _ => repeats(m, k, way, 0.5).fewer,
    };
    fill_of(size, way, fewer)
}

/// The same in the library, whose double hashing never takes the step 0, at which all positions are
/// one.
pub(crate) fn library_mean_fill(size: &Size, way: Way) -> f64 {
    if way != Way::Double {
        return mean_fill(size, way);
    }
    let (m, k) = (size.cells(way), size.hashes);
    let all = m as f64 * repeats(m, k, way, 0.5).fewer;
    fill_of(size, way, (all - f64::from(k - 1)) / (m - 1) as f64)
}

/// The mean share of ones after all keys, whose k positions are `fewer` in the mean.
fn fill_of(size: &Size, way: Way, fewer: f64) -> f64 {
    let (n, m, k) = (size.items, size.cells(way), size.hashes);
    // By symmetry a key sets each cell with the same chance.
    -libm::expm1(n as f64 * libm::log1p(-(f64::from(k) - fewer) / m as f64))
}

/// What it means that positions of one key coincide.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    /// How much more likely a query passes: the mean of fill^D - fill^k for its D different
    /// positions.
    passes: f64,
    /// The mean of k - D.
    fewer: f64,
}

impl Repeats {
    fn add(&mut self, chance: f64, k: u32, distinct: u32, fill: f64) {
        let power = |exponent: u32| libm::pow(fill, f64::from(exponent));
        self.passes += chance * (power(distinct) - power(k));
        self.fewer += chance * f64::from(k - distinct);
    }
}

/// Of k independent positions, to first order: one pair of them.
fn independent_repeats(m: u64, k: u32, fill: f64) -> Repeats {
    let mut repeats = Repeats::default();
    repeats.add(f64::from(k * (k - 1) / 2) / m as f64, k, k - 1, fill);
    repeats
}

/// f(i) of h1 + i·h2 + f(i).
fn offset(way: Way, i: u64) -> u64 {
    match way {
        Way::Square => i * i,
        Way::Cube => i * i * i,
        _ => 0,
    }
}

/// All i < j below k.
fn pairs(k: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..k).flat_map(|j| (0..j).map(move |i| (i, j)))
}

/// What stored keys that meet a query in several positions add, over what they add if positions are
/// independent: m² times that of one key.
fn overlaps(m: u64, k: u32, way: Way, fill: f64) -> f64 {
    let power = |exponent: u32| libm::pow(fill, f64::from(exponent));
    let weight = |met: u32| power(k - met) - power(k) - f64::from(met) * (1.0 - fill) * power(k - 1);
    let k64 = u64::from(k);
    if way == Way::Triple {
        // Three positions in common take three equal values, at 1/m³. What lies between two positions is a multiple of
        // their g (see `repeats`), and so is more often what lies between two of a key's if that has factors of g.
        let factor = |(i, j): (u64, u64)| gcd(if (i + j) % 2 == 1 { j - i } else { (j - i) / 2 }, m);
        let factors: Vec<u64> = pairs(k64).map(factor).collect();
        let both = factors.iter().flat_map(|a| factors.iter().map(move |b| gcd(*a, *b) - 1));
        return 2.0 * both.sum::<u64>() as f64 * weight(2);
    }
    let place = |step: u64, i: u64| (i * step + offset(way, i)) % m;
    // d·x = 1 modulo m/gcd(d, m)
    let inverses: Vec<(u64, u64)> =
        (0..k64).map(|d| (gcd(d, m), inverse(d / gcd(d, m).max(1), m / gcd(d, m)))).collect();
    let (mut sum, mut marked, mut met) = (0.0, vec![false; m as usize], Vec::new());
    for number in 0..STEPS {
        let step = Stream::new(1, "overlaps", "steps", number).below(m);
        let query: Vec<u64> = (0..k64).map(|i| place(step, i)).collect();
        query.iter().for_each(|&at| marked[at as usize] = true);
        // Stored keys that have two of the query's positions, at their own i < j: steps d·h2 = what lies between.
        let mut keys = Vec::new();
        for (&here, &there) in
            query.iter().flat_map(|a| query.iter().map(move |b| (a, b))).filter(|(a, b)| a != b)
        {
            for (i, j) in pairs(k64) {
                let (common, inverse) = inverses[(j - i) as usize];
                let between = (there + m - here + m - (offset(way, j) - offset(way, i)) % m) % m;
                if between.is_multiple_of(common) {
                    let first = between / common * inverse % (m / common);
                    keys.extend((0..common).map(|multiple| {
                        let step = first + multiple * (m / common);
                        (step, (here + m - place(step, i)) % m)
                    }));
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        for (step, start) in keys {
            met.clear();
            met.extend((0..k64).map(|i| (start + place(step, i)) % m).filter(|&at| marked[at as usize]));
            met.sort_unstable();
            met.dedup();
            sum += weight(met.len() as u32);
        }
        query.iter().for_each(|&at| marked[at as usize] = false);
    }
    let ordered = f64::from(k * (k - 1));
    sum / STEPS as f64 - ordered / 2.0 * ordered * weight(2)
}

fn repeats(m: u64, k: u32, way: Way, fill: f64) -> Repeats {
    let mut repeats = Repeats::default();
    let k64 = u64::from(k);
    let f = |i| offset(way, i);
    if way == Way::Triple {
        // Positions i < j coincide if d·v = 0, d = j - i and v = h2 + h3·(s-1)/2 for an odd sum s = i + j, or if
        // (d/2)·v = 0, v = 2·h2 + h3·(s-1), for an even one. Either v is uniform; of order L it is φ(L) times.
        for sum in 1..=2 * k64 - 3 {
            for order in (1..k64).filter(|&order| m.is_multiple_of(order)) {
                let pairs = (0..k64)
                    .filter(|i| 2 * i < sum && sum - i < k64)
                    .map(|i| sum - 2 * i)
                    .filter(|d| (if sum % 2 == 1 { *d } else { d / 2 }).is_multiple_of(order));
                repeats.add(totient(order) as f64 / m as f64, k, k - pairs.count() as u32, fill);
            }
        }
        return repeats;
    }
    // All steps h2 for which some pair coincides: (j - i)·h2 + f(j) - f(i) = 0. In all schemes j - i divides f(j) - f(i).
    let mut steps = BTreeSet::new();
    for (i, j) in pairs(k64) {
        let (common, slope) = (gcd(j - i, m), (f(j) - f(i)) / (j - i) % m);
        steps.extend((0..common).map(|multiple| (multiple * (m / common) + m - slope) % m));
    }
    for step in steps {
        let at: BTreeSet<u64> = (0..k64).map(|i| (i * step + f(i)) % m).collect();
        repeats.add(1.0 / m as f64, k, at.len() as u32, fill);
    }
    repeats
}

/// The exact false-positive probability of h1 + i·h2 in slice i.
fn partition(items: u64, slice: u64, hashes: u32) -> f64 {
    let m = slice as f64;
    let orders: Vec<u64> = (1..u64::from(hashes)).filter(|&order| slice.is_multiple_of(order)).collect();
    let others = m - orders.iter().map(|&order| totient(order) as f64).sum::<f64>();
    let sum: f64 = (0..1u32 << hashes)
        .map(|set| {
            let slices = (0..u64::from(hashes)).filter(|i| set >> i & 1 == 1);
            let classes =
                |order: u64| slices.clone().map(|i| i % order).collect::<BTreeSet<_>>().len() as f64;
            let few: f64 = orders.iter().map(|&order| totient(order) as f64 * classes(order)).sum();
            let hit = (few + others * f64::from(set.count_ones())) / (m * m);
            let term = libm::exp(items as f64 * libm::log1p(-hit));
            if set.count_ones() % 2 == 1 { -term } else { term }
        })
        .sum();
    sum.clamp(0.0, 1.0)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// x with a·x = 1 modulo m, for a below m that shares no factor with it; 0 modulo 1.
fn inverse(a: u64, m: u64) -> u64 {
    let (mut r, mut s) = ((i128::from(m), i128::from(a)), (0, 1));
    while r.1 > 0 {
        let whole = r.0 / r.1;
        r = (r.1, r.0 - whole * r.1);
        s = (s.1, s.0 - whole * s.1);
    }
    s.0.rem_euclid(i128::from(m.max(1))) as u64
}

/// How many of 1..=n share no factor with n.
fn totient(n: u64) -> u64 {
    (1..=n).filter(|&i| gcd(i, n) == 1).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions of a key without h1.
    fn key(way: Way, k: u64, [h2, h3]: [u64; 2], m: u64) -> Vec<u64> {
        let bend = |i: u64| if way == Way::Triple { i * i.saturating_sub(1) / 2 * h3 } else { 0 };
        (0..k).map(|i| (i * h2 + offset(way, i) + bend(i)) % m).collect()
    }

    #[test]
    fn repeats_are_those_of_all_steps() {
        for (m, k) in [(48, 5), (35, 4), (97, 6)] {
            for way in [Way::Double, Way::Square, Way::Cube] {
                let mut all = Repeats::default();
                for h2 in 0..m {
                    let distinct: BTreeSet<u64> = key(way, k.into(), [h2, 0], m).into_iter().collect();
                    all.add(1.0 / m as f64, k, distinct.len() as u32, 0.5);
                }
                let told = repeats(m, k, way, 0.5);
                assert!((told.passes - all.passes).abs() < 1e-12 && (told.fewer - all.fewer).abs() < 1e-12);
            }
        }
        // Of triple hashing to first order: what two coincidences at once do is 1/m of it.
        let (m, k) = (1_000, 5);
        let mut all = Repeats::default();
        for (h2, h3) in (0..m).flat_map(|h2| (0..m).map(move |h3| (h2, h3))) {
            let distinct: BTreeSet<u64> = key(Way::Triple, 5, [h2, h3], m).into_iter().collect();
            all.add(1.0 / (m * m) as f64, k, distinct.len() as u32, 0.5);
        }
        let told = repeats(m, k, Way::Triple, 0.5);
        assert!((told.passes / all.passes - 1.0).abs() < 0.02, "{told:?} {all:?}");
        assert!((told.fewer / all.fewer - 1.0).abs() < 0.02, "{told:?} {all:?}");
    }

    #[test]
    fn overlaps_are_those_of_all_keys() {
        let (m, k, fill) = (101, 4u32, 0.5);
        let power = |exponent: u32| libm::pow(fill, f64::from(exponent));
        let weight = |met: u32| power(k - met) - power(k) - f64::from(met) * (1.0 - fill) * power(k - 1);
        for way in [Way::Double, Way::Square, Way::Cube] {
            let mut sum = 0.0;
            for number in 0..STEPS {
                let h2 = Stream::new(1, "overlaps", "steps", number).below(m);
                let query: BTreeSet<u64> = key(way, 4, [h2, 0], m).into_iter().collect();
                for (start, step) in (0..m).flat_map(|a| (0..m).map(move |b| (a, b))) {
                    let stored = key(way, 4, [step, 0], m).into_iter().map(|at| (at + start) % m);
                    let met: BTreeSet<u64> = stored.filter(|at| query.contains(at)).collect();
                    let met = met.len() as u32;
                    sum += if met >= 2 { weight(met) } else { 0.0 };
                }
            }
            let all = sum / STEPS as f64 - 72.0 * weight(2);
            let told = overlaps(m, k, way, fill);
            assert!((told - all).abs() < 1e-9, "{} {told} {all}", way.name());
        }
        // Triple hashing modulo a round number: pairs are met more often than by independent positions, three hardly ever.
        let (m, k) = (40, 9);
        let mut met = Vec::new();
        for number in 0..10_000 {
            let mut stream = Stream::new(1, "overlaps", "triple", number);
            let mut draw = || key(Way::Triple, 9, [stream.below(m), stream.below(m)], m);
            let (query, stored) = (draw(), draw());
            // All h1 of the stored key at once: pairs that lie as far apart, either way round.
            let apart = |of: &[u64], (i, j): (u64, u64)| (of[j as usize] + m - of[i as usize]) % m;
            let both = pairs(9).flat_map(|one| pairs(9).map(move |other| (one, other)));
            let count = both.map(|(one, other)| {
                let (query, stored) = (apart(&query, one), apart(&stored, other));
                u32::from(query == stored) + u32::from(query == (m - stored) % m)
            });
            met.push(f64::from(count.sum::<u32>()));
        }
        let met = crate::Mean::of(&met);
        let two = libm::pow(fill, 7.0) * (1.0 - fill) * (1.0 - fill);
        let more = overlaps(m, k, Way::Triple, fill) / two;
        assert!(met.errors_from((2_592.0 + more) / m as f64) < 5.0, "{met:?} {more}");
        assert!(met.errors_from(2_592.0 / m as f64) > 5.0, "it shows");
    }

    #[test]
    fn the_partition_scheme_is_exact() {
        // Two slices of two cells, one key: it is met in both (1 of 4 differences), or in one, or in none.
        assert!((partition(1, 2, 2) - 0.25).abs() < 1e-15);
        // All pairs of keys in three slices of four cells: the orders 1, 2 and 4 occur.
        let slices = |h1: u64, h2: u64| [0, 1, 2].map(|i| (h1 + i * h2) % 4);
        let all: Vec<[u64; 3]> = (0..16).map(|key| slices(key / 4, key % 4)).collect();
        let mut passed = 0u32;
        for [a, b, query] in (0..4_096).map(|keys: usize| [0, 4, 8].map(|shift| all[keys >> shift & 15])) {
            passed += u32::from((0..3).all(|i| query[i] == a[i] || query[i] == b[i]));
        }
        assert!((partition(2, 4, 3) - f64::from(passed) / 4096.0).abs() < 1e-14, "{passed}");
        // Many keys: the limit.
        let size = Size::best(8, 1 << 30);
        assert!((expected(&size, Way::Partition).rate / limit(&size) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn inverses_are_inverses() {
        for m in 1..60 {
            assert!((1..m).filter(|&a| gcd(a, m) == 1).all(|a| a * inverse(a, m) % m == 1), "{m}");
        }
    }
}
