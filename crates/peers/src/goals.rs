//! The goals of the project, as ratios within one run.
//!
//! A goal is a line in [`GOALS`]: what is compared, where, and how much of it is wanted. A ratio is
//! a time of the other over a time of ours, so that more is better, unless the text says otherwise.

use crate::contenders::gardenia::{blocked_bits_per_key, bloom_overhead, split_block_bits_per_key};
use crate::contenders::name::{
    ATOMIC, BLOCKED, BLOCKED_ATOMIC, BLOOM, FASTBLOOM, FOLDHASH, HASH, LINES, PARQUET, PARQUET_CRATE, SBBF,
    SPLIT_BLOCK,
};
use crate::keys::KeyKind::{self, Str40, U64};
use crate::table::Op::{self, BatchBuild, BatchHit, BatchMiss, Build, Hit, Miss};
use crate::table::{Case, Table};
use serde::Serialize;

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    AtLeast(f64),
    AtMost(f64),
    /// Nothing: the value is shown because it helps to read the others.
    Shown,
}

/// One goal.
struct Goal {
    issue: u8,
    what: &'static str,
    need: Need,
    /// Where it holds; no sizes means all that were measured.
    sizes: &'static [usize],
    keys: &'static [KeyKind],
    value: fn(&Measured<'_>) -> Option<f64>,
}

/// A goal in one case of this run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) issue: u8,
    pub(crate) what: &'static str,
    pub(crate) need: Need,
    pub(crate) case: Case,
    /// None when this run did not measure what the goal compares.
    pub(crate) value: Option<f64>,
    /// None when there is nothing to meet or no value.
    pub(crate) met: Option<bool>,
}

/// The measurements of one case, with the ratios that goals are computed from.
struct Measured<'a> {
    table: &'a Table,
    case: Case,
    fpp: f64,
}

impl Measured<'_> {
    fn best(&self, name: &str, op: Op) -> Option<f64> {
        self.table.best(name, op, self.case)
    }

    /// How many times faster `ours` does `op` than `theirs`, which does it one by one if it has no
    /// batches.
    fn faster(&self, ours: &str, op: Op, theirs: &str) -> Option<f64> {
        let theirs = self.best(theirs, op).or_else(|| self.best(theirs, op.one_by_one()));
        Some(theirs? / self.best(ours, op)?)
    }

    /// As [`faster`](Self::faster), against the faster of the rows of `sbbf-rs-safe`.
    fn faster_than_sbbf(&self, op: Op) -> Option<f64> {
        let rows = SBBF.iter().filter_map(|theirs| self.faster(BLOCKED, op, theirs));
        rows.min_by(f64::total_cmp)
    }

    /// Time of a batch over the sum of hashing its keys and of one random line each.
    fn over_hash_and_line(&self, op: Op) -> Option<f64> {
        Some(self.best(BLOCKED, op)? / (self.best(HASH, op)? + self.best(LINES, op)?))
    }

    /// How many times faster two threads are than one; unknown when they seldom ran at the same
    /// time, because then they could not get in each other's way.
    fn scaling(&self, name: &str, op: Op) -> Option<f64> {
        let two = self.table.row(name, 2, self.case).filter(|row| row.worked >= 0.8 * row.passed)?;
        Some(self.best(name, op)? / two.best(op)?)
    }
}

const E6: usize = 1_000_000;
const E7: usize = 10_000_000;
const E8: usize = 100_000_000;
const BOTH: &[KeyKind] = &[U64, Str40];

const fn goal(
    issue: u8,
    what: &'static str,
    need: Need,
    sizes: &'static [usize],
    keys: &'static [KeyKind],
    value: fn(&Measured<'_>) -> Option<f64>,
) -> Goal {
    Goal { issue, what, need, sizes, keys, value }
}

use Need::{AtLeast, AtMost, Shown};

/// Issue 2: the classical filter. Issue 3: the blocked one, evaluated once it has rows. Issue 25:
/// Parquet's layout. Issue 31: single calls.
#[rustfmt::skip] // a table is read by its columns
const GOALS: &[Goal] = &[
    goal(2, "bloom insert, times fastbloom's speed",      AtLeast(1.0), &[E6, E7], BOTH, |m| m.faster(BLOOM, Build, FASTBLOOM)),
    goal(2, "bloom hit, times fastbloom's speed",         AtLeast(1.0), &[E6, E7], BOTH, |m| m.faster(BLOOM, Hit, FASTBLOOM)),
    goal(2, "bloom miss, times fastbloom's speed",        AtLeast(1.0), &[E6, E7], BOTH, |m| m.faster(BLOOM, Miss, FASTBLOOM)),
    goal(2, "bloom batch hit, times fastbloom's hits",    AtLeast(2.0), &[E7], BOTH, |m| m.faster(BLOOM, BatchHit, FASTBLOOM)),
    goal(2, "bloom batch miss, times fastbloom's misses", AtLeast(2.0), &[E7], BOTH, |m| m.faster(BLOOM, BatchMiss, FASTBLOOM)),
    goal(2, "bloom memory beyond its m bits, bytes",      AtMost(4096.0), &[], &[U64], |m| Some(bloom_overhead(m.case.items, m.fpp))),
    goal(2, "bloom insert, times fastbloom foldhash",     Shown, &[E6, E7], BOTH, |m| m.faster(BLOOM, Build, FOLDHASH)),
    goal(2, "bloom hit, times fastbloom foldhash",        Shown, &[E6, E7], BOTH, |m| m.faster(BLOOM, Hit, FOLDHASH)),
    goal(2, "bloom miss, times fastbloom foldhash",       Shown, &[E6, E7], BOTH, |m| m.faster(BLOOM, Miss, FOLDHASH)),
    goal(2, "bloom batch hit, times fastbloom foldhash",  Shown, &[E7], BOTH, |m| m.faster(BLOOM, BatchHit, FOLDHASH)),
    goal(2, "bloom batch miss, times fastbloom foldhash", Shown, &[E7], BOTH, |m| m.faster(BLOOM, BatchMiss, FOLDHASH)),
    goal(2, "atomic insert over bloom insert, time",      Shown, &[E6, E7], &[U64], |m| m.faster(BLOOM, Build, ATOMIC)),

    goal(3, "blocked batch hit, share of the limit",      AtLeast(0.75), &[E7], &[U64], |m| m.faster(BLOCKED, BatchHit, LINES)),
    goal(3, "blocked batch miss, share of the limit",     AtLeast(0.75), &[E7], &[U64], |m| m.faster(BLOCKED, BatchMiss, LINES)),
    goal(3, "blocked batch hit, share of the limit",      AtLeast(0.9), &[E8], &[U64], |m| m.faster(BLOCKED, BatchHit, LINES)),
    goal(3, "blocked batch miss, share of the limit",     AtLeast(0.9), &[E8], &[U64], |m| m.faster(BLOCKED, BatchMiss, LINES)),
    goal(3, "blocked batch insert, share of the limit",   AtLeast(0.6), &[E7, E8], &[U64], |m| m.faster(BLOCKED, BatchBuild, LINES)),
    goal(3, "blocked insert, times fastbloom foldhash",   AtLeast(4.0), &[E7], &[U64], |m| m.faster(BLOCKED, Build, FOLDHASH)),
    goal(3, "blocked hit, times fastbloom foldhash",      AtLeast(4.0), &[E7], &[U64], |m| m.faster(BLOCKED, Hit, FOLDHASH)),
    goal(3, "blocked miss, times fastbloom foldhash",     AtLeast(4.0), &[E7], &[U64], |m| m.faster(BLOCKED, Miss, FOLDHASH)),
    goal(3, "blocked insert, times sbbf-rs-safe",         AtLeast(1.0), &[E7], &[U64], |m| m.faster_than_sbbf(Build)),
    goal(3, "blocked hit, times sbbf-rs-safe",            AtLeast(1.0), &[E7], &[U64], |m| m.faster_than_sbbf(Hit)),
    goal(3, "blocked miss, times sbbf-rs-safe",           AtLeast(1.0), &[E7], &[U64], |m| m.faster_than_sbbf(Miss)),
    goal(3, "blocked batch hit over hash + limit, time",  AtMost(1.3), &[E7], &[Str40], |m| m.over_hash_and_line(BatchHit)),
    goal(3, "blocked batch miss over hash + limit, time", AtMost(1.3), &[E7], &[Str40], |m| m.over_hash_and_line(BatchMiss)),
    goal(3, "blocked batch hit, two threads over one",    AtLeast(1.8), &[E7], &[U64], |m| m.scaling(BLOCKED, BatchHit)),
    goal(3, "blocked batch miss, two threads over one",   AtLeast(1.8), &[E7], &[U64], |m| m.scaling(BLOCKED, BatchMiss)),
    goal(3, "the limit itself, two threads over one",     Shown, &[E7], &[U64], |m| m.scaling(LINES, BatchHit)),
    goal(3, "blocked bits per key at 1 %",                AtMost(10.1), &[], &[U64], |m| blocked_bits_per_key(m.case.items, 0.01)),
    goal(3, "blocked bits per key at 0.1 %",              AtMost(15.6), &[], &[U64], |m| blocked_bits_per_key(m.case.items, 0.001)),
    goal(3, "blocked atomic insert over plain, time",     AtMost(1.5), &[E7], &[U64], |m| m.faster(BLOCKED, Build, BLOCKED_ATOMIC)),

    goal(25, "parquet batch hit over blocked, time",      AtMost(1.2), &[E6, E7], &[U64], |m| m.faster(BLOCKED, BatchHit, PARQUET)),
    goal(25, "parquet batch miss over blocked, time",     AtMost(1.2), &[E6, E7], &[U64], |m| m.faster(BLOCKED, BatchMiss, PARQUET)),
    goal(25, "parquet batch hit, times Sbbf::check",      AtLeast(3.0), &[E6, E7], &[U64], |m| m.faster(PARQUET, BatchHit, PARQUET_CRATE)),
    goal(25, "parquet batch miss, times Sbbf::check",     AtLeast(3.0), &[E6, E7], &[U64], |m| m.faster(PARQUET, BatchMiss, PARQUET_CRATE)),

    goal(31, "sbbf insert, times sbbf-rs-safe xxh3",      AtLeast(1.0), &[E6, E7], &[U64], |m| m.faster(SPLIT_BLOCK, Build, SBBF[0])),
    goal(31, "sbbf hit, times sbbf-rs-safe xxh3",         AtLeast(1.0), &[E6, E7], &[U64], |m| m.faster(SPLIT_BLOCK, Hit, SBBF[0])),
    goal(31, "sbbf miss, times sbbf-rs-safe xxh3",        AtLeast(1.0), &[E6, E7], &[U64], |m| m.faster(SPLIT_BLOCK, Miss, SBBF[0])),
    goal(31, "sbbf bits per key at 1 %",                  AtMost(10.6), &[], &[U64], |m| split_block_bits_per_key(m.case.items, 0.01)),
    goal(31, "blocked insert, times sbbf-rs-safe xxh3",   AtLeast(1.0 / 1.15), &[E6, E7], &[U64], |m| m.faster(BLOCKED, Build, SBBF[0])),
    goal(31, "blocked hit, times sbbf-rs-safe xxh3",      AtLeast(1.0 / 1.15), &[E6, E7], &[U64], |m| m.faster(BLOCKED, Hit, SBBF[0])),
    goal(31, "blocked miss, times sbbf-rs-safe xxh3",     AtLeast(1.0 / 1.15), &[E6, E7], &[U64], |m| m.faster(BLOCKED, Miss, SBBF[0])),
];

/// All goals in all their cases; those of the blocked and the split-block filter only when they are
/// there.
pub(crate) fn evaluate(table: &Table, fpp: f64) -> Vec<Verdict> {
    let has = |name| table.0.iter().any(|row| row.name == name);
    let shown = |goal: &&Goal| match goal.issue {
        3 => has(BLOCKED),
        25 => has(PARQUET),
        31 => has(SPLIT_BLOCK),
        _ => true,
    };
    let mut sizes: Vec<usize> = table.0.iter().map(|row| row.case.items).collect();
    sizes.dedup();
    let mut verdicts = Vec::new();
    for goal in GOALS.iter().filter(shown) {
        for &items in if goal.sizes.is_empty() { &sizes } else { goal.sizes } {
            for &keys in goal.keys {
                let case = Case { items, keys };
                let value = (goal.value)(&Measured { table, case, fpp });
                let met = value.and_then(|value| match goal.need {
                    AtLeast(need) => Some(value >= need),
                    AtMost(need) => Some(value <= need),
                    Shown => None,
                });
                verdicts.push(Verdict {
                    issue: goal.issue,
                    what: goal.what,
                    need: goal.need,
                    case,
                    value,
                    met,
                });
            }
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sample;

    fn table(rows: &[(&'static str, Op, f64)], items: usize) -> Table {
        let mut table = Table::default();
        for &(name, op, time) in rows {
            let sample = Sample { times: vec![(op, time)], ..Sample::default() };
            table.add(name, 1, Case { items, keys: U64 }, sample);
        }
        table
    }

    fn find(table: &Table, what: &str, items: usize) -> Option<Verdict> {
        let case = Case { items, keys: U64 };
        evaluate(table, 0.01).into_iter().find(|v| v.what == what && v.case == case)
    }

    #[test]
    fn a_ratio_is_their_time_over_ours_and_batches_meet_single_calls() {
        let table = table(&[(BLOOM, Hit, 20.0), (BLOOM, BatchHit, 10.0), (FASTBLOOM, Hit, 19.0)], E7);
        let single = find(&table, "bloom hit, times fastbloom's speed", E7).unwrap();
        assert_eq!((single.value, single.met), (Some(0.95), Some(false)));
        let batch = find(&table, "bloom batch hit, times fastbloom's hits", E7).unwrap();
        assert_eq!((batch.value, batch.met), (Some(1.9), Some(false)));
        let not_measured = find(&table, "bloom hit, times fastbloom's speed", E6).unwrap();
        assert_eq!((not_measured.value, not_measured.met), (None, None));
    }

    #[test]
    fn goals_of_the_blocked_filter_wait_for_it() {
        let without = table(&[(BLOOM, Hit, 20.0), (LINES, BatchHit, 2.0)], E7);
        assert!(evaluate(&without, 0.01).iter().all(|verdict| verdict.issue == 2));
        let with = table(&[(BLOCKED, BatchHit, 2.5), (LINES, BatchHit, 2.0)], E7);
        let share = find(&with, "blocked batch hit, share of the limit", E7).unwrap();
        assert_eq!((share.value, share.met), (Some(0.8), Some(true)));
    }

    #[test]
    fn the_faster_row_of_sbbf_counts() {
        let rows = [(BLOCKED, Hit, 6.0), (SBBF[0], Hit, 9.0), (SBBF[1], Hit, 3.0)];
        let verdict = find(&table(&rows, E7), "blocked hit, times sbbf-rs-safe", E7).unwrap();
        assert_eq!((verdict.value, verdict.met), (Some(0.5), Some(false)));
    }
}
