//! Records from files or stdin: lines of bytes, never decoded, of any length up to a limit; CSV and
//! JSON where asked for.
//!
//! A subcommand says what to do with a block of records in two steps: one that needs nothing but
//! the block, such as hashing its keys and asking a filter, and one that takes the blocks in order.
//! With several threads the first step is done of many blocks at a time, and what comes out is the
//! same.

mod batch;
mod fields;
mod indicator;
mod key;
mod record;
mod stored;
mod threads;
mod unpack;

pub(crate) use batch::{Batch, Record, Row};
pub(crate) use fields::Delimiter;
pub(crate) use indicator::is_pattern;
pub(crate) use key::{Inherited, KeyArgs, KeyTexts, Keys, MARK, Scratch, Seen, warn_of_mark};
pub(crate) use record::Block;
pub(crate) use stored::{StoredArgs, check_alike, described, has_cr};
pub(crate) use unpack::{is_plain, refuse_late};

use crate::human;
use crate::message::{self, say};
use crate::open::is_dash;
use crate::progress::Progress;
use anyhow::Context;
use record::{Blocks, Buffer, Form, Unclosed};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How messages name an input.
pub(crate) fn name(path: &Path) -> String {
    if is_dash(path) { "(stdin)".to_owned() } else { path.display().to_string() }
}

/// Where records come from.
#[derive(Clone, Debug)]
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

    /// The bytes of an input, if they can be known: those of a file, which stdin may be, too.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(_) => self.file_len(),
            Self::Stdin => stdin_len(),
        }
    }

    /// Fails at once where reading would fail, and not after hours of reading other inputs.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let check = || {
            let metadata = fs::metadata(path)?;
            // Only files and directories (for the system's error): opening a pipe would wait for its writer.
            let waits = !metadata.is_file() && !metadata.is_dir();
            if waits { Ok(()) } else { File::open(path)?.read(&mut [0]).map(drop) }
        };
        check().with_context(|| self.name())
    }

    /// Starts reading.
    fn open(&self, form: Form) -> anyhow::Result<Opened> {
        let bytes = Arc::new(AtomicU64::new(0));
        let open = || -> anyhow::Result<_> {
            let (reader, bytes): (Box<dyn Read + Send>, _) = match self {
                Self::Stdin => (Box::new(io::stdin()), bytes.clone()),
                Self::File(path) => (Box::new(File::open(path)?), bytes.clone()),
            };
            unpack::unpack(Box::new(unpack::Counted { reader, bytes }))
        };
        let (start, reader) = open().with_context(|| self.name())?;
        let blocks = Blocks::new(start, reader, form);
        Ok(Opened { unclosed: blocks.unclosed(), blocks, bytes })
    }
}

#[cfg(unix)]
fn stdin_len() -> Option<u64> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    Some(metadata.len().saturating_sub(file.stream_position().ok()?)) // others may have read the start
}

#[cfg(not(unix))]
fn stdin_len() -> Option<u64> {
    None
}

/// An input that is being read.
struct Opened {
    blocks: Blocks,
    /// Bytes that came from the system: of a compressed file fewer than are given out.
    bytes: Arc<AtomicU64>,
    unclosed: Arc<Unclosed>,
}

/// What a subcommand makes of blocks, in order.
pub(crate) trait Work<P> {
    /// An input begins.
    fn begin(&mut self) {}
    /// Takes whole records, and what was made from them before. A break, or an error, ends it all.
    fn take(&mut self, block: Block<'_>, part: &mut P) -> anyhow::Result<ControlFlow<()>>;
}

impl<P, F: FnMut(Block<'_>, &mut P) -> anyhow::Result<()>> Work<P> for F {
    fn take(&mut self, block: Block<'_>, part: &mut P) -> anyhow::Result<ControlFlow<()>> {
        self(block, part).map(ControlFlow::Continue)
    }
}

/// How inputs are read.
pub(crate) struct Reading<'a> {
    pub(crate) sources: &'a [Source],
    pub(crate) keys: &'a Keys,
    /// For the progress bar.
    pub(crate) doing: &'a str,
    /// Allows a bar.
    pub(crate) progress: bool,
    /// That make the first step.
    pub(crate) threads: usize,
    /// The first input that cannot be read ends it all; otherwise it is complained about, and the
    /// others are read.
    pub(crate) strict: bool,
}

impl Reading<'_> {
    /// Reads all inputs: `look` makes something of each block, in any order, and `work` takes that
    /// in order. Whether an input could not be read.
    pub(crate) fn run<P: Default + Send + 'static>(
        &self,
        look: impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()> + Sync,
        work: &mut impl Work<P>,
    ) -> anyhow::Result<bool> {
        self.run_and_tell(look, work, true)
    }

    /// As [`run`](Self::run), of inputs that were read before: what was reported of their records
    /// is not said again.
    pub(crate) fn run_again<P: Default + Send + 'static>(
        &self,
        look: impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()> + Sync,
        work: &mut impl Work<P>,
    ) -> anyhow::Result<bool> {
        self.run_and_tell(look, work, false)
    }

    fn run_and_tell<P: Default + Send + 'static>(
        &self,
        look: impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()> + Sync,
        work: &mut impl Work<P>,
        tell: bool,
    ) -> anyhow::Result<bool> {
        let mut trouble = false;
        for source in self.sources {
            work.begin();
            let mut input = Input::default();
            let failed = self.read(source, &look, work, &mut input);
            drop(input.progress.take()); // before anything is said
            if let Err(error) = failed {
                if self.strict {
                    return Err(error);
                }
                message::complain(&error);
                trouble = true;
            }
            if tell && let Err(error) = input.report(&source.name()) {
                message::complain(&error);
                trouble = true;
            }
            if input.stopped?.is_break() {
                return Ok(trouble);
            }
        }
        Ok(trouble)
    }

    /// Reads one input. An error is the input's; what the work says goes into `input`.
    fn read<P: Default + Send + 'static>(
        &self,
        source: &Source,
        look: &(impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()> + Sync),
        work: &mut impl Work<P>,
        input: &mut Input,
    ) -> anyhow::Result<()> {
        let opened = source.open(self.keys.form())?;
        input.unclosed = Arc::clone(&opened.unclosed);
        let what = format!("{} {}", self.doing, source.name());
        input.progress = Some(Progress::new(what, source.file_len(), self.progress));
        let done = if self.threads > 1 {
            threads::each_block(opened, self.keys, self.threads, look, work, input)
        } else {
            each_block(opened, self.keys, look, work, input)
        };
        done.with_context(|| source.name())
    }
}

/// How far one input is.
struct Input {
    progress: Option<Progress>,
    /// As its first record says.
    keys: Option<Arc<Keys>>,
    unclosed: Arc<Unclosed>,
    stopped: anyhow::Result<ControlFlow<()>>,
}

impl Default for Input {
    fn default() -> Self {
        Self { progress: None, keys: None, unclosed: Arc::default(), stopped: Ok(ControlFlow::Continue(())) }
    }
}

impl Input {
    /// Reports what was wrong with its records. An error if nothing could be looked up.
    fn report(&self, name: &str) -> anyhow::Result<()> {
        if let Some((count, first)) = self.unclosed.found() {
            let (quotes, first) = (human::plural(count, "quote"), human::count(first));
            let (are, lines) = if count == 1 {
                ("is", "that line was read as it stands")
            } else {
                ("are", "such lines were read as they stand")
            };
            say(&format!(
                "gardenia: warning: {name}: {quotes} {are} not closed, the first in line {first}: {lines}"
            ));
        }
        self.keys.as_ref().map_or(Ok(()), |keys| keys.report(name))
    }

    /// The keys of this input, whose first block this may be.
    fn keys(&mut self, keys: &Keys, block: Block<'_>) -> anyhow::Result<Arc<Keys>> {
        if let Some(keys) = &self.keys {
            return Ok(keys.clone());
        }
        Ok(self.keys.insert(Arc::new(keys.at(block)?)).clone())
    }

    /// Hands a block on; whether more are wanted.
    fn take<P>(
        &mut self,
        work: &mut impl Work<P>,
        block: Block<'_>,
        part: &mut P,
        bytes: &AtomicU64,
    ) -> bool {
        if let Some(progress) = &mut self.progress {
            progress.read(bytes.load(Ordering::Relaxed));
        }
        self.stopped = work.take(block, part);
        matches!(self.stopped, Ok(ControlFlow::Continue(())))
    }
}

/// On this thread alone.
fn each_block<P: Default>(
    mut opened: Opened,
    keys: &Keys,
    look: &impl Fn(&Keys, Block<'_>, &mut P) -> anyhow::Result<()>,
    work: &mut impl Work<P>,
    input: &mut Input,
) -> anyhow::Result<()> {
    let (mut buffer, mut part) = (Buffer::new(), P::default());
    while opened.blocks.fill(&mut buffer)? {
        let block = buffer.block(keys.form());
        look(&*input.keys(keys, block)?, block, &mut part)?;
        if !input.take(work, block, &mut part, &opened.bytes) {
            break;
        }
    }
    Ok(())
}
