//! What is written: the same files without what was removed, or attributes that say what would be.

use crate::analyse::{Analysed, Doc, Line};
use crate::decide::{Decided, Reason};
use crate::input::{Chunk, Packing, Source};
use crate::json;
use crate::report::Tally;
use anyhow::Context;
use gardenia_terminal::message::hinted;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a run writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Documents.
    Documents(PathBuf),
    /// Attributes, in dolma's layout.
    Attributes(PathBuf),
    /// Nothing.
    Nothing,
}

impl Target {
    /// Where files are written, if any are.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Documents(directory) | Self::Attributes(directory) => Some(directory),
            Self::Nothing => None,
        }
    }

    /// The same with a path that does not depend on where the program runs.
    pub fn resolved(&self) -> anyhow::Result<Self> {
        let resolve = |directory: &Path| resolve(directory).with_context(|| directory.display().to_string());
        Ok(match self {
            Self::Documents(directory) => Self::Documents(resolve(directory)?),
            Self::Attributes(directory) => Self::Attributes(resolve(directory)?),
            Self::Nothing => Self::Nothing,
        })
    }
}

/// An absolute path without links, also of what is not there yet.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(path), ..) => Ok(path),
        (Err(_), Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
        _ => Ok(path),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Documents(directory) => write!(f, "--output {}", directory.display()),
            Self::Attributes(directory) => write!(f, "--attributes {}", directory.display()),
            Self::Nothing => f.write_str("--dry-run"),
        }
    }
}

/// A chunk as it is to be written.
#[derive(Debug, Default)]
pub struct Rendered {
    /// Bytes, packed.
    pub bytes: Vec<u8>,
    /// What happened in it.
    pub tally: Tally,
    /// Texts that were removed as repeats, shortened.
    pub repeated: Vec<Vec<u8>>,
    /// The first lines that could not be used, with their reasons.
    pub bad: Vec<(u64, json::Bad)>,
}

/// Bytes of a repeated text that the report keeps.
const EXCERPT: usize = 200;

/// Turns decisions into bytes.
pub fn render(
    chunk: &Chunk,
    analysed: &Analysed,
    decided: &Decided,
    target: &Target,
    packing: Packing,
    bands: usize,
) -> anyhow::Result<Rendered> {
    let mut out = Rendered::default();
    let mut bytes = Vec::with_capacity(match target {
        Target::Documents(_) => chunk.bytes.len(),
        _ => 0,
    });
    out.tally.bytes_in = chunk.bytes.len() as u64;
    out.tally.bands(&decided.bands, bands);
    out.tally.overlaps(&decided.overlaps);
    // Lines that stay are copied together with those before them.
    let mut copied = 0..0;
    for (number, (doc, verdict)) in (chunk.first_line..).zip(analysed.docs.iter().zip(&decided.docs)) {
        let line = doc.line.start as usize..doc.line.end as usize;
        match doc.state {
            Line::Bad(bad) => {
                out.tally.documents += 1;
                out.tally.kept += u64::from(verdict.is_none());
                out.tally.bad(bad);
                out.bad.push((number, bad));
                if verdict.is_some() {
                    let removed = out.tally.removed.entry(Reason::Bad).or_default();
                    removed.units += 1;
                    removed.bytes += line.len() as u64;
                }
            }
            Line::More => {
                if verdict.is_some() {
                    out.tally.removed.entry(Reason::Bad).or_default().bytes += line.len() as u64;
                }
            }
            Line::Blank => {}
            Line::Good => {
                out.tally.documents += 1;
                out.tally.paragraphs += doc.units.len() as u64;
                out.tally.kept += u64::from(verdict.is_none());
            }
        }
        let units = doc.units.start as usize..doc.units.end as usize;
        let cut = verdict.is_none() && decided.units[units.clone()].iter().any(Option::is_some);
        if doc.state == Line::Good && (verdict.is_some() || cut) {
            removed_texts(chunk, analysed, decided, doc, *verdict, &mut out);
        }
        if let Target::Attributes(_) = target {
            if doc.state == Line::Good {
                attributes(chunk, analysed, decided, doc, *verdict, &mut bytes)?;
            }
            continue;
        }
        let kept_bytes = match (verdict, cut) {
            (Some(_), _) => 0,
            (None, false) => {
                if copied.end == line.start && *target != Target::Nothing {
                    copied.end = line.end;
                } else if *target != Target::Nothing {
                    bytes.extend_from_slice(&chunk.bytes[copied]);
                    copied = line.clone();
                }
                line.len()
            }
            (None, true) => {
                let raw = raw_text(chunk, doc);
                let spans: Vec<Range<usize>> = units
                    .filter(|unit| decided.units[*unit].is_some())
                    .map(|unit| {
                        analysed.units[unit].text.start as usize..analysed.units[unit].text.end as usize
                    })
                    .collect();
                let spans = json::raw_spans(raw, &spans);
                let gone: usize = spans.iter().map(Range::len).sum();
                if *target != Target::Nothing {
                    bytes.extend_from_slice(&chunk.bytes[std::mem::take(&mut copied)]);
                    let mut at = line.start;
                    for span in spans {
                        bytes.extend_from_slice(&chunk.bytes[at..doc.raw.start as usize + span.start]);
                        at = doc.raw.start as usize + span.end;
                    }
                    bytes.extend_from_slice(&chunk.bytes[at..line.end]);
                }
                line.len() - gone
            }
        };
        out.tally.bytes_out += kept_bytes as u64;
        out.tally.changed += u64::from(cut);
    }
    if let Target::Attributes(_) = target {
        out.tally.bytes_out = bytes.len() as u64;
    }
    if *target != Target::Nothing {
        bytes.extend_from_slice(&chunk.bytes[copied]);
        out.bytes = pack(bytes, packing)?;
    }
    Ok(out)
}

/// Each chunk is a gzip member or a Zstandard frame of its own, so that threads pack them side by
/// side.
pub(crate) fn pack(bytes: Vec<u8>, packing: Packing) -> anyhow::Result<Vec<u8>> {
    if bytes.is_empty() {
        return Ok(bytes);
    }
    Ok(match packing {
        Packing::Plain => bytes,
        Packing::Gzip => {
            let mut gzip = flate2::write::GzEncoder::new(
                Vec::with_capacity(bytes.len() / 2),
                flate2::Compression::new(4),
            );
            gzip.write_all(&bytes)?;
            gzip.finish()?
        }
        Packing::Zstd => zstd::bulk::compress(&bytes, 3)?,
    })
}

fn raw_text<'c>(chunk: &'c Chunk, doc: &Doc) -> &'c str {
    // It was UTF-8 when it was analysed.
    std::str::from_utf8(&chunk.bytes[doc.raw.start as usize..doc.raw.end as usize]).unwrap_or("\"\"")
}

fn removed_texts(
    chunk: &Chunk,
    analysed: &Analysed,
    decided: &Decided,
    doc: &Doc,
    verdict: Option<Reason>,
    out: &mut Rendered,
) {
    let mut room = String::new();
    let text = json::decode(raw_text(chunk, doc), &mut room).unwrap_or_default();
    if let Some(reason) = verdict {
        out.tally.remove(reason, text);
        if matches!(reason, Reason::Document | Reason::Near | Reason::Ngrams) {
            out.repeated.push(excerpt(text));
        }
    }
    // The paragraphs of a document that goes as a whole are in its own count.
    for unit in (doc.units.start as usize..doc.units.end as usize)
        .filter(|_| verdict.is_none() || verdict == Some(Reason::Empty))
    {
        if let Some(reason) = decided.units[unit] {
            let range = &analysed.units[unit].text;
            let text = &text[range.start as usize..range.end as usize];
            if verdict.is_none() {
                out.tally.remove(reason, text);
            }
            out.repeated.push(excerpt(text));
        }
    }
}

pub(crate) fn excerpt(text: &str) -> Vec<u8> {
    let text = text.trim();
    let end = (0..=EXCERPT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.as_bytes()[..end.unwrap_or(0)].to_vec()
}

/// The names of attributes, by reason.
pub fn attribute(reason: Reason) -> &'static str {
    match reason {
        Reason::Document => "gardenia__dedup__duplicate_documents",
        Reason::Near => "gardenia__dedup__near_duplicates",
        Reason::Ngrams => "gardenia__dedup__ngram_documents",
        Reason::Paragraph => "gardenia__dedup__duplicate_paragraphs",
        Reason::NgramsParagraph => "gardenia__dedup__ngram_paragraphs",
        Reason::Empty => "gardenia__dedup__empty_documents",
        Reason::Contaminated => "gardenia__dedup__contaminated",
        Reason::Bad => "gardenia__dedup__bad",
    }
}

/// `{"id": …, "attributes": {NAME: [[start, end, 1.0], …]}}`, in characters, as dolma's taggers
/// write it.
fn attributes(
    chunk: &Chunk,
    analysed: &Analysed,
    decided: &Decided,
    doc: &Doc,
    verdict: Option<Reason>,
    bytes: &mut Vec<u8>,
) -> anyhow::Result<()> {
    bytes.extend_from_slice(b"{\"id\":");
    match doc.id.is_empty() {
        true => bytes.extend_from_slice(b"null"),
        false => bytes.extend_from_slice(&chunk.bytes[doc.id.start as usize..doc.id.end as usize]),
    }
    bytes.extend_from_slice(b",\"attributes\":{");
    let units = doc.units.start as usize..doc.units.end as usize;
    if verdict.is_none() && decided.units[units].iter().all(Option::is_none) {
        bytes.extend_from_slice(b"}}\n"); // most documents: their text is not looked at again
        return Ok(());
    }
    let mut room = String::new();
    let text = json::decode(raw_text(chunk, doc), &mut room).unwrap_or_default();
    if let Some(reason) = verdict {
        write!(bytes, "\"{}\":[[0,{},1.0]]", attribute(reason), text.chars().count())?;
    } else {
        let (mut first, mut at, mut chars) = (true, 0, 0);
        for reason in [Reason::NgramsParagraph, Reason::Paragraph] {
            let mut open = false;
            for unit in doc.units.start as usize..doc.units.end as usize {
                if decided.units[unit] != Some(reason) {
                    continue;
                }
                let range = &analysed.units[unit].text;
                if (range.start as usize) < at {
                    (at, chars) = (0, 0); // the other reason had come further
                }
                chars += text[at..range.start as usize].chars().count();
                let end = chars + text[range.start as usize..range.end as usize].chars().count();
                if !open {
                    write!(bytes, "{}\"{}\":[", if first { "" } else { "," }, attribute(reason))?;
                }
                write!(bytes, "{}[{chars},{end},1.0]", if open { "," } else { "" })?;
                (open, first) = (true, false);
                (at, chars) = (range.end as usize, end);
            }
            if open {
                bytes.push(b']');
            }
        }
    }
    bytes.extend_from_slice(b"}}\n");
    Ok(())
}

/// A file that is being written, beside the name that it gets when it is complete.
pub struct Sink {
    file: Option<(File, PathBuf, PathBuf)>,
}

impl Sink {
    /// Begins the output for a file of the input.
    pub fn create(target: &Target, source: &Source) -> anyhow::Result<Self> {
        let Some(directory) = target.directory() else { return Ok(Self { file: None }) };
        let (partial, path) = places(directory, &source.name);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        let file = File::create(&partial).with_context(|| partial.display().to_string())?;
        Ok(Self { file: Some((file, partial, path)) })
    }

    /// Writes a chunk.
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match &mut self.file {
            Some((file, _, path)) => file.write_all(bytes).map_err(|error| full(path, error)),
            None => Ok(()),
        }
    }

    /// Ends the file, which stays beside its name until it is published. `sync` waits for the disk.
    pub fn seal(mut self, sync: bool) -> anyhow::Result<Sealed> {
        let Some((file, partial, path)) = self.file.take() else { return Ok(Sealed::default()) };
        if sync {
            file.sync_all().map_err(|error| full(&path, error))?;
        }
        let bytes = file.metadata().with_context(|| partial.display().to_string())?.len();
        Ok(Sealed { bytes, file: Some((partial, path)) })
    }
}

/// A complete file without its name.
#[derive(Debug, Default)]
pub struct Sealed {
    /// Its length.
    pub bytes: u64,
    file: Option<(PathBuf, PathBuf)>,
}

impl Sealed {
    /// Gives it its name.
    pub fn publish(self) -> anyhow::Result<()> {
        let Some((partial, path)) = self.file else { return Ok(()) };
        std::fs::rename(&partial, &path).with_context(|| path.display().to_string())
    }
}

/// The outputs of finished files: names, lengths. What a killed run did not publish any more gets
/// its name; an error if one is missing.
pub fn check_finished<'a>(
    target: &Target,
    finished: impl Iterator<Item = (&'a str, u64)>,
) -> anyhow::Result<()> {
    let Some(directory) = target.directory() else { return Ok(()) };
    for (name, bytes) in finished {
        let (partial, path) = places(directory, name);
        if path.exists() {
            continue;
        }
        if partial.metadata().is_ok_and(|about| about.len() == bytes) {
            Sealed { bytes, file: Some((partial, path)) }.publish()?;
            continue;
        }
        let reason = format!("{}: missing, and the state has this file as finished", path.display());
        return Err(hinted(reason, "put it back, or begin again with another --state"));
    }
    Ok(())
}

/// Where an output is while it is written, and when it is complete. The first is fixed, so that
/// what a killed run left is overwritten by the next.
fn places(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
    let path = directory.join(name);
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (path.with_file_name(format!(".{file}.partial")), path)
}

impl Drop for Sink {
    /// What is not complete is not left behind.
    fn drop(&mut self) {
        if let Some((_, partial, _)) = &self.file {
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// What to do when a disk is full.
pub(crate) const FULL: &str =
    "make room and give the same command again; with --state the finished files are not read again";

fn full(path: &Path, error: std::io::Error) -> anyhow::Error {
    hinted(format!("{}: {error}", path.display()), FULL)
}

/// An error if `directory` lies inside a directory that the input names: the next run would read
/// what this one writes. What is hidden is not read. (The input may lie inside the output, as long
/// as no file of the one has the name of one of the other, which [`check`] looks at.)
pub fn apart(directory: &Path, input: &[String]) -> anyhow::Result<()> {
    let place = |path: &Path| resolve(path).with_context(|| path.display().to_string());
    let inner = place(directory)?;
    for outer in input.iter().map(Path::new).filter(|outer| outer.is_dir()) {
        let Ok(below) = inner.strip_prefix(place(outer)?).map(Path::to_owned) else { continue };
        let mut parts = below.components().map(|part| part.as_os_str().as_encoded_bytes()).peekable();
        if parts.peek().is_some() && !parts.any(|part| part.starts_with(b".")) {
            let reason = format!(
                "{}: lies inside {}, and the next run would read it as input",
                directory.display(),
                outer.display()
            );
            return Err(hinted(reason, "give a directory outside of the input"));
        }
    }
    Ok(())
}

/// An error if an output would replace an input, or something that is there already.
pub fn check(target: &Target, sources: &[Source], force: bool, finished: usize) -> anyhow::Result<()> {
    let Some(directory) = target.directory() else { return Ok(()) };
    let inputs: HashSet<PathBuf> =
        sources.iter().filter_map(|source| source.path.canonicalize().ok()).collect();
    for (at, source) in sources.iter().enumerate() {
        let path = directory.join(&source.name);
        if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
            let reason = format!("{}: the output would replace an input", path.display());
            return Err(hinted(reason, "give another directory"));
        }
        if !force && at >= finished && path.exists() {
            return Err(hinted(
                format!("{}: exists", path.display()),
                "--force replaces files, or give another directory",
            ));
        }
    }
    Ok(())
}
