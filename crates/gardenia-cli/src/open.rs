//! Opening filters: a file is memory-mapped, a pipe is read.

use crate::{memory, message};
use anyhow::Context;
use gardenia::cells::Bytes;
use gardenia::{AnyFilter, DecodeError, Filter, KeyHasher, Mapped, ReadOptions, SecretKey};
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

/// As [`open`], with the library's error.
pub(crate) fn try_open(path: &Path, secret: Option<SecretKey>) -> Result<Opened, DecodeError> {
    // What is read takes memory, what is mapped does not.
    let mut options = ReadOptions::new().max_bytes(memory::available().unwrap_or(u64::MAX));
    if let Some(secret) = secret {
        options = options.secret(secret);
    }
    if is_dash(path) {
        AnyFilter::read_from_with(io::stdin().lock(), &options).map(Opened::Read)
    } else if is_stream(path) {
        AnyFilter::read_from_with(io::BufReader::new(File::open(path)?), &options).map(Opened::Read)
    } else {
        AnyFilter::open_mapped_with(path, &options).map(Opened::Mapped)
    }
}
