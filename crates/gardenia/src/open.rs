//! A filter that was opened from a file, wherever its cells are.

use crate::cells::Bytes;
use crate::filter::{About, Identity};
use crate::format::Mapped;
use crate::format::methods::map_file;
use crate::hash::{Digest, Key, KeyHasher};
use crate::kinds::{Ability, AnyFilter, Kind};
use crate::spec::Spec;
use crate::theory::bloom::Estimate;
use crate::{Count, DecodeError, Filter, ReadOptions};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A filter of any kind to query, in memory or in a mapped file.
///
/// One type for both, and its loops are compiled here once, so that programs that open filters need
/// not compile them again.
///
/// ```
/// use gardenia::{BlockedBloom, OpenFilter};
/// let path = std::env::temp_dir().join(format!("gardenia-open-{}.gdn", std::process::id()));
/// let mut filter = BlockedBloom::new(100, 0.01)?;
/// filter.insert("rose");
/// filter.save(&path).unwrap();
/// let read = OpenFilter::open(&path).unwrap();
/// // SAFETY: the file is this program's own.
/// let mapped = unsafe { OpenFilter::map(&path) }.unwrap();
/// assert!(read.contains("rose") && mapped.contains("rose"));
/// assert!(read.is_unchanged().unwrap() && mapped.is_unchanged().unwrap());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Debug)]
pub struct OpenFilter {
    held: Held,
}

/// Where the cells are.
#[derive(Debug)]
enum Held {
    Owned(AnyFilter),
    Mapped(AnyFilter<Bytes<Mapped>>, Source),
}

/// A file that is mapped, and how it was when that began.
#[derive(Debug)]
struct Source {
    file: File,
    path: PathBuf,
    state: State,
}

/// What tells whether a file was changed: its length, the time of its last change and, where the
/// system has them, that of the last change of its inode, and how many names it has.
#[derive(Debug, PartialEq, Eq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
    inode: Option<(i64, i64, u64)>,
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.ctime(), metadata.ctime_nsec(), metadata.nlink()))
        };
        #[cfg(not(unix))]
        let inode = None;
        Self { len: metadata.len(), modified: metadata.modified().ok(), inode }
    }
}

impl Source {
    fn is_unchanged(&self) -> io::Result<bool> {
        let now = State::of(&self.file.metadata()?);
        if now == self.state {
            return Ok(true);
        }
        if (now.len, now.modified) != (self.state.len, self.state.modified) {
            return Ok(false);
        }
        // The inode alone was changed: by a new name, or one less, which is how a file is replaced by another; or in
        // place, by someone who set the time of the last change back.
        let names = |state: &State| state.inode.map(|(_, _, names)| names);
        Ok(names(&now) != names(&self.state) || !self.has_its_name()?)
    }

    /// Whether the path still names this file.
    fn has_its_name(&self) -> io::Result<bool> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ours = self.file.metadata()?;
            let there = std::fs::metadata(&self.path);
            Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
        }
        #[cfg(not(unix))]
        Ok(true)
    }
}

/// Does the same with either.
macro_rules! either {
    ($open:expr, $filter:ident => $work:expr) => {
        match &$open.held {
            Held::Owned($filter) => $work,
            Held::Mapped($filter, _) => $work,
        }
    };
}

impl OpenFilter {
    /// Reads the file at `path` into memory, with every checksum verified.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DecodeError> {
        AnyFilter::load(path).map(Self::from)
    }

    /// Maps the file at `path`. Its payload is read when it is asked for, and checked by
    /// [`verify_file`](crate::format::verify_file) only.
    ///
    /// # Safety
    /// While it is open, the file must not be changed in place or cut short: see
    /// [`AnyFilter::open_mapped`].
    #[allow(unsafe_code, reason = "a mapped file is as good as those who can write to it")]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, DecodeError> {
        // SAFETY: the caller's promise.
        unsafe { Self::map_with(path, &ReadOptions::new()) }
    }

    /// As [`map`](Self::map), with options.
    ///
    /// # Safety
    /// That of [`map`](Self::map).
    #[allow(unsafe_code, reason = "a mapped file is as good as those who can write to it")]
    pub unsafe fn map_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, DecodeError> {
        // SAFETY: the caller's promise.
        let (filter, file) = unsafe { map_file(path.as_ref(), options) }?;
        let source = Source { path: path.as_ref().to_owned(), state: State::of(&file.metadata()?), file };
        Ok(Self { held: Held::Mapped(filter, source) })
    }

    /// Whether the file is as it was when it was mapped, by its length, the time of its last change
    /// and, on Unix, that of its inode's. Of a filter in memory of its own it always is.
    ///
    /// Answers that were given before this said yes are those of the file that was opened. It costs
    /// a system call.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        let Held::Mapped(_, source) = &self.held else { return Ok(true) };
        source.is_unchanged()
    }

    /// The filter, if it is in memory of its own.
    #[must_use]
    pub fn as_owned(&self) -> Option<&AnyFilter> {
        if let Held::Owned(filter) = &self.held { Some(filter) } else { None }
    }

    /// The filter, if it is in a mapped file.
    #[must_use]
    pub fn as_mapped(&self) -> Option<&AnyFilter<Bytes<Mapped>>> {
        if let Held::Mapped(filter, _) = &self.held { Some(filter) } else { None }
    }

    /// Kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        either!(self, filter => filter.kind())
    }

    /// Whether this filter can do it.
    #[must_use]
    pub fn can(&self, ability: Ability) -> bool {
        either!(self, filter => filter.can(ability))
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        either!(self, filter => filter.identity())
    }

    /// The spec of a filter like this one. See [`AnyFilter::spec`].
    #[must_use]
    pub fn spec(&self) -> Option<Spec> {
        either!(self, filter => filter.spec())
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        either!(self, filter => filter.hasher())
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        either!(self, filter => filter.about())
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        either!(self, filter => filter.fill())
    }

    /// The current false-positive rate.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        either!(self, filter => filter.fpp())
    }

    /// How many distinct keys are in the filter, estimated; `None` if this kind cannot estimate it.
    #[must_use]
    pub fn estimated_items(&self) -> Option<Estimate> {
        either!(self, filter => filter.estimated_items())
    }

    /// Whether `key` may be present.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher().digest_key(&key))
    }

    /// Answers for all keys in order, probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        (self as &dyn Filter).contains_many(keys)
    }

    /// The filter as one that counts; `None` if this kind does not.
    #[must_use]
    pub fn as_count(&self) -> Option<&dyn Count> {
        either!(self, filter => filter.as_count())
    }

    /// The values of the keys with these digests; false if this kind holds none. See
    /// [`AnyFilter::get_digests`].
    pub fn get_digests(&self, digests: &[Digest], values: &mut [Option<u32>]) -> bool {
        either!(self, filter => filter.get_digests(digests, values))
    }

    /// Bytes that the cells take, in memory or in the file.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        either!(self, filter => filter.memory_bytes())
    }
}

impl From<AnyFilter> for OpenFilter {
    fn from(filter: AnyFilter) -> Self {
        Self { held: Held::Owned(filter) }
    }
}

impl Filter for OpenFilter {
    fn hasher(&self) -> &KeyHasher {
        OpenFilter::hasher(self)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        either!(self, filter => filter.contains_digest(digest))
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        either!(self, filter => filter.contains_digests(digests, out));
    }
}
