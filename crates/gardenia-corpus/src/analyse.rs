//! From the lines of a chunk to digests of all that is compared. Every thread does this by itself.

use crate::input::{Chunk, Lines};
use crate::json::{self, Bad, KeyPath};
use crate::minhash::MinHash;
use crate::options::{Options, Unit as NgramUnit};
use crate::units::{Hashed, split};
use gardenia::{Digest, KeyHasher};
use std::borrow::Cow;
use std::ops::Range;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A document.
    Good,
    /// White space.
    Blank,
    /// A line that cannot be used.
    Bad(Bad),
    /// More of a long line.
    More,
}

/// No such thing.
pub const NONE: u32 = u32::MAX;

/// A line of a chunk. Ranges are in bytes of the chunk, or indices into [`Analysed`].
#[derive(Clone, Debug)]
pub struct Doc {
    /// The line with its end.
    pub line: Range<u32>,
    /// What it is.
    pub state: Line,
    /// The raw value of its text.
    pub raw: Range<u32>,
    /// The raw value of its id; empty if it has none.
    pub id: Range<u32>,
    /// Its digest, in `keys`.
    pub key: u32,
    /// Its paragraphs.
    pub units: Range<u32>,
    /// Its n-grams.
    pub grams: Range<u32>,
    /// Its bands.
    pub bands: Range<u32>,
}

/// A paragraph.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Where it is in the text, in bytes.
    pub text: Range<u32>,
    /// Its digest, in `marks`; none if it is too short to be compared.
    pub mark: u32,
    /// Its n-grams.
    pub grams: Range<u32>,
    /// Whether it is white space.
    pub blank: bool,
}

/// All that is compared in a chunk.
#[derive(Debug, Default)]
pub struct Analysed {
    /// Lines.
    pub docs: Vec<Doc>,
    /// Paragraphs of all documents.
    pub units: Vec<Unit>,
    /// Digests of documents.
    pub keys: Vec<Digest>,
    /// Digests of paragraphs.
    pub marks: Vec<Digest>,
    /// Digests of n-grams: the distinct ones of each unit that is compared.
    pub grams: Vec<Digest>,
    /// Digests of bands.
    pub bands: Vec<Digest>,
    /// Signatures of the documents that have bands, if they are wanted.
    pub signatures: Vec<u32>,
}

/// The value that makes documents equal, if that is not their text.
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// A text, which is normalised.
    Text(Cow<'a, str>),
    /// The JSON of anything else: compared by value, in the form of [`json::canonical`].
    Json(&'a str),
}

/// A document that is not in a file.
#[derive(Clone, Debug, Default)]
pub struct Given<'a> {
    /// Its text.
    pub text: Option<&'a str>,
    /// The value of `options.key`.
    pub key: Option<Key<'a>>,
}

/// Turns chunks into digests; each thread has one.
pub struct Analyser<'o> {
    options: &'o Options,
    paths: [KeyPath; 2],
    key: Option<KeyPath>,
    hasher: KeyHasher,
    hashed: Hashed,
    shingles: Vec<Digest>,
    minhash: Option<MinHash>,
    signatures: bool,
    /// Room for the text of a document.
    room: String,
}

impl<'o> Analyser<'o> {
    /// For a run with these options.
    pub fn new(options: &'o Options) -> Self {
        Self {
            options,
            paths: [KeyPath::new(&options.text_key), KeyPath::new(&options.id_key)],
            key: options.key.as_deref().map(KeyPath::new),
            hasher: KeyHasher::xxh3(0),
            hashed: Hashed::default(),
            shingles: Vec::new(),
            minhash: options.near.as_ref().map(|near| MinHash::new(near.bands)),
            signatures: false,
            room: String::new(),
        }
    }

    /// The same, with signatures.
    pub fn with_signatures(options: &'o Options) -> Self {
        Self { signatures: true, ..Self::new(options) }
    }

    /// All that is compared in a chunk.
    pub fn analyse(&mut self, chunk: &Chunk) -> Analysed {
        let mut out = Analysed::default();
        let mut start = 0;
        if chunk.lines != Lines::Whole {
            let state = if chunk.lines == Lines::LongStart { Line::Bad(Bad::Long) } else { Line::More };
            out.docs.push(doc(0..chunk.bytes.len() as u32, state));
            return out;
        }
        // All lines at once if they are UTF-8, else one by one.
        let whole = std::str::from_utf8(&chunk.bytes).ok();
        for end in memchr::memchr_iter(b'\n', &chunk.bytes).map(|at| at + 1).chain([chunk.bytes.len()]) {
            if end == start {
                continue;
            }
            let line = match whole {
                Some(text) => Ok(&text[start..end]),
                None => std::str::from_utf8(&chunk.bytes[start..end]),
            };
            let mut doc = doc(start as u32..end as u32, Line::Good);
            match line {
                Err(_) => doc.state = Line::Bad(Bad::Utf8),
                Ok(line) if line.trim().is_empty() => doc.state = Line::Blank,
                Ok(line) if line.len() as u64 > self.options.max_line => doc.state = Line::Bad(Bad::Long),
                Ok(line) => {
                    if let Err(bad) = self.document(line, start, &mut doc, &mut out) {
                        doc.state = Line::Bad(bad);
                    }
                }
            }
            out.docs.push(doc);
            start = end;
        }
        out
    }

    fn document(&mut self, line: &str, at: usize, doc: &mut Doc, out: &mut Analysed) -> Result<(), Bad> {
        let mut room = std::mem::take(&mut self.room);
        let done = self.document_in(&mut room, line, at, doc, out);
        self.room = room;
        done
    }

    fn document_in(
        &mut self,
        room: &mut String,
        line: &str,
        at: usize,
        doc: &mut Doc,
        out: &mut Analysed,
    ) -> Result<(), Bad> {
        let paths = [Some(&self.paths[0]), Some(&self.paths[1]), self.key.as_ref()];
        let [raw, id, key] = json::find(line, &paths)?;
        let raw = raw.ok_or(Bad::Key)?;
        let text = json::decode(raw, room).ok_or(Bad::Key)?;
        let place = |value: &str| {
            let start = at + (value.as_ptr() as usize - line.as_ptr() as usize);
            start as u32..(start + value.len()) as u32
        };
        (doc.raw, doc.id) = (place(raw), id.map_or(0..0, place));
        let key = key.map(|key| json::text(key).map_or(Key::Json(key), Key::Text));
        self.text(text, key.as_ref(), doc, out)
    }

    /// The digests of texts that are not in files. A document without a text, or without the key
    /// that is compared, cannot be used.
    pub fn texts(&mut self, documents: &[Given<'_>]) -> Analysed {
        let mut out = Analysed::default();
        for given in documents {
            let mut doc = doc(0..0, Line::Good);
            match given.text {
                Some(text) if text.len() as u64 > self.options.max_line => doc.state = Line::Bad(Bad::Long),
                Some(text) => {
                    if let Err(bad) = self.text(text, given.key.as_ref(), &mut doc, &mut out) {
                        doc.state = Line::Bad(bad);
                    }
                }
                None => doc.state = Line::Bad(Bad::Key),
            }
            out.docs.push(doc);
        }
        out
    }

    fn text(
        &mut self,
        text: &str,
        key: Option<&Key<'_>>,
        doc: &mut Doc,
        out: &mut Analysed,
    ) -> Result<(), Bad> {
        let options = self.options;
        if options.documents {
            let digest = match (key, &self.key) {
                (Some(Key::Text(key)), Some(_)) => {
                    self.hasher.digest(options.normalise.apply(key).as_bytes())
                }
                // `null` is no key: documents without one are not copies of each other.
                (Some(Key::Json("null")) | None, Some(_)) => return Err(Bad::Key),
                (Some(Key::Json(key)), Some(_)) => {
                    self.hasher.digest(json::canonical(key).ok_or(Bad::Key)?.as_bytes())
                }
                (_, None) => self.hasher.digest(options.normalise.apply(text).as_bytes()),
            };
            doc.key = out.keys.len() as u32;
            out.keys.push(digest);
        }
        let first_unit = out.units.len() as u32;
        if options.splits() {
            split(text, options.split, |range| {
                let blank = text[range.clone()].trim().is_empty();
                out.units.push(Unit {
                    text: range.start as u32..range.end as u32,
                    mark: NONE,
                    grams: 0..0,
                    blank,
                });
            });
        }
        doc.units = first_unit..out.units.len() as u32;
        if options.paragraphs {
            for unit in &mut out.units[first_unit as usize..] {
                let text =
                    text[unit.text.start as usize..unit.text.end as usize].trim_end_matches(['\n', '\r']);
                let words = text.split_whitespace().take(options.min_words.max(1)).count();
                if words >= options.min_words.max(1) {
                    unit.mark = out.marks.len() as u32;
                    out.marks.push(self.hasher.digest(options.normalise.apply(text).as_bytes()));
                }
            }
        }
        let first_gram = out.grams.len() as u32;
        if let Some(ngrams) = &options.ngrams {
            if ngrams.unit == NgramUnit::Document {
                self.hashed.fill(&options.normalise_words.apply(text), options.words, &self.hasher);
                self.hashed.distinct_grams(ngrams.n, options.min_words, &mut out.grams);
            } else {
                for unit in &mut out.units[first_unit as usize..] {
                    let text = &text[unit.text.start as usize..unit.text.end as usize];
                    self.hashed.fill(&options.normalise_words.apply(text), options.words, &self.hasher);
                    let start = out.grams.len() as u32;
                    self.hashed.distinct_grams(ngrams.n, options.min_words, &mut out.grams);
                    unit.grams = start..out.grams.len() as u32;
                }
            }
        }
        if let Some(benchmark) = &options.benchmark {
            self.hashed.fill(&options.normalise_words.apply(text), options.words, &self.hasher);
            self.hashed.distinct_grams(benchmark.n, 0, &mut out.grams);
        }
        doc.grams = first_gram..out.grams.len() as u32;
        let first_band = out.bands.len() as u32;
        if let (Some(near), Some(minhash)) = (&options.near, &mut self.minhash) {
            self.hashed.fill(&options.normalise_words.apply(text), options.words, &self.hasher);
            self.shingles.clear();
            self.hashed.grams(near.shingle, &mut self.shingles);
            // A text without words is similar to none.
            if !self.shingles.is_empty() {
                minhash.bands(&self.shingles, &self.hasher, &mut out.bands);
                if self.signatures {
                    out.signatures.extend_from_slice(minhash.last());
                }
            }
        }
        doc.bands = first_band..out.bands.len() as u32;
        Ok(())
    }
}

fn doc(line: Range<u32>, state: Line) -> Doc {
    Doc { line, state, raw: 0..0, id: 0..0, key: NONE, units: 0..0, grams: 0..0, bands: 0..0 }
}
