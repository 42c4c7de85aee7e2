//! `gardenia build`: keys → filter.

use crate::args::{BuildArgs, Kind};
use crate::input::Source;
use crate::message::{hinted, say};
use crate::open::is_dash;
use crate::{Outcome, human, memory, message};
use anyhow::{Context, bail};
use gardenia::theory::bloom::Shape;
use gardenia::{AnyFilter, AnyScheme, BlockedBloom, Bloom, Digest, KeyHasher};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

/// Without another wish.
const FPP: f64 = 0.01;

/// Digests probed at a time when they come from memory, as many as a block of input gives.
const BATCH: usize = 4096;

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.keys);
    // Whatever can be known to fail is said before hours of reading.
    if args.kind == Some(Kind::Blocked) && args.scheme.is_some() {
        return Err(hinted("a blocked filter has no --scheme", "leave it out, or take --kind bloom"));
    }
    check_output(args)?;
    sources.iter().try_for_each(Source::check)?;
    let hasher = match args.secret.read()? {
        Some(secret) => KeyHasher::sip13(secret),
        None => KeyHasher::xxh3(args.seed.unwrap_or(0)),
    };

    let planned = args.items.is_some() || (args.bits.is_some() && args.hashes.is_some());
    let mut bed = if planned {
        let mut bed = Bed::new(args, hasher, args.items)?;
        bed.fill(args, &sources)?;
        bed
    } else if sources.iter().all(|source| source.file_len().is_some()) {
        let mut bed = Bed::new(args, hasher, Some(count(args, &sources)?.max(1)))?;
        bed.fill(args, &sources)?;
        bed
    } else {
        let aside = Aside::read(args, &sources, hasher)?;
        let mut bed = Bed::new(args, hasher, Some(aside.len.max(1)))?;
        aside.pieces.into_iter().for_each(|piece| piece.chunks(BATCH).for_each(|batch| bed.insert(batch)));
        bed
    };
    bed.filter.about_mut().store_secret(args.store_secret);

    write(args, &bed.filter)?;
    bed.report(args);
    Ok(Outcome::Done)
}

/// A filter that is being filled.
struct Bed {
    filter: AnyFilter,
    keys: u64,
    new: u64,
    answers: Vec<bool>,
}

impl Bed {
    /// An empty filter, once its memory is known to be there.
    fn new(args: &BuildArgs, hasher: KeyHasher, items: Option<u64>) -> anyhow::Result<Self> {
        let filter = build(args, hasher, items)?;
        Ok(Self { filter, keys: 0, new: 0, answers: Vec::new() })
    }

    fn insert(&mut self, digests: &[Digest]) {
        self.answers.resize(digests.len(), false);
        self.filter.insert_digests(digests, &mut self.answers);
        self.keys += digests.len() as u64;
        self.new += self.answers.iter().map(|&new| u64::from(new)).sum::<u64>();
    }

    fn fill(&mut self, args: &BuildArgs, sources: &[Source]) -> anyhow::Result<()> {
        let hasher = *self.filter.hasher();
        each_block(args, sources, hasher, "building", |digests| {
            self.insert(digests);
            Ok(())
        })
    }

    /// The summary, and a warning if the filter is fuller than it was meant to be.
    fn report(&self, args: &BuildArgs) {
        let (filter, fpp) = (&self.filter, human::share(self.filter.fpp()));
        if !args.quiet {
            let to =
                if is_dash(&args.output) { "stdout".to_owned() } else { args.output.display().to_string() };
            let (keys, new) = (human::plural(self.keys, "key"), human::count(self.new));
            let (bits, bytes) =
                (human::count(filter.identity().cells), human::bytes(filter.memory_bytes() as u64));
            let set = human::plural(filter.identity().hashes.into(), "bit");
            say(&format!(
                "{to}: {keys} read, {new} certainly new; {bits} bits ({bytes}), {set} set per key; \
                 estimated false positives {fpp}"
            ));
        }
        let (planned, planned_fpp) = (filter.about().planned_items(), filter.about().planned_fpp());
        if planned > 0 && self.new > planned {
            let (came, planned) = (human::count(self.new), human::count(planned));
            let wanted = human::share(planned_fpp);
            say(&format!(
                "gardenia: warning: at least {came} different keys came and {planned} were planned: \
                 false positives {fpp}, not {wanted}"
            ));
            // Three standard errors more than estimated, or the advice might lead to this warning again.
            let estimate = filter.estimated_items();
            let items = (estimate.items + 3.0 * estimate.std_error).ceil() as u64;
            let items = items.clamp(self.new, self.keys);
            say(&format!("hint: build it again with --items {items}"));
        }
    }
}

/// The empty filter that the options of the command line describe.
fn build(args: &BuildArgs, hasher: KeyHasher, items: Option<u64>) -> anyhow::Result<AnyFilter> {
    let fpp = if args.bits.is_some() { None } else { Some(args.fpp.unwrap_or(FPP)) };
    let require = |shape: Shape| {
        memory::require(shape.cells.div_ceil(8), "the filter", "lower --items or --bits, or raise --fpp")
    };
    /// Sets what was given; both builders have these verbs.
    macro_rules! with_options {
        ($builder:expr, $explain:expr) => {{
            let mut builder = $builder.hasher(hasher);
            if let Some(items) = items {
                builder = builder.items(items);
            }
            if let Some(fpp) = fpp {
                builder = builder.fpp(fpp);
            }
            if let Some(bits) = args.bits {
                builder = builder.bits(bits);
            }
            if let Some(hashes) = args.hashes {
                builder = builder.hashes(hashes);
            }
            require(builder.shape().map_err($explain)?)?;
            builder.build().map_err($explain)?.into()
        }};
    }
    let blocked_size = |error| match (items, fpp) {
        (Some(items), Some(fpp)) => message::blocked_size(error, items, fpp),
        _ => message::size(error),
    };
    Ok(match (args.kind, args.scheme) {
        (None | Some(Kind::Blocked), None) => with_options!(BlockedBloom::builder(), blocked_size),
        (_, scheme) => {
            let scheme = scheme.unwrap_or_default();
            with_options!(
                Bloom::builder().scheme(move |hashes| AnyScheme::new(scheme, hashes)),
                message::size
            )
        }
    })
}

/// Hands the digests of all inputs to `take`, a block at a time.
fn each_block(
    args: &BuildArgs,
    sources: &[Source],
    hasher: KeyHasher,
    doing: &str,
    mut take: impl FnMut(&[Digest]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut digests = Vec::new();
    for source in sources {
        let mut records = source.open(doing, !args.quiet)?;
        while let Some(block) = records.next_block()? {
            block.digest(&hasher, &mut digests);
            take(&digests)?;
        }
    }
    Ok(())
}

/// The number of lines in all inputs.
fn count(args: &BuildArgs, sources: &[Source]) -> anyhow::Result<u64> {
    let mut lines = 0;
    for source in sources {
        let mut records = source.open("counting", !args.quiet)?;
        while let Some(block) = records.next_block()? {
            lines += block.count();
        }
    }
    Ok(lines)
}

/// Digests kept aside until they are counted; in pieces, so that growing never takes twice the memory.
struct Aside {
    pieces: Vec<Vec<Digest>>,
    len: u64,
}

impl Aside {
    /// Digests per piece: 8 MiB.
    const PIECE: usize = 1 << 20;

    fn read(args: &BuildArgs, sources: &[Source], hasher: KeyHasher) -> anyhow::Result<Self> {
        let mut aside = Self { pieces: Vec::new(), len: 0 };
        each_block(args, sources, hasher, "reading", |digests| aside.extend(digests))?;
        Ok(aside)
    }

    fn extend(&mut self, mut digests: &[Digest]) -> anyhow::Result<()> {
        self.len += digests.len() as u64;
        while !digests.is_empty() {
            if self.pieces.last().is_none_or(|piece| piece.len() == Self::PIECE) {
                let what = format!("keeping {} keys aside", human::count(self.len));
                let hint = "--items N builds the filter while reading, and keeps nothing aside";
                memory::require(8 * Self::PIECE as u64, &what, hint)?;
                let mut piece = Vec::new();
                piece
                    .try_reserve_exact(Self::PIECE)
                    .map_err(|_| hinted(format!("no memory for {what}"), hint))?;
                self.pieces.push(piece);
            }
            if let Some(piece) = self.pieces.last_mut() {
                let (now, later) = digests.split_at(digests.len().min(Self::PIECE - piece.len()));
                piece.extend_from_slice(now);
                digests = later;
            }
        }
        Ok(())
    }
}

/// What is wrong with the place the filter is to go, if anything.
fn check_output(args: &BuildArgs) -> anyhow::Result<()> {
    let path = args.output.as_path();
    if is_dash(path) {
        if io::stdout().is_terminal() {
            let hint = "give a file by -o FILE, or send it on with > or |";
            return Err(hinted("a filter is not written to a terminal", hint));
        }
        return Ok(());
    }
    let check = || {
        let Ok(metadata) = fs::metadata(path) else {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            // Missing, not a folder, or not ours to enter: the system says it best.
            return fs::read_dir(folder).map(drop).map_err(|error| {
                hinted(format!("the folder {} cannot be used: {error}", folder.display()), "change -o")
            });
        };
        if metadata.is_dir() {
            bail!("Is a directory");
        }
        let real = |path: &Path| fs::canonicalize(path).ok();
        if metadata.is_file() && args.keys.iter().any(|keys| real(keys) == real(path)) {
            return Err(hinted("is one of the inputs, and would be lost", "change -o"));
        }
        if metadata.is_file() && !args.force {
            return Err(hinted("already exists", "--force replaces it"));
        }
        Ok(())
    };
    check().with_context(|| path.display().to_string())
}

fn write(args: &BuildArgs, filter: &AnyFilter) -> anyhow::Result<()> {
    let path = args.output.as_path();
    if is_dash(path) {
        return filter.write_to(io::stdout().lock()).map_err(message::encode).context("stdout");
    }
    check_output(args)?; // again: another process may have been faster
    filter.save(path).map_err(message::encode).with_context(|| path.display().to_string())
}
