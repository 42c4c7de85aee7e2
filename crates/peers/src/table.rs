//! The measurements of one run.

use crate::keys::KeyKind;
use crate::measure::Sample;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// One section of the report: how many keys, of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Case {
    pub(crate) items: usize,
    pub(crate) keys: KeyKind,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:e} {}", self.items, self.keys))
    }
}

/// What is timed, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Build,
    BatchBuild,
    Hit,
    Miss,
    BatchHit,
    BatchMiss,
    Mix,
}

impl Op {
    pub(crate) const ALL: [Self; 7] =
        [Self::Build, Self::BatchBuild, Self::Hit, Self::Miss, Self::BatchHit, Self::BatchMiss, Self::Mix];

    /// The heading of its column.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Build => "insert",
            Self::BatchBuild => "b.insert",
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::BatchHit => "b.hit",
            Self::BatchMiss => "b.miss",
            Self::Mix => "mix",
        }
    }

    /// What a contender without batches does instead.
    pub(crate) const fn one_by_one(self) -> Self {
        match self {
            Self::BatchBuild => Self::Build,
            Self::BatchHit => Self::Hit,
            Self::BatchMiss => Self::Miss,
            other => other,
        }
    }
}

/// All repeats of one contender with one number of threads in one case.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    #[serde(flatten)]
    pub(crate) case: Case,
    /// Nanoseconds per key, a value per repeat.
    pub(crate) times: BTreeMap<Op, Vec<f64>>,
    /// Seconds of processor time in all operations and repeats, and of wall time.
    pub(crate) worked: f64,
    pub(crate) passed: f64,
    /// All memory of the filter; none for what is not a filter.
    pub(crate) bytes: Option<usize>,
    pub(crate) absent_asked: usize,
    pub(crate) absent_found: usize,
    pub(crate) lost: usize,
    pub(crate) disagreed: usize,
}

impl Row {
    /// The shortest time: what disturbs a measurement only ever makes it longer.
    pub(crate) fn best(&self, op: Op) -> Option<f64> {
        self.times.get(&op)?.iter().copied().min_by(f64::total_cmp)
    }

    /// The middle time: far above the best one, the machine was busy.
    pub(crate) fn median(&self, op: Op) -> Option<f64> {
        let mut times = self.times.get(&op)?.clone();
        times.sort_by(f64::total_cmp);
        let (low, high) = (times.get((times.len() - 1) / 2)?, times.get(times.len() / 2)?);
        Some((low + high) / 2.0)
    }

    pub(crate) fn bits_per_key(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes as f64 * 8.0 / self.case.items as f64)
    }

    /// Measured false-positive rate and its standard error.
    pub(crate) fn fpr(&self) -> Option<(f64, f64)> {
        let (asked, found) = (self.absent_asked as f64, self.absent_found as f64);
        let rate = found / asked;
        // With no false positive at all the usual formula would claim certainty.
        let error = (rate.max(1.0 / asked) * (1.0 - rate) / asked).sqrt();
        (self.absent_asked > 0).then_some((rate, error))
    }
}

/// The rows of one run, in the order in which they were first measured.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Table(pub(crate) Vec<Row>);

impl Table {
    pub(crate) fn rows(&self, case: Case) -> impl Iterator<Item = &Row> {
        self.0.iter().filter(move |row| row.case == case)
    }

    pub(crate) fn row(&self, name: &str, threads: usize, case: Case) -> Option<&Row> {
        self.rows(case).find(|row| (row.name, row.threads) == (name, threads))
    }

    /// Best time of a contender on one thread.
    pub(crate) fn best(&self, name: &str, op: Op, case: Case) -> Option<f64> {
        self.row(name, 1, case)?.best(op)
    }

    /// The share of time in which the threads of these rows had a core each, if there are such
    /// rows.
    pub(crate) fn share_of_cores(&self, case: Case, rows: impl Fn(&Row) -> bool) -> Option<f64> {
        let sum = |time: fn(&Row) -> f64| self.rows(case).filter(|row| rows(row)).map(time).sum::<f64>();
        let passed = sum(|row| row.passed);
        (passed > 0.0).then(|| sum(|row| row.worked) / passed)
    }

    /// Adds what one repeat told to the row of this contender.
    pub(crate) fn add(&mut self, name: &'static str, threads: usize, case: Case, sample: Sample) {
        let same = |row: &Row| (row.name, row.threads, row.case) == (name, threads, case);
        let at = self.0.iter().position(same).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push(Row {
                name,
                threads,
                case,
                times: BTreeMap::new(),
                worked: 0.0,
                passed: 0.0,
                bytes: sample.bytes,
                absent_asked: 0,
                absent_found: 0,
                lost: 0,
                disagreed: 0,
            });
        }
        let row = &mut self.0[at];
        for (op, time) in sample.times {
            row.times.entry(op).or_default().push(time);
        }
        row.worked += sample.worked;
        row.passed += sample.passed;
        row.absent_asked += sample.absent_asked;
        row.absent_found += sample.absent_found;
        row.lost += sample.lost;
        row.disagreed += sample.disagreed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_median_come_from_all_repeats() {
        let case = Case { items: 1_000_000, keys: KeyKind::U64 };
        let mut table = Table::default();
        for time in [3.0, 1.0, 2.0, 9.0] {
            let sample = Sample {
                times: vec![(Op::Hit, time)],
                absent_asked: 50,
                absent_found: 1,
                ..Sample::default()
            };
            table.add("some filter", 1, case, sample);
        }
        let row = table.row("some filter", 1, case).unwrap();
        assert_eq!(
            (row.best(Op::Hit), row.median(Op::Hit), row.best(Op::Miss)),
            (Some(1.0), Some(2.5), None)
        );
        let (rate, error) = row.fpr().unwrap();
        assert_eq!(rate, 0.02);
        assert!((error - (0.02f64 * 0.98 / 200.0).sqrt()).abs() < 1e-12);
    }
}
