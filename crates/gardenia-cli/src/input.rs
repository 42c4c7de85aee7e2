//! Records from files or stdin: lines of bytes, never decoded, of any length.
//!
//! Input comes in blocks of whole records, so that a few thousand keys are hashed and probed at a time. A
//! block is what one read gave: a slow pipe is answered as its lines arrive. A line end is `\n` and belongs to
//! no record; the last record may lack it. A carriage return is a byte like any other.

use crate::memory;
use crate::message::{self, hinted};
use crate::open::is_dash;
use crate::progress::Progress;
use anyhow::Context;
use gardenia::{Digest, KeyHasher};
use memchr::{memchr_iter, memrchr};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
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

/// What a subcommand makes of its inputs.
pub(crate) trait Work {
    /// An input begins.
    fn begin(&mut self) {}
    /// Takes whole records. An error ends this input.
    fn take(&mut self, block: Block<'_>) -> anyhow::Result<()>;
    /// Prints what came of them. An error, or a break, ends it all.
    fn print(&mut self) -> anyhow::Result<ControlFlow<()>>;
}

/// Reads all inputs. One that cannot be read is complained about and does not stop the others; whether there was
/// one.
pub(crate) fn read_all(
    sources: &[Source],
    doing: &str,
    progress: bool,
    work: &mut impl Work,
) -> anyhow::Result<bool> {
    let mut trouble = false;
    for source in sources {
        work.begin();
        let mut records = match source.open(doing, progress) {
            Ok(records) => records,
            Err(error) => {
                message::complain(&error);
                trouble = true;
                continue;
            }
        };
        let failed = loop {
            match records.next_block() {
                Ok(Some(block)) => match work.take(block) {
                    Ok(()) => {}
                    Err(error) => break Some(error.context(source.name())),
                },
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if work.print()?.is_break() {
                return Ok(trouble);
            }
        };
        drop(records); // and its progress bar with it, before anything is said
        if let Some(error) = failed {
            message::complain(&error);
            trouble = true;
        }
    }
    Ok(trouble)
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
}

/// What of a record is its key. The verbs of every subcommand read keys in one way, so that they agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct KeyArgs {
    /// Lines are whole numbers, and the keys that programs insert as numbers: 7, +7 and 007 are one key
    #[arg(long)]
    pub(crate) int: bool,
}

impl KeyArgs {
    /// The digest of a key.
    pub(crate) fn digest(self, hasher: &KeyHasher, key: &[u8]) -> anyhow::Result<Digest> {
        if self.int { Ok(hasher.digest_key(&integer(key)?)) } else { Ok(hasher.digest(key)) }
    }

    /// Replaces `digests` by those of the records of `block`, in order.
    pub(crate) fn digests(
        self,
        hasher: &KeyHasher,
        block: Block<'_>,
        digests: &mut Vec<Digest>,
    ) -> anyhow::Result<()> {
        digests.clear();
        if self.int {
            return block.records().try_for_each(|record| {
                digests.push(self.digest(hasher, record)?);
                Ok(())
            });
        }
        digests.extend(block.records().map(|record| hasher.digest(record)));
        Ok(())
    }
}

/// A whole number from -2⁶³ to 2⁶⁴ - 1, as the 64 bits that stand for it.
fn integer(text: &[u8]) -> anyhow::Result<u64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i128>().ok());
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    number.filter(|number| range.contains(number)).map(|number| number as u64).ok_or_else(|| {
        let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        hinted(format!("{text:?} is not a whole number of 64 bits"), "without --int any line is a key")
    })
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
    fn numbers_are_the_keys_that_programs_insert() {
        let (hasher, key) = (KeyHasher::default(), KeyArgs { int: true });
        let digest = |text: &str| key.digest(&hasher, text.as_bytes()).ok();
        assert_eq!(digest("7"), Some(hasher.digest_key(&7u8)));
        assert_eq!([" +007\r", "7"].map(digest), [digest("7"); 2]);
        assert_eq!(digest("-1"), Some(hasher.digest_key(&-1i32)));
        assert_eq!(digest("18446744073709551615"), digest("-1")); // by design: 64 bits
        assert_eq!(digest("-9223372036854775808"), Some(hasher.digest_key(&i64::MIN)));
        for text in ["", "x", "1.5", "18446744073709551616", "-9223372036854775809", "1 2", "0x7"] {
            assert_eq!(digest(text), None, "{text}");
        }
    }

    #[test]
    fn a_block_is_given_as_soon_as_it_holds_a_record() {
        let mut blocks = Blocks::new(Slow { bytes: b"rose\ntulip\n", step: 6, interrupt: false }, 1024);
        assert_eq!(blocks.next().unwrap().unwrap().bytes, b"rose\n");
    }
}
