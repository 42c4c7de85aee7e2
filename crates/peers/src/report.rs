//! What is printed: at most 120 columns, plain text, no colour.

use crate::args::Args;
use crate::contenders::name::{BLOCKED, FASTBLOOM};
use crate::goals::{Need, Verdict};
use crate::host::Host;
use crate::table::{Case, Op, Row, Table};
use serde::Serialize;
use std::fmt::Write;

const NAME: usize = 22;
const PAIR: usize = 10;
const FPR: usize = 14;

/// Machine, program and what is asked of all contenders.
pub(crate) fn heading(host: &Host, args: &Args) -> String {
    format!(
        "{host}\n\n\
         Nanoseconds of processor time per key, best/median of {}; all filters are asked for an FPR of {} %.\n\
         insert: create and fill, one call per key; b. = by batches; mix: half hits, half misses.\n\
         bits/key: all memory over keys; FPR: measured on absent keys, with its standard error.\n",
        args.repeats(),
        100.0 * args.fpp,
    )
}

/// The rows of one case: times, then how they compare with the crate that sets the pace.
pub(crate) fn section(table: &Table, case: Case, fpp: f64) -> String {
    let mut text = format!("\n== {case} keys\n");
    let titles = Op::ALL.map(|op| format!("{:>PAIR$}", op.title())).concat();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{:NAME$}thr{titles}{:>9}{:>FPR$}", "ns per key", "bits/key", "FPR %");
    for row in table.rows(case) {
        let _ = writeln!(text, "{}", times(row, fpp).trim_end());
    }
    if table.row(FASTBLOOM, 1, case).is_some() {
        let _ = writeln!(text, "\n{:NAME$}thr{titles}", "times fastbloom");
        for row in table.rows(case).filter(|row| row.bytes.is_some()) {
            let _ = writeln!(text, "{}", ratios(table, row).trim_end());
        }
    }
    text + &cores(table, case) + &faults(table, case)
}

/// How far the machine's other work let us be.
fn cores(table: &Table, case: Case) -> String {
    let percent = |share: Option<f64>| share.map(|share| format!("{:.0} %", (100.0 * share).min(100.0)));
    let one = percent(table.share_of_cores(case, |row| row.threads == 1));
    let more = percent(table.share_of_cores(case, |row| row.threads > 1));
    match (one, more) {
        (Some(one), Some(more)) => {
            format!("\nhad a core {one} of the time; two threads had one each {more} of the time\n")
        }
        (Some(share), _) | (_, Some(share)) => format!("\nhad its cores {share} of the time\n"),
        (None, None) => String::new(),
    }
}

fn times(row: &Row, fpp: f64) -> String {
    let mut line = format!("{:NAME$}{:>3}", row.name, row.threads);
    for op in Op::ALL {
        let pair = row.best(op).zip(row.median(op));
        let pair = pair.map(|(best, median)| format!("{}/{}", figure(best), figure(median)));
        let _ = write!(line, "{:>PAIR$}", pair.as_deref().unwrap_or("-"));
    }
    if let (Some(bits), Some((rate, error))) = (row.bits_per_key(), row.fpr()) {
        // Five standard errors above what was asked is no accident.
        let flag = if rate > fpp + 5.0 * error { "!" } else { "" };
        let digits = if fpp < 0.001 { 4 } else { 3 };
        let fpr = format!("{:.digits$}±{:.digits$}{flag}", 100.0 * rate, 100.0 * error);
        let _ = write!(line, "{bits:>9.2}{fpr:>FPR$}");
    }
    line
}

fn ratios(table: &Table, row: &Row) -> String {
    let mut line = format!("{:NAME$}{:>3}", row.name, row.threads);
    for op in Op::ALL {
        let ratio = table.best(FASTBLOOM, op.one_by_one(), row.case).zip(row.best(op));
        let ratio = ratio.map(|(theirs, ours)| format!("{}x", figure(theirs / ours)));
        let _ = write!(line, "{:>PAIR$}", ratio.as_deref().unwrap_or("-"));
    }
    line
}

fn faults(table: &Table, case: Case) -> String {
    let mut text = String::new();
    for Row { name, threads, lost, disagreed, .. } in table.rows(case) {
        if *lost > 0 {
            let _ =
                writeln!(text, "FAULT: {name} ({threads} threads) lost {lost} of the inserted keys asked");
        }
        if *disagreed > 0 {
            let _ =
                writeln!(text, "FAULT: {name} ({threads} threads): {disagreed} answers differ in batches");
        }
    }
    text
}

/// Three digits, in four columns.
fn figure(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Every goal with its value and what is wanted.
pub(crate) fn goals(verdicts: &[Verdict]) -> String {
    let mut text = String::from("\n== goals, as ratios of best times in this run\n");
    for Verdict { issue, what, need, case, value, met } in verdicts {
        let Some(value) = value else { continue };
        let mark = met.map_or("-", |met| if met { "met" } else { "not met" });
        let need = match need {
            Need::AtLeast(least) => format!(">= {least}"),
            Need::AtMost(most) => format!("<= {most}"),
            Need::Shown => "for information".to_owned(),
        };
        let _ = writeln!(text, "issue {issue}  {what:46}{case:>12}{value:>9.2}  {need:16}{mark}");
    }
    for goal in verdicts.chunk_by(|a, b| (a.issue, a.what) == (b.issue, b.what)) {
        let Verdict { issue, what, need, .. } = goal[0];
        let missing: Vec<String> =
            goal.iter().filter(|v| v.value.is_none()).map(|v| v.case.to_string()).collect();
        if need != Need::Shown && !missing.is_empty() {
            let _ = writeln!(text, "issue {issue}  {what:46}not measured: {}", missing.join(", "));
        }
    }
    if verdicts.iter().all(|verdict| verdict.issue != 3) {
        let _ = writeln!(text, "issue 3  not evaluated: this run has no row named \"{BLOCKED}\"");
    }
    text
}

/// All of it for programs, with every repeat.
pub(crate) fn json(host: &Host, args: &Args, table: &Table, goals: &[Verdict]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Run<'a> {
        host: &'a Host,
        fpp: f64,
        repeats: usize,
        rows: &'a Table,
        goals: &'a [Verdict],
    }
    let run = Run { host, fpp: args.fpp, repeats: args.repeats(), rows: table, goals };
    serde_json::to_string_pretty(&run).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyKind;
    use crate::measure::Sample;

    #[test]
    fn lines_fit_a_terminal_of_120_columns() {
        let case = Case { items: 100_000_000, keys: KeyKind::Str40 };
        let mut table = Table::default();
        for name in [FASTBLOOM, "sbbf-rs-safe foldhash"] {
            let times = Op::ALL.map(|op| (op, 1234.5)).to_vec();
            let sample = Sample {
                times,
                bytes: Some(1 << 30),
                absent_asked: 100,
                absent_found: 99,
                ..Sample::default()
            };
            table.add(name, 2, case, sample);
        }
        let verdicts = crate::goals::evaluate(&table, 1e-4);
        let all = section(&table, case, 1e-4) + &goals(&verdicts);
        for line in all.lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [0.123, 9.994, 9.996, 99.94, 99.96, 1234.4].map(figure);
        assert_eq!(shown, ["0.12", "9.99", "10.0", "99.9", "100", "1234"]);
    }
}
