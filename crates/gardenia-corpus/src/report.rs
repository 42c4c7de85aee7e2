//! What a run did: documents, paragraphs, words and bytes, by reason and by file.

use crate::decide::{BINS, Reason};
use crate::json::Bad;
use crate::options::{Options, Set};
use gardenia_terminal::human;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How much was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// Documents, or paragraphs where the reason is one of paragraphs.
    pub units: u64,
    /// Words of their texts, told apart by white space.
    pub words: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}

/// What happened in a file, or in all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Documents read.
    pub documents: u64,
    /// Documents written.
    pub kept: u64,
    /// Of them those from which paragraphs were removed.
    pub changed: u64,
    /// Paragraphs read, if texts were split.
    pub paragraphs: u64,
    /// Bytes read, unpacked.
    pub bytes_in: u64,
    /// Bytes written, before they are packed.
    pub bytes_out: u64,
    /// What was removed, by reason.
    pub removed: BTreeMap<Reason, Removed>,
    /// Lines that could not be used.
    pub bad: BTreeMap<String, u64>,
    /// Of documents with bands, how many had 0, 1, 2 … known.
    pub bands: Vec<u64>,
    /// Units by their share of known n-grams, in 20 bins.
    pub overlaps: Vec<u64>,
}

impl Tally {
    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.kept += other.kept;
        self.changed += other.changed;
        self.paragraphs += other.paragraphs;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        for (reason, removed) in &other.removed {
            let sum = self.removed.entry(*reason).or_default();
            sum.units += removed.units;
            sum.words += removed.words;
            sum.bytes += removed.bytes;
        }
        for (bad, lines) in &other.bad {
            *self.bad.entry(bad.clone()).or_default() += lines;
        }
        add_bins(&mut self.bands, &other.bands);
        add_bins(&mut self.overlaps, &other.overlaps);
    }

    /// Notes that a text was removed.
    pub fn remove(&mut self, reason: Reason, text: &str) {
        let removed = self.removed.entry(reason).or_default();
        removed.units += 1;
        removed.words += crate::units::count_words(text);
        removed.bytes += text.len() as u64;
    }

    /// Notes a line that could not be used.
    pub fn bad(&mut self, bad: Bad) {
        *self.bad.entry(bad.name().to_owned()).or_default() += 1;
    }

    /// Notes how many bands of documents were known.
    pub fn bands(&mut self, hits: &[u32], bands: usize) {
        if !hits.is_empty() {
            self.bands.resize(bands + 1, 0);
        }
        hits.iter().for_each(|hits| self.bands[(*hits as usize).min(bands)] += 1);
    }

    /// Notes which shares of n-grams were known.
    pub fn overlaps(&mut self, overlaps: &[f32]) {
        if !overlaps.is_empty() {
            self.overlaps.resize(BINS, 0);
        }
        overlaps.iter().for_each(|share| self.overlaps[((share * BINS as f32) as usize).min(BINS - 1)] += 1);
    }
}

fn add_bins(ours: &mut Vec<u64>, theirs: &[u64]) {
    if ours.len() < theirs.len() {
        ours.resize(theirs.len(), 0);
    }
    ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
}

/// A set that was used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetReport {
    /// Which.
    pub set: Set,
    /// Units in it.
    pub items: u64,
    /// Units that a sample of the input promised.
    #[serde(default)]
    pub expected: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Its false-positive rate at the end.
    pub fpp: f64,
    /// Expected number of units that were removed by mistake.
    pub wrong: f64,
    /// One run in a thousand has more.
    pub wrong_at_most: u64,
}

/// A text that was removed often.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeated {
    /// How often it was removed, at least.
    pub lower: u64,
    /// And at most.
    pub upper: u64,
    /// Its beginning.
    pub text: String,
}

/// The similarity curve of the bands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Jaccard similarity of two documents.
    pub similarity: f64,
    /// Probability that the later one is removed.
    pub removed: f64,
}

/// A file of the corpus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileReport {
    /// Its name.
    pub file: String,
    /// What happened in it.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What it took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds by the clock.
    pub seconds: f64,
    /// Seconds of processors.
    pub cpu_seconds: Option<f64>,
    /// The most memory that the process took, in bytes.
    pub peak_bytes: Option<u64>,
    /// Threads.
    pub threads: usize,
}

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// What was done.
    pub options: Options,
    /// All files together.
    pub total: Tally,
    /// Sets that were used.
    pub sets: Vec<SetReport>,
    /// Texts that were removed most often.
    pub repeated: Vec<Repeated>,
    /// How near-duplicates are found, if they were looked for.
    pub curve: Vec<CurvePoint>,
    /// Each file.
    pub files: Vec<FileReport>,
    /// What it took.
    pub cost: Cost,
    /// Whether nothing was written.
    pub dry_run: bool,
}

impl Repeated {
    /// How often it was removed, in words.
    pub fn times(&self) -> String {
        let (lower, upper) = (human::count(self.lower), human::count(self.upper));
        match (self.lower, self.upper) {
            (low, high) if low == high => upper,
            (0, _) => format!("at most {upper}"),
            _ => format!("{lower} to {upper}"),
        }
    }
}

impl Report {
    /// For people.
    pub fn text(&self) -> String {
        let (mut out, total) = (String::new(), &self.total);
        let share = |part: u64, of: u64| human::percent(part as f64 / of.max(1) as f64);
        let _ = writeln!(
            out,
            "documents   {} read, {} kept ({}){}",
            human::count(total.documents),
            human::count(total.kept),
            share(total.kept, total.documents),
            match total.changed {
                0 => String::new(),
                changed => format!(", {} of them shortened", human::count(changed)),
            }
        );
        if total.paragraphs > 0 {
            let _ = writeln!(out, "paragraphs  {} read", human::count(total.paragraphs));
        }
        let _ = writeln!(
            out,
            "bytes       {} read, {} kept",
            human::bytes(total.bytes_in),
            human::bytes(total.bytes_out)
        );
        for (reason, removed) in &total.removed {
            let unit = if reason.of_document() { "document" } else { "paragraph" };
            let _ = writeln!(
                out,
                "removed     {}, {}, {}: {}",
                human::plural(removed.units, unit),
                human::plural(removed.words, "word"),
                human::bytes(removed.bytes),
                reason.text()
            );
        }
        for (bad, lines) in &total.bad {
            let text = Bad::ALL.into_iter().find(|known| known.name() == bad).map_or("", Bad::text);
            let _ = writeln!(out, "bad lines   {}: {text}", human::count(*lines));
        }
        for set in &self.sets {
            let _ = writeln!(
                out,
                "{:<11} {}{} in {}, false-positive rate {}; removed by mistake: probably {}, at most {} (99.9%)",
                set.set.name(),
                human::count(set.items),
                set.expected
                    .map_or_else(String::new, |units| format!(" (the sample said {})", human::count(units))),
                human::bytes(set.memory_bytes),
                human::share(set.fpp),
                human::number(set.wrong),
                human::count(set.wrong_at_most)
            );
        }
        if let Some(near) = &self.options.near {
            // The curve has a point for each twentieth: these are 0.5, 0.6 … 0.9.
            let points = (10..20).step_by(2).filter_map(|at| self.curve.get(at));
            let points: Vec<String> = points
                .map(|point| format!("{} at {}", human::percent(point.removed), point.similarity))
                .collect();
            let _ = writeln!(
                out,
                "curve       of documents as similar to one before: {} are removed, half at {:.2}",
                points.join(", "),
                near.bands.half()
            );
        }
        for repeated in self.repeated.iter().take(5) {
            let text: String = repeated.text.chars().take(60).collect();
            let _ = writeln!(out, "removed {} times: {text:?}", repeated.times());
        }
        let cost = &self.cost;
        let _ = write!(out, "cost        {}", human::seconds(cost.seconds));
        if let Some(cpu) = cost.cpu_seconds {
            let rate = total.bytes_in as f64 / cpu.max(1e-9);
            let _ = write!(out, ", {} of processors ({}/s)", human::seconds(cpu), human::bytes(rate as u64));
        }
        if let Some(peak) = cost.peak_bytes {
            let _ = write!(out, ", {} of memory at most", human::bytes(peak));
        }
        let _ = writeln!(out, "{}", if self.dry_run { "; nothing was written (--dry-run)" } else { "" });
        out
    }
}

impl Cost {
    /// Of this process so far, where the system tells (Linux).
    pub fn now(seconds: f64, threads: usize) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Fields 14 and 15, in hundredths of a second on every Linux; the name before them may hold spaces, but ends in ')'.
        let fields: Vec<u64> = stat
            .rsplit_once(')')
            .map(|(_, rest)| {
                rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect()
            })
            .unwrap_or_default();
        let cpu = (fields.len() == 2).then(|| (fields[0] + fields[1]) as f64 / 100.0);
        Self { seconds, cpu_seconds: cpu, peak_bytes: peak.map(|kib| kib * 1024), threads }
    }
}

#[test]
fn a_count_that_is_not_known_is_not_stated_as_one() {
    let times = |lower, upper| Repeated { lower, upper, text: String::new() }.times();
    assert_eq!([times(3, 3), times(2, 1_500), times(0, 7)], ["3", "2 to 1,500", "at most 7"]);
}
