//! Opening filters: a file is memory-mapped, a pipe is read.

use crate::args::MemoryArgs;
use crate::input::Source;
use crate::message::hinted;
use crate::spec::kinds_that;
use crate::{foreign, memory, message, signal, split};
use anyhow::Context;
use gardenia::filter::SplitFiles;
use gardenia::format::{dcso, verify_file};
use gardenia::{Ability, AnyFilter, Count, DecodeError, OpenFilter, ReadOptions, SecretKey};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The filter, to be asked how often; an error if its kind does not count.
pub(crate) fn counts(opened: &OpenFilter) -> anyhow::Result<&dyn Count> {
    let hint = || format!("build it with one of --kind {}", kinds_that(Ability::Count));
    let reason = || format!("a filter of kind {} does not count", opened.kind().name());
    opened.as_count().ok_or_else(|| hinted(reason(), hint()))
}

/// `-`, for stdin or stdout.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether `path` is a pipe or a device: something that can be read once, and not mapped.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_dash(path) || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens the filter at `path`; `-` is stdin.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> anyhow::Result<OpenFilter> {
    split::check(path, options)?;
    try_open(path, options).map_err(message::decode).with_context(|| crate::input::name(path))
}

/// Reads the filter at `path` into memory, of whatever format; `-` is stdin.
pub(crate) fn load_any(path: &Path, options: &ReadOptions) -> anyhow::Result<AnyFilter> {
    load_and_tell(path, options).map(|(filter, _)| filter)
}

/// As [`load_any`], and whether the format is a foreign one.
pub(crate) fn load_and_tell(path: &Path, options: &ReadOptions) -> anyhow::Result<(AnyFilter, bool)> {
    split::check(path, options)?;
    read_any(path, options).map_err(message::decode).with_context(|| crate::input::name(path))
}

/// Whether the file at `path` is one of DCSO's bloom program; of pipes that is not known.
pub(crate) fn is_dcso(path: &Path) -> bool {
    let head = || -> io::Result<bool> {
        let mut head = [0; dcso::HEADER];
        File::open(path)?.read_exact(&mut head)?;
        Ok(dcso::begins(&head))
    };
    !is_stream(path) && head().unwrap_or(false)
}

/// As [`read`], and DCSO's files, too: whether it is one.
fn read_any(path: &Path, options: &ReadOptions) -> Result<(AnyFilter, bool), DecodeError> {
    let from_start = |mut reader: Box<dyn Read>| {
        let mut head = Vec::new();
        reader.by_ref().take(dcso::HEADER as u64).read_to_end(&mut head)?;
        let foreign = dcso::begins(&head);
        let whole = head.chain(reader);
        if foreign {
            dcso::read_from(whole, options).map(|filter| (filter.into(), true))
        } else {
            AnyFilter::read_from_with(whole, options).map(|filter| (filter, false))
        }
    };
    if is_dash(path) {
        from_start(Box::new(io::stdin().lock()))
    } else if is_stream(path) {
        from_start(Box::new(io::BufReader::new(File::open(path)?)))
    } else if is_dcso(path) {
        from_start(Box::new(File::open(path)?))
    } else {
        AnyFilter::load_with(path, options).map(|filter| (filter, false))
    }
}

/// Refuses the bits of a split filter, for commands that would write them without their counters.
pub(crate) fn refuse_split(path: &Path) -> anyhow::Result<()> {
    if SplitFiles::find(path).is_none() {
        return Ok(());
    }
    let reason =
        format!("{}: the bits of a split filter are changed with its counters", crate::input::name(path));
    Err(message::hinted(reason, "gardenia add and gardenia remove change both"))
}

/// Reads the filter at `path` into memory, to be changed; `-` is stdin.
pub(crate) fn load(path: &Path, options: &ReadOptions) -> anyhow::Result<AnyFilter> {
    if is_dcso(path) {
        let hint = "make a filter of it that can: gardenia convert --to bloom";
        let reason = format!("{}: a DCSO file is not changed here", crate::input::name(path));
        return Err(message::hinted(reason, hint));
    }
    refuse_split(path)?;
    read(path, options).map_err(message::decode).with_context(|| crate::input::name(path))
}

fn read(path: &Path, options: &ReadOptions) -> Result<AnyFilter, DecodeError> {
    if is_dash(path) {
        AnyFilter::read_from_with(io::stdin().lock(), options)
    } else if is_stream(path) {
        AnyFilter::read_from_with(io::BufReader::new(File::open(path)?), options)
    } else {
        AnyFilter::load_with(path, options)
    }
}

impl MemoryArgs {
    /// What is read takes memory, what is mapped does not. A file may ask for more than its own
    /// size, but not for all there is.
    pub(crate) fn options(self, secret: Option<SecretKey>) -> ReadOptions {
        let mut options = ReadOptions::new().max_bytes(memory::available().unwrap_or(u64::MAX));
        if let Some(most) = self.max_memory {
            options = options.max_expansion(most);
        }
        match secret {
            Some(secret) => options.secret(secret),
            None => options,
        }
    }
}

/// Whether the bytes of a filter are checked before it is used.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Check every byte of a filter before it is used [default: if that takes less than 3% of the
    /// time]
    #[arg(long, hide_short_help = true, conflicts_with = "no_verify")]
    verify: bool,

    /// Check nothing but the filter's header
    #[arg(long, hide_short_help = true)]
    no_verify: bool,
}

/// A filter up to this size is checked in less time than it takes to start.
const SMALL: u64 = 128 << 10;

/// A filter that has this part of the bytes of the input is checked in less than 3 % of the time
/// that the input takes.
const PART: u64 = 16;

impl VerifyArgs {
    /// Checks the filter file at `path`, unless that would take long beside reading the inputs.
    /// What is read as a whole is checked anyway, and a file of another program has no checksums.
    pub(crate) fn check(self, path: &Path, sources: &[Source]) -> anyhow::Result<()> {
        let Ok(file) = std::fs::metadata(path) else { return Ok(()) };
        if self.no_verify || is_stream(path) || !file.is_file() || !foreign::is_native(path) {
            return Ok(());
        }
        let input: u64 = sources.iter().filter_map(Source::len).sum();
        if self.verify || file.len() <= SMALL.max(input / PART) {
            verify_file(path).map_err(message::decode).with_context(|| crate::input::name(path))?;
        }
        Ok(())
    }
}

/// As [`open`], with the library's error.
pub(crate) fn try_open(path: &Path, options: &ReadOptions) -> Result<OpenFilter, DecodeError> {
    if is_stream(path) || is_dcso(path) {
        read_any(path, options).map(|(filter, _)| filter.into())
    } else {
        signal::explain_bus_errors()?;
        // SAFETY: others may change the file all the same. If it is cut short, the signal is explained; before answers are
        // printed, `check_unchanged` looks whether they can be trusted. The map is only read as numbers, any of which are fine.
        #[allow(unsafe_code, reason = "see above")]
        unsafe {
            OpenFilter::map_with(path, options)
        }
    }
}

/// An error if the file was changed while it was mapped, so that answers may be those of neither
/// the old nor the new one.
pub(crate) fn check_unchanged(filter: &OpenFilter, path: &Path) -> anyhow::Result<()> {
    if filter.is_unchanged().with_context(|| crate::input::name(path))? {
        return Ok(());
    }
    let reason =
        format!("{}: the file or its permissions changed while it was being used", crate::input::name(path));
    Err(hinted(reason, REPLACE))
}

/// What to do instead of changing a file that is in use.
const REPLACE: &str =
    "run it again; to replace a filter that is in use, write a new file and mv it over the old one";
