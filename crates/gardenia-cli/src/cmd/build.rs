//! `gardenia build`: keys → filter.

use super::collected::Collected;
use super::distinct::{self, Census};
use super::{map, points, sketch};
use crate::args::{BuildArgs, OnFull};
use crate::input::{Batch, Block, Keys, Reading, Source};
use crate::message::{hinted, say};
use crate::open::is_stream;
use crate::output::Output;
use crate::progress::Progress;
use crate::spec::{explain, kinds_that};
use crate::split::{self, Target};
use crate::{Outcome, foreign, human, memory, message};
use gardenia::filter::{Effort, SplitFiles};
use gardenia::spec::{Param, Step};
use gardenia::{Ability, AnyFilter, Digest, KeyHasher, Kind, Spec};
use std::path::Path;

/// Digests probed at a time when they come from memory, as many as a block of input gives.
const BATCH: usize = 4096;

/// If copies of lines do not fit, a filter gets half as much room again, until it has this many
/// times what the lines need once each. Lines that all occur three times need less than that
/// (`theory::cuckoo::room`), and from four times on a counting filter is smaller.
const MOST_ROOM: u64 = 2;

/// Digests of files that are kept aside, 128 MiB, so that the files are read once. Of more lines
/// they are read twice: to count the distinct ones, and to fill the filter.
const KEPT: u64 = 1 << 24;

/// How hard keys choose if nobody says. All of them are here, and can choose together: keys that
/// choose as they come gain nothing at 1 %.
pub(crate) const EFFORT: Effort = Effort::Partitioned;

/// What is built, and of what.
#[derive(Clone, Copy)]
struct Job<'a> {
    args: &'a BuildArgs,
    spec: &'a Spec,
    sources: &'a [Source],
    keys: &'a Keys,
}

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<Outcome> {
    match (args.foreign.format, args.foreign.as_type) {
        (Some(format), _) => return foreign::build(args, format),
        (None, Some(_)) => {
            let hint = "leave it out, or use --int for keys that are numbers";
            return Err(hinted("--as is for filters of other programs, with --format", hint));
        }
        (None, None) => {}
    }
    let sources = Source::all(&args.keys);
    // Whatever can be known to fail is said before hours of reading.
    let (spec, keys) = (spec(args)?, args.key.keys()?.tell_marks());
    let job = Job { args, spec: &spec, sources: &sources, keys: &keys };
    let output = Output { path: &args.output, force: args.force, inputs: &args.keys };
    output.check()?;
    if spec.kind() == Kind::Split {
        check_split(args)?;
    }
    sources.iter().try_for_each(Source::check)?;

    if spec.kind() == Kind::DistanceSensitive {
        return near(job, &output);
    }
    let mut filling = if spec.kind().can(Ability::Map) {
        let (filter, keys) = map::build(args, &spec, &sources)?;
        Filling::of(filter, keys)
    } else if let Some(spare) = &args.spare {
        Filling::retouched(job, spare)?
    } else if spec.needs_all_keys() {
        Filling::at_once(job, collected(job, job.sources)?)?
    } else if !spec.needs_items() && !counts_first(&spec) {
        let mut filling = Filling::new(args, &spec)?;
        filling.fill(job)?;
        filling
    } else {
        match size(job)? {
            Size::Lines(lines) => Filling::with_room(job, lines, |filling| filling.fill(job))?,
            Size::Kept(keys, items) => Filling::with_room(job, items, |filling| {
                let mut batches = keys.pieces.iter().flat_map(|piece| piece.chunks(BATCH));
                batches.try_for_each(|batch| filling.insert(batch))?;
                filling.check(job)
            })?,
        }
    };
    describe(job, filling.filter.about_mut())?;

    filling.filter.write(&output)?;
    filling.report(job, &output);
    let kind = filling.filter.kind();
    filling.filter.close()?;
    message::left_out(filling.left_out, kind, &output.name())
}

/// Whether the lines are counted although the filter could do without: the rate of a dynamic filter
/// rises with each layer, so that one layer for all of them is best.
fn counts_first(spec: &Spec) -> bool {
    let open = ![Param::Items, Param::Bits, Param::Cells].into_iter().any(|param| spec.has(param));
    spec.kind() == Kind::Dynamic && open
}

/// How many keys a filter is made for, and the keys, if they were kept.
enum Size {
    Lines(u64),
    Kept(Collected, u64),
}

/// Counts what needs room: distinct lines, or all of them where each copy is stored or makes others
/// age.
fn size(job: Job<'_>) -> anyhow::Result<Size> {
    let kind = job.spec.kind();
    let copies = kind.can(Ability::Copies) || kind.can(Ability::Forget);
    if !job.sources.iter().all(|source| source.file_len().is_some()) {
        let keys = collected(job, job.sources)?;
        let items = if copies { keys.len } else { distinct::exact(&keys) };
        return Ok(Size::Kept(keys, items.max(1)));
    }
    if copies {
        return Ok(Size::Lines(count(job)?.max(1)));
    }
    let room = memory::available().map_or(KEPT, |free| (free / 32).min(KEPT));
    let (mut keys, mut census) = (Collected::default(), None);
    each_block(job, job.spec.hasher(), "reading", |digests| match &mut census {
        None if keys.len + (digests.len() as u64) <= room => keys.extend(digests, "give --items N"),
        None => {
            let all = std::mem::take(&mut keys);
            let census = census.insert(Census::large());
            all.pieces.iter().for_each(|piece| census.add(piece));
            census.add(digests);
            Ok(())
        }
        Some(census) => {
            census.add(digests);
            Ok(())
        }
    })?;
    Ok(match census {
        Some(census) => Size::Lines(census.items()),
        None => {
            let items = distinct::items(&keys).max(1);
            Size::Kept(keys, items)
        }
    })
}

/// How many distinct keys there are in files, to plan for.
pub(crate) fn distinct_keys(
    args: &BuildArgs,
    spec: &Spec,
    sources: &[Source],
    keys: &Keys,
) -> anyhow::Result<u64> {
    match size(Job { args, spec, sources, keys })? {
        Size::Lines(items) | Size::Kept(_, items) => Ok(items),
    }
}

/// Stores what the filter's users should know of it.
fn describe(job: Job<'_>, about: &mut gardenia::filter::About) -> anyhow::Result<()> {
    let Job { args, spec, keys, .. } = job;
    about.store_secret(args.store_secret);
    if let Some(text) = &args.meta {
        about.set_metadata(text.as_bytes()).map_err(|error| hinted(error, "shorten --meta"))?;
    }
    args.key.store(about, keys.seen(), spec.kind().can(Ability::Map))
}

/// The files of a split filter. As everywhere, a link is followed.
fn split_files(args: &BuildArgs) -> SplitFiles {
    args.output.canonicalize().map_or_else(|_| SplitFiles::from(&args.output), SplitFiles::from)
}

/// What is wrong with the files of a split filter, if anything.
fn check_split(args: &BuildArgs) -> anyhow::Result<()> {
    if is_stream(&args.output) {
        return Err(hinted("a filter of kind split is two files", "name the first with -o FILE"));
    }
    let files = split_files(args);
    if files.counters_path() == files.bits_path() {
        return Err(hinted("the counters are stored in a file with the extension counters", "change -o"));
    }
    Output { path: files.counters_path(), force: args.force, inputs: &args.keys }.check()
}

/// The filter that the options describe, checked as far as that goes without the keys.
fn spec(args: &BuildArgs) -> anyhow::Result<Spec> {
    let default = match args.on_full {
        Some(OnFull::Grow) => Kind::Scalable,
        _ if args.spec.has(Param::Scheme) => Kind::Bloom,
        _ => Kind::Blocked,
    };
    let spec = args.spec.spec(default)?;
    let choosing = spec.kind().params().contains(&Param::Effort);
    // A spec in a file is that of filters to be merged, which partitions cannot be.
    let told = args.spec.is_file()
        || [Param::Effort, Param::Choices, Param::Scheme].into_iter().any(|param| spec.has(param));
    let spec = if choosing && !told { spec.with(Param::Effort, EFFORT.name()) } else { spec };
    let spec = match args.secret.read()? {
        Some(secret) => spec.secret(secret),
        None => spec,
    };
    let complete = if spec.needs_items() { spec.clone().items(1) } else { spec.clone() };
    complete.check().map_err(explain)?;
    let (kind, name) = (spec.kind(), spec.kind().name());
    let retouched = kind == Kind::Retouched;
    if args.on_full == Some(OnFull::Grow) && !kind.can(Ability::Grow) {
        let hint = format!("leave out --kind, or use one of {}", kinds_that(Ability::Grow));
        return Err(hinted(format!("a filter of kind {name} does not grow"), hint));
    }
    if args.value.is_some() && !kind.can(Ability::Map) {
        let hint = format!("leave it out, or use --kind {}", kinds_that(Ability::Map));
        return Err(hinted(format!("a filter of kind {name} has no --value"), hint));
    }
    match (&args.spare, retouched) {
        (Some(_), false) => {
            let reason = format!("a filter of kind {name} has no --spare");
            Err(hinted(reason, "leave it out, or use --kind retouched"))
        }
        (None, true) => {
            let reason = "a filter of kind retouched needs the lines that must not be found";
            Err(hinted(reason, "name their file with --spare FILE, or use --kind bloom"))
        }
        _ => Ok(spec),
    }
}

/// A filter of points, which is no filter of keys.
fn near(job: Job<'_>, output: &Output<'_>) -> anyhow::Result<Outcome> {
    let Job { args, spec, sources, .. } = job;
    let items = match spec.whole(Param::Items) {
        Some(items) => items,
        None if sources.iter().all(|source| source.file_len().is_some()) => count(job)?,
        None => return Err(hinted("the lines of a pipe cannot be counted up front", "give --items N")),
    };
    let (mut filter, lines) = points::build(args, spec, sources, items)?;
    describe(job, filter.about_mut())?;
    output.write_by(|out| filter.write_to(out))?;
    if !args.quiet {
        let (near, far) = filter.distances();
        let (to, lines, bytes) = (output.name(), human::plural(lines, "line"), filter.memory_bytes() as u64);
        say(&format!(
            "{to}: {lines} read ({}); at distance {near} or less {} are missed, at {far} or more {} are found",
            human::bytes(bytes),
            human::share(filter.misses(near)),
            human::share(filter.alarms(items, far))
        ));
    }
    Ok(Outcome::Done)
}

/// A filter that is being filled.
struct Filling {
    filter: Target,
    keys: u64,
    new: u64,
    /// Copies of lines that the filter holds no more of.
    left_out: u64,
    /// Whether a line did not fit.
    full: bool,
    answers: Vec<bool>,
}

impl Filling {
    /// An empty filter, once its memory is known to be there.
    fn new(args: &BuildArgs, spec: &Spec) -> anyhow::Result<Self> {
        require(spec.size().map_err(explain)?.bytes)?;
        let filter = if spec.kind() == Kind::Split {
            let builder = spec.split_builder().map_err(explain)?;
            Target::Split(split::draft(split_files(args), builder, args.force)?)
        } else {
            Target::Whole(spec.build().map_err(explain)?)
        };
        Ok(Self { filter, keys: 0, new: 0, left_out: 0, full: false, answers: Vec::new() })
    }

    /// A filter that was built from this many keys at once.
    fn of(filter: AnyFilter, keys: u64) -> Self {
        let new = filter.estimated_items().map_or(keys, |about| about.items as u64);
        Self { filter: Target::Whole(filter), keys, new, left_out: 0, full: false, answers: Vec::new() }
    }

    /// A filter for this many lines, filled; with more room if their copies do not fit.
    fn with_room(
        job: Job<'_>,
        lines: u64,
        fill: impl Fn(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut items = lines;
        loop {
            let mut filling = Self::new(job.args, &job.spec.clone().items(items))?;
            match fill(&mut filling) {
                Err(_) if filling.full && items / MOST_ROOM < lines => items += items.div_ceil(2),
                filled => return filled.map(|()| filling),
            }
        }
    }

    /// How many lines need room: all that are stored, where copies take it.
    fn stored(&self) -> u64 {
        if self.filter.can(Ability::Copies) { self.keys - self.left_out } else { self.new }
    }

    /// An error if the filter is to stop when it is full, and is; or if it has grown beyond what it
    /// may take.
    fn check(&self, job: Job<'_>) -> anyhow::Result<()> {
        let Job { args, spec, .. } = job;
        if self.filter.can(Ability::Grow) {
            return within(spec, self.filter.memory_bytes());
        }
        let planned = self.filter.about().planned_items();
        if args.on_full != Some(OnFull::Error) {
            return Ok(());
        }
        if planned > 0 && self.stored() > planned && !self.filter.can(Ability::Forget) {
            return Err(full(&self.filter, planned));
        }
        if self.left_out > 0 {
            return Err(message::copies(self.left_out, self.filter.kind()));
        }
        Ok(())
    }

    /// A filter that is built from all keys at once.
    fn at_once(job: Job<'_>, collected: Collected) -> anyhow::Result<Self> {
        let Job { args, spec, .. } = job;
        let spec = &for_distinct(spec, &collected);
        let keys = collected.len;
        if let Ok(size) = spec.size() {
            require(size.bytes)?;
        }
        // The digests are handed on in one piece.
        let working = spec.working_bytes(keys).map_err(explain)?.saturating_add(keys.saturating_mul(8));
        memory::require(working, "building from all keys at once", "--kind blocked needs no such memory")?;
        let mut progress: Option<(&str, Progress)> = None;
        let mut watch = |step: Step| {
            if progress.as_ref().is_none_or(|(doing, _)| *doing != step.doing) {
                progress = (!args.quiet).then(|| (step.doing, Progress::steps(step.all)));
            }
            if let Some((doing, progress)) = &mut progress {
                progress.step(format!("{doing}, fill {}", human::share(step.fill)));
            }
        };
        let filter = spec.build_from_with(collected.pieces.concat(), &mut watch).map_err(explain)?;
        within(spec, filter.memory_bytes() as u64)?;
        Ok(Self::of(filter, keys))
    }

    /// A filter whose bits are cleared where lines must not be found.
    fn retouched(job: Job<'_>, spare: &Path) -> anyhow::Result<Self> {
        let Job { args, spec, sources, .. } = job;
        let all = collected(job, sources)?;
        let spec = &for_distinct(spec, &all);
        let (keys, digests) = (all.len, all.pieces.concat());
        let spared = collected(job, &Source::all(&[spare.to_owned()]))?.pieces.concat();
        let working = spec.working_bytes(keys).map_err(explain)?;
        memory::require(working, "retouching", "lower --items or --bits")?;
        let filter = spec.build_retouched(&digests, &spared).map_err(explain)?;
        within(spec, filter.memory_bytes() as u64)?;
        if !args.quiet {
            let (cleared, lost) =
                (human::plural(filter.cleared(), "bit"), human::plural(filter.lost(), "line"));
            say(&format!("{cleared} cleared; {lost} of {} no longer found", human::count(keys)));
        }
        let mut distinct = digests;
        distinct.sort_unstable();
        distinct.dedup();
        Ok(Self { new: distinct.len() as u64, ..Self::of(filter.into(), keys) })
    }

    fn insert(&mut self, digests: &[Digest]) -> anyhow::Result<()> {
        self.answers.resize(digests.len(), false);
        let inserted = self.filter.insert(digests, &mut self.answers);
        self.full = inserted.is_err();
        self.left_out += inserted?;
        self.keys += digests.len() as u64;
        self.new += self.answers.iter().map(|&new| u64::from(new)).sum::<u64>();
        Ok(())
    }

    fn fill(&mut self, job: Job<'_>) -> anyhow::Result<()> {
        let hasher = self.filter.hasher().clone();
        each_block(job, hasher, "building", |digests| {
            self.insert(digests)?;
            self.check(job)
        })
    }

    /// The summary, and a warning if the filter is fuller than it was meant to be.
    fn report(&self, job: Job<'_>, output: &Output<'_>) {
        let args = job.args;
        let (filter, fpp) = (&self.filter, message::rate(self.filter.fpp(), self.keys == 0));
        let to = output.name();
        if let (Target::Whole(AnyFilter::CountMin(sketch)), false) = (filter, args.quiet) {
            let (lines, rows) = (human::plural(self.keys, "line"), sketch::rows(sketch));
            let bytes = human::bytes(filter.memory_bytes());
            say(&format!("{to}: {lines} counted in {rows} ({bytes}); {}", sketch::promise(sketch)));
        } else if !args.quiet {
            let (keys, new) = (human::plural(self.keys, "key"), human::count(self.new));
            let (id, bytes) = (filter.identity(), human::bytes(filter.memory_bytes()));
            let one = if id.width == 1 { "bit" } else { "cell" };
            let (cells, set) = (human::plural(id.cells, one), human::plural(id.hashes.into(), one));
            // Of a filter of several parts the identity tells the first, and of a static one what is no user's matter.
            let size = match filter.can(Ability::Fixed) || filter.can(Ability::Grow) {
                true => bytes,
                false => format!("{cells} ({bytes}), {set} set per key"),
            };
            say(&format!("{to}: {keys} read, {new} certainly new; {size}; estimated false positives {fpp}"));
        }
        warn_of_cr(job.keys, &to);
        warn_of_unusual(job.keys, &to);
        message::warn_of_saturation(&to, filter.saturated(), filter.identity().hashes);
        let (planned, planned_fpp) = (filter.about().planned_items(), filter.about().planned_fpp());
        let grows = filter.can(Ability::Forget) || filter.can(Ability::Grow);
        if filter.kind() == Kind::Dynamic && self.stored() > planned && filter.fpp() > planned_fpp {
            let (layer, wanted) = (human::count(planned), human::share(planned_fpp));
            say(&format!(
                "gardenia: warning: {} in layers of {layer}: false positives {fpp}, not {wanted}",
                human::plural(self.stored(), "line")
            ));
            say(&format!("hint: build it again with --items {}", self.stored()));
        }
        if planned > 0 && self.stored() > planned && !grows {
            let came = match filter.can(Ability::Copies) {
                true => human::plural(self.stored(), "line"),
                false => format!("at least {} distinct keys", human::count(self.new)),
            };
            let (planned, wanted) = (human::count(planned), human::share(planned_fpp));
            say(&format!(
                "gardenia: warning: {came} were added and {planned} were planned: false-positive rate {fpp}, not {wanted}"
            ));
            // Three standard errors more than estimated, or the advice might lead to this warning again.
            let estimate = filter.estimated_items();
            let estimate = estimate.map_or(self.keys as f64, |about| about.items + 3.0 * about.std_error);
            let items = (estimate.ceil() as u64).clamp(self.new, self.keys);
            say(&format!("hint: build it again with --items {items}"));
        }
    }
}

/// Warns of keys that end in a carriage return.
pub(crate) fn warn_of_cr(keys: &Keys, to: &str) {
    if keys.saw_cr() {
        say(&format!("gardenia: warning: {to}: some lines end in CR LF, and the CR is part of their keys"));
        say("hint: build it again with --crlf");
    }
}

/// Warns of keys that are written for people, and that no line has in this form.
fn warn_of_unusual(keys: &Keys, to: &str) {
    if let Some((key, line)) = keys.seen().unusual() {
        say(&format!(
            "gardenia: warning: {to}: keys are compared as they stand, and one is {key:?} (line {line})"
        ));
        say(
            "hint: for query --tokens write evil[.]example and *.evil.example as evil.example, and ranges as addresses",
        );
    }
}

/// A spec for all keys at once, each counted once. Kinds that are only built so find that out by
/// themselves.
fn for_distinct(spec: &Spec, keys: &Collected) -> Spec {
    let sizes = [Param::Items, Param::Hashes, Param::Bits, Param::Cells, Param::Memory];
    let told = sizes.into_iter().any(|param| spec.has(param));
    let counted =
        spec.kind().params().contains(&Param::Hashes) && spec.kind().params().contains(&Param::Items);
    if told || !counted { spec.clone() } else { spec.clone().items(distinct::exact(keys).max(1)) }
}

/// An error if a filter of this many bytes is larger than it may be.
pub(crate) fn within(spec: &Spec, bytes: u64) -> anyhow::Result<()> {
    match spec.whole(Param::Memory) {
        Some(most) if bytes > most => {
            let (bytes, most) = (human::bytes(bytes), human::bytes(most));
            let reason = format!("the filter needs {bytes}, and --memory allows {most}");
            Err(hinted(reason, "raise --memory or --fpp, or leave --fpp out for the lowest rate that fits"))
        }
        _ => Ok(()),
    }
}

/// An error if a filter of this many bytes does not fit.
fn require(bytes: u64) -> anyhow::Result<()> {
    memory::require(bytes, "the filter", "lower --items, --bits or --cells, or raise --fpp")
}

/// What a filter says that is to stop when it is full.
pub(crate) fn full(filter: &Target, planned: u64) -> anyhow::Error {
    let (planned, keys) = (human::count(planned), counted(filter));
    hinted(
        format!("more than {planned} {keys} were added, and {planned} were planned"),
        "build it with more --items, or with --on-full grow",
    )
}

/// What a filter must have room for.
pub(crate) fn counted(filter: &Target) -> &'static str {
    if filter.can(Ability::Copies) { "lines" } else { "distinct keys" }
}

/// How the inputs are read; the first that cannot be read ends it all.
pub(crate) fn reading<'a>(
    args: &BuildArgs,
    sources: &'a [Source],
    keys: &'a Keys,
    doing: &'a str,
) -> Reading<'a> {
    let (progress, threads) = (!args.quiet, args.threads.count());
    Reading { sources, keys, doing, progress, threads, strict: true }
}

/// Hands the digests of all inputs to `take`, a block at a time.
fn each_block(
    job: Job<'_>,
    hasher: KeyHasher,
    doing: &str,
    mut take: impl FnMut(&[Digest]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    reading(job.args, job.sources, job.keys, doing)
        .run(look, &mut |_: Block<'_>, batch: &mut Batch| take(&batch.digests))?;
    Ok(())
}

/// The digests of all inputs.
fn collected(job: Job<'_>, sources: &[Source]) -> anyhow::Result<Collected> {
    let hint = "--items N builds the filter while reading, without holding digests in memory";
    Collected::read(&reading(job.args, sources, job.keys, "reading"), job.spec.hasher(), hint)
}

/// The number of records in all inputs.
fn count(job: Job<'_>) -> anyhow::Result<u64> {
    let mut records = 0;
    let look = |_: &Keys, block: Block<'_>, count: &mut u64| {
        *count = block.count();
        Ok(())
    };
    let reading = reading(job.args, job.sources, job.keys, "counting");
    // What is wrong with records is reported when they are read for the second time.
    reading.run_again(look, &mut |_: Block<'_>, count: &mut u64| {
        records += *count;
        Ok(())
    })?;
    Ok(records)
}
