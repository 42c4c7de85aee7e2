//! What the planner recommends builds, fits, holds its keys, and errs no more often than it said.

use gardenia::Ability;
use gardenia::plan::{Calibration, Design, ErrorMeans, Impossible, Need, Prefer, Reason};
use gardenia::spec::Param;
use gardenia::{AnyFilter, Digest, Filter, Kind};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Random needs that are planned, built and measured.
const NEEDS: u32 = 260;

/// Absent keys that each filter is asked for.
const QUERIES: u32 = 30_000;

fn keys(seed: u64, count: u64) -> Vec<Digest> {
    (0..count as u32).map(|i| Digest(Digest(seed).word(i))).collect()
}

/// Numbers that are as likely to be small as large.
fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

/// What can be asked for together, now and then more than that.
fn abilities() -> impl Strategy<Value = Vec<Ability>> {
    use Ability::{Count, Fixed, Forget, Grow, Map, Merge, Remove, Send, Share};
    let sets: Vec<Vec<Ability>> = vec![
        vec![],
        vec![],
        vec![Fixed],
        vec![Fixed],
        vec![Fixed, Send],
        vec![Send],
        vec![Remove],
        vec![Remove, Merge],
        vec![Count],
        vec![Count, Remove],
        vec![Count, Merge],
        vec![Forget],
        vec![Forget, Share],
        vec![Grow],
        vec![Grow, Remove],
        vec![Map],
        vec![Share],
        vec![Merge, Share],
        vec![Grow, Count],
        vec![Remove, Fixed],
        vec![Forget, Count],
    ];
    proptest::sample::select(sets)
}

/// A need, and the seed of its keys.
fn needs() -> impl Strategy<Value = (Need, u64, u64)> {
    let items = log_uniform(20.0, 20_000.0).prop_map(|items| items as u64);
    let error = proptest::option::weighted(0.7, log_uniform(3e-4, 0.2));
    let memory = proptest::option::weighted(0.5, 6.0..60.0);
    let prefer = proptest::sample::select(vec![Prefer::Balance, Prefer::Speed, Prefer::Memory]);
    (items, error, memory, abilities(), prefer, 0.0..1.0, 1u64..200, any::<u64>()).prop_map(
        |(items, error, memory, abilities, prefer, present, counts, seed)| {
            let mut need = abilities.into_iter().fold(Need::of(items), Need::with);
            if need.abilities().contains(&Ability::Count) {
                need = need.count(counts);
            }
            if let Some(error) = error {
                need = need.fpp(error);
            }
            if let Some(bits) = memory {
                // Counters and windows take several times the bits of a plain filter.
                let more = match need.abilities() {
                    [] => 1.0,
                    abilities if abilities.contains(&Ability::Count) => 8.0,
                    abilities if abilities.contains(&Ability::Fixed) => 1.0,
                    _ => 4.0,
                };
                need = need.memory((bits * more * items as f64 / 8.0) as u64 + 64);
            }
            (need.prefer(prefer).present(present), items, seed)
        },
    )
}

/// How often `wrong` may be, if it happens with probability `rate` at most: five standard errors
/// above.
fn at_most(wrong: u64, trials: u64, rate: f64) -> bool {
    let expected = rate * trials as f64;
    wrong as f64 <= expected + 5.0 * (expected * (1.0 - rate)).sqrt().max(1.0)
}

fn found(filter: &AnyFilter, digests: &[Digest]) -> u64 {
    let mut answers = vec![false; digests.len()];
    filter.contains_digests(digests, &mut answers);
    answers.iter().filter(|answer| **answer).count() as u64
}

fn insert(filter: &mut AnyFilter, digests: &[Digest]) {
    filter.insert_digests(digests, &mut vec![false; digests.len()]).expect("what was planned for goes in");
}

/// Builds a design, and holds it to all that it says.
fn check(need: &Need, design: &Design, items: u64, seed: u64) -> Result<(), TestCaseError> {
    let wants = |ability| need.abilities().contains(&ability);
    let what = format!("{} for {need:?}: {design:?}", design.kind.name());
    let present = keys(seed, items);
    let absent = keys(!seed, u64::from(QUERIES));
    if let ErrorMeans::CountAbove(epsilon) = design.error {
        return counts_of_a_stream(design, epsilon, &present, &what);
    }
    let mut filter = match design.is_fixed() || seed.is_multiple_of(2) {
        true => design.build_from(&present).unwrap(),
        false => {
            let mut filter = design.build().unwrap();
            insert(&mut filter, &present);
            filter
        }
    };
    if wants(Ability::Forget) {
        // Far into a stream: the last keys are the ones that matter.
        for round in 1..=12 {
            insert(&mut filter, &keys(seed ^ (round << 32), items));
        }
        insert(&mut filter, &present);
        let lost = items - found(&filter, &present);
        // One kind is certain of its window, the other errs both ways alike.
        let allowed = if design.kind == Kind::Stable { need_fpp(design) } else { 0.0 };
        prop_assert!(at_most(lost, items, allowed) && (allowed > 0.0 || lost == 0), "{lost} lost: {what}");
    } else {
        prop_assert_eq!(found(&filter, &present), items, "a key was lost: {}", &what);
    }
    prop_assert!(filter.memory_bytes() as u64 <= design.bytes, "{} bytes: {what}", filter.memory_bytes());
    // Nor is it told to be much larger than it is; of the smallest the last words and layers show.
    prop_assert!(design.bytes as f64 <= 1.1 * filter.memory_bytes() as f64 + 700.0, "{what}");
    let wrong = found(&filter, &absent);
    prop_assert!(at_most(wrong, QUERIES.into(), design.bound), "{wrong} of {QUERIES} wrong: {what}");
    prop_assert!(design.fpp <= design.bound && design.bound <= 1.0, "{what}");
    prop_assert_eq!(filter.kind(), design.kind);
    if wants(Ability::Count) {
        let counts = filter.as_count().expect("a filter that counts was planned");
        prop_assert!(present.iter().all(|digest| counts.count_digest(*digest) >= 1), "{what}");
        let wrong = absent.iter().filter(|digest| counts.count_digest(**digest) > 0).count();
        prop_assert!(at_most(wrong as u64, QUERIES.into(), design.bound), "{wrong} counted: {what}");
    }
    if wants(Ability::Merge) {
        let united = unite(design, &present).expect("a filter that unites was planned");
        prop_assert_eq!(found(&united, &present), items, "{}", &what);
    }
    if wants(Ability::Share) {
        use AnyFilter::{A2, Blocked, Bloom, SplitBlock};
        let shared = matches!(filter, Bloom(_) | Blocked(_) | SplitBlock(_) | A2(_));
        prop_assert!(shared || design.is_fixed(), "{what}");
    }
    if wants(Ability::Send) {
        let bytes = filter.to_bytes().unwrap().len() as u64;
        // The container takes a header, and a checksum for each MiB.
        prop_assert!(bytes <= design.file_bytes + 256, "{bytes} bytes in a file: {what}");
    }
    if wants(Ability::Remove) {
        let (out, kept) = present.split_at(present.len() / 2);
        let refused = out.iter().filter(|digest| filter.remove_digest(**digest) != Some(Ok(()))).count();
        prop_assert_eq!(refused, 0, "{}", &what);
        prop_assert_eq!(found(&filter, kept), kept.len() as u64, "{}", &what);
        // Those that went are as absent as others, or nearly: no cell of theirs was stuck.
        prop_assert!(at_most(found(&filter, out), out.len() as u64, design.bound), "{what}");
    }
    Ok(())
}

/// The rate that a design was sized for.
fn need_fpp(design: &Design) -> f64 {
    design.fpp * 1.2
}

/// Two filters of half the keys each, merged.
fn unite(design: &Design, present: &[Digest]) -> Option<AnyFilter> {
    let (one, other) = present.split_at(present.len() / 2);
    let (mut one, other) = (design.build_from(one).unwrap(), design.build_from(other).unwrap());
    one.merge(&other)?.unwrap();
    Some(one)
}

/// A sketch is above the truth by more than it said as rarely as it said.
fn counts_of_a_stream(
    design: &Design,
    epsilon: f64,
    present: &[Digest],
    what: &str,
) -> Result<(), TestCaseError> {
    let mut filter = design.build().unwrap();
    let mut total = 0;
    for (rank, digest) in present.iter().enumerate() {
        let times = (present.len() / (rank + 1)).clamp(1, 50);
        insert(&mut filter, &vec![*digest; times]);
        total += times as u64;
    }
    let counts = filter.as_count().expect("a filter that counts was planned");
    let above = present.iter().enumerate().filter(|(rank, digest)| {
        let truth = (present.len() / (rank + 1)).clamp(1, 50) as f64;
        counts.count_digest(**digest) as f64 > truth + epsilon * total as f64
    });
    let above = above.count() as u64;
    prop_assert!(at_most(above, present.len() as u64, design.bound), "{above} too high: {what}");
    prop_assert!(filter.memory_bytes() as u64 <= design.bytes, "{what}");
    Ok(())
}

/// What is said to be impossible is, and the nearest design can be built.
fn check_impossible(need: &Need, impossible: &Impossible) -> Result<(), TestCaseError> {
    let nearest = impossible.nearest.as_deref();
    match &impossible.reason {
        Reason::Together(abilities) => {
            prop_assert!(abilities.len() >= 2, "{need:?}: {impossible:?}");
            prop_assert!(nearest.is_some() && !impossible.without.is_empty(), "{need:?}");
        }
        Reason::Memory { needed, allowed } => {
            prop_assert!(needed > allowed, "{need:?}");
            let nearest = nearest.expect("more memory is possible");
            prop_assert_eq!(nearest.bytes, *needed, "{:?}", need);
        }
        Reason::Useless { .. } => prop_assert!(nearest.is_some_and(|design| design.fpp < 0.5), "{need:?}"),
        reason => prop_assert!(false, "{need:?}: {reason:?}"),
    }
    Ok(())
}

#[test]
fn what_is_recommended_builds_and_fits_and_errs_no_more_than_it_said() {
    let config =
        Config { cases: NEEDS, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (mut planned, mut kinds) = (0, Vec::new());
    let (planned, kinds) = (std::cell::RefCell::new(&mut planned), std::cell::RefCell::new(&mut kinds));
    let outcome = runner.run(&needs(), |(need, items, seed)| {
        match need.plan() {
            Err(impossible) => check_impossible(&need, &impossible)?,
            Ok(plan) => {
                **planned.borrow_mut() += 1;
                // The first, and one of the others.
                let other = 1 + (seed >> 40) as usize % plan.designs().len().max(2);
                for design in plan.designs().iter().take(1).chain(plan.designs().get(other)) {
                    check(&need, design, items, seed)?;
                    kinds.borrow_mut().push(design.kind);
                }
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (planned, kinds) = (planned.into_inner(), kinds.into_inner());
    assert!(*planned >= 200, "only {planned} needs could be planned");
    for (kind, _) in Calibration::default().kinds() {
        assert!(kinds.contains(&kind), "no {} filter was built", kind.name());
    }
}

#[test]
fn every_design_keeps_the_rate_and_the_memory_that_were_asked_for() {
    for items in [1, 10, 1_000, 100_000_000] {
        for fpp in [0.3, 0.01, 1e-4] {
            for need in [
                Need::of(items),
                Need::of(items).fixed().send(),
                Need::of(items).remove(),
                Need::of(items).grow(),
                Need::of(items).values(5),
            ] {
                let plan = need.clone().fpp(fpp).plan().unwrap();
                for design in plan.designs() {
                    assert!(design.fpp <= fpp * (1.0 + 1e-9), "{design:?}");
                    assert!(
                        design.bound >= design.fpp && design.ns > 0.0 && design.lines > 0.0,
                        "{design:?}"
                    );
                    assert!(!design.why.is_empty() && design.bits_per_key > 0.0, "{design:?}");
                }
                // The most that the first design may take is enough for it, and a byte less is not.
                let best = plan.best();
                let again = need.clone().fpp(fpp).memory(best.bytes).plan().unwrap();
                assert!(again.designs().contains(best), "{best:?}");
                let tight = need.fpp(fpp).memory(best.bytes - 1).plan();
                assert!(tight.is_err() || !tight.unwrap().designs().contains(best), "{best:?}");
            }
        }
    }
}

#[test]
fn memory_alone_is_used_for_the_least_errors() {
    for bytes in [2_000u64, 100_000, 10_000_000] {
        let items = bytes * 8 / 10;
        let plan = Need::of(items).memory(bytes).prefer(Prefer::Memory).fixed().plan().unwrap();
        assert!(plan.designs().iter().all(|design| design.bytes <= bytes && design.fpp <= 0.5));
        assert!(plan.designs().is_sorted_by(|a, b| a.fpp <= b.fpp));
        // Ten bits per key: some 0.8 % as bits, 0.1 % as fingerprints.
        let of = |kind: Kind| plan.designs().iter().find(|d| d.kind == kind).map(|d| d.fpp);
        assert!((0.006..0.011).contains(&of(Kind::Bloom).unwrap()) || bytes < 10_000, "{bytes}");
        assert!(of(Kind::Ribbon).is_some_and(|fpp| fpp < 0.0013) || bytes < 10_000, "{bytes}");
    }
}

#[test]
fn a_set_that_never_changes_cannot_lose_keys() {
    let impossible = Need::of(1_000).fpp(0.01).remove().fixed().plan().unwrap_err();
    assert_eq!(impossible.reason, Reason::Together(vec![Ability::Remove, Ability::Fixed]));
    assert_eq!(impossible.without, "without fixed");
    let nearest = impossible.nearest.unwrap();
    assert_eq!(nearest.kind, Kind::Cuckoo);
    assert!(nearest.build().unwrap().can(gardenia::Ability::Remove));
}

#[test]
fn a_kilobyte_does_not_hold_a_billion_keys() {
    let need = Need::of(1_000_000_000).fpp(0.01).memory(1_000);
    let impossible = need.plan().unwrap_err();
    let Reason::Memory { needed, allowed: 1_000 } = impossible.reason else { panic!("{impossible:?}") };
    // No filter has less than log2(1/fpp) bits per key.
    assert!(needed as f64 * 8.0 >= 1e9 * 100f64.log2());
    assert_eq!(impossible.nearest.as_ref().unwrap().bytes, needed);
    assert!(impossible.to_string().contains("1000 are allowed"), "{impossible}");
    // Without a rate, every filter in it would be of no use.
    let impossible = Need::of(1_000_000_000).memory(1_000).plan().unwrap_err();
    assert_eq!(impossible.reason, Reason::Useless { allowed: 1_000, items: 1_000_000_000 });
    assert!(impossible.nearest.is_some_and(|design| design.fpp <= 0.01));
}

#[test]
fn needs_that_exclude_each_other_are_named() {
    let reason = |need: Need| need.fpp(0.01).plan().unwrap_err().reason;
    use Ability::{Count, Fixed, Forget, Grow, Map, Merge, Remove, Share};
    for (need, expected) in [
        (Need::of(10).window().remove(), vec![Remove, Forget]),
        (Need::of(10).window().count(3).send(), vec![Count, Forget]),
        (Need::of(10).grow().merge(), vec![Merge, Grow]),
        (Need::of(10).share().remove(), vec![Remove, Share]),
        (Need::of(10).values(3).grow(), vec![Grow, Map]),
        (Need::of(10).fixed().grow().send(), vec![Grow, Fixed]),
        (Need::unknown().merge(), vec![Merge, Grow]),
    ] {
        assert_eq!(reason(need), Reason::Together(expected));
    }
    assert_eq!(reason(Need::unknown().fixed()), Reason::Items(Fixed));
    assert_eq!(reason(Need::unknown().window()), Reason::Items(Forget));
}

#[test]
fn numbers_that_are_none_are_refused() {
    for need in [
        Need::of(0),
        Need::of(10).fpp(0.0),
        Need::of(10).fpp(1.0),
        Need::of(10).fpp(f64::NAN),
        Need::of(10).present(1.5),
        Need::of(10).present(f64::NAN),
        Need::of(10).confidence(1.0),
        Need::of(10).values(33),
        Need::of(10).count(1 << 40),
        Need::of(u64::MAX).fpp(0.01),
        Need::of(10).fpp(1e-30),
    ] {
        assert!(matches!(need.plan().unwrap_err().reason, Reason::Size(_)), "{need:?}");
    }
}

/// The rates of many filters of one design, by their fills: no more of them are above the bound
/// than were told.
#[test]
fn bounds_are_exceeded_as_rarely_as_they_say() {
    const FILTERS: u64 = 250;
    const ITEMS: u64 = 400;
    let need = || Need::of(ITEMS).fpp(0.02).confidence(0.9);
    let mut seen = Vec::new();
    for need in [
        need(),
        need().fixed().send(),
        need().remove(),
        need().count(3),
        need().window(),
        need().grow(),
        need().grow().remove(),
    ] {
        for design in need.plan().unwrap().designs() {
            // The rate of a blocked filter and of a sketch does not follow from the share of cells that are set: theory
            // has simulations of the one, and the other has rows as large as this.
            let otherwise = matches!(design.kind, Kind::Blocked | Kind::SplitBlock | Kind::CountMin);
            if seen.contains(&design.spec) || otherwise {
                continue;
            }
            seen.push(design.spec.clone());
            let rate = |seed: u64| {
                let mut filter = design.build_from(&keys(seed, ITEMS)).unwrap();
                if design.kind == Kind::Stable {
                    // As far as it takes to forget how it began.
                    (1..=15).for_each(|round| insert(&mut filter, &keys(seed ^ (round << 32), ITEMS)));
                }
                if design.kind == Kind::A2 {
                    insert(&mut filter, &keys(!seed, ITEMS - 1)); // both buffers full, or nearly
                }
                filter.fpp()
            };
            let above = (0..FILTERS).filter(|seed| rate(*seed) > design.bound * (1.0 + 1e-9)).count() as u64;
            assert!(at_most(above, FILTERS, 0.1), "{above} of {FILTERS}: {design:?}");
        }
    }
    assert!(seen.len() >= 13, "{seen:?}");
}

#[test]
fn of_an_unknown_number_the_figures_are_for_what_fits() {
    let plan = Need::unknown().fpp(0.01).memory(1 << 20).plan().unwrap();
    let design = plan.best();
    assert_eq!(design.kind, Kind::Infini);
    assert!(design.bytes <= 1 << 20 && design.items > 100_000, "{design:?}");
    let mut filter = design.build().unwrap();
    insert(&mut filter, &keys(5, design.items));
    assert!(filter.memory_bytes() <= 1 << 20);
    // The window of a stream follows from memory and rate.
    let plan = Need::unknown().window().fpp(0.01).memory(100_000).plan().unwrap();
    let a2 = plan.designs().iter().find(|design| design.kind == Kind::A2).unwrap();
    let window = a2.spec.whole(Param::Items).unwrap();
    assert!((30_000..40_000).contains(&window));
    // Counts of a stream are within a share of its length.
    let plan = Need::unknown().count(1).fpp(0.001).plan().unwrap();
    assert_eq!(plan.best().kind, Kind::CountMin);
    let ErrorMeans::CountAbove(epsilon) = plan.best().error else { panic!("{plan:?}") };
    assert!(epsilon <= 0.001 + 1e-12);
}

#[test]
fn the_tables_of_the_papers_come_out_of_the_planner() {
    // Kirsch and Mitzenmacher, section 8: p for c = 4, 8, 12, 16 bits per key; at 8 the best k is 6 and not 5.
    let items = 1 << 20;
    for (per_key, best, p) in [(4, 3, 0.146892), (8, 6, 0.0215771), (12, 8, 3.14235e-3), (16, 11, 4.58711e-4)]
    {
        let plan = Need::of(items).memory(items * per_key / 8).plan().unwrap();
        let bloom = plan.designs().iter().find(|design| design.kind == Kind::Bloom).unwrap();
        let shape = [Param::Bits, Param::Hashes].map(|param| bloom.spec.whole(param));
        assert_eq!(shape, [Some(items * per_key), Some(best as u64)]);
        assert!((bloom.fpp / p - 1.0).abs() < 1e-3, "{per_key}: {}", bloom.fpp);
    }
}
