//! Files of JSON lines, read in chunks of whole lines.
//!
//! Where a chunk ends depends on the bytes alone, so that the same chunks come whatever the number
//! of threads is.

use anyhow::Context;
use gardenia_terminal::message::hinted;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes after which a chunk ends, at the next line end: it stays in the cache from the reader to
/// the writer.
pub const CHUNK: usize = 256 << 10;

/// How a file is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// A file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its name below the directory that all inputs share: the output has it, too.
    pub name: String,
    /// Its length on disk.
    pub bytes: u64,
}

/// The files that these arguments name, in order: files, directories with everything below them,
/// and glob patterns.
pub fn find(arguments: &[String]) -> anyhow::Result<Vec<Source>> {
    let mut paths = Vec::new();
    for argument in arguments {
        let path = Path::new(argument);
        if path.is_dir() {
            let before = paths.len();
            walk(path, &mut paths)?;
            if paths.len() == before {
                return Err(hinted(
                    format!("{argument}: no files in this directory"),
                    "name files of JSON lines",
                ));
            }
        } else if path.exists() || !argument.contains(['*', '?', '[']) {
            paths.push(path.to_owned());
        } else {
            let found = glob::glob(argument)
                .map_err(|error| hinted(format!("{argument}: {error}"), "see `man 7 glob`"))?;
            let before = paths.len();
            for path in found {
                let path = path.map_err(io::Error::from)?;
                if path.is_file() {
                    paths.push(path);
                }
            }
            if paths.len() == before {
                return Err(hinted(format!("{argument}: no file matches this pattern"), "check it with ls"));
            }
        }
    }
    if paths.is_empty() {
        return Err(hinted("no input files", "name files of JSON lines, directories, or patterns in quotes"));
    }
    let places = paths.iter().map(|path| place(path)).collect::<io::Result<Vec<_>>>()?;
    let base = common_directory(&places);
    let mut sources = Vec::with_capacity(paths.len());
    for (path, place) in paths.into_iter().zip(places) {
        let about = path.metadata().with_context(|| path.display().to_string())?;
        let name = place.strip_prefix(&base).unwrap_or(&place);
        // An output has this name below its directory, and must not leave it.
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            let reason = format!("{}: shares no directory with {}", path.display(), base.display());
            return Err(hinted(reason, "run each drive by itself"));
        }
        let name =
            name.to_str().with_context(|| format!("{}: its name is not UTF-8", path.display()))?.to_owned();
        sources.push(Source { name, bytes: about.len(), path });
    }
    let mut names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(hinted(format!("{} is given twice", twice[0]), "name each file once"));
    }
    Ok(sources)
}

/// All files below a directory, by name; hidden ones are left out.
fn walk(directory: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = directory.read_dir().with_context(|| directory.display().to_string())?;
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(|| directory.display().to_string())?;
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden {
            continue;
        }
        if entry.is_dir() { walk(&entry, paths)? } else { paths.push(entry) }
    }
    Ok(())
}

/// Where a path leads, without `.` and `..`. Links keep their names, because outputs are named as
/// the inputs are.
fn place(path: &Path) -> io::Result<PathBuf> {
    let mut place = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => _ = place.pop(),
            part => place.push(part),
        }
    }
    Ok(place)
}

/// The directory that all paths lie in.
fn common_directory(paths: &[PathBuf]) -> PathBuf {
    let mut base = paths[0].parent().unwrap_or(Path::new("")).to_owned();
    while !paths.iter().all(|path| path.starts_with(&base)) {
        if !base.pop() {
            break;
        }
    }
    base
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Whole lines.
    Whole,
    /// The beginning of a line that is too long to be held.
    LongStart,
    /// More of it.
    LongMore,
}

/// A piece of a file.
#[derive(Debug)]
pub struct Chunk {
    /// The bytes of it.
    pub bytes: Vec<u8>,
    /// What they are.
    pub lines: Lines,
    /// The number of the first line, from 1.
    pub first_line: u64,
}

/// Reads a file chunk by chunk.
pub struct Reader {
    packed: Box<dyn Read + Send>,
    /// How it is compressed.
    pub packing: Packing,
    /// What follows the last chunk.
    rest: Vec<u8>,
    line: u64,
    /// Bytes of the longest line that is accepted.
    max_line: usize,
    long: bool,
    done: bool,
    read: Arc<AtomicU64>,
}

/// Counts what is used of a file: what is read ahead does not count.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
    own: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    fn count(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.own.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.count(bytes);
        Ok(bytes)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }
    fn consume(&mut self, bytes: usize) {
        self.inner.consume(bytes);
        self.count(bytes);
    }
}

impl Reader {
    /// Opens a file; bytes read from disk are added to `read`.
    pub fn open(source: &Source, max_line: usize, read: Arc<AtomicU64>) -> anyhow::Result<Self> {
        let name = || source.path.display().to_string();
        let file = File::open(&source.path).with_context(name)?;
        let own = Arc::new(AtomicU64::new(0));
        let file = BufReader::with_capacity(128 << 10, file);
        let mut file = Counted { inner: file, read, own: own.clone() };
        let magic = file.fill_buf().with_context(name)?;
        let (packing, packed): (_, Box<dyn Read + Send>) = if magic.starts_with(&[0x1f, 0x8b]) {
            (Packing::Gzip, Box::new(flate2::bufread::MultiGzDecoder::new(file)))
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            (Packing::Zstd, Box::new(zstd::Decoder::with_buffer(file).with_context(name)?))
        } else if magic.starts_with(b"PAR1") {
            let hint = "the Python package reads Parquet: see docs/corpus.md";
            return Err(hinted(format!("{}: a Parquet file, not JSON lines", name()), hint));
        } else if magic.starts_with(b"BZh")
            || magic.starts_with(b"\xfd7zXZ")
            || magic.starts_with(b"PK\x03\x04")
        {
            let hint = "compress it with gzip or zstd, or not at all";
            return Err(hinted(format!("{}: bzip2, xz and ZIP files are not read", name()), hint));
        } else {
            (Packing::Plain, Box::new(file))
        };
        Ok(Self { packed, packing, rest: Vec::new(), line: 1, max_line, long: false, done: false, read: own })
    }

    /// Bytes of this file read from disk so far.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The next chunk; none at the end.
    pub fn chunk(&mut self) -> io::Result<Option<Chunk>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let (mut wanted, mut searched) = (CHUNK, 0);
        while !self.done {
            if bytes.len() < wanted {
                let missing = (wanted - bytes.len()) as u64;
                if bytes.capacity() < wanted {
                    bytes.reserve(wanted - bytes.len());
                }
                let got = (&mut self.packed).take(missing).read_to_end(&mut bytes)?;
                self.done = (got as u64) < missing;
                continue;
            }
            // What came before has no line end: a long line is searched once, and not for each piece of it.
            if memchr::memrchr(b'\n', &bytes[searched..]).is_some() || bytes.len() > self.max_line {
                break;
            }
            searched = bytes.len();
            wanted = bytes.len() + CHUNK;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.line;
        let mut lines = Lines::Whole;
        if self.long {
            // The rest of a long line ends at its line end.
            lines = Lines::LongMore;
            match memchr::memchr(b'\n', &bytes) {
                Some(end) => {
                    self.rest = bytes.split_off(end + 1);
                    self.long = false;
                    self.line += 1;
                }
                None => self.long = !self.done,
            }
            return Ok(Some(Chunk { bytes, lines, first_line }));
        }
        match memchr::memrchr(b'\n', &bytes) {
            Some(end) => {
                if !self.done || end + 1 < bytes.len() {
                    self.rest = bytes.split_off(end + 1);
                }
                self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            }
            // At the end of the file the last line may lack its end.
            None if self.done && bytes.len() <= self.max_line => self.line += 1,
            None => {
                lines = Lines::LongStart;
                self.long = !self.done;
            }
        }
        Ok(Some(Chunk { bytes, lines, first_line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn chunks(text: &[u8], max_line: usize) -> Vec<(Vec<u8>, Lines, u64)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let source = Source { path: file.path().to_owned(), name: "x".into(), bytes: text.len() as u64 };
        let mut reader = Reader::open(&source, max_line, Arc::default()).unwrap();
        let mut all = Vec::new();
        while let Some(chunk) = reader.chunk().unwrap() {
            all.push((chunk.bytes, chunk.lines, chunk.first_line));
        }
        all
    }

    #[test]
    fn chunks_are_whole_lines_and_lose_nothing() {
        let mut text = Vec::new();
        for line in 0..200_000 {
            writeln!(text, "line {line} of a file that has several chunks").unwrap();
        }
        text.extend_from_slice(b"the last has no end");
        let all = chunks(&text, 1 << 26);
        assert!(all.len() > 5);
        let mut line = 1;
        for (at, (bytes, lines, first)) in all.iter().enumerate() {
            assert_eq!((*lines, *first), (Lines::Whole, line));
            assert!(bytes.ends_with(b"\n") || at + 1 == all.len());
            line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        }
        assert_eq!(all.concat_bytes(), text);
    }

    /// Only what was read last is searched: an end is found wherever it lies in that.
    #[test]
    fn long_lines_end_where_their_ends_are() {
        for pieces in 1..4 {
            for end in [pieces * CHUNK - 1, pieces * CHUNK, pieces * CHUNK + 1, (pieces + 1) * CHUNK - 1] {
                let mut text = vec![b'x'; end];
                text.push(b'\n');
                text.extend(vec![b'y'; 2 * CHUNK]);
                text.push(b'\n');
                let all = chunks(&text, 1 << 26);
                assert_eq!(all.concat_bytes(), text);
                assert_eq!((all[0].0.len(), all.len()), (end + 1, 2), "{end}");
                assert!(all.iter().all(|chunk| chunk.1 == Lines::Whole));
            }
        }
    }

    #[test]
    fn a_line_beyond_the_limit_comes_in_pieces_and_the_next_is_whole() {
        let mut text = b"first\n".to_vec();
        text.extend(vec![b'x'; 5 << 20]);
        text.extend_from_slice(b"\nlast\n");
        let all = chunks(&text, 2 << 20);
        assert_eq!(all.concat_bytes(), text);
        let kinds: Vec<Lines> = all.iter().map(|chunk| chunk.1).collect();
        assert_eq!(kinds[0], Lines::Whole);
        assert_eq!(kinds[1], Lines::LongStart);
        assert_eq!(all[1].2, 2);
        assert_eq!(all.last().unwrap(), &(b"last\n".to_vec(), Lines::Whole, 3));
        assert!(all.iter().all(|chunk| chunk.0.len() <= 4 << 20));
    }

    trait ConcatBytes {
        fn concat_bytes(&self) -> Vec<u8>;
    }
    impl ConcatBytes for Vec<(Vec<u8>, Lines, u64)> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|chunk| chunk.0.clone()).collect()
        }
    }
}
