//! What stays and what goes, decided in the order of the files by one thread at a time.
//!
//! The steps are asked one after the other: documents, near-duplicates, n-grams, paragraphs. What
//! one step removes, the next does not see. Each step has a set of its own and no step looks back,
//! so that a whole chunk takes one step before any of it takes the next: the filter then fetches
//! memory ahead.

use crate::analyse::{Analysed, Doc, Line, NONE};
use crate::options::{BadLines, Options, Rule, Set, Unit, Within};
use crate::seen::{Seen, tail};
use gardenia::Digest;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Why something was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The document, or its key, occurred before.
    Document,
    /// It is similar to a document before.
    Near,
    /// Most of its n-grams occurred before.
    Ngrams,
    /// The paragraph occurred before.
    Paragraph,
    /// Most n-grams of the paragraph occurred before.
    NgramsParagraph,
    /// Nothing was left of it.
    Empty,
    /// It holds n-grams of a benchmark.
    Contaminated,
    /// The line could not be used.
    Bad,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 8] = [
        Self::Document,
        Self::Near,
        Self::Ngrams,
        Self::Paragraph,
        Self::NgramsParagraph,
        Self::Empty,
        Self::Contaminated,
        Self::Bad,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Near => "near",
            Self::Ngrams => "ngrams",
            Self::Paragraph => "paragraph",
            Self::NgramsParagraph => "ngrams_paragraph",
            Self::Empty => "empty",
            Self::Contaminated => "contaminated",
            Self::Bad => "bad",
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Document => "document occurred before",
            Self::Near => "similar to a document before",
            Self::Ngrams => "n-grams of the document occurred before",
            Self::Paragraph => "paragraph occurred before",
            Self::NgramsParagraph => "n-grams of the paragraph occurred before",
            Self::Empty => "nothing left of the document",
            Self::Contaminated => "n-grams of a benchmark",
            Self::Bad => "line could not be used",
        }
    }

    /// Whether whole documents are removed for it.
    pub fn of_document(self) -> bool {
        !matches!(self, Self::Paragraph | Self::NgramsParagraph)
    }
}

/// What happens to the lines of a chunk.
#[derive(Debug, Default)]
pub struct Decided {
    /// Of each line why it goes, if it does.
    pub docs: Vec<Option<Reason>>,
    /// Of each paragraph the same.
    pub units: Vec<Option<Reason>>,
    /// How many bands of each document were known, for those that have any.
    pub bands: Vec<u32>,
    /// Share of known n-grams of each unit that was asked.
    pub overlaps: Vec<f32>,
}

/// Bins of the histogram of overlaps.
pub const BINS: usize = 20;

/// N-grams that are looked up together: their cells stay in the cache until they are asked again.
const TOGETHER: usize = 4096;

/// Holds all that was seen.
pub struct Decider {
    options: Options,
    /// By [`Set`].
    pub seen: Vec<(Set, Seen)>,
    /// N-grams of benchmarks.
    pub benchmark: Option<Seen>,
    /// What a long line's beginning was decided.
    long: Option<Reason>,
    known: Vec<bool>,
}

impl Decider {
    /// With these sets, one for each that the options need.
    pub fn new(options: Options, seen: Vec<(Set, Seen)>, benchmark: Option<Seen>) -> Self {
        Self { options, seen, benchmark, long: None, known: Vec::new() }
    }

    fn seen(seen: &mut [(Set, Seen)], set: Set) -> Option<&mut Seen> {
        seen.iter_mut().find(|(of, _)| *of == set).map(|(_, seen)| seen)
    }

    /// Decides about a chunk.
    pub fn decide(&mut self, chunk: &Analysed) -> anyhow::Result<Decided> {
        let mut decided = Decided {
            docs: vec![None; chunk.docs.len()],
            units: vec![None; chunk.units.len()],
            ..Decided::default()
        };
        for (doc, verdict) in chunk.docs.iter().zip(&mut decided.docs) {
            let bad = (self.options.bad == BadLines::Drop).then_some(Reason::Bad);
            match doc.state {
                Line::Bad(_) => {
                    *verdict = bad;
                    self.long = bad;
                }
                Line::More => *verdict = self.long,
                Line::Good | Line::Blank => {}
            }
        }
        self.documents(chunk, &mut decided)?;
        self.near(chunk, &mut decided)?;
        self.contaminated(chunk, &mut decided);
        self.ngrams(chunk, &mut decided)?;
        self.paragraphs(chunk, &mut decided)?;
        if self.options.splits() && self.options.empty == Rule::Drop {
            empty(chunk, &mut decided);
        }
        Ok(decided)
    }

    fn documents(&mut self, chunk: &Analysed, decided: &mut Decided) -> anyhow::Result<()> {
        let Some(seen) = Self::seen(&mut self.seen, Set::Documents) else { return Ok(()) };
        let known = &mut self.known;
        known.resize(chunk.keys.len(), false);
        // Lines that turned out bad behind their digest do not occur: the digest is made last.
        seen.insert_units(&chunk.keys, known)?;
        for (doc, verdict) in chunk.docs.iter().zip(&mut decided.docs) {
            if doc.key != NONE && !known[doc.key as usize] {
                *verdict = Some(Reason::Document);
            }
        }
        Ok(())
    }

    fn near(&mut self, chunk: &Analysed, decided: &mut Decided) -> anyhow::Result<()> {
        let Some(seen) = Self::seen(&mut self.seen, Set::Bands) else { return Ok(()) };
        let known = &mut self.known;
        let mut scratch = Vec::new();
        for docs in together(&chunk.docs, |doc| doc.bands.len()) {
            let bands = span(&chunk.docs[docs.clone()], |doc| doc.bands.clone());
            known.resize(bands.len(), false);
            seen.contains(&chunk.bands[bands.clone()], known);
            for at in docs {
                let doc = &chunk.docs[at];
                if doc.bands.is_empty() || decided.docs[at].is_some() {
                    continue;
                }
                let own = &chunk.bands[doc.bands.start as usize..doc.bands.end as usize];
                let before =
                    &known[doc.bands.start as usize - bands.start..doc.bands.end as usize - bands.start];
                let mut hits = before.iter().filter(|known| **known).count();
                scratch.resize(own.len(), false);
                if hits == 0 {
                    // Documents of this group may have come since.
                    seen.contains(own, &mut scratch);
                    hits = scratch.iter().filter(|known| **known).count();
                }
                decided.bands.push(hits as u32);
                if hits > 0 {
                    decided.docs[at] = Some(Reason::Near);
                } else {
                    let any = -(own.len() as f64 * (-seen.rate()).ln_1p()).exp_m1();
                    seen.kept(1, any);
                    seen.insert(own, &mut scratch)?;
                }
            }
        }
        Ok(())
    }

    fn contaminated(&mut self, chunk: &Analysed, decided: &mut Decided) {
        let (Some(seen), Some(rule)) = (&mut self.benchmark, &self.options.benchmark) else { return };
        self.known.resize(chunk.grams.len(), false);
        seen.contains(&chunk.grams, &mut self.known);
        for (doc, verdict) in chunk.docs.iter().zip(&mut decided.docs) {
            let range = doc.grams.start as usize..doc.grams.end as usize;
            let hits = self.known[range.clone()].iter().filter(|known| **known).count();
            if verdict.is_none() && hits >= rule.matches {
                *verdict = Some(Reason::Contaminated);
            } else if verdict.is_none() {
                let missing = (rule.matches - hits) as u64;
                seen.kept(1, tail((range.len() - hits) as u64, seen.rate(), missing));
            }
        }
    }

    fn ngrams(&mut self, chunk: &Analysed, decided: &mut Decided) -> anyhow::Result<()> {
        let Some(rule) = &self.options.ngrams else { return Ok(()) };
        let Some(seen) = Self::seen(&mut self.seen, Set::Ngrams) else { return Ok(()) };
        let known = &mut self.known;
        for docs in together(&chunk.docs, |doc| doc.grams.len()) {
            let all = span(&chunk.docs[docs.clone()], |doc| doc.grams.clone());
            known.resize(all.len(), false);
            seen.contains(&chunk.grams[all.clone()], known);
            for at in docs {
                let doc = &chunk.docs[at];
                if doc.grams.is_empty() || decided.docs[at].is_some() {
                    continue;
                }
                let mut ask = Overlap { seen, known, grams: &chunk.grams, offset: all.start };
                // The document is asked before any of its own n-grams go in.
                if rule.unit != Unit::Paragraph {
                    let (hits, total) = match rule.unit {
                        Unit::Both => ask.distinct_hits(&doc.grams),
                        _ => ask.hits(&doc.grams),
                    };
                    decided.overlaps.push(hits as f32 / total as f32);
                    if removes(hits, total, rule.overlap) {
                        decided.docs[at] = Some(Reason::Ngrams);
                        continue;
                    }
                    ask.kept(hits, total, rule.overlap);
                }
                if rule.unit == Unit::Document {
                    ask.insert(&doc.grams)?;
                    continue;
                }
                let units = doc.units.start as usize..doc.units.end as usize;
                let mut later = Vec::new();
                for unit in units {
                    let grams = &chunk.units[unit].grams;
                    if grams.is_empty() {
                        continue;
                    }
                    let (hits, total) = ask.hits(grams);
                    decided.overlaps.push(hits as f32 / total as f32);
                    if removes(hits, total, rule.overlap) {
                        decided.units[unit] = Some(Reason::NgramsParagraph);
                        continue;
                    }
                    ask.kept(hits, total, rule.overlap);
                    match self.options.within {
                        Within::First => ask.insert(grams)?,
                        Within::All => later.push(grams.clone()),
                    }
                }
                later.iter().try_for_each(|grams| ask.insert(grams))?;
            }
        }
        Ok(())
    }

    fn paragraphs(&mut self, chunk: &Analysed, decided: &mut Decided) -> anyhow::Result<()> {
        let Some(seen) = Self::seen(&mut self.seen, Set::Paragraphs) else { return Ok(()) };
        // Those of the documents that are left.
        let (mut units, mut ends) = (Vec::new(), Vec::new());
        for (doc, verdict) in chunk.docs.iter().zip(&decided.docs) {
            if verdict.is_none() {
                let left = (doc.units.start..doc.units.end).filter(|unit| {
                    chunk.units[*unit as usize].mark != NONE && decided.units[*unit as usize].is_none()
                });
                units.extend(left);
                ends.push(units.len());
            }
        }
        let marks: Vec<Digest> =
            units.iter().map(|unit| chunk.marks[chunk.units[*unit as usize].mark as usize]).collect();
        let new = &mut self.known;
        new.resize(marks.len(), false);
        match self.options.within {
            Within::First => seen.insert_units(&marks, new)?,
            Within::All => {
                let (mut start, mut scratch) = (0, Vec::new());
                for end in ends {
                    seen.contains(&marks[start..end], &mut new[start..end]);
                    new[start..end].iter_mut().for_each(|known| *known = !*known);
                    scratch.resize(end - start, false);
                    seen.insert(&marks[start..end], &mut scratch)?;
                    seen.kept(new[start..end].iter().map(|new| u64::from(*new)).sum(), seen.rate());
                    start = end;
                }
            }
        }
        for (unit, _) in units.iter().zip(new.iter()).filter(|(_, new)| !**new) {
            decided.units[*unit as usize] = Some(Reason::Paragraph);
        }
        Ok(())
    }
}

/// Whether `hits` known n-grams are too many.
fn removes(hits: u64, total: u64, overlap: f64) -> bool {
    hits as f64 > overlap * total as f64
}

/// N-grams of a group of documents, which were looked up together.
struct Overlap<'a> {
    seen: &'a mut Seen,
    known: &'a mut Vec<bool>,
    grams: &'a [Digest],
    /// The n-gram that the first answer is for.
    offset: usize,
}

impl Overlap<'_> {
    /// How many of these n-grams are known, and how many there are. Those that were not known
    /// before are asked again.
    fn hits(&mut self, range: &Range<u32>) -> (u64, u64) {
        let range = range.start as usize..range.end as usize;
        let known = &mut self.known[range.start - self.offset..range.end - self.offset];
        let absent: Vec<usize> = (0..known.len()).filter(|at| !known[*at]).collect();
        let digests: Vec<Digest> = absent.iter().map(|at| self.grams[range.start + at]).collect();
        let mut answers = vec![false; digests.len()];
        self.seen.contains(&digests, &mut answers);
        absent.iter().zip(answers).for_each(|(at, answer)| known[*at] = answer);
        (known.iter().filter(|known| **known).count() as u64, known.len() as u64)
    }

    /// The same for a document, whose paragraphs may share n-grams: each counts once.
    fn distinct_hits(&mut self, range: &Range<u32>) -> (u64, u64) {
        self.hits(range);
        let range = range.start as usize..range.end as usize;
        let known = &self.known[range.start - self.offset..range.end - self.offset];
        let mut grams: Vec<(Digest, bool)> =
            self.grams[range].iter().copied().zip(known.iter().copied()).collect();
        grams.sort_unstable();
        grams.dedup();
        (grams.iter().filter(|(_, known)| *known).count() as u64, grams.len() as u64)
    }

    /// Adds those that are not known.
    fn insert(&mut self, range: &Range<u32>) -> anyhow::Result<()> {
        let range = range.start as usize..range.end as usize;
        let known = &self.known[range.start - self.offset..range.end - self.offset];
        let absent = self.grams[range].iter().zip(known).filter(|(_, known)| !**known);
        let digests: Vec<Digest> = absent.map(|(gram, _)| *gram).collect();
        self.seen.insert(&digests, &mut vec![false; digests.len()])
    }

    /// Notes that a unit stays, which false positives could have removed: of its distinct n-grams
    /// that were not known, as many more as it would take. Known ones count as true, though some
    /// may be false positives: the estimate is rather too high where a unit needs several.
    fn kept(&mut self, hits: u64, total: u64, overlap: f64) {
        let needed = (overlap * total as f64).floor() as u64 + 1;
        self.seen.kept(1, tail(total - hits, self.seen.rate(), needed - hits));
    }
}

/// Documents in groups of about [`TOGETHER`] digests.
fn together(docs: &[Doc], size: impl Fn(&Doc) -> usize) -> Vec<Range<usize>> {
    let (mut groups, mut start, mut sum) = (Vec::new(), 0, 0);
    for (at, doc) in docs.iter().enumerate() {
        sum += size(doc);
        if sum >= TOGETHER {
            groups.push(start..at + 1);
            (start, sum) = (at + 1, 0);
        }
    }
    groups.push(start..docs.len());
    groups
}

/// From the first of these documents' digests to the last.
fn span(docs: &[Doc], range: impl Fn(&Doc) -> Range<u32>) -> Range<usize> {
    let mut ranges = docs.iter().map(range).filter(|range| !range.is_empty());
    let Some(first) = ranges.next() else { return 0..0 };
    let end = ranges.next_back().map_or(first.end, |last| last.end);
    first.start as usize..end as usize
}

/// Documents of which only white space is left.
fn empty(chunk: &Analysed, decided: &mut Decided) {
    for (doc, verdict) in chunk.docs.iter().zip(&mut decided.docs) {
        let units = doc.units.start as usize..doc.units.end as usize;
        if verdict.is_some()
            || doc.state != Line::Good
            || decided.units[units.clone()].iter().all(Option::is_none)
        {
            continue;
        }
        if !units.into_iter().any(|unit| decided.units[unit].is_none() && !chunk.units[unit].blank) {
            *verdict = Some(Reason::Empty);
        }
    }
}

#[test]
fn reasons_have_the_names_that_reports_give_them() {
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).ok(), Some(reason.name().into()));
    }
}
