//! `gardenia build`: keys → filter.

use super::aside::Aside;
use super::{map, points, relatives, sketch};
use crate::args::{BuildArgs, ClearingName, Kind, OnFull};
use crate::input::{Batch, Block, Keys, Reading, Source};
use crate::message::{hinted, say};
use crate::output::Output;
use crate::progress::Progress;
use crate::{Outcome, human, memory, message};
use gardenia::theory::bloom::Shape;
use gardenia::{
    A2Bloom, AnyFilter, AnyScheme, BitwiseBloom, BitwiseLevel, BlockedBloom, Bloom, ChoiceBloom,
    ChoiceBloomBuilder, Clearing, CountingBloom, Digest, Effort, KeyHasher, OfflineProgress, PolicyId,
    Propagation, RetouchedBloom, SpectralBloom, StableBloom,
};
use std::ops::ControlFlow;

/// Without another wish.
pub(super) const FPP: f64 = 0.01;

/// Bytes per key while a static filter is built, at most: digests, and the library's own work on them.
const STATIC_BYTES: u64 = 40;

/// Digests probed at a time when they come from memory, as many as a block of input gives.
const BATCH: usize = 4096;

/// If copies of lines do not fit, a filter gets half as much room again, until it has this many times what the lines need
/// once each. Lines that all occur three times need less than that (`theory::cuckoo::room`), and from four times on a
/// counting filter is smaller.
const MOST_ROOM: u64 = 2;

pub(crate) fn run(args: &BuildArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.keys);
    // Whatever can be known to fail is said before hours of reading.
    check_options(args)?;
    args.key.keys()?;
    let output = Output { path: &args.output, force: args.force, inputs: &args.keys };
    output.check()?;
    sources.iter().try_for_each(Source::check)?;
    let hasher = match args.secret.read()? {
        Some(secret) => KeyHasher::sip13(secret),
        None => KeyHasher::xxh3(args.seed.unwrap_or(0)),
    };

    let sized = bits(args).is_some() || args.cells.is_some();
    // A filter that forgets takes a size and a rate, whatever comes.
    let planned = args.items.is_some()
        || kind(args).takes_any_number()
        || (sized && (args.hashes.is_some() || kind(args).forgets() || kind(args) == Kind::Cuckoo));
    if kind(args) == Kind::Distance {
        return near(args, hasher, &sources, &output);
    }
    let mut bed = if kind(args) == Kind::Bloomier {
        let (filter, keys) = map::build(args, hasher, &sources)?;
        Bed::of(filter, keys)
    } else if kind(args) == Kind::Retouched {
        Bed::retouched(args, hasher.clone(), aside(args, &sources, hasher)?)?
    } else if kind(args).is_static() {
        Bed::fixed(args, hasher.clone(), aside(args, &sources, hasher)?)?
    } else if kind(args) == Kind::Choice && args.more.effort.unwrap_or(0) > 0 {
        Bed::chosen(args, hasher.clone(), aside(args, &sources, hasher)?)?
    } else if planned {
        let mut bed = Bed::new(args, hasher, args.items)?;
        bed.fill(args, &sources)?;
        bed
    } else if sources.iter().all(|source| source.file_len().is_some()) {
        let lines = count(args, &sources)?.max(1);
        Bed::with_room(args, &hasher, lines, |bed| bed.fill(args, &sources))?
    } else {
        let aside = aside(args, &sources, hasher.clone())?;
        Bed::with_room(args, &hasher, aside.len.max(1), |bed| {
            let mut batches = aside.pieces.iter().flat_map(|piece| piece.chunks(BATCH));
            batches.try_for_each(|batch| bed.insert(batch))?;
            bed.check(args)
        })?
    };
    bed.filter.about_mut().store_secret(args.store_secret);

    output.write(&bed.filter)?;
    bed.report(args, &output);
    message::left_out(bed.left_out, &output.name())
}

/// A filter of points, which is no filter of keys.
fn near(
    args: &BuildArgs,
    hasher: KeyHasher,
    sources: &[Source],
    output: &Output<'_>,
) -> anyhow::Result<Outcome> {
    let items = match args.items {
        Some(items) => items,
        None if sources.iter().all(|source| source.file_len().is_some()) => count(args, sources)?,
        None => return Err(hinted("the lines of a pipe cannot be counted first", "give --items N")),
    };
    let (mut filter, lines) = points::build(args, hasher, sources, items)?;
    filter.about_mut().store_secret(args.store_secret);
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
struct Bed {
    filter: AnyFilter,
    keys: u64,
    new: u64,
    /// Copies of lines that the filter holds no more of.
    left_out: u64,
    /// Whether a line did not fit.
    full: bool,
    answers: Vec<bool>,
}

impl Bed {
    /// An empty filter, once its memory is known to be there.
    fn new(args: &BuildArgs, hasher: KeyHasher, items: Option<u64>) -> anyhow::Result<Self> {
        let filter = build(args, hasher, items)?;
        Ok(Self { filter, keys: 0, new: 0, left_out: 0, full: false, answers: Vec::new() })
    }

    /// A filter that was built from this many keys at once.
    fn of(filter: AnyFilter, keys: u64) -> Self {
        let new = filter.estimated_items().map_or(keys, |about| about.items as u64);
        Self { filter, keys, new, left_out: 0, full: false, answers: Vec::new() }
    }

    /// A filter for so many lines, filled; with more room if their copies do not fit.
    fn with_room(
        args: &BuildArgs,
        hasher: &KeyHasher,
        lines: u64,
        fill: impl Fn(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let mut items = lines;
        loop {
            let mut bed = Self::new(args, hasher.clone(), Some(items))?;
            match fill(&mut bed) {
                Err(_) if bed.full && items / MOST_ROOM < lines => items += items.div_ceil(2),
                filled => return filled.map(|()| bed),
            }
        }
    }

    /// How many lines need room: all that are stored, where copies take it.
    fn stored(&self) -> u64 {
        if self.filter.copies_take_room() { self.keys - self.left_out } else { self.new }
    }

    /// An error if the filter is to stop when it is full, and is; or if it has grown beyond what it may take.
    fn check(&self, args: &BuildArgs) -> anyhow::Result<()> {
        if kind(args).takes_any_number() {
            return within(args, self.filter.memory_bytes() as u64);
        }
        let planned = self.filter.about().planned_items();
        if args.on_full != Some(OnFull::Error) {
            return Ok(());
        }
        if planned > 0 && self.stored() > planned && !kind(args).forgets() {
            return Err(full(&self.filter, planned));
        }
        if self.left_out > 0 { Err(message::copies(self.left_out)) } else { Ok(()) }
    }

    /// A filter whose keys choose their bits together.
    fn chosen(args: &BuildArgs, hasher: KeyHasher, aside: Aside) -> anyhow::Result<Self> {
        let (keys, builder) = (aside.len, choice(args));
        let hint = "--effort 0 keeps no keys aside";
        memory::require(keys.saturating_mul(16), "choosing among all keys", hint)?;
        let effort = Effort::from_level(args.more.effort.unwrap_or(0)).unwrap_or_default();
        let choices = args.more.choices.unwrap_or(2);
        let builder = sized(builder, args, hasher, args.items.or(Some(keys.max(1))));
        let mut offline = builder.offline(aside.pieces.concat()).map_err(message::size)?;
        if effort == Effort::Propagated {
            let filter = offline.filter();
            let how = Propagation::new(filter.bits(), keys, filter.hashes(), choices);
            let bytes = Propagation::memory_bytes(filter.bits(), keys, filter.hashes(), choices);
            memory::require(bytes, "propagation", "--effort 2 takes far less")?;
            let mut progress = Progress::steps(how.iterations.into());
            let report = |now: OfflineProgress| {
                progress.step(format!("propagation, {} rounds", now.rounds));
                ControlFlow::Continue(())
            };
            offline.propagate_with(&how, report).map_err(message::size)?;
        }
        let rounds = effort.rounds(choices);
        let mut progress = Progress::steps(rounds);
        offline.improve_with(rounds, |now| {
            progress.step(format!("choosing, fill {}", human::share(now.fill)));
            ControlFlow::Continue(())
        });
        drop(progress);
        Ok(Self::of(offline.finish().into(), keys))
    }

    /// A filter that is built of all keys at once.
    fn fixed(args: &BuildArgs, hasher: KeyHasher, aside: Aside) -> anyhow::Result<Self> {
        let keys = aside.len;
        let hint = "--kind blocked keeps no keys aside";
        memory::require(keys.saturating_mul(STATIC_BYTES), "building of all keys at once", hint)?;
        let filter = relatives::fixed(args, kind(args), hasher, aside.pieces.concat())?;
        within(args, filter.memory_bytes() as u64)?;
        Ok(Self::of(filter, keys))
    }

    /// A filter whose bits are cleared where lines must not be found.
    fn retouched(args: &BuildArgs, hasher: KeyHasher, all: Aside) -> anyhow::Result<Self> {
        let (keys, digests) = (all.len, all.pieces.concat());
        let spare = args.more.spare.as_slice();
        if spare.is_empty() {
            return Err(hinted("no lines are to be spared", "--spare FILE names them, or take --kind bloom"));
        }
        let spared = aside(args, &Source::all(spare), hasher.clone())?.pieces.concat();
        let scheme = args.scheme.unwrap_or_default();
        let mut builder =
            Bloom::builder().scheme(move |hashes| AnyScheme::new(scheme, hashes)).hasher(hasher);
        if let Some(bits) = bits(args) {
            builder = builder.bits(bits);
        } else {
            builder = builder.fpp(args.fpp.unwrap_or(FPP));
        }
        if let Some(hashes) = args.hashes {
            builder = builder.hashes(hashes);
        }
        let builder = builder.items(args.items.unwrap_or(keys.max(1)));
        let shape = builder.shape().map_err(message::size)?;
        // Beside its bits, how many lines of either sort have each of them.
        within(args, shape.cells.div_ceil(8))?;
        memory::require(shape.cells.saturating_mul(9), "retouching", "lower --items or --bits")?;
        let mut bed = builder.build().map_err(message::size)?;
        let mut answers = vec![false; digests.len()];
        bed.insert_digests(&digests, &mut answers);
        let how = match args.more.clearing.unwrap_or(ClearingName::Ratio) {
            ClearingName::Random => Clearing::Random,
            ClearingName::FewestElements => Clearing::FewestElements,
            ClearingName::MostTroublesome => Clearing::MostTroublesome,
            ClearingName::Ratio => Clearing::Ratio,
        };
        let seed = args.seed.unwrap_or(0);
        let filter =
            RetouchedBloom::selective_digests(bed, &digests, &spared, how, seed).map_err(message::size)?;
        if !args.quiet {
            let (cleared, lost) =
                (human::plural(filter.cleared(), "bit"), human::plural(filter.lost(), "line"));
            say(&format!("{cleared} cleared; {lost} of {} no longer found", human::count(keys)));
        }
        let new = answers.iter().map(|&new| u64::from(new)).sum();
        Ok(Self { new, ..Self::of(filter.into(), keys) })
    }

    fn insert(&mut self, digests: &[Digest]) -> anyhow::Result<()> {
        self.answers.resize(digests.len(), false);
        let inserted = self.filter.insert_digests_capped(digests, &mut self.answers);
        self.full = inserted.is_err();
        self.left_out += inserted.map_err(|error| message::insert(error, &self.filter))?;
        self.keys += digests.len() as u64;
        self.new += self.answers.iter().map(|&new| u64::from(new)).sum::<u64>();
        Ok(())
    }

    fn fill(&mut self, args: &BuildArgs, sources: &[Source]) -> anyhow::Result<()> {
        let hasher = self.filter.hasher().clone();
        each_block(args, sources, hasher, "building", |digests| {
            self.insert(digests)?;
            self.check(args)
        })
    }

    /// The summary, and a warning if the filter is fuller than it was meant to be.
    fn report(&self, args: &BuildArgs, output: &Output<'_>) {
        let (filter, fpp) = (&self.filter, human::share(self.filter.fpp()));
        let to = output.name();
        if let (AnyFilter::CountMin(sketch), false) = (filter, args.quiet) {
            let (lines, rows) = (human::plural(self.keys, "line"), sketch::rows(sketch));
            let bytes = human::bytes(filter.memory_bytes() as u64);
            say(&format!("{to}: {lines} counted in {rows} ({bytes}); {}", sketch::promise(sketch)));
        } else if !args.quiet {
            let (keys, new) = (human::plural(self.keys, "key"), human::count(self.new));
            let (id, bytes) = (filter.identity(), human::bytes(filter.memory_bytes() as u64));
            let one = if id.width == 1 { "bit" } else { "cell" };
            let (cells, set) = (human::plural(id.cells, one), human::plural(id.hashes.into(), one));
            // Of a filter of several parts the identity tells the first, and of a static one what is no user's matter.
            let size = match kind(args).is_static() || kind(args).takes_any_number() {
                true => bytes,
                false => format!("{cells} ({bytes}), {set} set per key"),
            };
            say(&format!("{to}: {keys} read, {new} certainly new; {size}; estimated false positives {fpp}"));
        }
        let (planned, planned_fpp) = (filter.about().planned_items(), filter.about().planned_fpp());
        let grows = kind(args).forgets() || kind(args).takes_any_number();
        if planned > 0 && self.stored() > planned && !grows {
            let came = match filter.copies_take_room() {
                true => human::plural(self.stored(), "line"),
                false => format!("at least {} different keys", human::count(self.new)),
            };
            let (planned, wanted) = (human::count(planned), human::share(planned_fpp));
            say(&format!(
                "gardenia: warning: {came} came and {planned} were planned: \
                 false positives {fpp}, not {wanted}"
            ));
            // Three standard errors more than estimated, or the advice might lead to this warning again.
            let estimate = filter.estimated_items();
            let estimate = estimate.map_or(self.keys as f64, |about| about.items + 3.0 * about.std_error);
            let items = (estimate.ceil() as u64).clamp(self.new, self.keys);
            say(&format!("hint: build it again with --items {items}"));
        }
    }
}

/// The kind that was asked for, or that suits the other options.
fn kind(args: &BuildArgs) -> Kind {
    let other = match (args.on_full, args.scheme) {
        (Some(OnFull::Grow), _) => Kind::Scalable,
        (_, Some(_)) => Kind::Bloom,
        (_, None) => Kind::Blocked,
    };
    args.kind.unwrap_or(other)
}

/// The size in bits, if that is given: all of --memory, unless a rate says how much is needed.
fn bits(args: &BuildArgs) -> Option<u64> {
    let all = args.fpp.is_none() && kind(args).takes_bits() && args.cells.is_none();
    // Whole blocks: their number is rounded up.
    args.bits.or(args.memory.filter(|_| all).map(|bytes| (bytes / 64).max(1).saturating_mul(512)))
}

/// An error if a filter of so many bytes is larger than it may be, or than what is there.
pub(crate) fn within(args: &BuildArgs, bytes: u64) -> anyhow::Result<()> {
    match args.memory {
        Some(most) if bytes > most => {
            let (bytes, most) = (human::bytes(bytes), human::bytes(most));
            let reason = format!("the filter needs {bytes}, and --memory allows {most}");
            Err(hinted(reason, "raise --memory or --fpp, or leave --fpp out for the lowest rate that fits"))
        }
        _ => memory::require(bytes, "the filter", "lower --items, --bits or --cells, or raise --fpp"),
    }
}

/// What a filter says that is to stop when it is full.
pub(crate) fn full(filter: &AnyFilter, planned: u64) -> anyhow::Error {
    let (planned, keys) = (human::count(planned), counted(filter));
    hinted(
        format!("more than {planned} {keys} came, and {planned} were planned"),
        "build it with more --items, or with --on-full grow",
    )
}

/// What a filter must have room for.
pub(crate) fn counted(filter: &AnyFilter) -> &'static str {
    if filter.copies_take_room() { "lines" } else { "different keys" }
}

/// Options that are of no use with this kind are said so, not ignored.
fn check_options(args: &BuildArgs) -> anyhow::Result<()> {
    let (kind, more) = (kind(args), &args.more);
    let (sketch, spectral) = (kind == Kind::CountMin, "take --kind spectral-rm");
    if args.on_full == Some(OnFull::Grow) && !kind.takes_any_number() {
        let reason = format!("a filter of kind {} does not grow", kind.name());
        return Err(hinted(reason, "leave out --kind, or take --kind scalable or dynamic"));
    }
    for (given, of_use, option, hint) in [
        (
            args.scheme.is_some(),
            !matches!(kind, Kind::Blocked | Kind::Cuckoo | Kind::Bloomier | Kind::Distance)
                && !sketch
                && !kind.is_static(),
            "--scheme",
            "take --kind bloom",
        ),
        (args.items.is_some(), !sketch, "--items", "give its size by --bits or --epsilon"),
        (args.fpp.is_some(), !sketch, "--fpp", "give --epsilon and --delta"),
        (args.hashes.is_some(), !sketch, "--hashes", "give --rows"),
        (
            more.sketch.any(),
            sketch,
            "--epsilon, --delta, --columns, --rows, --form and --update",
            "take --kind count-min",
        ),
        (args.fpp.is_some(), kind != Kind::Bloomier, "--fpp", "give --check: each bit halves it"),
        (args.items.is_some(), kind != Kind::Bloomier, "--items", "take --kind blocked"),
        (
            args.width.is_some(),
            kind.has_counters() || kind == Kind::Bloomier,
            "--width",
            "take --kind counting",
        ),
        (args.cells.is_some(), kind.takes_cells(), "--cells", "give its size by --bits"),
        (args.bits.is_some(), kind.takes_bits(), "--bits", "take --kind blocked"),
        (args.hashes.is_some(), kind.takes_bits() || kind.takes_cells(), "--hashes", "take --kind bloom"),
        (
            args.items.is_some(),
            !kind.is_static(),
            "--items",
            "take --kind blocked: this one counts its keys itself",
        ),
        (
            more.fingerprint.is_some(),
            matches!(kind, Kind::Fuse | Kind::Ribbon),
            "--fingerprint",
            "take --kind ribbon",
        ),
        (more.wire.is_some(), kind == Kind::Compressed, "--wire", "take --kind compressed"),
        (
            more.memory_per_key.is_some(),
            kind == Kind::Compressed,
            "--memory-per-key",
            "take --kind compressed",
        ),
        (more.arity.is_some(), matches!(kind, Kind::Fuse | Kind::Bloomier), "--arity", "take --kind fuse"),
        (more.value.is_some(), kind == Kind::Bloomier, "--value", "take --kind bloomier"),
        (more.check.is_some(), kind == Kind::Bloomier, "--check", "take --kind bloomier"),
        (more.spare.is_some(), kind == Kind::Retouched, "--spare", "take --kind retouched"),
        (more.clearing.is_some(), kind == Kind::Retouched, "--clearing", "take --kind retouched"),
        (more.space.is_some(), kind == Kind::Distance, "--space", "take --kind distance"),
        (more.near.is_some(), kind == Kind::Distance, "--near", "take --kind distance"),
        (more.far.is_some(), kind == Kind::Distance, "--far", "take --kind distance"),
        (more.decrements.is_some(), kind == Kind::Stable, "--decrements", "take --kind stable"),
        (more.secondary_cells.is_some(), kind == Kind::SpectralRm, "--secondary-cells", spectral),
        (more.secondary_hashes.is_some(), kind == Kind::SpectralRm, "--secondary-hashes", spectral),
        (more.no_marker, kind == Kind::SpectralRm, "--no-marker", spectral),
        (more.compact, kind.is_spectral(), "--compact", "take --kind spectral-mi"),
        (more.digit.is_some(), kind == Kind::Bitwise, "--digit", "take --kind bitwise"),
        (more.choices.is_some(), kind == Kind::Choice, "--choices", "take --kind choice"),
        (more.effort.is_some(), kind == Kind::Choice, "--effort", "take --kind choice"),
    ] {
        if given && !of_use {
            let reason = format!("a filter of kind {} has no {option}", kind.name());
            return Err(hinted(reason, format!("leave it out, or {hint}")));
        }
    }
    if let Some(choices @ 1) = more.choices {
        let reason = format!("--choices {choices} leaves keys nothing to choose");
        return Err(hinted(reason, "give 2 to 32, or take --kind bloom"));
    }
    let sized = if args.bits.is_some() { Some("--bits") } else { args.cells.map(|_| "--cells") };
    if let (Some(size), Some(_), false) = (sized, args.fpp, kind.forgets()) {
        let reason = format!("{size} and --fpp are both given, and each fixes the other");
        return Err(hinted(reason, "leave out one of them"));
    }
    Ok(())
}

/// The builder of a filter with choices.
fn choice(args: &BuildArgs) -> ChoiceBloomBuilder<AnyScheme, impl Fn(u32) -> AnyScheme + use<>> {
    let scheme = args.scheme.unwrap_or_default();
    let effort = Effort::from_level(args.more.effort.unwrap_or(0)).unwrap_or_default();
    let builder = ChoiceBloom::builder().scheme(move |hashes| AnyScheme::new(scheme, hashes)).effort(effort);
    match args.more.choices {
        Some(choices) if effort != Effort::Partitioned => builder.choices(choices),
        _ => builder,
    }
}

/// The builder with the size that was asked for.
fn sized<F: Fn(u32) -> AnyScheme>(
    builder: ChoiceBloomBuilder<AnyScheme, F>,
    args: &BuildArgs,
    hasher: KeyHasher,
    items: Option<u64>,
) -> ChoiceBloomBuilder<AnyScheme, F> {
    let mut builder = builder.hasher(hasher);
    if let Some(items) = items {
        builder = builder.items(items);
    }
    match bits(args) {
        Some(bits) => builder = builder.bits(bits),
        None => builder = builder.fpp(args.fpp.unwrap_or(FPP)),
    }
    match args.hashes {
        Some(hashes) => builder.hashes(hashes),
        None => builder,
    }
}

/// The empty filter that the options of the command line describe.
fn build(args: &BuildArgs, hasher: KeyHasher, items: Option<u64>) -> anyhow::Result<AnyFilter> {
    let (kind, more) = (kind(args), &args.more);
    let given = bits(args);
    let sized = given.is_some() || args.cells.is_some();
    // A size and the items, or the hashes, leave no rate to be chosen; a filter that forgets takes size and rate.
    let open = !sized || (kind.forgets() && items.is_none() && more.decrements.is_none());
    let fpp = args.fpp.or(open.then_some(FPP));
    let require = |bytes: u64| within(args, bytes);
    let counters =
        |cells: u64, width: u32| cells.div_ceil(u64::from(64 / width.clamp(1, 32))).saturating_mul(8);
    /// Sets what was given; all builders have these verbs, and call their size bits or cells. `$bytes` tells the
    /// memory from the shape.
    macro_rules! with_options {
        ($builder:expr, $size:ident, $bits_per_cell:expr, $bytes:expr, $explain:expr) => {{
            let mut builder = $builder.hasher(hasher);
            if let Some(items) = items {
                builder = builder.items(items);
            }
            if let Some(fpp) = fpp {
                builder = builder.fpp(fpp);
            }
            // --bits is the size in memory, whatever the cells are.
            let bits_per_cell = f64::max(1.0, $bits_per_cell);
            if let Some(size) = args.cells.or(given.map(|bits| (bits as f64 / bits_per_cell) as u64)) {
                builder = builder.$size(size);
            }
            if let Some(hashes) = args.hashes {
                builder = builder.hashes(hashes);
            }
            let bytes: u64 = builder.shape().map($bytes).map_err($explain)?;
            require(bytes)?;
            builder.build().map_err($explain)?.into()
        }};
    }
    let bits = |cells: u64| cells.div_ceil(64) * 8;
    let blocked_size = |error| match (items, fpp) {
        (Some(items), Some(fpp)) => message::blocked_size(error, items, fpp),
        _ => message::size(error),
    };
    let scheme = args.scheme.unwrap_or_default();
    Ok(match kind {
        Kind::Blocked => {
            with_options!(BlockedBloom::builder(), bits, 1.0, |shape| bits(shape.cells), blocked_size)
        }
        Kind::Bloom => {
            let builder = Bloom::builder().scheme(move |hashes| AnyScheme::new(scheme, hashes));
            with_options!(builder, bits, 1.0, |shape| bits(shape.cells), message::size)
        }
        Kind::Counting => {
            let width = args.width.unwrap_or(4);
            let builder = CountingBloom::builder().scheme(scheme).width(width);
            with_options!(builder, cells, width.into(), |shape| counters(shape.cells, width), message::size)
        }
        Kind::SpectralMs | Kind::SpectralMi | Kind::SpectralRm => {
            let mut builder = SpectralBloom::builder().scheme(scheme).policy(match kind {
                Kind::SpectralMi => PolicyId::MinimumIncrease,
                Kind::SpectralRm => PolicyId::RecurringMinimum,
                _ => PolicyId::MinimumSelection,
            });
            if let Some(width) = args.width {
                builder = builder.width(width);
            }
            if more.compact {
                builder = builder.compact();
            }
            if let Some(cells) = more.secondary_cells {
                builder = builder.secondary_cells(cells);
            }
            if let Some(hashes) = more.secondary_hashes {
                builder = builder.secondary_hashes(hashes);
            }
            if more.no_marker {
                builder = builder.marker(false);
            }
            let width = args.width.unwrap_or(16);
            // Recurring minimum has half as many cells again, unless told otherwise, and a marker bit per cell.
            let (secondary, marker) = (kind == Kind::SpectralRm, kind == Kind::SpectralRm && !more.no_marker);
            let per_cell = f64::from(width) * if secondary { 1.5 } else { 1.0 } + f64::from(u8::from(marker));
            let bytes = |shape: Shape| {
                let others =
                    if secondary { more.secondary_cells.unwrap_or(shape.cells.div_ceil(2)) } else { 0 };
                let marks = if marker { bits(shape.cells) } else { 0 };
                counters(shape.cells, width) + counters(others, width) + marks
            };
            with_options!(builder, cells, per_cell, bytes, message::size)
        }
        Kind::Bitwise => {
            let mut builder = BitwiseBloom::builder().scheme(scheme);
            if let Some(digit) = more.digit {
                builder = builder.digit(digit);
            }
            if let Some(width) = args.width {
                builder = builder.width(width);
            }
            let bytes = |levels: Vec<BitwiseLevel>| levels.iter().map(|l| counters(l.cells, l.width)).sum();
            with_options!(builder, cells, args.width.unwrap_or(8).into(), bytes, message::size)
        }
        Kind::Stable => {
            let width = args.width.unwrap_or(4);
            let mut builder = StableBloom::builder().scheme(scheme).width(width);
            if let Some(decrements) = more.decrements {
                builder = builder.decrements(decrements);
            }
            with_options!(builder, cells, width.into(), |shape| counters(shape.cells, width), message::size)
        }
        Kind::Choice => with_options!(choice(args), bits, 1.0, |shape| bits(shape.cells), message::size),
        Kind::CountMin => {
            let builder = more.sketch.builder(args.width, given)?.hasher(hasher);
            require(builder.memory_bytes().map_err(message::sketch_size)?)?;
            builder.build().map_err(message::sketch_size)?.into()
        }
        Kind::Cuckoo | Kind::Scalable | Kind::Dynamic | Kind::Compressed => {
            relatives::empty(args, kind, hasher, items)?
        }
        Kind::Fuse | Kind::Ribbon | Kind::Golomb | Kind::Bloomier | Kind::Retouched | Kind::Distance => {
            anyhow::bail!("a filter of kind {} has no empty form", kind.name())
        }
        Kind::A2 => {
            let builder = A2Bloom::builder().scheme(scheme);
            with_options!(builder, bits, 1.0, |shape| bits(shape.bits), message::size)
        }
    })
}

/// How the inputs are read; the first that cannot be read ends it all.
pub(super) fn reading<'a>(
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
    args: &BuildArgs,
    sources: &[Source],
    hasher: KeyHasher,
    doing: &str,
    mut take: impl FnMut(&[Digest]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let keys = args.key.keys()?;
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    reading(args, sources, &keys, doing)
        .run(look, &mut |_: Block<'_>, batch: &mut Batch| take(&batch.digests))?;
    Ok(())
}

/// The digests of all inputs.
fn aside(args: &BuildArgs, sources: &[Source], hasher: KeyHasher) -> anyhow::Result<Aside> {
    let hint = "--items N builds the filter while reading, and keeps nothing aside";
    Aside::read(&reading(args, sources, &args.key.keys()?, "reading"), hasher, hint)
}

/// The number of records in all inputs.
fn count(args: &BuildArgs, sources: &[Source]) -> anyhow::Result<u64> {
    let (keys, mut records) = (args.key.keys()?, 0);
    let look = |_: &Keys, block: Block<'_>, count: &mut u64| {
        *count = block.count();
        Ok(())
    };
    reading(args, sources, &keys, "counting").run(look, &mut |_: Block<'_>, count: &mut u64| {
        records += *count;
        Ok(())
    })?;
    Ok(records)
}
