//! The split form of the counting Bloom filter, kind `split`: bits in memory, counters in a file.
//!
//! A query needs to know only whether a cell is zero. So one bit per cell is kept in memory and
//! answers every query, and the counters, which only insertions and removals touch, live in slower
//! storage: a memory-mapped file. The bits are saved as a plain [`Bloom`] filter that every program
//! opens.
//!
//! The one subtle rule: an insertion or removal changes k cells in the file, and a process can be
//! killed between any two. Half a removal that is repeated would lower cells twice and lose other
//! keys. So each operation is written down before it is carried out (`format/journal.rs`), and
//! opening completes what was under way.
//!
//! Source: Grothoff, "A Quick Introduction to Bloom Filters": "collision counters" in
//! higher-latency storage.

use super::counting::{Parts, lower, raise};
use super::row::{Least, LeastMany, Row, Touch, TouchMany};
use crate::cells::{Ahead, Bits, CounterLines, Counters, Lines, Memory, Tally, TallyMut};
use crate::filter::verbs::{count_impl, filter_impl, remove_impl};
use crate::filter::{About, Bloom, Builder, CountingBloom, Identity};
use crate::format::counters_file::{self, CounterFile, Left, fingerprint};
use crate::format::methods::{persist_new, write_file, write_to};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::{AnyScheme, Scheme};
use crate::kinds::AnyFilter;
use crate::simd::{Bools, Drawn, Given, Keys, Sink, Source};
use crate::spec::{Spec, SpecError};
use crate::{DecodeError, EncodeError, Error, Full, Insert, RemoveError, SizeError};
use alloc::vec::Vec;
use core::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// A counting Bloom filter with its counters in a file: in memory it is as small as a Bloom filter,
/// and queries are as fast.
///
/// Two files belong to it: the bits (`filter.gdn`), a plain filter that any program opens, as it
/// was at the last [`flush`](Self::flush) or [`close`](Self::close); and the counters
/// (`filter.counters`), which are changed in place. One process at a time has them open.
///
/// When the process is killed, at any moment, nothing is lost: each operation that returned is in
/// the file, and the one under way is in it as a whole or not at all
/// ([`operations`](Self::operations) tells which). When the *system* stops, what was there at the
/// last [`sync`](Self::sync) is still there. Opening finds out what happened, repairs it, and [says
/// so](Self::opening).
///
/// ```
/// use gardenia::{Bloom, CountingBloom, SplitBloom};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("filter.gdn");
/// let builder = CountingBloom::builder().items(1_000).fpp(0.01);
/// let mut filter = SplitBloom::create(&path, builder)?;
/// filter.insert("rose");
/// filter.insert("tulip");
/// filter.close()?;
///
/// let mut filter = SplitBloom::open(&path)?;
/// filter.remove("tulip")?;
/// assert!(filter.contains("rose") && !filter.contains("tulip"));
/// filter.flush()?;
/// assert_eq!(Bloom::load(&path)?.contains_many(&["rose", "tulip"]), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys without portable bytes have no place in files, and do not compile:
///
/// ```compile_fail
/// let mut filter = gardenia::SplitBloom::open("filter.gdn")?;
/// filter.insert(gardenia::Hashed(&1));
/// # Ok::<(), gardenia::Error>(())
/// ```
pub struct SplitBloom {
    hasher: KeyHasher,
    scheme: AnyScheme,
    cells: SplitCells,
    files: SplitFiles,
    opening: SplitOpening,
    /// How many operations were over when both files last agreed, and were on the disk.
    settled: Option<u64>,
}

/// The two files of a [`SplitBloom`], named after one path: `users.gdn` and `users.counters`.
///
/// ```
/// use gardenia::filter::SplitFiles;
/// assert_eq!(SplitFiles::from("users.gdn"), SplitFiles::new("users.gdn").counters("users.counters"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitFiles {
    bits: PathBuf,
    counters: PathBuf,
}

impl SplitFiles {
    /// The bits at this path, and the counters beside them with the extension `counters`.
    #[must_use]
    pub fn new(bits: impl Into<PathBuf>) -> Self {
        let bits = bits.into();
        Self { counters: bits.with_extension("counters"), bits }
    }

    /// The files of the split filter whose bits are at `bits`; `None` if no counters lie beside
    /// them. Links are followed. Bits that are missing, and counters that cannot be read, are found
    /// out by whoever opens them.
    ///
    /// ```
    /// use gardenia::filter::SplitFiles;
    /// use gardenia::{CountingBloom, SplitBloom};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("users.gdn");
    /// assert_eq!(SplitFiles::find(&path), None);
    /// SplitBloom::create(&path, CountingBloom::builder().items(1_000).fpp(0.01))?;
    /// let files = SplitFiles::find(&path).unwrap();
    /// assert!(files.counters_path().ends_with("users.counters"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn find(bits: impl AsRef<Path>) -> Option<Self> {
        let bits = bits.as_ref();
        let target = if bits.is_symlink() { bits.canonicalize().ok() } else { None };
        let files = Self::new(target.unwrap_or_else(|| bits.to_owned()));
        let named = std::fs::symlink_metadata(&files.counters).is_ok() && files.counters != files.bits;
        let foreign = match std::fs::metadata(&files.counters) {
            Ok(file) if file.is_file() => counters_file::is_foreign(&files.counters),
            Ok(_) => true,
            Err(_) => false, // a link to nothing
        };
        (named && !foreign).then_some(files)
    }

    /// The path of the bits.
    #[must_use]
    pub fn bits_path(&self) -> &Path {
        &self.bits
    }

    /// The path of the counters.
    #[must_use]
    pub fn counters_path(&self) -> &Path {
        &self.counters
    }

    /// The counters at this path: on a disk of their own.
    #[must_use]
    pub fn counters(mut self, counters: impl Into<PathBuf>) -> Self {
        self.counters = counters.into();
        self
    }
}

impl From<&str> for SplitFiles {
    fn from(bits: &str) -> Self {
        Self::new(bits)
    }
}

impl From<&Path> for SplitFiles {
    fn from(bits: &Path) -> Self {
        Self::new(bits)
    }
}

impl From<&PathBuf> for SplitFiles {
    fn from(bits: &PathBuf) -> Self {
        Self::new(bits)
    }
}

impl From<PathBuf> for SplitFiles {
    fn from(bits: PathBuf) -> Self {
        Self::new(bits)
    }
}

/// What [`SplitBloom::open`] found. In all cases but the first the bits were made anew from the
/// counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitOpening {
    /// The filter is new, or as it was closed: the bits were loaded, the counters were not looked
    /// at.
    Clean,
    /// It was not closed. Every operation that returned is there, and none is there by half.
    Killed {
        /// Whether an operation was under way, and has been completed.
        replayed: bool,
    },
    /// It was not closed, and the system has stopped since the last [`sync`](SplitBloom::sync) (or
    /// that is not known). What was synced is there. What was done later may be there, or not, or
    /// by half. Insert again what was inserted since then, which costs at most false positives; but
    /// do not repeat removals, of which half may have been done: a cell that is lowered twice can
    /// hide another key.
    Stopped,
    /// The file of bits was gone.
    BitsMissing,
    /// The file of bits was corrupted.
    BitsDamaged,
    /// The file of bits was not the one that had been closed together with the counters.
    BitsDiffer,
}

impl SplitOpening {
    /// Of a filter that was not closed, or is not whole.
    fn not_clean(left: Left, bits: bool, pending: bool) -> Self {
        match left {
            Left::Closed(_) if bits => Self::BitsDiffer,
            Left::Closed(_) => Self::BitsMissing,
            Left::Unclosed => Self::Killed { replayed: pending },
            Left::Stopped => Self::Stopped,
        }
    }
}

/// What [`SplitBloom::inspect`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitState {
    /// What opening would find.
    pub opening: SplitOpening,
    /// See [`SplitBloom::operations`].
    pub operations: u64,
    /// See [`SplitBloom::closed_operations`].
    pub closed_operations: u64,
    /// Number of counters.
    pub cells: u64,
    /// Bits per counter.
    pub width: u32,
    /// Bytes of all counters.
    pub bytes: u64,
}

impl SplitBloom {
    /// Creates an empty filter and its two files, which must not exist.
    ///
    /// The room for all counters is allocated now: a disk that is too full is an error here.
    pub fn create(files: impl Into<SplitFiles>, builder: Builder<CountingBloom>) -> Result<Self, Error> {
        let files = files.into();
        [&files.bits, &files.counters].into_iter().try_for_each(|path| check_absent(path))?;
        let mut made = Self::draft(files, builder, false)?;
        made.flush()?;
        Ok(made)
    }

    /// As [`create`](Self::create), but the files appear with the first [`flush`](Self::flush) or
    /// [`close`](Self::close), both at once. If neither succeeds, or the process is killed, nothing
    /// has changed. With `replace` they replace files that exist, and otherwise never do.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("filter.gdn");
    /// let builder = gardenia::CountingBloom::builder().items(1_000).fpp(0.01);
    /// let mut filter = gardenia::SplitBloom::draft(&path, builder, false)?;
    /// filter.insert("rose");
    /// assert!(!path.exists());
    /// filter.close()?;
    /// assert!(gardenia::SplitBloom::open(&path)?.contains("rose"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draft(
        files: impl Into<SplitFiles>,
        builder: Builder<CountingBloom>,
        replace: bool,
    ) -> Result<Self, Error> {
        let mut files = files.into();
        if let (true, Ok(target)) = (replace, files.counters.canonicalize()) {
            files.counters = target; // a link stays, and its target is replaced
        }
        let width = builder.cell_width();
        let (Parts { hasher, scheme, about }, cells) = builder.parts()?;
        let identity = Identity {
            kind: Kind::Counting,
            hasher: hasher.id(),
            mark: hasher.mark(),
            scheme: scheme.id(),
            hashes: scheme.hashes(),
            cells,
            width,
        };
        let bytes = crate::cells::counter_bytes(cells, width).ok_or(SizeError::Width { width })?;
        let header = Header::new(identity, &hasher, &about, bytes)?;
        let plain = Bloom::from_parts(hasher.clone(), scheme, Bits::new(cells)?, about);
        let file = CounterFile::draft(&files.counters, &header, replace)?;
        let cells = SplitCells { file, plain };
        Ok(Self { hasher, scheme, cells, files, opening: SplitOpening::Clean, settled: None })
    }

    /// What [`open_with`](Self::open_with) would find, for programs that only read the bits: waits
    /// for nobody and changes nothing. [`Error::InUse`] if another process has the filter open; its
    /// bits are then those of the last [`flush`](Self::flush).
    ///
    /// ```
    /// use gardenia::filter::SplitOpening;
    /// use gardenia::{CountingBloom, ReadOptions, SplitBloom};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("users.gdn");
    /// let mut users = SplitBloom::create(&path, CountingBloom::builder().items(1_000).fpp(0.01))?;
    /// users.insert("rose");
    /// drop(users); // without `close`
    /// let state = SplitBloom::inspect(&path, &ReadOptions::new())?;
    /// assert_eq!(state.opening, SplitOpening::Killed { replayed: false });
    /// assert_eq!((state.operations, state.closed_operations), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inspect(files: impl Into<SplitFiles>, options: &ReadOptions) -> Result<SplitState, Error> {
        let files = files.into();
        let seen = counters_file::look(&files.counters)?;
        let identity = Identity { kind: Kind::Bloom, width: 1, ..seen.header.identity };
        let stored = bits_header(&files.bits)?;
        if let Some(stored) = &stored {
            identity.check(&stored.identity)?;
        }
        let opening = match (seen.left, &stored) {
            (Left::Closed(expected), Some(_)) => match AnyFilter::load_with(&files.bits, options) {
                Ok(AnyFilter::Bloom(plain)) if fingerprint(plain.cells()) == expected => SplitOpening::Clean,
                Ok(_) => SplitOpening::BitsDiffer,
                Err(error) if is_damage(&error) => SplitOpening::BitsDamaged,
                Err(error) => return Err(error.into()),
            },
            (left, stored) => SplitOpening::not_clean(left, stored.is_some(), seen.pending),
        };
        let Identity { cells, width, .. } = seen.header.identity;
        let (bytes, operations, closed_operations) = (seen.header.payload_len, seen.done, seen.found);
        Ok(SplitState { opening, operations, closed_operations, cells, width, bytes })
    }

    /// Opens a filter, and repairs it if it was not closed: [`opening`](Self::opening) reports it.
    /// If it cannot be opened both files stay as they are.
    ///
    /// The counters are mapped. If another process cuts their file short while the filter is open,
    /// or the disk cannot be read, the next operation ends this process with SIGBUS. If it
    /// overwrites the file, counts are wrong. That is no undefined behavior, because every word is
    /// read and written as an atomic number: so this function is safe, and mapping a filter is not.
    pub fn open(files: impl Into<SplitFiles>) -> Result<Self, Error> {
        Self::open_with(files, &ReadOptions::new())
    }

    /// As [`open`](Self::open), with options: the most memory for the bits, and the secret of a
    /// keyed filter.
    pub fn open_with(files: impl Into<SplitFiles>, options: &ReadOptions) -> Result<Self, Error> {
        let files = files.into();
        let mut file = CounterFile::open(&files.counters)?;
        let identity = Identity { kind: Kind::Bloom, width: 1, ..file.header.identity };
        let (needed, max) = (identity.cells.div_ceil(64) * 8, options.max_bytes);
        if needed > max {
            return Err(DecodeError::TooLarge { needed, max }.into());
        }
        let stored = bits_header(&files.bits)?;
        if let Some(stored) = &stored {
            identity.check(&stored.identity)?;
        }
        let secret =
            stored.as_ref().and_then(|stored| stored.secret.clone()).or_else(|| options.secret.clone());
        let options = ReadOptions { secret, ..*options };
        let (hasher, scheme) = (file.header.hasher(&options)?, file.header.scheme::<AnyScheme>()?);
        let loaded = match (file.left(), &stored) {
            (Left::Closed(expected), Some(_)) => match load_bits(&files.bits, &options)? {
                Some(plain) if fingerprint(plain.cells()) == expected => Ok(plain),
                Some(_) => Err(SplitOpening::BitsDiffer),
                None => Err(SplitOpening::BitsDamaged),
            },
            (left, stored) => Err(SplitOpening::not_clean(left, stored.is_some(), file.journal.is_pending())),
        };
        // All that can be refused has been refused; from here on files are changed.
        let in_use = |file: &mut CounterFile| {
            let marked = file.mark_in_use();
            marked.map_err(|e| EncodeError::Io(counters_file::at(&files.counters, e)))
        };
        let (plain, opening, settled) = match loaded {
            Ok(plain) => {
                in_use(&mut file)?;
                (plain, SplitOpening::Clean, Some(file.journal.done()))
            }
            Err(found) => {
                let mut bits = Bits::new(identity.cells)?;
                in_use(&mut file)?;
                file.replay();
                file.counters.fill_bits(&mut bits);
                let about = stored.as_ref().unwrap_or(&file.header).about();
                (Bloom::from_parts(hasher.clone(), scheme, bits, about), found, None)
            }
        };
        Ok(Self { hasher, scheme, cells: SplitCells { file, plain }, files, opening, settled })
    }

    /// Adds `key`; true if it was certainly absent before. It is in the file when this returns.
    #[inline]
    pub fn insert<K: Key>(&mut self, key: K) -> bool {
        const { assert!(K::PORTABLE, "a key by Hashed(..) has no portable bytes: it cannot go into a file") };
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before. Each is an
    /// operation of its own.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        const { assert!(K::PORTABLE, "a key by Hashed(..) has no portable bytes: it cannot go into a file") };
        let mut count = 0;
        self.insert_each(Keys { hasher: self.hasher.clone(), keys }, &mut count);
        count
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work: put_in })
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        assert_eq!(digests.len(), new.len(), "one answer per digest");
        self.insert_each(Given(digests), &mut Bools(new));
    }

    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        self.scheme.dispatch(TouchMany { cells: &mut self.cells, digests, work: put_in, answers: new });
    }

    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }
    /// How often `key` went in, less how often it was removed: never too little below the cells'
    /// top. This reads the file.
    #[inline]
    #[must_use]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_digest(self.hasher.digest_key(&key))
    }

    /// Counts of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = vec![0; keys.len()];
        self.count_each(Keys::new(&self.hasher, keys), &mut counts);
        counts
    }

    /// Counts for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn count_digests(&self, digests: &[Digest], out: &mut [u64]) {
        assert_eq!(digests.len(), out.len(), "one count per digest");
        self.count_each(Given(digests), out);
    }

    /// Takes the key with this digest out once. If that cannot be, the error says why and nothing
    /// has changed.
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work: take_out })
    }

    /// The count of the key with this digest, by minimum selection.
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.scheme.dispatch(Least { cells: &self.cells.file.counters, digest }).into()
    }

    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |least| {
            counts.by_ref().take(1).for_each(|count| *count = u64::from(least));
            false
        };
        self.scheme.dispatch(LeastMany { cells: &self.cells.file.counters, digests, take, answers: &mut 0 });
    }

    /// Whether `key` may be present: never false for a key that is. Only memory is asked.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.cells.plain.contains(key)
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.cells.plain.contains_many(keys)
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.cells.plain.contains_digest(digest)
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.cells.plain.contains_digests(digests, out);
    }

    /// The bits: the plain filter that answers, with its facts (fill, error rate, estimated items).
    #[must_use]
    pub fn bloom(&self) -> &Bloom<AnyScheme> {
        &self.cells.plain
    }

    /// The counting filter of the same cells, in memory.
    pub fn to_counting(&self) -> Result<CountingBloom, SizeError> {
        let mut cells = Counters::new(self.cells(), self.width())?;
        cells.copy_from(&self.cells.file.counters);
        let parts = Parts { hasher: self.hasher.clone(), scheme: self.scheme, about: self.about().clone() };
        Ok(CountingBloom::from_parts(parts, cells))
    }

    /// Number of cells, m.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.cells.len()
    }

    /// Bits per cell of the counters, w.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.cells.file.counters.width()
    }

    /// Cells at their top, which have lost count and stay. This reads the whole file of counters,
    /// piece by piece.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let builder = gardenia::CountingBloom::builder().items(1_000).fpp(0.01);
    /// # let mut filter = gardenia::SplitBloom::create(directory.path().join("filter.gdn"), builder)?;
    /// filter.insert_many(&["rose"; 20]); // four bits per cell
    /// assert_eq!((filter.count("rose"), filter.saturated()), (15, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.cells.file.counters.count_saturated()
    }

    /// The hash function.
    #[inline]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        self.cells.plain.about()
    }

    /// What the filter was made for, to be changed. It is saved with the bits.
    pub fn about_mut(&mut self) -> &mut About {
        self.settled = None;
        self.cells.plain.about_mut()
    }

    /// What was found when the filter was opened.
    #[must_use]
    pub fn opening(&self) -> SplitOpening {
        self.opening
    }

    /// How many keys were ever added and removed: the number of the last operation, kept in the
    /// file.
    ///
    /// A caller that was killed inside an operation learns here whether it was done, and so whether
    /// to repeat it. To repeat a removal that was done is to remove a key that is no longer stored,
    /// which can hide others.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let builder = gardenia::CountingBloom::builder().items(1_000).fpp(0.01);
    /// # let mut filter = gardenia::SplitBloom::create(directory.path().join("filter.gdn"), builder)?;
    /// filter.insert_many(&["rose", "tulip"]);
    /// filter.remove("rose")?;
    /// assert!(filter.remove("thistle").is_err()); // it was absent: no operation
    /// assert_eq!(filter.operations(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.cells.file.journal.done()
    }

    /// [`operations`](Self::operations) when the filter was last opened after it had been closed.
    /// What came later was done by a process that was killed before it could close the filter, or
    /// by this one.
    #[must_use]
    pub fn closed_operations(&self) -> u64 {
        self.cells.file.journal.found()
    }

    /// Waits until the disk has the counters: what is in the filter now survives a loss of power.
    pub fn sync(&mut self) -> Result<(), EncodeError> {
        let synced = self.cells.file.sync();
        Ok(synced.map_err(|e| counters_file::at(&self.files.counters, e))?)
    }

    /// [`sync`](Self::sync), and saves the bits as a plain filter, whole or not at all.
    pub fn flush(&mut self) -> Result<(), EncodeError> {
        if !self.is_settled() {
            self.cells.plain.header()?; // what cannot be stored is said before a file is touched
            self.sync()?;
            match self.cells.file.is_draft() {
                None => self.cells.plain.save(&self.files.bits)?,
                Some(replace) => self.appear(replace)?,
            }
            self.settled = Some(self.operations());
        }
        Ok(())
    }

    /// Gives both files of a draft their names, once both are on the disk.
    fn appear(&mut self, replace: bool) -> Result<(), EncodeError> {
        let SplitCells { file, plain } = &mut self.cells;
        let counters = &self.files.counters;
        write_file(
            &self.files.bits,
            |bits| write_to(plain, bits),
            |bits, path| {
                file.place(counters).map_err(|e| counters_file::at(counters, e))?;
                match replace {
                    true => bits.persist(path).map_err(|failed| failed.error),
                    false => persist_new(bits, path).inspect_err(|_| _ = std::fs::remove_file(counters)),
                }
            },
        )
    }

    /// [`flush`](Self::flush), and marks the files as closed, so that the next opening need not
    /// read the counters.
    ///
    /// A filter that is dropped after its last `flush` is marked, too, only not on the disk at
    /// once. One that is dropped with changes is repaired at the next opening, as after a crash.
    pub fn close(mut self) -> Result<(), EncodeError> {
        self.flush()?;
        self.cells.file.mark_closed(fingerprint(self.cells.plain.cells()));
        self.settled = None; // dropping it has nothing to add
        let marked = self.cells.file.sync_mark();
        Ok(marked.map_err(|e| counters_file::at(&self.files.counters, e))?)
    }

    /// Whether both files are on the disk and agree, but for the mark.
    fn is_settled(&self) -> bool {
        self.settled == Some(self.operations()) && !self.cells.file.journal.is_pending()
    }
}

impl Drop for SplitBloom {
    fn drop(&mut self) {
        if self.is_settled() {
            self.cells.file.mark_closed(fingerprint(self.cells.plain.cells()));
        }
    }
}

impl Spec {
    /// The builder of a filter of the kind [`Split`](Kind::Split), for [`SplitBloom::create`]. Such
    /// a filter lives in files, so that no [`AnyFilter`] holds it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("stock.gdn");
    /// let spec: gardenia::Spec = "split items=1000 fpp=1%".parse()?;
    /// let mut stock = gardenia::SplitBloom::create(&path, spec.split_builder()?)?;
    /// stock.insert("rose");
    /// assert_eq!((stock.cells(), stock.about().planned_fpp()), (9_596, 0.01));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_builder(&self) -> Result<Builder<CountingBloom>, SpecError> {
        match self.kind() {
            Kind::Split => Ok(Builder::<CountingBloom>::of(&self.filled()?)),
            _ => Err(SizeError::Conflict("a filter of this kind is one file: use the kind split").into()),
        }
    }
}

/// A new file must not take the place of an old one.
fn check_absent(path: &Path) -> Result<(), EncodeError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(counters_file::at(path, io::ErrorKind::AlreadyExists.into()).into()),
        Err(_) => Ok(()),
    }
}

/// The header of the file of bits, if there is one.
fn bits_header(path: &Path) -> Result<Option<Header>, DecodeError> {
    match File::open(path) {
        Ok(file) => format::header(BufReader::new(file)).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(counters_file::at(path, e).into()),
    }
}

/// The bits, whose header has been read; `None` if they are corrupted.
fn load_bits(path: &Path, options: &ReadOptions) -> Result<Option<Bloom<AnyScheme>>, DecodeError> {
    match Bloom::load_as::<AnyScheme>(path, options) {
        Ok(plain) => Ok(Some(plain)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a file is one of ours, and not whole.
fn is_damage(error: &DecodeError) -> bool {
    matches!(
        error,
        DecodeError::Truncated { .. }
            | DecodeError::Trailing { .. }
            | DecodeError::Checksum { .. }
            | DecodeError::Damaged(_)
    )
}

/// A cell of a split filter is a counter in the file and a bit in memory. Setting one is noted in
/// the journal, and done by `commit`.
struct SplitCells {
    file: CounterFile,
    plain: Bloom<AnyScheme>,
}

impl SplitCells {
    /// Carries out what was set as one operation.
    #[inline(always)]
    fn commit(&mut self) {
        let CounterFile { journal, counters, .. } = &mut self.file;
        let bits = self.plain.cells_mut();
        journal.commit(|at, value| {
            counters.set(at, value);
            bits.put(at, value != 0);
        });
    }
}

/// Adds a key, all or nothing; whether it was certainly absent.
#[inline(always)]
fn put_in(cells: &mut SplitCells, row: &Row<'_>) -> bool {
    let new = raise(cells, row);
    cells.commit();
    new
}

/// Removes a key, all or nothing.
#[inline(always)]
fn take_out(cells: &mut SplitCells, row: &Row<'_>) -> Result<(), RemoveError> {
    lower(cells, row)?;
    cells.commit();
    Ok(())
}

impl Tally for SplitCells {
    #[inline]
    fn len(&self) -> u64 {
        self.file.counters.len()
    }
    #[inline]
    fn top(&self) -> u32 {
        self.file.counters.top()
    }
    #[inline]
    fn get(&self, at: u64) -> u32 {
        self.file.counters.get(at)
    }
    #[inline]
    fn prefetch(&self, at: u64) {
        self.file.counters.prefetch(at);
    }
    fn words(&self) -> usize {
        self.file.counters.memory().words()
    }
}

impl TallyMut for SplitCells {
    type Lines = SplitLines;
    #[inline]
    fn lines(&self) -> SplitLines {
        SplitLines { counters: self.file.counters.lines(), bits: self.plain.cells().lines() }
    }
    #[inline]
    fn set(&mut self, at: u64, value: u32) {
        self.file.journal.note(at, value.min(self.top()));
    }
}

/// The cache lines of counters and bits.
#[derive(Clone, Copy)]
struct SplitLines {
    counters: CounterLines,
    bits: Lines,
}

impl Ahead for SplitLines {
    #[inline(always)]
    fn prefetch(self, at: u64) {
        self.counters.prefetch(at);
        self.bits.prefetch(at);
    }
}

impl fmt::Debug for SplitBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitBloom")
            .field("bits", &self.cells.plain)
            .field("counters", &self.cells.file.counters)
            .field("files", &self.files)
            .field("opening", &self.opening)
            .finish()
    }
}

filter_impl!([] SplitBloom);
count_impl!([] SplitBloom, filter: most filter.cells.top().into(), saturated filter.saturated());
remove_impl!([] SplitBloom);

impl Insert for SplitBloom {
    fn about_mut(&mut self) -> &mut About {
        SplitBloom::about_mut(self)
    }
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        Ok(Self::insert_digest(self, digest))
    }
}

impl<K: Key> Extend<K> for SplitBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        const { assert!(K::PORTABLE, "a key by Hashed(..) has no portable bytes: it cannot go into a file") };
        let hasher = self.hasher.clone();
        let digests = keys.into_iter().fuse().map(|key| hasher.digest_key(&key));
        self.insert_each(Drawn(digests), &mut 0);
    }
}

#[cfg(test)]
mod tests {
    //! Death at every store, and mixtures of what the disk may have. Deaths of real processes:
    //! `tests/split.rs`.
    use super::*;
    use crate::cells::mapped::fuse;
    use alloc::vec;

    /// Few cells, so that keys share them; one, several and no whole number of cells in a word of
    /// the file.
    const SHAPES: [(u64, u32, u32); 4] = [(7, 9, 4), (64, 5, 3), (300, 3, 32), (5, 2, 1)];

    /// A filter on which operations are tried, and an exact model of it.
    struct Model {
        _folder: tempfile::TempDir,
        files: SplitFiles,
        model: CountingBloom,
        present: Vec<u64>,
    }

    /// Adds a key, or removes it.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        In(u64),
        Out(u64),
    }

    impl Model {
        fn new((cells, hashes, width): (u64, u32, u32)) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let files = SplitFiles::new(directory.path().join("bed.gdn"));
            let builder = CountingBloom::builder().cells(cells).hashes(hashes).width(width);
            SplitBloom::create(files.clone(), builder.clone()).unwrap().close().unwrap();
            Self { _folder: directory, files, model: builder.build().unwrap(), present: Vec::new() }
        }

        fn open(&self) -> SplitBloom {
            SplitBloom::open(self.files.clone()).unwrap()
        }

        /// The `i`-th change of a stream; of two, one removes a key that is in.
        fn next(&self, i: u32) -> Change {
            let draw = Digest(0xbed).word(1 + i);
            match self.present.len() as u64 {
                0 => Change::In(draw),
                _ if draw & 3 < 2 => Change::In(draw >> 8),
                keys => Change::Out(self.present[(draw >> 8) as usize % keys as usize]),
            }
        }

        /// Carries out a change of the model.
        fn keep(&mut self, change: Change) {
            match change {
                Change::In(key) => {
                    self.model.insert(key);
                    self.present.push(key);
                }
                Change::Out(key) => {
                    let _ = self.model.remove(key); // it may be stuck
                    let at = self.present.iter().position(|other| *other == key).unwrap();
                    self.present.swap_remove(at);
                }
            }
        }

        fn counters(&self) -> Vec<u8> {
            std::fs::read(&self.files.counters).unwrap()
        }

        fn set_counters(&self, bytes: &[u8]) {
            std::fs::write(&self.files.counters, bytes).unwrap();
        }
    }

    fn apply(bed: &mut SplitBloom, change: Change) {
        match change {
            Change::In(key) => _ = bed.insert(key),
            Change::Out(key) => _ = bed.remove(key),
        }
    }

    /// Counters and bits agree, and are those of the model.
    fn is(bed: &SplitBloom, model: &CountingBloom) -> bool {
        bed.to_counting().unwrap() == *model && *bed.bloom() == model.to_bloom().unwrap()
    }

    #[test]
    fn wherever_the_process_dies_an_operation_was_done_whole_or_not_at_all() {
        for shape in SHAPES {
            let mut bed = Model::new(shape);
            for i in 0..10 {
                let (before, change, bytes) = (bed.model.clone(), bed.next(i), bed.counters());
                bed.keep(change);
                let (mut ends, mut stores, mut left) = ([0; 2], 0, 0);
                while left == 0 {
                    bed.set_counters(&bytes);
                    let mut dying = bed.open();
                    let number = dying.operations();
                    ((), left) = fuse::after(stores, || {
                        apply(&mut dying, change);
                        drop(dying);
                    });
                    let repaired = bed.open();
                    let done = repaired.operations() == number + 1;
                    let expected = if done { &bed.model } else { &before };
                    assert!(is(&repaired, expected), "{change:?}, dead after {stores} stores");
                    ends[usize::from(done)] += 1;
                    stores += 1;
                }
                // A removal that is refused, because cells are stuck, stores nothing.
                assert!(ends[0] > 0 && (ends[1] > 0 || stores == 2), "{change:?}: {ends:?}");
            }
        }
    }

    #[test]
    fn wherever_the_process_dies_while_it_repairs_the_next_repairs_it() {
        let mut bed = Model::new((64, 5, 3));
        for i in 0..10 {
            let change = bed.next(i);
            // Count, seal, five pairs and the number: the operation counts, and 0 to 5 cells have been changed.
            let mut dying = bed.open();
            fuse::after(13 + u64::from(i) % 6, || {
                apply(&mut dying, change);
                drop(dying);
            });
            bed.keep(change);
            let (bytes, mut left, mut stores) = (bed.counters(), 0, 0);
            while left == 0 {
                bed.set_counters(&bytes);
                ((), left) = fuse::after(stores, || drop(bed.open()));
                let repaired = bed.open();
                assert!(is(&repaired, &bed.model), "{change:?}, dead after {stores} stores of the repair");
                stores += 1;
            }
            assert_eq!(stores - 2, 1 + 5 + 1, "the mark, the cells, the number"); // tried from 0 to one too many
        }
    }

    #[test]
    fn wherever_the_process_dies_while_it_closes_the_filter_is_the_same() {
        let mut bed = Model::new((300, 3, 4));
        let keep = |bed: &mut Model, change| {
            bed.keep(change);
            change
        };
        let mut cleans = 0;
        for stores in 0..6 {
            let mut closing = bed.open();
            for i in 0..4 {
                let change = bed.next(10 * stores + i);
                apply(&mut closing, keep(&mut bed, change));
            }
            let (closed, _) = fuse::after(stores.into(), || closing.close());
            closed.unwrap();
            let again = bed.open();
            assert!(is(&again, &bed.model), "{stores} stores");
            cleans += u32::from(again.opening() == SplitOpening::Clean);
            drop(again);
        }
        assert!((1..6).contains(&cleans), "{cleans}");
    }

    #[test]
    fn a_journal_that_is_not_whole_is_not_carried_out() {
        let mut bed = Model::new((300, 3, 4));
        (0..20).for_each(|i| {
            let change = bed.next(i);
            apply(&mut bed.open(), change);
            bed.keep(change);
        });
        // Three cells: count, seal, three pairs, and the number make nine stores. No cell has been touched then.
        let bytes = bed.counters();
        let mut dying = bed.open();
        fuse::after(9, || {
            dying.insert("rose");
            drop(dying);
        });
        let pending = bed.counters();
        assert_eq!(bed.open().opening(), SplitOpening::Killed { replayed: true });
        let changed: Vec<usize> = (4096..4096 + 32 + 48).filter(|at| pending[*at] != bytes[*at]).collect();
        assert!(changed.len() > 9, "{changed:?}");
        for at in changed {
            let mut torn = pending.clone();
            torn[at] = bytes[at];
            bed.set_counters(&torn);
            let mut opened = bed.open();
            assert!(is(&opened, &bed.model), "byte {at} of the journal is an old one");
            // It is taken back: death in the next operation does not bring it to life.
            fuse::after(3, || opened.insert("tulip"));
            drop(opened);
            let opened = bed.open();
            assert!(is(&opened, &bed.model), "byte {at} of the journal is an old one");
            opened.close().unwrap();
            assert_eq!(bed.open().opening(), SplitOpening::Clean);
        }
    }

    #[test]
    fn whatever_mixture_of_old_and_new_words_is_on_the_disk_synced_keys_are_there() {
        for shape in [(30, 4, 4), (64, 5, 8), (9, 3, 32)] {
            let mut bed = Model::new(shape);
            for key in 0..10 {
                apply(&mut bed.open(), Change::In(key));
                bed.keep(Change::In(key));
            }
            bed.open().sync().unwrap();
            let mut synced = bed.present.clone();
            let mut versions = vec![bed.counters()];
            for i in 12..24 {
                let (change, bytes) = (bed.next(i), bed.counters());
                if let Change::Out(key) = change {
                    synced.retain(|other| *other != key);
                }
                // The disk may also have what was there in the middle of an operation.
                for stores in [2, 5, 9, 12, 14] {
                    bed.set_counters(&bytes);
                    let mut dying = bed.open();
                    fuse::after(stores, || {
                        apply(&mut dying, change);
                        drop(dying);
                    });
                    versions.push(bed.counters());
                }
                bed.set_counters(&bytes);
                apply(&mut bed.open(), change);
                bed.keep(change);
                versions.push(bed.counters());
            }
            assert!(synced.len() > 3, "{synced:?}");
            let (journal, numbers) = (512..1024, 512..514);
            for trial in 0..600u64 {
                let mut mixture = versions[0].clone();
                for (word, bytes) in (0u32..).zip(mixture.as_chunks_mut::<8>().0) {
                    // Of three journals one is of one time, and one has only its numbers of one time.
                    let piece = match trial % 3 {
                        0 if journal.contains(&word) => journal.start,
                        1 if numbers.contains(&word) => numbers.start,
                        _ => word,
                    };
                    let version = Digest(trial).word(piece + 1) as usize % versions.len();
                    bytes.copy_from_slice(&versions[version][word as usize * 8..][..8]);
                }
                mixture[512 + 16] ^= 1; // another run of the system
                bed.set_counters(&mixture);
                let opened = bed.open();
                assert_eq!(opened.opening(), SplitOpening::Stopped);
                for key in &synced {
                    assert!(opened.contains(*key) && opened.count(*key) > 0, "trial {trial} lost {key}");
                }
            }
        }
    }
}
