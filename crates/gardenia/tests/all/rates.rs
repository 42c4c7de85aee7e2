//! Measured error rates against theory, by statistics: fixed seeds, five standard errors, no
//! hand-picked thresholds.

use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::theory::bloom::Estimate;
use gardenia::{BlockedBloom, Bloom, Digest, theory};

/// A filter of `items` keys and the number of `queries` other keys it finds. Keys are words of a
/// seeded stream, so that trials differ and repeat.
fn false_positives(
    mut filter: Bloom<AnyScheme>,
    trial: u64,
    items: u32,
    queries: u32,
) -> (f64, Bloom<AnyScheme>) {
    let stream = Digest(Digest(0x6a72_6465_6e69_6121).word(1 + trial as u32));
    filter.extend((1..=items).map(|i| stream.word(i)));
    let probes: Vec<u64> = (1..=queries).map(|i| stream.word(items + i)).collect();
    let found = filter.contains_many(&probes);
    (found.into_iter().map(f64::from).sum(), filter)
}

/// Mean and standard error of a sample of trials.
fn mean(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn every_scheme_errs_as_its_theory_says_at_eight_bits_per_key() {
    // Kirsch and Mitzenmacher's setting: c = 8, n = 10,000, k = 6. The standard error is that of the
    // trials' own spread: it holds both the queries' randomness and the filters'.
    let (items, queries, trials) = (10_000u32, 100_000, 40);
    for id in SchemeId::ALL {
        let make = || Bloom::builder().bits(80_000).hashes(6).scheme(move |k| AnyScheme::new(id, k)).build();
        let rates: Vec<f64> = (0..trials)
            .map(|t| false_positives(make().unwrap(), t, items, queries).0 / f64::from(queries))
            .collect();
        let (rate, error) = mean(&rates);
        let filter = make().unwrap();
        let theory = filter.scheme().planned_fpp(filter.bits(), items.into());
        let name = id.name();
        assert!((rate - theory).abs() < 5.0 * error, "{name}: {rate:.6} ± {error:.6}, theory {theory:.6}");
        assert!(error < theory * 0.005, "{name}: the test must be able to see half a per cent");
    }
}

#[test]
fn the_rate_told_from_the_fill_is_the_rate_measured() {
    for (id, overload) in [(SchemeId::Fractional, 1.0), (SchemeId::Partition, 1.0), (SchemeId::Enhanced, 2.0)]
    {
        let filter =
            Bloom::builder().items(20_000).fpp(0.01).scheme(move |k| AnyScheme::new(id, k)).build().unwrap();
        let queries = 1_000_000;
        let (found, filter) = false_positives(filter, 7, (20_000.0 * overload) as u32, queries);
        let told = filter.fpp();
        let error = (told * (1.0 - told) / f64::from(queries)).sqrt();
        let rate = found / f64::from(queries);
        assert!((rate - told).abs() < 5.0 * error, "{}: {rate} measured, {told} told", id.name());
    }
}

#[test]
fn the_rate_asked_for_is_the_rate_measured() {
    for (items, fpp, trials) in [(10u32, 0.05, 3000u64), (1_000, 0.01, 60), (30_000, 0.001, 12)] {
        for id in [SchemeId::Fractional, SchemeId::Double, SchemeId::PartitionPrime] {
            let queries = 50_000;
            let rates: Vec<f64> = (0..trials)
                .map(|t| {
                    let builder = Bloom::builder().items(items.into()).fpp(fpp);
                    let filter = builder.scheme(move |k| AnyScheme::new(id, k)).build().unwrap();
                    false_positives(filter, 100 + t, items, queries).0 / f64::from(queries)
                })
                .collect();
            let (rate, error) = mean(&rates);
            let name = id.name();
            assert!(rate < fpp + 5.0 * error, "{name}, {items} keys: {rate} ± {error}, asked {fpp}");
            // Not by waste: with 2 % fewer bits the rate would be about 10 % higher. For a handful of keys the
            // first-order excess of plain double hashing is only an upper bound, so there it may.
            let handful = items < 1_000 && id == SchemeId::Double;
            let wasted = rate < fpp * 0.85 - 5.0 * error;
            assert!(handful || !wasted, "{name}, {items} keys: {rate} ± {error}, asked {fpp}");
        }
    }
}

#[test]
fn a_filter_of_every_scheme_is_full_when_its_rate_is_the_planned_one() {
    for (id, fpp) in SchemeId::ALL.into_iter().flat_map(|id| [(id, 0.05), (id, 1e-3)]) {
        for items in [3, 100, 20_000] {
            let builder = Bloom::builder().items(items).fpp(fpp).scheme(move |k| AnyScheme::new(id, k));
            let mut filter = builder.build().unwrap();
            let capacity = filter.capacity().unwrap();
            let rate = |items| filter.scheme().planned_fpp(filter.bits(), items);
            let name = format!("{}, {items} keys at {fpp}: {capacity}", id.name());
            assert!(items <= capacity && rate(capacity) <= fpp && rate(capacity + 1) > fpp, "{name}");
            if items > 1_000 {
                // Five standard errors of the estimate below the capacity, and above.
                let half = theory::bloom::estimate_items(filter.bits(), filter.hashes(), filter.bits() / 2);
                let apart = (5.0 * half.std_error).ceil() as u64;
                filter.extend(0..capacity - apart);
                assert!(!filter.is_full(), "{name}");
                filter.extend(capacity - apart..capacity + apart);
                assert!(filter.is_full(), "{name}");
            }
        }
    }
}

/// The exact false-positive probability of the partition scheme with slices of a prime number of
/// cells.
///
/// Two keys of different steps meet in the slice that their starts decide, each with probability
/// 1/m'; of equal steps in all slices or none. So t given slices are missed by a key with
/// probability 1 - 1/m'² - t·(m'-1)/m'², and the rest is inclusion and exclusion.
fn partition_exactly(slice: f64, hashes: u32, items: u64) -> f64 {
    let mut choose = 1.0;
    (0..=hashes)
        .map(|t| {
            let met = if t == 0 { 0.0 } else { (1.0 + f64::from(t) * (slice - 1.0)) / (slice * slice) };
            let term = choose * (1.0 - met).powf(items as f64);
            choose *= -f64::from(hashes - t) / f64::from(t + 1);
            term
        })
        .sum()
}

#[test]
fn the_planned_rate_of_the_partition_scheme_is_exact_to_a_thousandth() {
    // It was up to 1.1 % too high at 1,000 keys.
    for (slice, hashes, items) in
        [(1_499u64, 8u32, 1_000u64), (1_453, 11, 1_000), (7_499, 8, 5_000), (997, 4, 1_000)]
    {
        let exact = partition_exactly(slice as f64, hashes, items);
        let planned =
            AnyScheme::new(SchemeId::PartitionPrime, hashes).planned_fpp(slice * u64::from(hashes), items);
        assert!((planned / exact - 1.0).abs() < 1e-3, "{items} keys: {planned} planned, {exact}");
    }
}

#[test]
fn planned_rates_of_every_scheme_are_good_to_one_per_cent() {
    // Simulated once with 6·10⁷ queries of 3,000 filters each: 0.2 % standard error. n = 1,000, m = 12,000, k = 8.
    for (id, simulated) in [
        (SchemeId::Partition, 3.6367e-3),
        (SchemeId::Double, 3.2496e-3),
        (SchemeId::EnhancedSquare, 3.2118e-3),
        (SchemeId::EnhancedCube, 3.1853e-3),
        (SchemeId::Triple, 3.1681e-3),
        (SchemeId::Fractional, 3.1583e-3),
        (SchemeId::Independent, 3.1480e-3),
    ] {
        let planned = AnyScheme::new(id, 8).planned_fpp(12_000, 1_000);
        assert!((planned / simulated - 1.0).abs() < 0.01, "{}: {planned}, {simulated}", id.name());
        println!(
            "{}: {planned:.4e} {simulated:.4e} {:+.2} %",
            id.name(),
            100.0 * (planned / simulated - 1.0)
        );
    }
}

/// False positives of `trials` filters, found and expected.
fn many_filters(
    id: SchemeId,
    (bits, hashes, items): (u64, u32, u32),
    trials: u64,
    queries: u32,
) -> (f64, f64) {
    let make =
        || Bloom::builder().bits(bits).hashes(hashes).scheme(move |k| AnyScheme::new(id, k)).build().unwrap();
    let found = (0..trials).map(|t| false_positives(make(), 500 + t, items, queries).0).sum();
    let theory = make().scheme().planned_fpp(bits, items.into());
    (found, theory * f64::from(queries) * trials as f64)
}

#[test]
fn plain_double_hashing_shows_its_excess_and_the_default_does_not() {
    // 32 bits per key and few keys: the ideal rate is 2e-7, what remains is what a scheme adds.
    let (shape, trials, queries) = ((9_600, 22, 300), 60, 2_000_000);
    let (plain, expected) = many_filters(SchemeId::Double, shape, trials, queries);
    assert!((plain - expected).abs() < 0.25 * expected, "double: {plain} found, {expected} expected");
    let (found, expected) = many_filters(SchemeId::Fractional, shape, trials, queries);
    assert!(
        (found - expected).abs() < 5.0 * expected.sqrt(),
        "fractional: {found} found, {expected} expected"
    );
    assert!(plain > 20.0 * found, "double: {plain}, fractional: {found}");
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn triple_hashing_errs_as_stated_in_the_smallest_filters() {
    // Ten keys at 40 bits each: the ideal rate is 5e-9. In 400 cells keys in the same short cycles meet, which no formula covers:
    // the filter counts them.
    for (id, bits) in [(SchemeId::Triple, 400), (SchemeId::Triple, 401), (SchemeId::Fractional, 400)] {
        let (trials, queries) = (300, 500_000);
        let make =
            || Bloom::builder().bits(bits).hashes(20).scheme(move |k| AnyScheme::new(id, k)).build().unwrap();
        let rates: Vec<[f64; 2]> = (0..trials)
            .map(|trial| {
                let (found, filter) = false_positives(make(), 500 + trial, 10, queries);
                [found / f64::from(queries), filter.fpp()]
            })
            .collect();
        let (found, error) = mean(&rates.iter().map(|rate| rate[0]).collect::<Vec<_>>());
        let (apart, apart_error) = mean(&rates.iter().map(|rate| rate[0] - rate[1]).collect::<Vec<_>>());
        let what = format!("{}, {bits} cells: {found:e} found", id.name());
        assert!(found > 0.0, "{what}: the test must see an excess");
        assert!(
            apart.abs() < (5.0 * apart_error).max(0.05 * found),
            "{what}, {apart:e} ± {apart_error:e} off"
        );
        // A prime, as sizing chooses, and fractions: also as planned.
        let planned = make().scheme().planned_fpp(bits, 10);
        assert!(
            bits == 400 && id == SchemeId::Triple || found < planned + 5.0 * error,
            "{what}, {planned:e} planned"
        );
    }
}

/// Estimated counts against the truth, in units of the stated error, have mean 0 and variance 1:
/// each within five standard errors of the trials.
fn check_estimates(name: &str, items: u64, estimate: impl Fn(u64) -> Estimate) {
    let trials = 60;
    let deviations: Vec<f64> = (0..trials)
        .map(|trial| {
            let told = estimate(trial);
            (told.items - items as f64) / told.std_error
        })
        .collect();
    let (centre, _) = mean(&deviations);
    let spread = deviations.iter().map(|d| d * d).sum::<f64>() / trials as f64;
    assert!(centre.abs() < 5.0 / (trials as f64).sqrt(), "{name}, {items} keys: mean {centre}");
    assert!(
        (spread - 1.0).abs() < 5.0 * (2.0 / trials as f64).sqrt(),
        "{name}, {items} keys: variance {spread}"
    );
}

#[test]
fn the_item_count_is_estimated_within_its_stated_error() {
    for items in [100, 10_000, 100_000] {
        check_estimates("bloom", items, |trial| {
            let mut filter = Bloom::builder().items(items).fpp(0.01).seed(items + trial).build().unwrap();
            filter.extend(0..items);
            filter.estimated_items()
        });
        // Six, nine and twelve bits per key: above eight two of them may coincide.
        for fpp in [1e-2, 1e-3, 1e-4] {
            check_estimates("blocked", items, |trial| {
                let builder = BlockedBloom::builder().items(items).fpp(fpp);
                let mut filter = builder.seed(items + trial).build().unwrap();
                filter.extend(0..items);
                filter.estimated_items()
            });
        }
    }
}

/// The measured rate of a blocked filter built for `plan` keys after `items` keys, with its
/// standard error over trials, and what theory says.
fn blocked_rate(plan: u64, fpp: f64, items: u64, trials: u64, queries: u64) -> (f64, f64, f64) {
    let mut theory = 0.0;
    let rates: Vec<f64> = (0..trials)
        .map(|trial| {
            let mut filter = BlockedBloom::new(plan, fpp).unwrap();
            let stream = Digest(trial * 7919 + plan + items).word(1);
            filter.extend((0..items).map(|i| stream.wrapping_add(i)));
            theory = theory::blocked::fpp(filter.blocks(), items, filter.hashes());
            let probes: Vec<u64> = (0..queries).map(|i| stream.wrapping_add(items + i)).collect();
            filter.contains_many(&probes).into_iter().map(f64::from).sum::<f64>() / queries as f64
        })
        .collect();
    let (rate, error) = mean(&rates);
    // With few false positives the trials' spread says little: the Poisson error is the least there can be.
    (rate, error.max((theory / (trials * queries) as f64).sqrt()), theory)
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn the_blocked_filter_errs_as_planned_at_every_size_and_load() {
    for fpp in [0.03, 0.01, 1e-3, 1e-4] {
        for (plan, trials, queries) in
            [(1, 3000, 2_000), (10, 2000, 3_000), (1_000, 60, 100_000), (100_000, 10, 1_000_000)]
        {
            for load in [0.1, 1.0, 3.0] {
                let items = ((plan as f64 * load) as u64).max(1);
                let (rate, error, theory) = blocked_rate(plan, fpp, items, trials, queries);
                assert!(
                    (rate - theory).abs() < 5.0 * error,
                    "{items} of {plan} keys at {fpp}: {rate} ± {error}, theory {theory}"
                );
                assert!(load > 1.0 || theory <= fpp, "{items} of {plan} keys at {fpp}: planned {theory}");
            }
        }
    }
}

#[test]
fn a_blocked_filter_of_ten_million_keys_errs_as_planned() {
    for fpp in [0.03, 0.01, 1e-3, 1e-4] {
        let (rate, error, theory) = blocked_rate(10_000_000, fpp, 10_000_000, 2, 5_000_000);
        assert!((rate - theory).abs() < 5.0 * error, "{fpp}: {rate} ± {error}, theory {theory}");
        assert!(theory <= fpp && theory > 0.999 * fpp, "{fpp}: planned {theory}");
    }
}

#[test]
fn the_blocked_filter_tells_its_keys_and_rate_from_its_fill() {
    let mut filter = BlockedBloom::new(100_000, 0.01).unwrap();
    filter.extend(0..130_000u64);
    let told = filter.estimated_items();
    assert!((told.items - 130_000.0).abs() < 5.0 * told.std_error, "{told:?}");
    let planned = theory::blocked::fpp(filter.blocks(), 130_000, filter.hashes());
    assert!((filter.fpp() / planned - 1.0).abs() < 0.05, "{} told, {planned} planned", filter.fpp());
}
