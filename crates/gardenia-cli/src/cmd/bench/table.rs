//! The figures of one run, for people and for programs.

use crate::human;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is timed, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    Insert,
    Hit,
    Miss,
    BatchInsert,
    BatchHit,
    BatchMiss,
    BatchMix,
}

impl Op {
    const ALL: [Self; 7] = [
        Self::Insert,
        Self::Hit,
        Self::Miss,
        Self::BatchInsert,
        Self::BatchHit,
        Self::BatchMiss,
        Self::BatchMix,
    ];

    /// Its field in JSON.
    const fn field(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::BatchInsert => "batch_insert",
            Self::BatchHit => "batch_hit",
            Self::BatchMiss => "batch_miss",
            Self::BatchMix => "batch_mix",
        }
    }

    /// The heading of its column.
    fn title(self) -> &'static str {
        self.field().strip_prefix("batch_").unwrap_or(self.field())
    }
}

/// All repeats of one kind of filter at one size.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) kind: &'static str,
    threads: usize,
    items: u64,
    /// None for memory without a filter.
    bits: Option<u64>,
    /// Nanoseconds per key, one per repeat.
    times: BTreeMap<Op, Vec<f64>>,
    /// Absent keys asked for, and found by mistake.
    pub(super) asked: u64,
    pub(super) found: u64,
}

impl Row {
    pub(super) fn new(kind: &'static str, threads: usize, items: u64, bits: Option<u64>) -> Self {
        Self { kind, threads, items, bits, times: BTreeMap::new(), asked: 0, found: 0 }
    }

    /// Notes what `keys` keys took.
    pub(super) fn add(&mut self, op: Op, time: Duration, keys: usize) {
        self.times.entry(op).or_default().push(time.as_secs_f64() * 1e9 / keys as f64);
    }

    pub(super) fn is_filter(&self) -> bool {
        self.bits.is_some()
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        match (self.bits, self.threads) {
            (None, _) => format!("{} alone", self.kind),
            (_, 1) => self.kind.to_owned(),
            (_, threads) => format!("{}, {threads} threads", self.kind),
        }
    }

    fn time(&self, op: Op) -> Option<Time> {
        let mut times = self.times.get(&op)?.clone();
        times.sort_by(f64::total_cmp);
        let (low, high) = (times.get((times.len() - 1) / 2)?, times.get(times.len() / 2)?);
        Some(Time { best: *times.first()?, median: (low + high) / 2.0 })
    }

    fn bits_per_key(&self) -> Option<f64> {
        self.bits.map(|bits| bits as f64 / self.items as f64)
    }

    /// The measured false-positive rate and its standard error.
    fn fpr(&self) -> Option<(f64, f64)> {
        if self.asked == 0 {
            return None;
        }
        let (asked, found) = (self.asked as f64, self.found as f64);
        let rate = found / asked;
        // No mistake at all, or nothing else, would claim certainty: then as if there were one of the other.
        let share = rate.min(1.0 - 1.0 / asked).max(1.0 / asked);
        Some((rate, (share * (1.0 - share) / asked).sqrt()))
    }

    pub(super) fn report(&self, planned_fpp: f64) -> Report {
        let Self { kind, threads, items, bits, asked, .. } = *self;
        Report {
            kind,
            threads,
            items,
            bits,
            bits_per_key: self.bits_per_key(),
            planned_fpp: bits.map(|_| planned_fpp),
            fpr: self.fpr().map(|(rate, _)| rate),
            fpr_std_error: self.fpr().map(|(_, error)| error),
            absent_keys_asked: bits.map(|_| asked),
            ns_per_key: Op::ALL.map(|op| (op.field(), self.time(op))).into(),
        }
    }

    fn text(&self) -> String {
        let time = |op| {
            let time =
                self.time(op).map(|Time { best, median }| format!("{}/{}", figure(best), figure(median)));
            // A space before it, also if it is too wide.
            format!(" {:>width$}", time.as_deref().unwrap_or("-"), width = TIME - 1)
        };
        let bits = self.bits_per_key().map_or("-".to_owned(), |bits| format!("{bits:.2}"));
        let rate = self.fpr().map_or("-".to_owned(), |(rate, error)| with_error(rate, error));
        format!("{:NAME$}{}{bits:>BITS$}{rate:>RATE$}", self.name(), Op::ALL.map(time).concat())
    }
}

/// Nanoseconds per key.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Time {
    /// What disturbs a measurement only ever makes it longer.
    best: f64,
    median: f64,
}

/// A row as `--json` prints it. What was not measured is null.
#[derive(Serialize)]
pub(super) struct Report {
    kind: &'static str,
    threads: usize,
    items: u64,
    bits: Option<u64>,
    bits_per_key: Option<f64>,
    planned_fpp: Option<f64>,
    fpr: Option<f64>,
    fpr_std_error: Option<f64>,
    absent_keys_asked: Option<u64>,
    ns_per_key: BTreeMap<&'static str, Option<Time>>,
}

const NAME: usize = 20;
const TIME: usize = 10;
const BITS: usize = 10;
const RATE: usize = 20;

/// The table of one size.
pub(super) fn section(items: u64, fpp: f64, rows: &[Row]) -> String {
    let group = |title: &str, columns: usize| format!("  {title:─^width$}", width = columns * TIME - 2);
    let (single, batch) = (group(" one by one ", 3), group(" in batches ", 4));
    let titles = Op::ALL.map(|op| format!("{:>TIME$}", op.title())).concat();
    let keys = human::plural(items, "key");
    let planned = if fpp < 1e-6 { format!("{fpp:.1e}") } else { human::percent(fpp) };
    let planned = format!("planned {planned}");
    let mut lines = vec![
        format!("{keys:NAME$}{single}{batch}{:>BITS$}{:>RATE$}", "bits", "false positives"),
        format!("{:NAME$}{titles}{:>BITS$}{planned:>RATE$}", "", "per key"),
    ];
    lines.extend(rows.iter().map(Row::text));
    lines.join("\n")
}

/// Three digits, in four columns.
fn figure(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A rate with its standard error in percent, to two digits of the error.
fn with_error(rate: f64, error: f64) -> String {
    let decimals = (1.0 - (100.0 * error).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{:.decimals$} ± {:.decimals$}%", 100.0 * rate, 100.0 * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(times: &[u64]) -> Row {
        let mut row = Row::new("bloom", 1, 1_000, Some(9_600));
        for &time in times {
            row.add(Op::Hit, Duration::from_nanos(time), 2);
        }
        row
    }

    #[test]
    fn best_and_median_come_from_all_repeats() {
        let time = |times: &[u64]| row(times).time(Op::Hit).map(|Time { best, median }| (best, median));
        assert_eq!(time(&[6, 2, 4]), Some((1.0, 2.0)));
        assert_eq!(time(&[18, 6, 2, 4]), Some((1.0, 2.5)));
        assert_eq!(time(&[]), None);
    }

    #[test]
    fn a_rate_has_the_error_of_its_sample() {
        let rate = |asked, found| Row { asked, found, ..row(&[]) }.fpr();
        let (measured, error) = rate(10_000, 100).unwrap();
        assert!(measured == 0.01 && (error - 0.000_995).abs() < 1e-6, "{error}");
        assert!(rate(10_000, 0).unwrap().1 > 9e-5 && rate(10_000, 10_000).unwrap().1 > 9e-5);
        assert_eq!(rate(0, 0), None);
        assert_eq!(with_error(0.010_034, 0.000_099_5), "1.0034 ± 0.0100%");
        assert_eq!(with_error(0.25, 0.012), "25.0 ± 1.2%");
        assert_eq!(with_error(0.0, 1e-6), "0.00000 ± 0.00010%");
    }

    #[test]
    fn columns_stand_under_their_titles() {
        let rows = [row(&[3, 4, 5]), Row::new("memory", 1, 1_000, None)];
        let text = section(10_000_000, 0.01, &rows);
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [NAME + 7 * TIME + BITS + RATE; 4], "{text}");
        let column = |line: &str, title: &str| line.find(title).map(|at| at + title.len());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(column(lines[1], "hit"), column(lines[2], "1.50/2.00"));
        assert!(lines[1].contains("planned 1%") && lines[3].starts_with("memory alone "), "{text}");
        assert!(section(1, 1e-12, &rows).contains(" planned 1.0e-12"));
    }
}
