//! Filters with choices state the rate that queries find, and keep the rate that was asked for:
//! with every scheme, effort and number of groups, at sizes of every kind, and in files of earlier
//! versions.

use crate::common::mean_and_error;
use gardenia::filter::Effort;
use gardenia::index::{AnyScheme, NumberedScheme, Scheme, SchemeId};
use gardenia::{ChoiceBloom, Digest, ReadOptions};
use std::fmt::Debug;

/// Digests of a stream of keys.
fn digests(stream: u64, count: u32) -> Vec<Digest> {
    (1..=count).map(|i| Digest(Digest(Digest(stream).word(9)).word(i))).collect()
}

/// Queries and what they found, of one filter or of several.
#[derive(Default)]
struct Asked {
    queries: u64,
    found: u64,
    /// By the rate that was stated.
    expected: f64,
}

impl Asked {
    /// Asks for absent keys: enough of them for so many hits, if the rate is right.
    fn ask<S: Scheme>(&mut self, filter: &ChoiceBloom<S>, hits: f64, most: u32) {
        let rate = filter.fpp();
        let queries = (hits / rate.max(1e-12)).clamp(20_000.0, f64::from(most)) as u32;
        let stream = 0x00ab_5e47 + (self.queries << 20);
        for (part, from) in (0..).zip((0..queries).step_by(1 << 16)) {
            let probes = digests(stream ^ (part << 50), (queries - from).min(1 << 16));
            let mut found = vec![false; probes.len()];
            filter.contains_digests(&probes, &mut found);
            self.found += found.iter().filter(|found| **found).count() as u64;
        }
        self.queries += u64::from(queries);
        self.expected += rate * f64::from(queries);
    }

    fn rate(&self) -> f64 {
        self.found as f64 / self.queries as f64
    }

    /// Five standard errors of the queries, or 5 %.
    fn allowed(expected: f64) -> f64 {
        (5.0 * expected.max(1.0).sqrt()).max(0.05 * expected)
    }

    /// The stated rate is the rate of queries.
    fn agrees(&self, what: &dyn Debug) {
        let (found, expected) = (self.found as f64, self.expected);
        let fits = (found - expected).abs() <= Self::allowed(expected);
        assert!(fits, "{what:?}: {found} of {} found, {expected:.1} stated", self.queries);
    }

    /// Queries find no more than was asked for.
    fn keeps(&self, fpp: f64, what: &dyn Debug) {
        let most = fpp * self.queries as f64;
        let fits = self.found as f64 <= most + Self::allowed(most);
        assert!(fits, "{what:?}: {:e} found, {fpp:e} asked for", self.rate());
    }
}

type Builder = gardenia::Builder<ChoiceBloom<AnyScheme>>;

/// A builder of this scheme and effort, with as many groups as it may have.
fn builder(scheme: SchemeId, effort: Effort, choices: u32) -> Builder {
    let builder = ChoiceBloom::builder().effort(effort);
    let builder = if effort == Effort::Partitioned { builder } else { builder.choices(choices) };
    builder.scheme(move |k| AnyScheme::new(scheme, k))
}

/// Schemes that take sums modulo m, or modulo the cells of a slice.
fn sums() -> impl Iterator<Item = SchemeId> {
    SchemeId::ALL.into_iter().filter(|id| AnyScheme::new(*id, 1).modulus(64).is_some())
}

#[test]
fn propagated_filters_of_sixteen_bits_and_eight_groups_state_their_rate() {
    for scheme in sums().chain([SchemeId::Independent, SchemeId::Fractional]) {
        let builder = builder(scheme, Effort::Propagated, 8).bits(64_000).hashes(18).items(4_000);
        let planned = builder.planned_fpp().unwrap();
        let filter = builder.build_from_digests(digests(1, 4_000)).unwrap();
        let mut asked = Asked::default();
        asked.ask(&filter, 400.0, 1_000_000);
        asked.agrees(&scheme);
        asked.keeps(planned, &scheme);
    }
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn filters_of_three_groups_state_their_rate() {
    for (per_key, hashes, effort) in
        [(32, 27, Effort::Rounds), (16, 15, Effort::Rounds), (16, 15, Effort::Propagated)]
    {
        for scheme in sums() {
            let builder = builder(scheme, effort, 3).bits(per_key * 10_000).hashes(hashes).items(10_000);
            let planned = builder.planned_fpp().unwrap();
            let filter = builder.build_from_digests(digests(2, 10_000)).unwrap();
            let mut asked = Asked::default();
            asked.ask(&filter, 400.0, 1_000_000);
            asked.agrees(&(scheme, effort, per_key));
            asked.keeps(planned, &(scheme, effort, per_key));
        }
    }
}

#[test]
fn many_groups_one_by_one_state_their_rate() {
    for scheme in sums() {
        let builder = builder(scheme, Effort::Online, 32).bits(160_000).items(10_000);
        let planned = builder.planned_fpp().unwrap();
        let filter = builder.build_from_digests(digests(3, 10_000)).unwrap();
        let mut asked = Asked::default();
        asked.ask(&filter, 400.0, 1_000_000);
        asked.agrees(&scheme);
        asked.keeps(planned, &scheme);
    }
}

#[test]
fn a_rate_that_is_asked_for_is_kept_by_schemes_that_take_sums() {
    for (scheme, fpp) in [
        (SchemeId::EnhancedCube, 2e-4),
        (SchemeId::Triple, 1e-4),
        (SchemeId::Triple, 2e-4),
        (SchemeId::Double, 2e-4),
        (SchemeId::Partition, 2e-3),
    ] {
        let builder = builder(scheme, Effort::Propagated, 8).fpp(fpp);
        let filter = builder.build_from_digests(digests(4, 10_000)).unwrap();
        let mut asked = Asked::default();
        asked.ask(&filter, 400.0, 1_200_000);
        asked.agrees(&(scheme, fpp));
        asked.keeps(fpp, &(scheme, fpp));
    }
}

/// Sizes near `cells`: round, a power of two, odd, a prime, and with many factors.
fn sizes(cells: u64) -> [u64; 5] {
    let prime = (cells..).find(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d)));
    let digits = 10u64.pow(cells.ilog10().saturating_sub(1));
    let factors = [1, 2, 6, 12, 60, 360, 2520, 27_720].into_iter().filter(|n| *n <= cells).max().unwrap_or(1);
    [
        cells.next_multiple_of(digits),
        cells.next_power_of_two(),
        cells | 1,
        prime.unwrap(),
        cells.next_multiple_of(factors),
    ]
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn every_combination_states_its_rate_at_sizes_of_every_kind() {
    let mut turn = 0;
    for scheme in SchemeId::ALL {
        for effort in Effort::ALL {
            for choices in [2, 3, 8, 32] {
                let accepted = builder(scheme, effort, choices).bits(640).items(80).shape().is_ok();
                if !accepted || (effort == Effort::Partitioned && choices > 2) {
                    assert!(accepted || effort == Effort::Partitioned, "{scheme:?} {effort:?}");
                    continue;
                }
                // All numbers and kinds of sizes come up with all others, some combinations apart.
                for _ in 0..2 {
                    turn += 1;
                    let items = [1u32, 70, 2, 800, 9][turn % 5];
                    let per_key = [8, 11, 5, 14][turn % 4];
                    let bits = sizes(u64::from(items) * per_key)[turn / 5 % 5].max(12);
                    let builder = builder(scheme, effort, choices).bits(bits).items(items.into());
                    let keys = digests(5 + turn as u64, items);
                    let filter = builder.build_from_digests(keys.clone()).unwrap();
                    assert!(keys.iter().all(|key| filter.contains_digest(*key)));
                    let mut asked = Asked::default();
                    asked.ask(&filter, 10_000.0, if choices > 3 { 600_000 } else { 1_500_000 });
                    asked.agrees(&(scheme, effort, choices, items, bits));
                }
            }
        }
    }
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn every_combination_keeps_the_rate_asked_for_from_one_key_on() {
    for scheme in SchemeId::ALL {
        for (effort, choices) in [(0, 2), (0, 32), (1, 3), (2, 1), (3, 8)] {
            let effort = Effort::from_level(effort).unwrap();
            for (items, fpp) in [(1u32, 0.01), (1, 1e-3), (9, 1e-3), (40, 0.01), (300, 2e-3), (1_500, 5e-3)] {
                let sized = builder(scheme, effort, choices).items(items.into()).fpp(fpp);
                let Ok(shape) = sized.shape() else {
                    assert!(effort == Effort::Partitioned, "{scheme:?} {effort:?} is refused");
                    continue;
                };
                let (trials, queries) = if items < 100 { (40, 5_000) } else { (3u64, 60_000) };
                let rate = |trial: u64| {
                    let builder = builder(scheme, effort, choices).bits(shape.cells).hashes(shape.hashes);
                    let filter = builder.build_from_digests(digests(50 + trial, items)).unwrap();
                    let mut found = vec![false; queries];
                    filter.contains_digests(&digests(900 + trial, queries as u32), &mut found);
                    found.iter().filter(|found| **found).count() as f64 / queries as f64
                };
                let rates: Vec<f64> = (0..trials).map(rate).collect();
                // Few keys leave more to chance than the queries do.
                let (mean, error) = mean_and_error(&rates);
                let error = error.max((fpp / (trials as f64 * queries as f64)).sqrt());
                let what = (scheme, effort, choices, items);
                assert!(
                    mean <= fpp + (5.0 * error).max(0.05 * fpp),
                    "{what:?}: {mean:e} ± {error:e} for {fpp:e}"
                );
            }
        }
    }
}

#[test]
fn a_hundred_thousand_keys_are_no_exception() {
    for (scheme, effort, choices) in [
        (SchemeId::Double, Effort::Online, 8),
        (SchemeId::EnhancedCube, Effort::Rounds, 2),
        (SchemeId::Fractional, Effort::Partitioned, 1),
    ] {
        let builder = builder(scheme, effort, choices).bits(800_000).items(100_000);
        let planned = builder.planned_fpp().unwrap();
        let filter = builder.build_from_digests(digests(6, 100_000)).unwrap();
        let mut asked = Asked::default();
        asked.ask(&filter, 10_000.0, 2_000_000);
        asked.agrees(&scheme);
        asked.keeps(planned, &scheme);
    }
}

/// A scheme as it was before sizes were made prime: it does not tell of its modulus.
#[derive(Clone, Debug, PartialEq)]
struct Loose(AnyScheme);

impl Scheme for Loose {
    type Walk = <AnyScheme as Scheme>::Walk;
    fn id(&self) -> Option<SchemeId> {
        self.0.id()
    }
    fn hashes(&self) -> u32 {
        self.0.hashes()
    }
    fn walk(&self, digest: Digest, cells: u64) -> Self::Walk {
        self.0.walk(digest, cells)
    }
    fn fit(&self, cells: u64) -> u64 {
        self.0.fit(cells)
    }
    fn partitioned(&self) -> bool {
        self.0.partitioned()
    }
}

impl NumberedScheme for Loose {
    fn restore(id: SchemeId, hashes: u32) -> Option<Self> {
        Some(Self(AnyScheme::new(id, hashes)))
    }
}

/// A filter of that many bits, whatever their factors, as earlier versions built it.
fn composite(
    scheme: SchemeId,
    effort: Effort,
    choices: u32,
    bits: u64,
    hashes: u32,
    items: u32,
) -> ChoiceBloom<AnyScheme> {
    let builder = ChoiceBloom::builder().effort(effort).bits(bits).hashes(hashes);
    let filter = builder
        .choices(choices)
        .scheme(move |k| Loose(AnyScheme::new(scheme, k)))
        .build_from_digests(digests(7, items));
    let bytes = filter.unwrap().to_bytes().unwrap();
    ChoiceBloom::from_bytes_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap()
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn filters_whose_size_has_small_factors_state_their_rate() {
    for (effort, choices, bits, hashes, items) in [
        (Effort::Propagated, 8, 48_000, 18, 3_000),
        (Effort::Rounds, 3, 160_000, 27, 5_000),
        (Effort::Online, 32, 55_440, 16, 3_000), // 2⁴·3²·5·7·11
        (Effort::Rounds, 8, 45_045, 17, 3_000),  // 3²·5·7·11·13
        (Effort::Rounds, 8, 1 << 15, 12, 3_000),
    ] {
        for scheme in sums() {
            let filter = composite(scheme, effort, choices, bits, hashes, items);
            assert_eq!(filter.bits(), AnyScheme::new(scheme, hashes).fit(bits), "the size is not changed");
            let mut asked = Asked::default();
            asked.ask(&filter, 1_500.0, 700_000);
            asked.agrees(&(scheme, effort, bits));
        }
    }
}

#[test]
fn unions_state_their_rate() {
    let scheme = SchemeId::EnhancedCube;
    let mut both = composite(scheme, Effort::Rounds, 8, 32_000, 12, 2_000);
    let builder = ChoiceBloom::builder().effort(Effort::Rounds).bits(32_000).hashes(12).choices(8);
    let builder = builder.scheme(move |k| Loose(AnyScheme::new(scheme, k)));
    let bytes = builder.build_from_digests(digests(8, 1_000)).unwrap().to_bytes().unwrap();
    both.union_with(&ChoiceBloom::from_bytes_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap()).unwrap();
    let mut asked = Asked::default();
    asked.ask(&both, 5_000.0, 1_000_000);
    asked.agrees(&both);
}

#[test]
fn files_of_earlier_versions_answer_as_before_and_state_their_rate() {
    // Written before sizes were made prime: scheme 6 with 8 groups by propagation (16,000 cells; it stated 3.4e-5, and queries
    // found 3.1 %), scheme 2 likewise (slices of 1,778 cells), and scheme 4 partitioned by keys.
    for (bytes, bits, answers) in [
        (&include_bytes!("../data/earlier/choice-composite-cube.gdn")[..], 16_000, 0x1064_8cc2_f4fe_a824),
        (include_bytes!("../data/earlier/choice-composite-partition.gdn"), 16_002, 0xf4f2_6763_6fa4_8c0e),
        (include_bytes!("../data/earlier/choice-composite-double.gdn"), 16_000, 0x9196_df20_33ad_07c6),
    ] {
        let filter = ChoiceBloom::from_bytes_as::<AnyScheme>(bytes, &ReadOptions::new()).unwrap();
        assert_eq!((filter.bits(), &filter.to_bytes().unwrap()[..]), (bits, bytes));
        assert!((0..1_000u32).all(|key| filter.contains(key)));
        let probes: Vec<u32> = (1_000_000..1_200_000).collect();
        let mix = |hash: u64, found: bool| (hash ^ u64::from(found)).wrapping_mul(0x100_0000_01b3);
        let hash = filter.contains_many(&probes).into_iter().fold(0xcbf2_9ce4_8422_2325, mix);
        assert_eq!(hash, answers, "{:?}: {hash:#x}", filter.scheme());
        let mut asked = Asked::default();
        asked.ask(&filter, 20_000.0, 4_000_000);
        asked.agrees(filter.scheme());
    }
}

#[test]
fn sizes_become_prime_where_keys_choose() {
    let cells = |scheme, effort, choices: u32| {
        builder(scheme, effort, choices).bits(160_000).hashes(18).build().unwrap().bits()
    };
    for effort in [Effort::Online, Effort::Rounds, Effort::Propagated] {
        for scheme in [SchemeId::Double, SchemeId::EnhancedSquare, SchemeId::EnhancedCube, SchemeId::Triple] {
            assert_eq!(cells(scheme, effort, 2), 160_001);
            assert_eq!(cells(scheme, effort, 1), 160_000, "one group is a plain filter");
        }
        assert_eq!(cells(SchemeId::DoubleOdd, effort, 2), 32 * 5_003, "odd steps share no factor with 32");
        assert_eq!(cells(SchemeId::Partition, effort, 2), 18 * 8_893);
        assert_eq!(cells(SchemeId::PartitionIndependent, effort, 2), 18 * 8_889);
        assert_eq!(cells(SchemeId::Fractional, effort, 2), 160_000);
    }
}

#[test]
fn partitioned_filters_refuse_sums_and_say_what_to_use() {
    for scheme in sums() {
        let builder = builder(scheme, Effort::Partitioned, 1).bits(16_000).items(1_000);
        for error in
            [builder.shape().unwrap_err(), builder.planned_fpp().unwrap_err(), builder.build().unwrap_err()]
        {
            assert!(error.to_string().contains("use the scheme fractional or independent"), "{error}");
        }
    }
}
