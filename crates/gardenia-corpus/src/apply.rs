//! Attributes applied: documents without the spans that their attributes name.

use crate::analyse::{Analyser, Line};
use crate::input::{Reader, Source};
use crate::json;
use crate::options::{BadLines, Options, Rule};
use crate::output::{Sink, Target, pack};
use crate::run::BadLog;
use anyhow::Context;
use gardenia_terminal::message::hinted;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A line of attributes.
#[derive(Deserialize)]
struct Attributes<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    attributes: BTreeMap<String, Vec<(u64, u64, f64)>>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Documents read.
    pub documents: u64,
    /// Documents written.
    pub kept: u64,
    /// Of them those that are shorter than before.
    pub changed: u64,
    /// Lines that could not be used.
    pub bad: u64,
}

/// Lines of a file, one by one.
struct LinesOf {
    reader: Reader,
    lines: VecDeque<Vec<u8>>,
}

impl LinesOf {
    fn line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        while self.lines.is_empty() {
            let Some(chunk) = self.reader.chunk()? else { return Ok(None) };
            let lines = chunk.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            self.lines.extend(lines.map(<[u8]>::to_vec));
        }
        Ok(self.lines.pop_front())
    }
}

/// Applies the attributes in a directory, which has a file of the same name for each of `sources`.
/// A document that is covered as a whole goes, unless `options.empty` keeps it.
pub fn apply(
    sources: &[Source],
    attributes: &Path,
    options: &Options,
    target: &Target,
) -> anyhow::Result<Applied> {
    let mut applied = Applied::default();
    // What the beginning of a long line was holds for the rest of it.
    let (mut bad, mut dropped) = (BadLog::new(options, true), false);
    let mut analyser = Analyser::new(options);
    for source in sources {
        let path = attributes.join(&source.name);
        let bytes = path.metadata().with_context(|| path.display().to_string())?.len();
        let beside = Source { path: path.clone(), name: source.name.clone(), bytes };
        let open = |source: &Source, longest: u64| {
            Reader::open(source, usize::try_from(longest).unwrap_or(usize::MAX), Arc::default())
        };
        // A span has some 25 bytes, and a paragraph of one character with its end has 3.
        let longest = options.max_line.saturating_mul(16).saturating_add(1024);
        let mut flags = LinesOf { reader: open(&beside, longest)?, lines: VecDeque::new() };
        let (mut reader, mut sink) = (open(source, options.max_line)?, Sink::create(target, source)?);
        while let Some(chunk) = reader.chunk().with_context(|| source.path.display().to_string())? {
            let (analysed, mut out) = (analyser.analyse(&chunk), Vec::with_capacity(chunk.bytes.len()));
            for (number, doc) in (chunk.first_line..).zip(&analysed.docs) {
                let line = &chunk.bytes[doc.line.start as usize..doc.line.end as usize];
                // Lines without a document have no attributes.
                if let Line::Bad(error) = doc.state {
                    bad.note(source, number, error)?;
                    dropped = options.bad == BadLines::Drop;
                }
                match doc.state {
                    Line::Good => {}
                    Line::Bad(_) | Line::More if dropped => continue,
                    Line::Bad(_) | Line::More | Line::Blank => {
                        out.extend_from_slice(line);
                        continue;
                    }
                }
                let place = || format!("{}, line {number}", source.path.display());
                let flag = flags.line().with_context(|| path.display().to_string())?;
                let flag =
                    flag.with_context(|| format!("{}: no attributes for {}", path.display(), place()))?;
                let flag: Attributes<'_> = serde_json::from_slice(&flag)
                    .with_context(|| format!("{}: the attributes of {}", path.display(), place()))?;
                let id = match doc.id.is_empty() {
                    true => "null",
                    false => std::str::from_utf8(&chunk.bytes[doc.id.start as usize..doc.id.end as usize])?,
                };
                if flag.id.get() != id {
                    let reason =
                        format!("{}: the document is {id}, its attributes are of {}", place(), flag.id.get());
                    return Err(hinted(reason, "name the files that the attributes were made from"));
                }
                applied.documents += 1;
                let raw_at = doc.raw.start as usize;
                let raw = std::str::from_utf8(&chunk.bytes[raw_at..doc.raw.end as usize])?;
                let spans: Vec<(u64, u64)> =
                    flag.attributes.values().flatten().map(|(start, end, _)| (*start, *end)).collect();
                if spans.is_empty() {
                    out.extend_from_slice(line);
                    applied.kept += 1;
                    continue;
                }
                let text = json::text(raw).unwrap_or_default();
                let spans = in_bytes(&text, spans).with_context(place)?;
                let gone: usize = spans.iter().map(Range::len).sum();
                if gone == text.len() && options.empty == Rule::Drop {
                    continue;
                }
                let (mut at, raw_spans) = (doc.line.start as usize, json::raw_spans(raw, &spans));
                for span in raw_spans {
                    out.extend_from_slice(&chunk.bytes[at..raw_at + span.start]);
                    at = raw_at + span.end;
                }
                out.extend_from_slice(&chunk.bytes[at..doc.line.end as usize]);
                applied.kept += 1;
                applied.changed += 1;
            }
            sink.write(&pack(out, reader.packing)?)?;
        }
        sink.seal(false)?.publish()?;
    }
    applied.bad = bad.lines;
    Ok(applied)
}

/// Spans in characters as spans in bytes, in order and without overlaps.
fn in_bytes(text: &str, mut spans: Vec<(u64, u64)>) -> anyhow::Result<Vec<Range<usize>>> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in spans {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let byte = |at: u64| {
        let place = usize::try_from(at).ok().and_then(|at| places.get(at).copied());
        place.with_context(|| format!("a span ends at character {at}, and the text has {}", places.len() - 1))
    };
    merged
        .into_iter()
        .map(|(start, end)| {
            let range = byte(start)?..byte(end)?;
            anyhow::ensure!(range.start <= range.end, "a span begins at character {start} and ends at {end}");
            Ok(range)
        })
        .collect()
}
