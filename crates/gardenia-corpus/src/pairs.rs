//! Similar documents as pairs, from exact buckets on disk.
//!
//! Every band of every document is a record of its digest and the document's number. The records
//! are spread over files by their digests, and each file is sorted in memory by itself: documents
//! with one digest share a bucket. Each is paired with the first of its bucket, so that the groups
//! are those of all pairs, and a bucket of n documents gives n − 1 pairs. The similarity of a pair
//! is the share of values in which the signatures agree, which lie on disk as well.

use crate::analyse::{Analyser, Line};
use crate::input::{Reader, Source};
use crate::options::Options;
use crate::run::BadLog;
use anyhow::Context;
use gardenia_terminal::progress::Progress;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that the records are spread over.
const PARTS: usize = 64;

/// Bins of the histogram of similarities.
pub const BINS: usize = 20;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Documents read.
    pub documents: u64,
    /// Lines that could not be used.
    pub bad: u64,
    /// Pairs written.
    pub pairs: u64,
    /// The same by their similarity, in bins of 0.05.
    pub similarities: [u64; BINS],
}

/// Writes the pairs of at least this similarity to `out`, one JSON object a line. Temporary files
/// are in `work`.
pub fn find(
    sources: &[Source],
    options: &Options,
    least: f64,
    work: &Path,
    out: &mut dyn Write,
    verbose: bool,
) -> anyhow::Result<Found> {
    let near = options.near.as_ref().context("pairs are found by bands")?;
    let values = near.bands.bands * near.bands.rows;
    let directory = tempfile::tempdir_in(work).with_context(|| work.display().to_string())?;
    let disk = || format!("{}: temporary files", work.display());
    let create = |name: String| -> anyhow::Result<BufWriter<File>> {
        let path = directory.path().join(name);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        Ok(BufWriter::new(file.with_context(|| path.display().to_string())?))
    };
    let mut parts =
        (0..PARTS).map(|part| create(format!("part-{part}"))).collect::<anyhow::Result<Vec<_>>>()?;
    let (mut signatures, mut names) = (create("signatures".into())?, create("names".into())?);
    let (mut found, mut ends) =
        (Found { documents: 0, bad: 0, pairs: 0, similarities: [0; BINS] }, vec![0u64]);

    let mut bad = BadLog::new(options, verbose);
    let mut analyser = Analyser::with_signatures(options);
    let total = sources.iter().map(|source| source.bytes).sum();
    let (mut progress, read) =
        (Progress::new("pairs".into(), Some(total), verbose), Arc::new(AtomicU64::new(0)));
    for source in sources {
        let mut reader = Reader::open(source, options.max_line as usize, read.clone())?;
        while let Some(chunk) = reader.chunk().with_context(|| source.path.display().to_string())? {
            let analysed = analyser.analyse(&chunk);
            let mut all = analysed.signatures.chunks_exact(values);
            for (line, doc) in (chunk.first_line..).zip(&analysed.docs) {
                match doc.state {
                    Line::Good => {}
                    Line::Bad(error) => {
                        bad.note(source, line, error)?;
                        continue;
                    }
                    Line::Blank | Line::More => continue,
                }
                found.documents += 1;
                let number = ends.len() as u64 - 1;
                if doc.bands.is_empty() {
                    continue; // a text without words
                }
                for digest in &analysed.bands[doc.bands.start as usize..doc.bands.end as usize] {
                    let part = &mut parts[(digest.0 >> 58) as usize];
                    part.write_all(&digest.0.to_le_bytes()).with_context(disk)?;
                    part.write_all(&number.to_le_bytes()).with_context(disk)?;
                }
                let bytes: Vec<u8> =
                    all.next().unwrap_or_default().iter().flat_map(|value| value.to_le_bytes()).collect();
                signatures.write_all(&bytes).with_context(disk)?;
                // A document without an id is named by its place.
                let id = match doc.id.is_empty() {
                    true => serde_json::to_vec(&format!("{}:{line}", source.name))?,
                    false => chunk.bytes[doc.id.start as usize..doc.id.end as usize].to_vec(),
                };
                names.write_all(&id).with_context(disk)?;
                ends.push(ends.last().copied().unwrap_or(0) + id.len() as u64);
            }
            progress.read(read.load(Ordering::Relaxed));
        }
    }

    found.bad = bad.lines;

    let mut pairs = Vec::new();
    for part in parts {
        let mut file = part.into_inner().map_err(|error| error.into_error()).with_context(disk)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).with_context(disk)?;
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let mut records: Vec<(u64, u64)> =
            bytes.chunks_exact(16).map(|record| (word(&record[..8]), word(&record[8..]))).collect();
        records.sort_unstable();
        for bucket in records.chunk_by(|a, b| a.0 == b.0) {
            pairs.extend(
                bucket[1..].iter().filter(|other| other.1 != bucket[0].1).map(|other| (bucket[0].1, other.1)),
            );
        }
    }
    pairs.sort_unstable();
    pairs.dedup();

    let mut signatures = signatures.into_inner().map_err(|error| error.into_error()).with_context(disk)?;
    let mut names = names.into_inner().map_err(|error| error.into_error()).with_context(disk)?;
    let at = |file: &mut File, start: u64, len: u64| -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes)).with_context(disk)?;
        Ok(bytes)
    };
    let size = values as u64 * 4;
    for (first, second) in pairs {
        let (a, b) = (at(&mut signatures, first * size, size)?, at(&mut signatures, second * size, size)?);
        let agree = a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0).filter(|(a, b)| a == b).count();
        let similarity = agree as f64 / values as f64;
        if similarity < least {
            continue;
        }
        let mut name = |number: u64| {
            let (start, end) = (ends[number as usize], ends[number as usize + 1]);
            at(&mut names, start, end - start)
        };
        out.write_all(b"{\"first\":")?;
        out.write_all(&name(first)?)?;
        out.write_all(b",\"second\":")?;
        out.write_all(&name(second)?)?;
        writeln!(out, ",\"similarity\":{similarity:.4}}}")?;
        found.pairs += 1;
        found.similarities[((similarity * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    Ok(found)
}
