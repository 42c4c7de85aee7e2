//! `gardenia eval`: a filter against the truth.

use super::query::check_stdin;
use crate::args::EvalArgs;
use crate::input::{Block, Keys, Reading, Scratch, Source, name};
use crate::open::{check_unchanged, open};
use crate::{Outcome, foreign, human};
use anyhow::{Context, bail};
use gardenia::format::{Foreign, KeyType};
use gardenia::{Ability, Digest, Filter, OpenFilter};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.truth);
    check_stdin(&args.filter, &sources)?;
    let options = args.memory.options(args.secret.read()?);
    let (subject, key) = match foreign::open_to_ask(&args.filter, args.foreign, &options)? {
        Some(filter) => (Subject::Foreign(filter, args.foreign.as_type), args.key.clone()),
        None => {
            let opened = open(&args.filter, &options)?;
            let key = args.key.of_filter(opened.about(), args.stored).with_context(|| name(&args.filter))?;
            (Subject::Ours(Box::new(opened)), key)
        }
    };
    let (mut stdout, keys) = (io::stdout().lock(), key.keys()?);
    let mut verdict = Verdict { counts: subject.counts(), ..Verdict::default() };
    if args.each {
        writeln!(stdout, "TN TP FP FN G C E").context("stdout")?;
    }
    let progress = !args.each || !stdout.is_terminal();
    let reading =
        Reading { sources: &sources, keys: &keys, doing: "comparing", progress, threads: 1, strict: false };
    let look = |keys: &Keys, block: Block<'_>, part: &mut Compared| {
        part.look(keys, &subject, block)?;
        match &subject {
            Subject::Ours(opened) => check_unchanged(opened, &args.filter),
            Subject::Foreign(..) => Ok(()),
        }
    };
    let mut output = Vec::new();
    let trouble = reading.run(look, &mut |block: Block<'_>, part: &mut Compared| {
        let (mut truth, mut counts) = (part.truth.iter(), part.counts.iter());
        block.each(|record| {
            // Records without a key are reported, and not compared.
            let Some(Some(truth)) = truth.next() else { return };
            let Some(count) = counts.next() else { return };
            verdict.take(*truth, *count);
            if args.each {
                let Verdict { tn, tp, fp, fn_, .. } = verdict;
                let _ = write!(output, "{tn} {tp} {fp} {fn_} {truth} {count} "); // a vector takes all
                output.extend_from_slice(parse(record).map_or(record, |(_, key)| key));
                output.push(block.end());
            }
        });
        stdout.write_all(&output).context("stdout")?;
        output.clear();
        Ok(())
    })?;
    if args.json {
        writeln!(stdout, "{}", serde_json::to_string(&verdict.report())?).context("stdout")?;
    } else if !args.each {
        write!(stdout, "{}", verdict.text()).context("stdout")?;
    }
    stdout.flush().context("stdout")?;
    Ok(if trouble { Outcome::Trouble } else { Outcome::Done })
}

/// The filter that is evaluated.
enum Subject {
    Ours(Box<OpenFilter>),
    Foreign(Box<dyn Foreign>, Option<KeyType>),
}

impl Subject {
    fn counts(&self) -> bool {
        match self {
            Self::Ours(opened) => opened.can(Ability::Count),
            Self::Foreign(filter, _) => foreign::counts(&**filter),
        }
    }
}

/// What one block gives: the truth and the filter's answer, for each record.
#[derive(Default)]
struct Compared {
    digests: Vec<Digest>,
    /// For each record, if it has a key.
    truth: Vec<Option<u64>>,
    /// For each key.
    counts: Vec<u64>,
    answers: Vec<bool>,
}

impl Compared {
    fn look(&mut self, keys: &Keys, subject: &Subject, block: Block<'_>) -> anyhow::Result<()> {
        let Self { digests, truth, counts, answers } = self;
        digests.clear();
        truth.clear();
        counts.clear();
        let (mut failed, mut line, mut scratch) = (Ok(()), block.line(0), Scratch::default());
        block.each(|record| {
            if failed.is_err() {
                return;
            }
            let compared = parse(record).and_then(|(count, key)| {
                let known = match subject {
                    Subject::Ours(opened) => {
                        let digest = keys.digest(opened.hasher(), key, line);
                        digests.extend(digest);
                        digest.is_some()
                    }
                    Subject::Foreign(filter, as_type) => {
                        let key = keys.text(key, line, &mut scratch);
                        let answer = key.map(|key| foreign::count(&**filter, *as_type, key)).transpose()?;
                        counts.extend(answer);
                        answer.is_some()
                    }
                };
                truth.push(known.then_some(count));
                Ok(())
            });
            failed = compared.with_context(|| format!("line {line}"));
            line += 1;
        });
        failed?;
        let Subject::Ours(opened) = subject else { return Ok(()) };
        counts.resize(digests.len(), 0);
        match opened.as_count() {
            Some(filter) => filter.count_digests(digests, counts),
            None => {
                answers.resize(digests.len(), false);
                opened.contains_digests(digests, answers);
                counts.iter_mut().zip(answers).for_each(|(count, answer)| *count = u64::from(*answer));
            }
        }
        Ok(())
    }
}

/// A count and a line, as `uniq -c` prints them: spaces, the number, one space or tab, the line.
fn parse(record: &[u8]) -> anyhow::Result<(u64, &[u8])> {
    let text = record.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let count = str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse().ok());
    match (count, text.get(digits)) {
        (Some(count), Some(b' ' | b'\t')) => Ok((count, &text[digits + 1..])),
        (Some(count), None) => Ok((count, &[])), // the empty line
        _ => bail!(
            "{:?} is not a count and a line, as `sort FILE | uniq -c` prints them",
            String::from_utf8_lossy(&record[..record.len().min(40)])
        ),
    }
}

/// What came of the comparison. Of filters that do not count only presence is compared.
#[derive(Clone, Copy, Default)]
struct Verdict {
    counts: bool,
    tn: u64,
    tp: u64,
    fp: u64,
    fn_: u64,
    /// Absent lines, and those of them that were found.
    absent: u64,
    found: u64,
    /// Lines that are in, and those of them that were missed.
    present: u64,
    missed: u64,
    /// Of lines that are in: counted too high, too low, by how much in sum and at most.
    over: u64,
    under: u64,
    error: f64,
    largest: u64,
}

impl Verdict {
    fn take(&mut self, truth: u64, count: u64) {
        let truth_seen = if self.counts { truth } else { truth.min(1) };
        let column = match (truth_seen, count) {
            (0, 0) => &mut self.tn,
            (truth, count) if truth == count => &mut self.tp,
            (truth, count) if count > truth => &mut self.fp,
            _ => &mut self.fn_,
        };
        *column += 1;
        if truth == 0 {
            self.absent += 1;
            self.found += u64::from(count > 0);
            return;
        }
        self.present += 1;
        self.missed += u64::from(count == 0);
        self.over += u64::from(count > truth_seen);
        self.under += u64::from(count < truth_seen);
        self.error += count.abs_diff(truth_seen) as f64;
        self.largest = self.largest.max(count.abs_diff(truth_seen));
    }

    fn report(&self) -> Report {
        let rate = |part: u64, whole: u64| (whole > 0).then(|| interval(part, whole));
        let counted = self.counts && self.present > 0;
        Report {
            lines: self.absent + self.present,
            true_negatives: self.tn,
            true_positives: self.tp,
            false_positives: self.fp,
            false_negatives: self.fn_,
            absent: self.absent,
            present: self.present,
            false_positive_rate: rate(self.found, self.absent),
            false_negative_rate: rate(self.missed, self.present),
            over_counted: counted.then_some(self.over),
            under_counted: counted.then_some(self.under),
            mean_count_error: counted.then(|| self.error / self.present as f64),
            largest_count_error: counted.then_some(self.largest),
        }
    }

    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |name: &str, value: String| lines.push(format!("{name:<18}{value}\n"));
        let rate = |part: u64, whole: u64, of: &str| {
            if whole == 0 {
                return format!("unknown: the truth has no {of} lines");
            }
            let Rate { rate, low, high } = interval(part, whole);
            format!(
                "{} of {} {of} lines, {} (95% interval {} to {})",
                human::count(part),
                human::count(whole),
                human::percent(rate),
                human::percent(low),
                human::percent(high)
            )
        };
        line("false positives", rate(self.found, self.absent, "absent"));
        line("missed", rate(self.missed, self.present, "present"));
        if self.counts && self.present > 0 {
            line("counted too high", rate(self.over, self.present, "present"));
            line("counted too low", rate(self.under, self.present, "present"));
            let mean = self.error / self.present as f64;
            line("error of a count", format!("{mean:.4} on average, {} at most", human::count(self.largest)));
        }
        lines.concat()
    }
}

/// A share and the 95 % interval around it.
#[derive(Clone, Copy, Serialize)]
struct Rate {
    rate: f64,
    low: f64,
    high: f64,
}

/// Wilson's score interval: right also where nothing, or everything, was found.
fn interval(part: u64, whole: u64) -> Rate {
    let told = gardenia::theory::sample::rate(part, whole);
    Rate { rate: told.rate, low: told.low, high: told.high }
}

/// What `--json` prints: fields are added, never renamed or removed. What is not known is null.
#[derive(Serialize)]
struct Report {
    lines: u64,
    true_negatives: u64,
    true_positives: u64,
    false_positives: u64,
    false_negatives: u64,
    absent: u64,
    present: u64,
    false_positive_rate: Option<Rate>,
    false_negative_rate: Option<Rate>,
    over_counted: Option<u64>,
    under_counted: Option<u64>,
    mean_count_error: Option<f64>,
    largest_count_error: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_is_read_as_uniq_prints_it() {
        let read = |text: &'static str| {
            parse(text.as_bytes()).ok().map(|(n, key)| (n, str::from_utf8(key).unwrap()))
        };
        assert_eq!(read("      3 rose"), Some((3, "rose")));
        assert_eq!(read("0\t two words "), Some((0, " two words ")));
        assert_eq!(read("7 "), Some((7, "")));
        assert_eq!(read("7"), Some((7, "")));
        for text in ["", "rose", "3rose", "-1 rose", "99999999999999999999 rose"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn intervals_are_wilsons() {
        // scipy.stats.binomtest(part, whole).proportion_ci(method="wilson")
        let close = |part, whole, low: f64, high: f64| {
            let found = interval(part, whole);
            assert!((found.low - low).abs() < 1e-6 && (found.high - high).abs() < 1e-6, "{part} of {whole}");
        };
        close(0, 100, 0.0, 0.036_993_498);
        close(10, 1000, 0.005_440_754, 0.018_309_469);
        close(100, 100, 0.963_006_502, 1.0);
    }
}
