//! What does each scheme cost, compiled for itself and learnt at run time?
//! `cargo run --release -p gardenia --example schemes [KEYS…]`
//!
//! For each scheme two filters at 1 %: one whose type names the scheme, and one that holds it as
//! [`AnyScheme`], as every filter opened from a file does. For 100,000 keys (in cache) and 30
//! million (36 MB), or the numbers given: nanoseconds per key of the first and how many times as
//! long the second takes, one key at a time and in batches. The two take turns, best of 400 rounds.

use gardenia::index::{
    AnyScheme, Dcso, Double, DoubleOdd, Enhanced, EnhancedCube, EnhancedSquare, Fractional, Independent,
    NumberedScheme, Partition, PartitionIndependent, PartitionPrime, Scheme, SchemeId, Triple,
};
use gardenia::{Bloom, Digest, SizeError};
use std::hint::black_box;
use std::time::Instant;

/// Keys of a round: so few that most rounds are not interrupted.
const ROUND: usize = 5_000;
/// Rounds of each verb, with the next keys each time, so that those of a large table are not in
/// cache yet.
const ROUNDS: usize = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = std::env::args().skip(1).map(|keys| keys.parse()).collect::<Result<Vec<u32>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![100_000, 30_000_000];
    }
    for size in sizes {
        let keys: Vec<u64> = (1..=size).map(|i| Digest(1).word(i)).collect();
        println!("\n{size} keys: ns per key, and times as long through AnyScheme");
        print!("{:<22}", "");
        ["insert", "hit", "miss"].iter().for_each(|verb| print!("{verb:^14}"));
        ["inserts", "hits", "misses"].iter().for_each(|verb| print!("{verb:^14}"));
        println!("\n{}", "-".repeat(22 + 6 * 14));
        row::<Fractional>(SchemeId::Fractional, &keys)?;
        row::<Independent>(SchemeId::Independent, &keys)?;
        row::<Partition>(SchemeId::Partition, &keys)?;
        row::<PartitionPrime>(SchemeId::PartitionPrime, &keys)?;
        row::<PartitionIndependent>(SchemeId::PartitionIndependent, &keys)?;
        row::<Double>(SchemeId::Double, &keys)?;
        row::<DoubleOdd>(SchemeId::DoubleOdd, &keys)?;
        row::<EnhancedSquare>(SchemeId::EnhancedSquare, &keys)?;
        row::<EnhancedCube>(SchemeId::EnhancedCube, &keys)?;
        row::<Enhanced>(SchemeId::Enhanced, &keys)?;
        row::<Triple>(SchemeId::Triple, &keys)?;
        row::<Dcso>(SchemeId::Dcso, &keys)?;
    }
    Ok(())
}

/// Prints the line of one scheme.
fn row<S: NumberedScheme>(id: SchemeId, keys: &[u64]) -> Result<(), SizeError> {
    let mut own = filter::<S>(id, keys)?;
    let mut any = filter::<AnyScheme>(id, keys)?;
    let some = &keys[..keys.len().min(ROUNDS * ROUND)];
    let absent: Vec<u64> = (1..=some.len() as u32).map(|i| Digest(2).word(i)).collect();
    print!("{:<22}", id.name());
    // Keys are inserted again: that takes as long, because no branch depends on the bits.
    print_cost(some, &mut own, &mut any, insert, insert);
    print_cost(some, &mut own, &mut any, ask, ask);
    print_cost(&absent, &mut own, &mut any, ask, ask);
    print_cost(some, &mut own, &mut any, insert_many, insert_many);
    print_cost(some, &mut own, &mut any, ask_many, ask_many);
    print_cost(&absent, &mut own, &mut any, ask_many, ask_many);
    println!();
    Ok(())
}

/// A filter with `keys` in it.
fn filter<S: NumberedScheme>(id: SchemeId, keys: &[u64]) -> Result<Bloom<S>, SizeError> {
    let scheme = move |hashes| S::restore(id, hashes).expect("the number is that of the type");
    let mut filter = Bloom::builder().items(keys.len() as u64).fpp(0.01).scheme(scheme).build()?;
    filter.insert_many(keys);
    Ok(filter)
}

fn insert<S: Scheme>(filter: &mut Bloom<S>, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(black_box(filter.insert(key)))).sum()
}

fn ask<S: Scheme>(filter: &mut Bloom<S>, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(black_box(filter.contains(key)))).sum()
}

fn insert_many<S: Scheme>(filter: &mut Bloom<S>, keys: &[u64]) -> u64 {
    filter.insert_many(keys)
}

fn ask_many<S: Scheme>(filter: &mut Bloom<S>, keys: &[u64]) -> u64 {
    filter.contains_many(keys).iter().map(|found| u64::from(*found)).sum()
}

/// Times both verbs in turns and prints the best of the first and the ratio of the bests.
fn print_cost<A, B>(
    keys: &[u64],
    own: &mut A,
    any: &mut B,
    with_own: impl Fn(&mut A, &[u64]) -> u64,
    with_any: impl Fn(&mut B, &[u64]) -> u64,
) {
    let mut best = [f64::INFINITY; 2];
    for keys in keys.chunks_exact(ROUND).cycle().take(ROUNDS) {
        let start = Instant::now();
        black_box(with_own(own, keys));
        let between = Instant::now();
        black_box(with_any(any, keys));
        best[0] = best[0].min((between - start).as_secs_f64());
        best[1] = best[1].min(between.elapsed().as_secs_f64());
    }
    print!("{:>7.1}{:>6.2} ", best[0] * 1e9 / ROUND as f64, best[1] / best[0]);
}
