//! Filters that are changed: in memory and written as a whole, or split, with their counters in a
//! file beside their bits.

use crate::message::{self, hinted};
use crate::open::load;
use crate::output::Output;
use crate::{input, lock, signal};
use anyhow::Context;
use gardenia::filter::About;
use gardenia::filter::{Builder, Identity, SplitFiles, SplitOpening};
use gardenia::theory::bloom::Estimate;
use gardenia::{
    Ability, AnyFilter, CountingBloom, DecodeError, Digest, Error, KeyHasher, Kind, ReadOptions, RemoveError,
    SplitBloom,
};
use std::path::Path;

/// A filter that is changed.
#[allow(clippy::large_enum_variant, reason = "a command has one of them")]
pub(crate) enum Target {
    Whole(AnyFilter),
    Split(SplitBloom),
}

/// Does the same with either; the facts of a split filter are those of its bits.
macro_rules! either {
    ($target:expr, $filter:ident => $work:expr) => {
        match $target {
            Target::Whole($filter) => $work,
            Target::Split(split) => {
                let $filter = split.bloom();
                $work
            }
        }
    };
}

impl Target {
    /// Opens the filter at `path`, to be changed. Waits while another process changes a split one.
    pub(crate) fn open(path: &Path, options: &ReadOptions, quiet: bool) -> anyhow::Result<Self> {
        match SplitFiles::find(path) {
            Some(files) => open(path, &files, options, quiet).map(Self::Split),
            None => load(path, options).map(Self::Whole),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Whole(filter) => filter.kind(),
            Self::Split(_) => Kind::Split,
        }
    }

    pub(crate) fn can(&self, ability: Ability) -> bool {
        match self {
            Self::Whole(filter) => filter.can(ability),
            Self::Split(_) => Kind::Split.can(ability),
        }
    }

    pub(crate) fn about(&self) -> &About {
        either!(self, filter => filter.about())
    }

    pub(crate) fn about_mut(&mut self) -> &mut About {
        match self {
            Self::Whole(filter) => filter.about_mut(),
            Self::Split(filter) => filter.about_mut(),
        }
    }

    pub(crate) fn hasher(&self) -> &KeyHasher {
        either!(self, filter => filter.hasher())
    }

    pub(crate) fn identity(&self) -> Identity {
        either!(self, filter => filter.identity())
    }

    pub(crate) fn fpp(&self) -> f64 {
        either!(self, filter => filter.fpp())
    }

    pub(crate) fn is_empty(&self) -> bool {
        either!(self, filter => filter.fill() == 0.0)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        either!(self, filter => filter.memory_bytes() as u64)
    }

    /// How many cells have lost count, and the largest count; `None` if there are none, or if this
    /// kind does not count.
    pub(crate) fn saturated(&self) -> Option<(u64, u64)> {
        match self {
            Self::Whole(filter) => message::saturated(filter.as_count()?),
            Self::Split(filter) => message::saturated(filter),
        }
    }

    pub(crate) fn estimated_items(&self) -> Option<Estimate> {
        match self {
            Self::Whole(filter) => filter.estimated_items(),
            Self::Split(filter) => Some(filter.bloom().estimated_items()),
        }
    }

    /// Adds keys, and reports of each whether it was certainly absent; how many copies were left
    /// out.
    pub(crate) fn insert(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<u64> {
        match self {
            Self::Whole(filter) => {
                let inserted = filter.insert_digests_capped(digests, new);
                inserted.map_err(|error| message::insert(error, filter))
            }
            Self::Split(filter) => {
                filter.insert_digests(digests, new);
                Ok(0)
            }
        }
    }

    /// Removes a key; `None` if this filter cannot.
    pub(crate) fn remove(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        match self {
            Self::Whole(filter) => filter.remove_digest(digest),
            Self::Split(filter) => Some(filter.remove_digest(digest)),
        }
    }

    /// Writes the filter; a split one, which knows its files, is on the disk afterwards.
    pub(crate) fn write(&mut self, output: &Output<'_>) -> anyhow::Result<()> {
        match self {
            Self::Whole(filter) => output.write(filter),
            Self::Split(filter) => filter.flush().map_err(message::encode).with_context(|| output.name()),
        }
    }

    /// Ends the work with a filter that was written.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Whole(_) => Ok(()),
            Self::Split(filter) => filter.close().map_err(message::encode),
        }
    }
}

/// Opens a split filter that is as it was closed, to be changed. Waits while another process has
/// it.
pub(crate) fn open(
    path: &Path,
    files: &SplitFiles,
    options: &ReadOptions,
    quiet: bool,
) -> anyhow::Result<SplitBloom> {
    loop {
        if is_clean(path, files, options)? {
            match try_open(files, options) {
                Err(Error::InUse) => {}
                opened => return opened.map_err(|error| explain(path, files, error)),
            }
        }
        wait(files, quiet)?;
    }
}

/// Opens a split filter, and repairs it if need be, with the library's error.
pub(crate) fn try_open(files: &SplitFiles, options: &ReadOptions) -> Result<SplitBloom, Error> {
    signal::explain_bus_errors().map_err(DecodeError::Io)?;
    SplitBloom::open_with(files.clone(), options)
}

/// Begins a split filter, whose files appear when it is written.
pub(crate) fn draft(
    files: SplitFiles,
    builder: Builder<CountingBloom>,
    replace: bool,
) -> anyhow::Result<SplitBloom> {
    signal::explain_bus_errors()?;
    Ok(SplitBloom::draft(files, builder, replace)?)
}

/// Waits until whoever has a split filter is done with it.
pub(crate) fn wait(files: &SplitFiles, quiet: bool) -> anyhow::Result<()> {
    lock::hold(files.counters_path(), quiet).map(drop)
}

/// Refuses bits that are not those of the counters beside them. If another process is changing the
/// filter they are those from before.
pub(crate) fn check(path: &Path, options: &ReadOptions) -> anyhow::Result<()> {
    let Some(files) = SplitFiles::find(path) else { return Ok(()) };
    is_clean(path, &files, options).map(drop)
}

/// Whether a split filter is as it was closed; no if another process has it.
fn is_clean(path: &Path, files: &SplitFiles, options: &ReadOptions) -> anyhow::Result<bool> {
    match SplitBloom::inspect(files.clone(), options) {
        Ok(state) if state.opening == SplitOpening::Clean => Ok(true),
        Ok(state) => {
            let hint = format!("repair it first: gardenia recover {}", input::name(path));
            Err(hinted(words(state.opening), hint).context(input::name(path)))
        }
        Err(Error::InUse) => Ok(false),
        // Whoever opens the bits will say so.
        Err(Error::Decode(DecodeError::SecretMissing { .. } | DecodeError::SecretWrong { .. })) => Ok(true),
        Err(error) => Err(explain(path, files, error)),
    }
}

/// What is wrong with a split filter.
pub(crate) fn words(opening: SplitOpening) -> &'static str {
    match opening {
        SplitOpening::Clean => "closed",
        SplitOpening::Killed { .. } => {
            "a command that changed it was killed, so its bits are older than its counters"
        }
        SplitOpening::BitsMissing => "its bits are missing",
        SplitOpening::BitsDamaged => "its bits are corrupted",
        SplitOpening::BitsDiffer => "its bits are not the ones that were saved with its counters",
        _ => "the system stopped while a command changed it",
    }
}

/// Says why a split filter cannot be opened.
pub(crate) fn explain(path: &Path, files: &SplitFiles, error: Error) -> anyhow::Error {
    let (name, counters) = (input::name(path), files.counters_path().display());
    let foreign = || format!("if {name} is a filter of its own, remove {counters}");
    match error {
        Error::Mismatch(error) => {
            hinted(format!("{counters} belongs to another filter: {error}"), foreign()).context(name)
        }
        Error::Decode(error @ (DecodeError::SecretMissing { .. } | DecodeError::SecretWrong { .. })) => {
            message::decode(error).context(name)
        }
        Error::Decode(DecodeError::Io(error)) => anyhow::Error::from(error).context(name),
        Error::Decode(error) => hinted(format!("{error}"), foreign()).context(format!("{counters}")),
        error => anyhow::Error::from(error).context(name),
    }
}

/// The counters of a split filter, in memory; `None` if the filter at `path` is not one.
pub(crate) fn counters(path: &Path, options: &ReadOptions) -> anyhow::Result<Option<AnyFilter>> {
    let Some(files) = SplitFiles::find(path) else { return Ok(None) };
    let filter = open(path, &files, options, false)?;
    let counting = filter.to_counting().map_err(message::size).with_context(|| input::name(path))?;
    Ok(Some(counting.into()))
}
