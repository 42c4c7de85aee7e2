//! `gardenia dedup`: each line once, in order, in bounded memory.
//!
//! A block of lines is asked of the filter, what is new is printed by one call, and only then does
//! a state learn of it. So the state holds all that was printed and nothing else, except when
//! printing itself fails in the middle of a block: the lines of that block are printed again by the
//! next run. Lines are rather printed twice than lost.

mod exact;
mod growing;
mod losses;
mod seen;
mod state;
mod tally;
mod unique;

use crate::args::{MemoryArgs, SecretArgs, ThreadArgs};
use crate::input::{Batch, Block, KeyArgs, Keys, Reading, Row, Seen as KeysSeen, Source, Work, has_cr};
use crate::message::{hinted, say};
use crate::{Outcome, human, memory, message, signal};
use anyhow::Context;
use gardenia::index::{AnyScheme, SchemeId};
use gardenia::{
    A2Bloom, AnyFilter, BlockedBloom, Bloom, Digest, InfiniFilter, KeyHasher, ScalableBloom, StableBloom,
};
use growing::{Growing, LEAST_FPP};
use losses::Losses;
use seen::{Memory, Seen};
use serde::Serialize;
use state::{Mode, Note, State};
use std::fs::File;
use std::io::{self, IsTerminal, Read, StdoutLock, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// By default one of a million new lines is lost.
const FPP: f64 = 1e-6;

/// Default memory of a filter that forgets.
const DECAY_BYTES: u64 = 16 << 20;

/// From this rate on a blocked filter is chosen, which is faster; below, it would be much larger
/// than a plain one.
const BLOCKED_FPP: f64 = 1e-4;

/// The most lines that a growing state is begun for.
const MOST_FIRST: u64 = 1 << 24;

/// Print each line once
///
/// In order, and in little memory: a filter remembers each line in some 30 bits, however long it
/// is. With probability --fpp, a new line is mistaken for a repeat and dropped; a line is never
/// printed twice. The filter grows with the lines, unless --items, --memory, --window or --decay
/// limits what it remembers.
///
/// With --state the filter is stored in a file, and the next run continues from it. It is saved at
/// the end, and on SIGINT, SIGTERM and SIGHUP (unless that is ignored, as under nohup), once all
/// lines in it are printed. If the output fails in the middle of a block (a full disk, or a reader
/// that went away), the lines of that block are not in the state, and the next run prints them
/// again; a filter that forgets is then not saved at all. Only one process can use a state at a
/// time. A process that is killed saves nothing more: the last saved state stays, or an empty file
/// where there was none, which the next run treats as no state. With --save-every N, the next run
/// prints at most N lines again, and those of one block (256 KiB of input).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia dedup big.log > once.log                    as awk '!seen[$0]++', in 4 to 12 bytes per distinct line
  cat *.log | gardenia dedup --stats > once.log        and an estimate of the lines dropped by mistake
  gardenia dedup --state seen.gdn today.log            only lines not seen on any earlier day
  tail -f log | gardenia dedup --window 10M            repeats among the last 10M distinct lines
  gardenia dedup --decay --memory 64MiB stream.txt     fixed memory for endless input: forgets old lines
  gardenia dedup --memory 1GiB huge.txt                at most this much; warns when lines are dropped
  gardenia dedup --exact urls.txt                      no line is lost: reads the files twice
  gardenia dedup -d access.log                         lines that occur twice or more, each once
  gardenia dedup -u access.log                         lines that occur once; reads the files twice
  gardenia dedup -c access.log | sort -rn | head       counts of all lines; reads the files twice
  gardenia dedup -c --exact < access.log               exact counts; reads the file three times

--json prints on stderr, in one line: read, printed and dropped lines, lost (expected number of new lines that were \
dropped; null if the filter is too full to tell) with lost_low and lost_high (95%), wrong (expected number of lines that -d printed though they occur once), \
fpp (current rate), memory_bytes, and mode.

Exit codes: 0 done, 2 error, 128 and the signal's number after a signal. An input that cannot be read does not stop the others.")]
pub(crate) struct DedupArgs {
    /// Files of lines; none, or -, is stdin
    pub(crate) inputs: Vec<PathBuf>,

    /// Share of new lines that may be dropped by mistake: 1e-6, 0.1%, 1/1000 [default: 1/1000000]
    #[arg(short = 'p', long, value_name = "P", value_parser = human::parse_share, allow_negative_numbers = true)]
    pub(crate) fpp: Option<f64>,

    /// Number of distinct lines, such as 10M
    #[arg(short = 'n', long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) items: Option<u64>,

    /// Fixed size of the filter, such as 64MiB; when it is full, more and more lines are dropped
    #[arg(
        short,
        long,
        value_name = "M",
        value_parser = human::parse_bytes,
        allow_negative_numbers = true,
        conflicts_with_all = ["items", "window", "exact", "repeated", "count"]
    )]
    pub(crate) memory: Option<u64>,

    /// Remember at least the last N distinct lines; older ones (certainly after 2N) are printed
    /// again
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = human::parse_count,
        allow_negative_numbers = true,
        conflicts_with_all = ["items", "decay", "exact", "repeated", "count"]
    )]
    pub(crate) window: Option<u64>,

    /// Forget old lines at random, the oldest most likely; fixed memory for endless input
    #[arg(long, conflicts_with_all = ["items", "exact", "repeated", "count"])]
    pub(crate) decay: bool,

    /// Continue from this filter file, if it exists, and save it at the end
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["exact", "repeated", "count"])]
    pub(crate) state: Option<PathBuf>,

    /// Save the state after each N lines read, and not only at the end
    #[arg(long, value_name = "N", requires = "state", value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) save_every: Option<u64>,

    /// Print repeated lines, each once, at its second occurrence
    #[arg(short = 'd', long, conflicts_with_all = ["exact", "count"])]
    pub(crate) repeated: bool,

    /// Print the lines that occur once. Reads the files twice
    #[arg(short = 'u', long, conflicts_with_all = ["repeated", "count", "state", "memory", "window", "decay"])]
    pub(crate) unique: bool,

    /// Prefix each line with its count and a tab; counts may be too high, never too low. Reads the
    /// files twice
    #[arg(short, long)]
    pub(crate) count: bool,

    /// Drop no new line, and count exactly: reads the files twice, with -c or -u three times, and
    /// holds repeated lines in memory
    #[arg(long)]
    pub(crate) exact: bool,

    /// Print a summary to stderr, with the estimated number of dropped lines
    #[arg(long)]
    pub(crate) stats: bool,

    /// Print that summary as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Write each line at once, rather than a block of lines at a time
    #[arg(long)]
    pub(crate) line_buffered: bool,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) opening: MemoryArgs,

    /// Print no warnings and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl DedupArgs {
    /// What is to be remembered, if an option names it.
    pub(crate) fn mode(&self) -> Option<Mode> {
        if self.decay {
            return Some(Mode::Decay(self.memory.unwrap_or(DECAY_BYTES)));
        }
        let sizes =
            [self.items.map(Mode::Items), self.memory.map(Mode::Memory), self.window.map(Mode::Window)];
        sizes.into_iter().flatten().next()
    }

    /// The rate that was asked for, if it is one.
    fn fpp(&self, default: f64) -> anyhow::Result<f64> {
        let fpp = self.fpp.unwrap_or(default);
        let valid = fpp > 0.0 && fpp < 1.0;
        if valid { Ok(fpp) } else { Err(message::size(gardenia::SizeError::Fpp(fpp))) }
    }

    /// Whether a bar would not be in the way of the lines.
    fn progress(&self) -> bool {
        !self.quiet && !io::stdout().is_terminal()
    }
}

pub(crate) fn run(args: &DedupArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    if args.exact {
        return exact::run(args, sources);
    }
    if args.count {
        return tally::run(args, sources);
    }
    if args.unique {
        return unique::run(args, sources);
    }
    let (lines, keys) = (estimate(&sources), args.key.keys()?);
    let job = Job::open(args, lines, Arc::clone(keys.seen()))?;
    let hasher = job.hasher.clone();
    let job = Arc::new(Mutex::new(job));
    if args.state.is_some() {
        let job = Arc::clone(&job);
        let last = move || {
            // Between two blocks: no line is half printed.
            if let Err(error) = lock(&job).finish() {
                message::complain(&error);
                std::process::exit(2);
            }
        };
        signal::watch(last).context("cannot install signal handlers")?;
    }
    let mut dedup = Dedup {
        args,
        job: &job,
        header: false,
        answers: Vec::new(),
        output: Vec::new(),
        stdout: io::stdout().lock(),
    };
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    let read = reading(args, &sources, &keys, "reading").run(look, &mut dedup);
    let mut job = lock(&job);
    match read {
        Ok(trouble) => {
            job.finish()?;
            if let Some(signal) = signal::came() {
                signal::exit(signal);
            }
            Ok(if trouble { Outcome::Trouble } else { Outcome::Done })
        }
        Err(error) => {
            if job.seen.is_certain() {
                job.finish()?;
            } else if args.state.is_some() {
                (job.finished, job.state) = (true, None);
                say("gardenia: the state was not saved: some of its lines were not printed");
            }
            Err(error)
        }
    }
}

/// How the inputs are read; one that cannot be read does not stop the others.
fn reading<'a>(args: &DedupArgs, sources: &'a [Source], keys: &'a Keys, doing: &'a str) -> Reading<'a> {
    let (progress, threads) = (args.progress(), args.threads.count());
    Reading { sources, keys, doing, progress, threads, strict: false }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where stdin is, if it is a file, and so can be read again.
#[cfg(unix)]
fn stdin_start() -> Option<u64> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.stream_position().ok()
}

#[cfg(not(unix))]
fn stdin_start() -> Option<u64> {
    None
}

/// Sets stdin back to where it was before it was read to its end.
#[cfg(unix)]
fn rewind(start: Option<u64>) -> anyhow::Result<()> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let Some(start) = start else { return Ok(()) };
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().context("(stdin)")?);
    file.seek(io::SeekFrom::Start(start)).context("(stdin)")?;
    Ok(())
}

#[cfg(not(unix))]
fn rewind(_: Option<u64>) -> anyhow::Result<()> {
    Ok(())
}

/// How many lines there are, by the length of the files and of their first lines; `None` if one is
/// no file.
fn estimate(sources: &[Source]) -> Option<u64> {
    const LINE: f64 = 64.0; // bytes of a line, where none can be looked at
    let mut lines = 0.0;
    for source in sources {
        let bytes = source.len()? as f64;
        lines += match source {
            Source::Stdin => bytes / LINE,
            Source::File(path) => {
                let mut start = Vec::new();
                File::open(path).and_then(|file| file.take(64 << 10).read_to_end(&mut start)).ok()?;
                let ends = memchr::memchr_iter(b'\n', &start).count().max(1);
                bytes * ends as f64 / start.len().max(1) as f64
            }
        };
    }
    Some(lines.ceil() as u64)
}

/// A filter that can be stored, empty, once its memory is known to be there.
fn filter(mode: Mode, fpp: f64, lines: Option<u64>, hasher: KeyHasher) -> anyhow::Result<AnyFilter> {
    let hint = "lower --items, --memory or --window, or raise --fpp";
    let require = |bits: u64| memory::require(bits.div_ceil(8), "the filter", hint);
    let size = |error| hinted(error, "change --items, --memory, --window or --fpp");
    macro_rules! build {
        ($builder:expr, $shape:ident => $bits:expr) => {{
            let builder = $builder.hasher(hasher);
            let $shape = builder.shape().map_err(size)?;
            require($bits)?;
            builder.build().map_err(size)?.into()
        }};
    }
    let plain = Bloom::builder().scheme(move |hashes| AnyScheme::new(SchemeId::default(), hashes));
    Ok(match mode {
        Mode::Growing if fpp >= LEAST_FPP => {
            InfiniFilter::builder().fpp(fpp).hasher(hasher).build().map_err(message::size)?.into()
        }
        Mode::Growing => {
            let first = lines.unwrap_or(1 << 20).clamp(1024, MOST_FIRST);
            let builder = ScalableBloom::builder().fpp(fpp).items(first).hasher(hasher);
            builder.build().map_err(message::size)?.into()
        }
        Mode::Items(items) if fpp >= BLOCKED_FPP => {
            build!(BlockedBloom::builder().items(items).fpp(fpp), shape => shape.cells)
        }
        Mode::Items(items) => build!(plain.items(items).fpp(fpp), shape => shape.cells),
        Mode::Memory(bytes) => {
            let bits = bytes.saturating_mul(8);
            // As many as a filter of these bits takes at this rate: their best number of hashes is this one's.
            let ln2 = std::f64::consts::LN_2;
            let items = (bits as f64 * ln2 * ln2 / -fpp.ln()).max(1.0) as u64;
            if fpp >= BLOCKED_FPP {
                build!(BlockedBloom::builder().bits(bits).items(items), shape => shape.cells)
            } else {
                build!(plain.bits(bits).items(items), shape => shape.cells)
            }
        }
        Mode::Window(lines) => build!(A2Bloom::builder().items(lines).fpp(fpp), shape => shape.bits),
        Mode::Decay(bytes) => {
            let cells = bytes.saturating_mul(2); // of four bits
            build!(StableBloom::builder().cells(cells).fpp(fpp), shape => shape.cells * 4)
        }
    })
}

/// What a run remembers and has done: all that must be consistent when it ends, by itself or by a
/// signal.
struct Job {
    seen: Seen,
    /// With -d, what was printed.
    repeated: Option<Seen>,
    hasher: KeyHasher,
    mode: Mode,
    fpp: f64,
    state: Option<State>,
    /// How keys are made, and what was seen of them.
    key: KeyArgs,
    keys: Arc<KeysSeen>,
    /// Lines between two saves of the state, and read when it was saved last.
    save_every: u64,
    saved: u64,
    read: u64,
    printed: u64,
    warned: bool,
    finished: bool,
    quiet: bool,
    stats: bool,
    json: bool,
}

impl Job {
    fn open(args: &DedupArgs, lines: Option<u64>, keys: Arc<KeysSeen>) -> anyhow::Result<Self> {
        let fpp = args.fpp(FPP)?;
        let mode = args.mode().unwrap_or(Mode::Growing);
        let hasher = args.secret.read()?.map_or(KeyHasher::xxh3(0), KeyHasher::sip13);
        let note = Note { dedup: mode, fpp, keys: Some(args.key.describe()) };
        let (memory, note, state) = match &args.state {
            None => {
                let memory = match mode {
                    Mode::Growing if fpp >= LEAST_FPP => Memory::Growing(Growing::new(fpp, 1)?),
                    Mode::Items(items) if fpp >= LEAST_FPP => Memory::Growing(Growing::new(fpp, items)?),
                    mode => Memory::Filter(Box::new(filter(mode, fpp, lines, hasher.clone())?)),
                };
                (memory, note, None)
            }
            Some(path) => {
                let (state, found) = State::open(path, args)?;
                let (filter, note) = match found {
                    Some((filter, note)) => (filter, note),
                    None => {
                        let mut filter = filter(mode, fpp, lines, hasher.clone())?;
                        filter.about_mut().set_metadata(&serde_json::to_vec(&note)?)?;
                        args.key.store(filter.about_mut(), &keys, false)?;
                        (filter, note)
                    }
                };
                (Memory::Filter(Box::new(filter)), note, Some(state))
            }
        };
        let hasher = match &memory {
            Memory::Filter(filter) => filter.hasher().clone(),
            Memory::Growing(_) => hasher,
        };
        let repeated = match args.repeated {
            true => Some(Seen::new(Memory::Growing(Growing::new(fpp.max(LEAST_FPP), 1)?), false)),
            false => None,
        };
        let (mode, later) = (note.dedup, state.is_some() && !note.dedup.forgets());
        Ok(Self {
            seen: Seen::new(memory, later),
            repeated,
            hasher,
            mode,
            fpp: note.fpp,
            state,
            key: args.key.clone(),
            keys,
            save_every: args.save_every.unwrap_or(u64::MAX).max(1),
            saved: 0,
            read: 0,
            printed: 0,
            warned: false,
            finished: false,
            quiet: args.quiet,
            stats: args.stats,
            json: args.json,
        })
    }

    /// Tells of each key of a block whether its line is to be printed.
    fn ask(&mut self, digests: &[Digest], print: &mut [bool]) -> anyhow::Result<()> {
        self.seen.ask(digests, print)?;
        if let Some(repeated) = &mut self.repeated {
            self.seen.commit(count(print))?;
            let known: Vec<Digest> =
                digests.iter().zip(&*print).filter(|(_, new)| !**new).map(|(digest, _)| *digest).collect();
            let mut first = vec![false; known.len()];
            repeated.ask(&known, &mut first)?;
            let mut first = first.into_iter();
            print.iter_mut().for_each(|print| *print = !*print && first.next().unwrap_or(false));
        }
        Ok(())
    }

    /// Notes that what a block gave is printed: `new` keys, and `others` that have none.
    fn commit(&mut self, read: u64, new: u64, others: u64) -> anyhow::Result<()> {
        self.read += read;
        self.printed += new + others;
        self.repeated.as_mut().unwrap_or(&mut self.seen).commit(new)?;
        let full = self.seen.fpp() > self.fpp * 1.1; // what was measured has an error of its own
        if full && !self.warned && !self.quiet && !self.mode.forgets() {
            self.warned = true;
            say(&format!(
                "gardenia: the filter is full: after {}, {} of new lines are dropped (--fpp allows {})",
                human::plural(self.printed, "printed line"),
                human::share(self.seen.fpp()),
                human::share(self.fpp)
            ));
            say("hint: raise --memory or --items, or omit both to let the filter grow");
        }
        if self.read - self.saved >= self.save_every {
            self.note_cr()?;
        }
        if self.read - self.saved >= self.save_every
            && let (Some(state), Memory::Filter(filter)) = (&mut self.state, &self.seen.memory)
        {
            state.save_and_go_on(filter)?;
            self.saved = self.read;
        }
        Ok(())
    }

    /// Stores that keys end in a carriage return, if they do, where it is stored that none does.
    fn note_cr(&mut self) -> anyhow::Result<()> {
        match &mut self.seen.memory {
            Memory::Filter(filter) if self.keys.cr() && has_cr(filter.about()) == Some(false) => {
                self.key.store(filter.about_mut(), &self.keys, false)
            }
            _ => Ok(()),
        }
    }

    /// The last that is done: the state is saved, and the summary is printed.
    fn finish(&mut self) -> anyhow::Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(()); // a signal came at the very end
        }
        self.note_cr()?;
        // The lock is given back at the end of the block, whatever happens: whoever finds it free finds the new state,
        // or the old one, or none.
        if let (Some(state), Memory::Filter(filter)) = (self.state.take(), &self.seen.memory) {
            state.save(filter)?;
        }
        let stats = self.stats || (self.warned && !self.quiet);
        Report::of(self).say(stats, self.json)
    }
}

fn count(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

/// Above this rate it is not known how many lines are lost: the estimate is a sum of odds, and
/// these rise without bound.
const FULL: f64 = 0.5;

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Serialize)]
struct Report {
    /// Lines read.
    read: u64,
    printed: u64,
    dropped: u64,
    /// Expected number of lines that were dropped though they should have been printed; none if the
    /// filter is so full that it is not known.
    lost: Option<f64>,
    /// The number is between these, 95 times in 100.
    lost_low: Option<u64>,
    lost_high: Option<u64>,
    /// Expected number of lines that -d printed though they came once.
    wrong: f64,
    /// Current rate at which new lines are taken for known.
    fpp: f64,
    /// Bytes of the filters.
    memory_bytes: u64,
    /// growing, items, memory, window, decay, unique, or exact.
    mode: &'static str,
}

impl Report {
    /// Of lines read and printed, and those lost and printed wrongly.
    fn new(
        (read, printed): (u64, u64),
        (lost, wrong): (Losses, Losses),
        fpp: f64,
        memory_bytes: u64,
        mode: &'static str,
    ) -> Self {
        let (wrong, dropped) = (wrong.expected(), read - printed);
        let known = fpp <= FULL;
        let (low, high) = lost.interval();
        let [lost_low, lost_high] = [low, high].map(|lines| known.then(|| lines.min(dropped)));
        let lost = known.then(|| lost.expected().min(dropped as f64));
        Self { read, printed, dropped, lost, lost_low, lost_high, wrong, fpp, memory_bytes, mode }
    }

    fn of(job: &mut Job) -> Self {
        let first = job.seen.losses();
        let losses = match &mut job.repeated {
            Some(repeated) => (repeated.losses(), first),
            None => (first, Losses::default()),
        };
        let others = job.repeated.as_ref().map_or(0, Seen::memory_bytes);
        let mode = match job.mode {
            Mode::Growing => "growing",
            Mode::Items(_) => "items",
            Mode::Memory(_) => "memory",
            Mode::Window(_) => "window",
            Mode::Decay(_) => "decay",
        };
        let memory_bytes = job.seen.memory_bytes() + others;
        Self::new((job.read, job.printed), losses, job.seen.fpp(), memory_bytes, mode)
    }

    /// Prints it on stderr, if it is asked for.
    fn say(&self, stats: bool, json: bool) -> anyhow::Result<()> {
        if json {
            say(&serde_json::to_string(self)?);
        } else if stats {
            say(&self.text());
        }
        Ok(())
    }

    fn text(&self) -> String {
        let lines = human::plural(self.read, "line");
        let (printed, dropped) = (human::count(self.printed), human::count(self.dropped));
        let lost = match self.mode {
            "exact" => "none lost".to_owned(),
            _ => match (self.lost, self.lost_low, self.lost_high) {
                (Some(lost), _, Some(0)) if lost < 0.005 => "probably none lost".to_owned(),
                (Some(lost), Some(low), Some(high)) => format!(
                    "probably {} lost ({} to {}, 95%)",
                    human::number(lost),
                    human::count(low),
                    human::count(high)
                ),
                _ => "an unknown number of them lost: the filter is full".to_owned(),
            },
        };
        let wrong = match self.wrong > 0.0 {
            true => format!(", {} printed although they probably occur once", human::number(self.wrong)),
            false => String::new(),
        };
        let bytes = human::bytes(self.memory_bytes);
        format!("{lines} read, {printed} printed, {dropped} dropped, {lost}{wrong}; {bytes} of memory")
    }
}

/// Lines on their way from the inputs to stdout.
struct Dedup<'a> {
    args: &'a DedupArgs,
    job: &'a Mutex<Job>,
    /// The names of fields were printed.
    header: bool,
    answers: Vec<bool>,
    /// Printed with one call per block.
    output: Vec<u8>,
    stdout: StdoutLock<'static>,
}

impl Work<Batch> for Dedup<'_> {
    /// Takes a block from the first question to the last printed byte: no signal comes between.
    fn take(&mut self, block: Block<'_>, batch: &mut Batch) -> anyhow::Result<ControlFlow<()>> {
        let mut job = lock(self.job);
        if signal::came().is_some() {
            return Ok(ControlFlow::Break(())); // as if it had not been read
        }
        let (digests, lines) = (&batch.digests, batch.lines());
        self.answers.resize(digests.len(), false);
        job.ask(digests, &mut self.answers)?;
        let new = count(&self.answers);
        self.output.clear();
        // A record without a key is nobody's repeat.
        let keyless = !self.args.repeated;
        batch.copy(block, &mut self.output, |row| match row {
            Row::Key(at) => self.answers[at],
            Row::Keyless => keyless,
            Row::Header => !std::mem::replace(&mut self.header, true),
        });
        print(&mut self.stdout, &self.output, self.args.line_buffered.then_some(block.end()))?;
        let others = if keyless { lines - digests.len() as u64 } else { 0 };
        job.commit(lines, new, others)?;
        Ok(if signal::came().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Writes lines, and sees to it that they are on their way; `each` by itself if that is what they
/// end in.
fn print(stdout: &mut StdoutLock<'_>, lines: &[u8], each: Option<u8>) -> anyhow::Result<()> {
    match each {
        Some(end) => lines.split_inclusive(|&byte| byte == end).try_for_each(|line| stdout.write_all(line)),
        None => stdout.write_all(lines),
    }
    .and_then(|()| stdout.flush())
    .context("stdout")
}
