//! Opening filters: a file is memory-mapped, a pipe is read.

use crate::message::hinted;
use crate::{memory, message};
use anyhow::Context;
use gardenia::cells::Bytes;
use gardenia::{AnyFilter, Count, DecodeError, Filter, KeyHasher, Mapped, ReadOptions, SecretKey};
use std::fs::File;
use std::io;
use std::path::Path;

/// A filter, where it lies.
pub(crate) enum Opened {
    /// In a file.
    Mapped(AnyFilter<Bytes<Mapped>>),
    /// Came by a pipe.
    Read(AnyFilter),
}

impl Opened {
    /// The filter, to be asked.
    pub(crate) fn filter(&self) -> &dyn Filter {
        match self {
            Self::Mapped(filter) => filter,
            Self::Read(filter) => filter,
        }
    }

    /// The filter, to be asked how often; an error if its kind does not count.
    pub(crate) fn counts(&self) -> anyhow::Result<&dyn Count> {
        let (count, kind) = match self {
            Self::Mapped(filter) => (filter.as_count(), filter.kind()),
            Self::Read(filter) => (filter.as_count(), filter.kind()),
        };
        let hint = "build it with --kind counting, spectral-mi, bitwise or count-min";
        count.ok_or_else(|| hinted(format!("a filter of kind {} does not count", kind.name()), hint))
    }

    /// The hash function, so that keys are hashed without a call through `dyn` each.
    pub(crate) fn hasher(&self) -> KeyHasher {
        match self {
            Self::Mapped(filter) => *filter.hasher(),
            Self::Read(filter) => *filter.hasher(),
        }
    }
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
pub(crate) fn open(path: &Path, secret: Option<SecretKey>) -> anyhow::Result<Opened> {
    try_open(path, secret).map_err(message::decode).with_context(|| crate::input::name(path))
}

/// Reads the filter at `path` into memory, to be changed; `-` is stdin.
pub(crate) fn load(path: &Path, secret: Option<SecretKey>) -> anyhow::Result<AnyFilter> {
    read(path, &options(secret)).map_err(message::decode).with_context(|| crate::input::name(path))
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

/// What is read takes memory, what is mapped does not.
pub(crate) fn options(secret: Option<SecretKey>) -> ReadOptions {
    let options = ReadOptions::new().max_bytes(memory::available().unwrap_or(u64::MAX));
    match secret {
        Some(secret) => options.secret(secret),
        None => options,
    }
}

/// As [`open`], with the library's error.
pub(crate) fn try_open(path: &Path, secret: Option<SecretKey>) -> Result<Opened, DecodeError> {
    let options = options(secret);
    if is_stream(path) {
        read(path, &options).map(Opened::Read)
    } else {
        AnyFilter::open_mapped_with(path, &options).map(Opened::Mapped)
    }
}
