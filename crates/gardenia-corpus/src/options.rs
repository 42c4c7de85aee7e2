//! What is done with a corpus.

use crate::minhash::Bands;
use crate::normalise::Normalise;
use crate::units::{Split, Words};
use serde::{Deserialize, Serialize};

/// All that decides what a run gives. It is stored with the state, so that a run goes on as it
/// began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Where a document's text is.
    pub text_key: String,
    /// Where its id is.
    pub id_key: String,
    /// Remove documents that occurred before.
    pub documents: bool,
    /// The value that makes documents equal, if that is not their text.
    pub key: Option<String>,
    /// Remove paragraphs that occurred before.
    pub paragraphs: bool,
    /// Remove what shares most n-grams with what came before.
    pub ngrams: Option<Ngrams>,
    /// Remove documents that are similar to one before.
    pub near: Option<Near>,
    /// Flag or drop documents with n-grams of a benchmark.
    pub benchmark: Option<Benchmark>,
    /// What a paragraph is.
    pub split: Split,
    /// Paragraphs of fewer words stay.
    pub min_words: usize,
    /// Of a paragraph that occurs several times in one document, and not before, keep the first or
    /// all.
    pub within: Within,
    /// What happens to documents of which nothing is left.
    pub empty: Rule,
    /// Differences that do not count for documents and paragraphs.
    pub normalise: Normalise,
    /// The same for n-grams and shingles.
    pub normalise_words: Normalise,
    /// How words are told apart.
    pub words: Words,
    /// What happens to lines that cannot be used.
    pub bad: BadLines,
    /// Bytes of the longest line.
    pub max_line: u64,
    /// Share of new units that are taken for known.
    pub fpp: f64,
    /// Units that filters of a fixed size are made for, which can be merged.
    pub items: Option<u64>,
    /// Hold digests in place of filters.
    pub exact: bool,
    /// States of other runs that were asked: a run that goes on must ask them, too.
    #[serde(default)]
    pub after: Vec<String>,
}

/// Removal by shared n-grams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ngrams {
    /// Words of an n-gram.
    pub n: usize,
    /// Share of known n-grams above which a unit is removed.
    pub overlap: f64,
    /// What is removed.
    pub unit: Unit,
}

/// What is removed by n-grams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Paragraphs.
    Paragraph,
    /// Documents.
    Document,
    /// A document, or else its paragraphs.
    Both,
}

/// Removal by similarity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Near {
    /// Bands and rows of signatures.
    pub bands: Bands,
    /// Words of a shingle.
    pub shingle: usize,
}

/// Decontamination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Words of an n-gram.
    pub n: usize,
    /// Distinct n-grams of a benchmark from which on a document is contaminated.
    pub matches: usize,
}

/// What to keep of repeats within one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Within {
    /// The first.
    First,
    /// All.
    All,
}

/// What happens to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// It is written as it is.
    Keep,
    /// It is left out.
    Drop,
}

/// What happens to lines that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BadLines {
    /// They are counted and written as they are.
    Keep,
    /// They are counted and left out.
    Drop,
    /// The run ends with an error at the first.
    Stop,
}

impl Options {
    /// Whether the texts are split.
    pub fn splits(&self) -> bool {
        self.paragraphs || self.ngrams.as_ref().is_some_and(|ngrams| ngrams.unit != Unit::Document)
    }

    /// Whether words are told apart.
    pub fn counts_words(&self) -> bool {
        self.ngrams.is_some() || self.near.is_some() || self.benchmark.is_some()
    }

    /// The sets that the run needs, in the order of [`Set`].
    pub fn sets(&self) -> Vec<Set> {
        let needed = [self.documents, self.near.is_some(), self.paragraphs, self.ngrams.is_some()];
        Set::ALL.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(set, _)| set).collect()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            text_key: "text".into(),
            id_key: "id".into(),
            documents: false,
            key: None,
            paragraphs: false,
            ngrams: None,
            near: None,
            benchmark: None,
            split: Split::Line,
            min_words: 1,
            within: Within::First,
            empty: Rule::Drop,
            normalise: Normalise::default(),
            normalise_words: Normalise { nfc: true, case: true, space: false, punct: false },
            words: Words::Unicode,
            bad: BadLines::Keep,
            max_line: 64 << 20,
            fpp: 1e-6,
            items: None,
            exact: false,
            after: Vec::new(),
        }
    }
}

/// What was seen so far, by its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Documents.
    Documents,
    /// Bands of signatures.
    Bands,
    /// Paragraphs.
    Paragraphs,
    /// N-grams.
    Ngrams,
}

impl Set {
    /// All of them.
    pub const ALL: [Set; 4] = [Set::Documents, Set::Bands, Set::Paragraphs, Set::Ngrams];

    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Bands => "bands",
            Self::Paragraphs => "paragraphs",
            Self::Ngrams => "ngrams",
        }
    }
}
