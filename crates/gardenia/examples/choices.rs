//! What do choices gain, and what do they cost? `cargo run --release -p gardenia --example choices`
//!
//! Lumetta and Mitzenmacher's filters at all efforts, 10,000 keys in 8 and 16 bits each: false
//! positives by real queries, all bits counted. Then the cost of rounds at a million keys, the
//! speed of queries beside a plain filter that errs as much, and what double hashing does to groups
//! at 32 bits per key. All cores are used, except for what is built online. Takes some two minutes.

use gardenia::filter::{Effort, Propagation};
use gardenia::index::DoubleOdd;
use gardenia::theory::choices::{fpp_at_fill, fpp_information};
use gardenia::{Bloom, ChoiceBloom, Digest, Filter, SizeError};
use std::hint::black_box;
use std::time::Instant;

fn digests(stream: u64, count: u32) -> Vec<Digest> {
    (1..=count).map(|i| Digest(Digest(stream).word(i))).collect()
}

/// The share of absent keys that are found.
fn queried(filter: &impl Filter, queries: u32) -> f64 {
    let mut found = 0;
    let mut answers = vec![false; 100_000];
    for turn in 0..queries / 100_000 {
        filter.contains_digests(&digests(0xab5e_0000 + u64::from(turn), 100_000), &mut answers);
        found += answers.iter().filter(|found| **found).count();
    }
    found as f64 / f64::from(queries)
}

fn main() -> Result<(), SizeError> {
    efforts()?;
    rounds()?;
    queries()?;
    double_hashing()
}

/// All efforts at 8 and 16 bits per key.
fn efforts() -> Result<(), SizeError> {
    let all = [
        (Effort::Online, 2),
        (Effort::Online, 3),
        (Effort::Rounds, 2),
        (Effort::Rounds, 3),
        (Effort::Partitioned, 1),
        (Effort::Propagated, 2),
        (Effort::Propagated, 3),
        (Effort::Propagated, 8),
        (Effort::Propagated, 32),
    ];
    for (bits, items, queries) in [
        (8u64, 10_000, 3_000_000),
        (16, 10_000, 30_000_000),
        (8, 100_000, 3_000_000),
        (16, 100_000, 30_000_000),
    ] {
        println!(
            "{bits} bits per key, {items} keys; no filter can err less than {:.2e}",
            fpp_information(bits as f64)
        );
        println!("  effort       c   k   fill   false positives   told      build ns/key   bytes/key beside");
        let mut plain = Bloom::builder().bits(bits * u64::from(items)).items(items.into()).build()?;
        digests(1, items).into_iter().for_each(|digest| _ = plain.insert_digest(digest));
        let (k, rate) = (plain.hashes(), queried(&plain, queries));
        println!("  plain        1  {k:2}  {:.4}      {rate:.3e}    {:.3e}", plain.fill(), plain.fpp());
        for (effort, choices) in all {
            if items > 10_000 && effort == Effort::Propagated {
                continue;
            }
            let builder = ChoiceBloom::builder().bits(bits * u64::from(items)).effort(effort);
            let builder = if effort == Effort::Partitioned { builder } else { builder.choices(choices) };
            let keys = digests(1, items);
            let start = Instant::now();
            let offline = builder.clone().offline(keys.clone())?;
            let (hashes, mut beside) = (offline.filter().hashes(), offline.memory_bytes() as u64);
            let filter = match effort {
                Effort::Online => {
                    let mut filter = builder.items(items.into()).build()?;
                    beside = 0;
                    let mut new = vec![false; keys.len()];
                    let start = Instant::now();
                    filter.insert_digests(&keys, &mut new);
                    (filter, start.elapsed())
                }
                _ => (builder.build_from_digests(keys)?, start.elapsed()),
            };
            if effort == Effort::Propagated {
                beside += Propagation::memory_bytes(filter.0.bits(), items.into(), hashes, choices);
            }
            let (filter, time) = filter;
            println!(
                "  {:<11} {choices:2}  {hashes:2}  {:.4}      {:.3e}    {:.3e}   {:12.0}   {:10.1}",
                effort.name(),
                filter.fill(),
                queried(&filter, queries),
                filter.fpp(),
                time.as_secs_f64() * 1e9 / f64::from(items),
                beside as f64 / f64::from(items),
            );
        }
    }
    Ok(())
}

/// Offline rounds at a million keys.
fn rounds() -> Result<(), SizeError> {
    let items = 1_000_000;
    println!("rounds, {items} keys in 16 bits each, c = 2, k = 14");
    let builder =
        ChoiceBloom::builder().bits(16 * u64::from(items)).hashes(14).choices(2).effort(Effort::Rounds);
    let mut offline = builder.offline(digests(1, items))?;
    for rounds in [1, 4, 5, 5] {
        let start = Instant::now();
        let now = offline.improve(rounds);
        let cost = start.elapsed().as_secs_f64() * 1e9 / rounds as f64 / f64::from(items);
        println!("  {:2} rounds: fill {:.5}, {cost:.0} ns per key and round", now.rounds, now.fill);
    }
    let beside = offline.memory_bytes() as f64 / f64::from(items);
    println!("  {beside:.1} bytes per key beside filter and digests; rate {:.3e}", offline.finish().fpp());
    Ok(())
}

/// Queries per second, beside plain filters that err as much.
fn queries() -> Result<(), SizeError> {
    println!("queries, batches of absent and of present keys, million per second");
    for items in [10_000u32, 1_000_000] {
        let keys = digests(1, items);
        let probes = digests(2, 1_000_000);
        let speed = |filter: &dyn Filter, probes: &[Digest]| {
            let mut answers = vec![false; probes.len()];
            let round = |_| {
                let start = Instant::now();
                filter.contains_digests(black_box(probes), &mut answers);
                black_box(&answers);
                start.elapsed().as_secs_f64()
            };
            probes.len() as f64 / 1e6 / (0..7).map(round).fold(f64::MAX, f64::min)
        };
        for (effort, choices) in
            [(Effort::Rounds, 2), (Effort::Rounds, 3), (Effort::Partitioned, 1), (Effort::Propagated, 8)]
        {
            if items > 10_000 && effort == Effort::Propagated {
                continue;
            }
            let builder = ChoiceBloom::builder().bits(8 * u64::from(items)).effort(effort);
            let builder = if effort == Effort::Partitioned { builder } else { builder.choices(choices) };
            let filter = builder.build_from_digests(keys.clone())?;
            let mut plain = Bloom::builder().items(items.into()).fpp(filter.fpp()).build()?;
            plain.insert_digests(&keys, &mut vec![false; keys.len()]);
            println!(
                "  {items:7} keys, {:<11} c = {choices}: {:6.1} {:6.1}   plain at {:.2} bits per key: {:6.1} {:6.1}",
                effort.name(),
                speed(&filter, &probes),
                speed(&filter, &keys),
                plain.bits() as f64 / f64::from(items),
                speed(&plain, &probes),
                speed(&plain, &keys),
            );
        }
    }
    Ok(())
}

/// Groups of double-hashed positions at 32 bits per key: the fill is right, the rate is not.
fn double_hashing() -> Result<(), SizeError> {
    println!("32 bits per key, 10,000 keys: from the fill, and by 40 million real queries");
    for (effort, choices, hashes) in [(Effort::Online, 2, 24), (Effort::Rounds, 3, 27)] {
        let builder = || ChoiceBloom::builder().bits(320_000).hashes(hashes).choices(choices).effort(effort);
        let keys = digests(3, 10_000);
        let double = builder().scheme(DoubleOdd::new).build_from_digests(keys.clone())?;
        let default = builder().build_from_digests(keys)?;
        let named = format!("{}, c = {choices}, k = {hashes}", effort.name());
        for (scheme, fill, rate) in [
            ("double, odd step", double.fill(), queried(&double, 40_000_000)),
            ("default scheme", default.fill(), queried(&default, 40_000_000)),
        ] {
            println!(
                "  {named}: {scheme:<16} fill {fill:.4}: {:.2e} {rate:.2e}",
                fpp_at_fill(fill, hashes, choices)
            );
        }
    }
    Ok(())
}
