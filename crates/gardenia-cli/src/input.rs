//! Records from files or stdin: lines of bytes, never decoded, of any length.
//!
//! Input comes in blocks of whole records, so that a few thousand keys are hashed and probed at a time. A
//! block is what one read gave: a slow pipe is answered as its lines arrive. A line end is `\n` and belongs to
//! no record; the last record may lack it. A carriage return is a byte like any other.

use crate::memory;
use crate::open::is_dash;
use crate::progress::Progress;
use anyhow::Context;
use gardenia::{Digest, KeyHasher};
use memchr::{memchr_iter, memrchr};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes asked of the system at a time: some thousand lines, and small enough for the second-level cache.
const BLOCK: usize = 256 << 10;

/// A record that needs more than this is looked at twice before memory is taken for it.
const LARGE: usize = 64 << 20;

/// How messages name an input.
pub(crate) fn name(path: &Path) -> String {
    if is_dash(path) { "(stdin)".to_owned() } else { path.display().to_string() }
}

/// Where records come from.
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl Source {
    /// The inputs named on the command line; none is stdin, and so is `-`.
    pub(crate) fn all(paths: &[PathBuf]) -> Vec<Self> {
        if paths.is_empty() {
            return vec![Self::Stdin];
        }
        paths.iter().map(|path| if is_dash(path) { Self::Stdin } else { Self::File(path.clone()) }).collect()
    }

    /// How messages name this input.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => name(Path::new("-")),
            Self::File(path) => name(path),
        }
    }

    /// The length of a regular file: something that can be read twice.
    pub(crate) fn file_len(&self) -> Option<u64> {
        match self {
            Self::Stdin => None,
            Self::File(path) => fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len()),
        }
    }

    /// Says at once what would otherwise be noticed after hours of reading other inputs.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let check = || {
            let metadata = fs::metadata(path)?;
            // Only files, and folders for what the system says of them: a pipe would wait for its writer.
            let waits = !metadata.is_file() && !metadata.is_dir();
            if waits { Ok(()) } else { File::open(path)?.read(&mut [0]).map(drop) }
        };
        check().with_context(|| self.name())
    }

    /// Starts reading; `progress` allows a bar.
    pub(crate) fn open(&self, doing: &str, progress: bool) -> anyhow::Result<Records> {
        let reader: Box<dyn Read> = match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => Box::new(File::open(path).with_context(|| self.name())?),
        };
        let progress = Progress::new(format!("{doing} {}", self.name()), self.file_len(), progress);
        Ok(Records { name: self.name(), progress, blocks: Blocks::new(reader, BLOCK) })
    }
}

/// The records of one input.
pub(crate) struct Records {
    name: String,
    progress: Progress,
    blocks: Blocks<Box<dyn Read>>,
}

impl Records {
    /// The next block, or `None` at the end.
    pub(crate) fn next_block(&mut self) -> anyhow::Result<Option<Block<'_>>> {
        let block = self.blocks.next().with_context(|| self.name.clone())?;
        if let Some(block) = &block {
            self.progress.add(block.bytes.len());
        }
        Ok(block)
    }
}

/// Cuts what a reader gives into blocks of whole records.
struct Blocks<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The least room to read into.
    room: usize,
    /// The buffer's bytes up to here were given out.
    given: usize,
    /// The buffer's bytes up to here were read.
    filled: usize,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    fn new(reader: R, size: usize) -> Self {
        Self { reader, buffer: vec![0; size], room: size / 2, given: 0, filled: 0, ended: false }
    }

    fn next(&mut self) -> anyhow::Result<Option<Block<'_>>> {
        // The start of a record that is not complete yet.
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        while !self.ended {
            // Room for half a block at least, or long records would be read in ever smaller sips.
            if self.buffer.len() - self.filled < self.room {
                self.grow()?;
            }
            let count = match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let fresh = self.filled..self.filled + count;
            self.filled = fresh.end;
            self.ended = count == 0;
            if let Some(at) = memrchr(b'\n', &self.buffer[fresh.clone()]) {
                self.given = fresh.start + at + 1;
                break;
            }
        }
        if self.ended {
            self.given = self.filled;
        }
        let bytes = &self.buffer[..self.given];
        Ok(if bytes.is_empty() { None } else { Some(Block { bytes }) })
    }

    fn grow(&mut self) -> anyhow::Result<()> {
        let more = self.buffer.len();
        let (what, hint) = ("a line this long", "are its records separated by line ends?");
        if more >= LARGE {
            memory::require(more as u64, what, hint)?;
        }
        self.buffer.try_reserve_exact(more).context("a line is longer than memory")?;
        self.buffer.resize(2 * more, 0);
        Ok(())
    }
}

/// Whole records, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// The end of each record, without its line end.
    fn ends(self) -> impl Iterator<Item = usize> + 'a {
        let unended = self.bytes.last().is_some_and(|&last| last != b'\n');
        memchr_iter(b'\n', self.bytes).chain(unended.then_some(self.bytes.len()))
    }

    /// The records, in order.
    pub(crate) fn records(self) -> impl Iterator<Item = &'a [u8]> {
        let mut start = 0;
        self.ends().map(move |end| {
            let record = &self.bytes[start..end];
            start = end + 1;
            record
        })
    }

    /// How many records.
    pub(crate) fn count(self) -> u64 {
        self.ends().count() as u64
    }

    /// Replaces `digests` by those of the records, in order.
    pub(crate) fn digest(self, hasher: &KeyHasher, digests: &mut Vec<Digest>) {
        digests.clear();
        digests.extend(self.records().map(|record| hasher.digest(record)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most `step` bytes a time, and is interrupted before each.
    struct Slow<'a> {
        bytes: &'a [u8],
        step: usize,
        interrupt: bool,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let step = self.step.min(buffer.len());
            self.bytes.read(&mut buffer[..step])
        }
    }

    #[test]
    fn records_do_not_depend_on_how_the_bytes_arrive() {
        let long = "x".repeat(1000);
        let texts = [
            "",
            "\n",
            "a",
            "a\n",
            "\n\n",
            "a\n\nb",
            "rose\r\ntulip\r\n",
            "\0\n\0\0",
            "a\nbb\nccc\ndddd",
            &long,
            &format!("a\n{long}\n\n{long}"),
        ];
        for text in texts {
            // What `split` makes of it, less the empty piece after a final line end.
            let mut expected: Vec<&[u8]> = text.as_bytes().split(|&b| b == b'\n').collect();
            expected.truncate(expected.len() - usize::from(text.is_empty() || text.ends_with('\n')));
            for (step, size) in [1, 2, 3, 7, 4096].into_iter().flat_map(|step| [2, 5, 64].map(|s| (step, s)))
            {
                let mut blocks = Blocks::new(Slow { bytes: text.as_bytes(), step, interrupt: false }, size);
                let (mut found, mut counted) = (Vec::new(), 0);
                while let Some(block) = blocks.next().unwrap() {
                    found.extend(block.records().map(<[u8]>::to_vec));
                    counted += block.count();
                }
                assert_eq!(found, expected, "{text:?} by {step} into {size}");
                assert_eq!(counted, expected.len() as u64);
            }
        }
    }

    #[test]
    fn a_block_is_given_as_soon_as_it_holds_a_record() {
        let mut blocks = Blocks::new(Slow { bytes: b"rose\ntulip\n", step: 6, interrupt: false }, 1024);
        assert_eq!(blocks.next().unwrap().unwrap().bytes, b"rose\n");
    }
}
