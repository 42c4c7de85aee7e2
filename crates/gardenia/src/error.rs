//! What can go wrong, each error near its cause and holding what was expected and what was found.

use alloc::string::String;
use thiserror::Error;

/// A filter cannot be built: parameters are missing, contradictory, out of range or too large.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SizeError {
    /// The false-positive probability is not strictly between 0 and 1.
    #[error("the false-positive rate must be greater than 0 and less than 1, not {0}")]
    Fpp(f64),
    /// A probability below what 64-bit digests can promise for this many items.
    #[error("false-positive probability {fpp:e} is below {floor:.1e}, {}", Self::why_floor(*floor, *items))]
    FppBelowFloor {
        /// What was asked for.
        fpp: f64,
        /// `items / 2^64`, or what the largest fingerprints of the kind give.
        floor: f64,
        /// The number of keys planned.
        items: u64,
    },
    /// The error bound of a sketch is not strictly between 0 and 1.
    #[error("epsilon must be greater than 0 and less than 1, not {0}")]
    Epsilon(f64),
    /// The failure probability of a sketch is not strictly between 0 and 1.
    #[error("delta must be greater than 0 and less than 1, not {0}")]
    Delta(f64),
    /// A filter for no keys at all.
    #[error("a filter needs room for at least 1 item, not 0")]
    ZeroItems,
    /// A filter of no cells.
    #[error("a filter needs at least 1 cell, not 0")]
    ZeroCells,
    /// More cells than a filter can have.
    #[error("{cells} cells are more than a filter can have ({max})")]
    TooManyCells {
        /// What was asked for, or needed.
        cells: u64,
        /// [`MAX_CELLS`](crate::index::MAX_CELLS).
        max: u64,
    },
    /// Probes per key out of range.
    #[error("{hashes} hashes per key: must be between 1 and {max}")]
    Hashes {
        /// What was asked for.
        hashes: u32,
        /// [`MAX_HASHES`](crate::index::MAX_HASHES).
        max: u32,
    },
    /// Cell width out of range.
    #[error("{width} bits per cell: must be between 1 and 32")]
    Width {
        /// What was asked for.
        width: u32,
    },
    /// A digit, or the cell around it, out of range.
    #[error(
        "a digit of {digit} bits in cells of {width}: digits have 1 to 29 bits, and cells at least 3 more, for the keys that share them"
    )]
    Digit {
        /// What was asked for.
        digit: u32,
        /// The cell's width.
        width: u32,
    },
    /// Cells lowered per insertion of a stable filter out of range.
    #[error("{decrements} cells lowered per insertion: must be between 1 and all {max}")]
    Decrements {
        /// What was asked for.
        decrements: u64,
        /// The number of cells, or as many as can be drawn.
        max: u64,
    },
    /// The memory could not be had.
    #[error("{bytes} bytes of memory could not be allocated")]
    Memory {
        /// Size of the request.
        bytes: u64,
    },
    /// A parameter that another one excludes, or that is missing.
    #[error("{0}")]
    Conflict(&'static str),
}

impl SizeError {
    /// Whether a lowest rate follows from the number of keys and the length of digests, and not
    /// from the kind of filter.
    pub(crate) fn is_of_digests(floor: f64, items: u64) -> bool {
        items > 0 && floor <= 4.0 * items as f64 * libm::exp2(-64.0)
    }

    fn why_floor(floor: f64, items: u64) -> String {
        match Self::is_of_digests(floor, items) {
            true => alloc::format!("the floor of 64-bit digests for {items} items"),
            false => "the lowest rate of this kind of filter".into(),
        }
    }
}

/// Two filters cannot be combined. Holds what differs first.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[error("the filters differ in {what}: {ours} here, {theirs} there")]
pub struct Mismatch {
    /// Which part of the identity differs: kind, hasher, seed, scheme, hashes, cells or cell width.
    pub what: &'static str,
    /// The value in the filter that was to be changed.
    pub ours: String,
    /// The value in the other filter.
    pub theirs: String,
}

/// The filter has no room for a key. What it held before it still holds.
///
/// ```
/// let mut filter = gardenia::Cuckoo::new(1_000, 0.01)?;
/// let full = filter.insert_many(&["rose"; 9]).unwrap_err();
/// assert!(full.taken == 8 && full.copies); // a cuckoo filter holds eight copies of a key
/// assert_eq!(full.to_string(), "the filter holds no further copy of the key");
/// assert_eq!(filter.insert("tulip"), Ok(true));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", if self.copies { "the filter holds no further copy of the key" } else { "the filter is full" })]
#[non_exhaustive]
pub struct Full {
    /// How many keys of a batch went in before the one that did not; 0 for a single key.
    pub taken: u64,
    /// Whether the filter already holds as many copies of this key as it can of any; other keys may
    /// still fit.
    pub copies: bool,
}

/// Keys cannot be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The filter is static: it was built from all its keys at once.
    #[error("the filter is static: its keys are fixed, so build it again with the new ones")]
    Fixed,
    /// See [`Full`].
    #[error(transparent)]
    Full(#[from] Full),
    /// A filter that was read from a file would have to grow beyond the limit of its reader. Keys
    /// before this one are in.
    #[error(
        "the filter would grow to {needed} bytes, over the limit of {max}: raise it with ReadOptions::max_expansion"
    )]
    Growth {
        /// Bytes that it would take.
        needed: u64,
        /// The limit.
        max: u64,
    },
}

/// A key cannot be removed; the filter has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// It was never put in, or as often removed.
    #[error("the key is not in the filter")]
    Absent,
    /// All its cells are at their top, where they have lost count.
    #[error("the key's cells are all at their top and have lost count: it can no longer be removed")]
    Stuck,
    /// Several parts of the filter claim it, and which one has it is unknown.
    #[error(
        "several layers of the filter claim the key, and which one has it is unknown: it cannot be removed"
    )]
    Ambiguous,
}

/// A count that does not fit the cells of a filter; the filter has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a count of {count} does not fit cells that end at {top}: use wider cells")]
#[non_exhaustive]
pub struct Overflow {
    /// What the key's count would have become.
    pub count: u64,
    /// The largest that fits.
    pub top: u64,
}

/// A count beyond what the cells of a sketch can hold: they are at their top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the key's cells are at their top, {top}, and have lost count: use wider cells")]
#[non_exhaustive]
pub struct Saturated {
    /// The largest count that the cells hold; the key's may be more.
    pub top: u64,
}

/// A weight that would lower counts of a sketch whose counts only rise; the sketch has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the weight {weight} is negative: only CountSketch accepts negative weights")]
#[non_exhaustive]
pub struct NegativeWeight {
    /// The weight.
    pub weight: i64,
}

/// A number that is outside what a sketch of ranges was made for; the sketch has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the key {key} does not fit {bits} bits")]
#[non_exhaustive]
pub struct OutOfRange {
    /// The key.
    pub key: u64,
    /// The bits of the numbers that can be counted.
    pub bits: u32,
}

/// A point that a [`DistanceSensitiveBloom`](crate::DistanceSensitiveBloom) cannot take; it has not
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PointError {
    /// A vector of another length.
    #[error("the point has {bytes} bytes, and {dimension} bits are needed")]
    Length {
        /// Bytes given.
        bytes: u64,
        /// Bits of the filter's points.
        dimension: u64,
    },
    /// A point of another space.
    #[error("{point} is no point of the filter's {filter} space")]
    Space {
        /// The filter's space.
        filter: &'static str,
        /// What was given.
        point: &'static str,
    },
}

/// A filter cannot be stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A key went in by [`Hashed`](crate::Hashed): another platform would answer differently.
    #[error(
        "a key was inserted by Hashed(..), whose bytes are not portable: the filter would not answer the same elsewhere"
    )]
    NotPortable,
    /// User metadata over the limit of the header.
    #[error("{bytes} bytes of metadata: at most {max} fit the header")]
    Metadata {
        /// Size of the metadata.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A foreign format has no place for such a filter.
    #[error("a {format} file holds only filters of {what} {needed}, not {found}")]
    Foreign {
        /// Name of the format.
        format: &'static str,
        /// Which part of the identity differs.
        what: &'static str,
        /// What the format has.
        needed: &'static str,
        /// What the filter has.
        found: &'static str,
    },
    /// The memory for the form that is stored could not be had.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The bytes could not be written.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Bytes cannot be read as a filter, or not as the one that was expected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The first eight bytes are not Gardenia's.
    #[error("not a Gardenia file: it begins with {}, not with {}", shown(found), shown(expected))]
    Magic {
        /// Gardenia's mark.
        expected: [u8; 8],
        /// What was there.
        found: [u8; 8],
    },
    /// The bytes end too early.
    #[error("truncated: {needed} bytes needed, {found} there")]
    Truncated {
        /// Length needed, as far as known.
        needed: u64,
        /// Length found.
        found: u64,
    },
    /// Bytes after the end.
    #[error("{extra} bytes follow the end of the filter: it is corrupted, or more than one file")]
    Trailing {
        /// How many.
        extra: u64,
    },
    /// Written by a newer version.
    #[error("format version {found}; this build reads up to version {known}: use a newer gardenia")]
    Version {
        /// In the file.
        found: u16,
        /// The newest known.
        known: u16,
    },
    /// A kind of filter that this build does not know.
    #[error("kind {0} of filter is unknown to this build")]
    UnknownKind(u16),
    /// Another kind of filter than the one asked for.
    #[error("the file holds a filter of kind {found}, not {expected}")]
    Kind {
        /// Asked for.
        expected: &'static str,
        /// In the file.
        found: &'static str,
    },
    /// A hash function that this build does not know.
    #[error("hasher {0} is unknown to this build")]
    UnknownHasher(u8),
    /// A scheme that this build does not know.
    #[error("scheme {0} is unknown to this build")]
    UnknownScheme(u8),
    /// Another scheme than the type asked for.
    #[error("the file uses the scheme {found}, which this type does not: read it as AnyScheme or AnyFilter")]
    Scheme {
        /// In the file.
        found: &'static str,
    },
    /// A field of the header with a value that cannot be.
    #[error("the header's {field} is {value}, but {rule}")]
    Field {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it should have been.
        rule: &'static str,
    },
    /// A checksum that does not agree: the file is corrupted.
    #[error("corrupted: the checksum of {part} is {found:016x}, should be {expected:016x}")]
    Checksum {
        /// What it covers.
        part: Part,
        /// Stored in the file.
        expected: u64,
        /// Computed from the bytes.
        found: u64,
    },
    /// Padding, spare bits or the end mark are not what they must be.
    #[error("corrupted: {0}")]
    Damaged(&'static str),
    /// A file of another program that is not what it seems, or in a form that is not read.
    #[error("{0}")]
    Foreign(&'static str),
    /// A dump of RedisBloom whose fields do not agree.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Layout(#[from] crate::format::redisbloom::layout::LayoutError),
    /// More memory needed than the caller allows.
    #[error("the filter needs {needed} bytes, over the limit of {max}: raise it with ReadOptions::max_bytes")]
    TooLarge {
        /// Payload bytes.
        needed: u64,
        /// The cap.
        max: u64,
    },
    /// A filter that would take far more memory than its bytes account for.
    #[error(
        "the filter is stored in {stored} bytes and would take {needed}, over the limit of {max}: raise it with ReadOptions::max_expansion"
    )]
    Expansion {
        /// Payload bytes.
        stored: u64,
        /// Bytes in memory.
        needed: u64,
        /// The limit.
        max: u64,
    },
    /// A filter whose queries would take more work than the caller allows.
    #[error(
        "a query would take {samples} samples of a point, over the limit of {max}: raise it with ReadOptions::max_samples"
    )]
    Work {
        /// Samples per point.
        samples: u64,
        /// The limit.
        max: u64,
    },
    /// The filter is keyed and no secret was given.
    #[error("the filter is keyed with the secret of id {id:016x}: give it with ReadOptions::secret")]
    SecretMissing {
        /// Name of the secret needed.
        id: u64,
    },
    /// The filter is keyed with another secret.
    #[error("the filter is keyed with the secret of id {expected:016x}, not {found:016x}")]
    SecretWrong {
        /// Name of the secret needed.
        expected: u64,
        /// Name of the secret given.
        found: u64,
    },
    /// The sizes in the header cannot be had.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The bytes could not be read.
    #[cfg(feature = "std")]
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Bytes as text, those that are no printable characters escaped.
fn shown(bytes: &[u8]) -> String {
    alloc::format!("\"{}\"", bytes.escape_ascii())
}

impl DecodeError {
    /// An error that states `rule` unless the value of a header's field is `ok`.
    pub(crate) fn check(field: &'static str, value: u64, ok: bool, rule: &'static str) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Self::Field { field, value, rule }) }
    }
}

/// The part of a file that a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// One chunk of the payload, counted from 0.
    Chunk(u64),
    /// The table of chunk checksums.
    Table,
}

impl core::fmt::Display for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Header => f.write_str("the header"),
            Self::Chunk(number) => write!(f, "payload chunk {number}"),
            Self::Table => f.write_str("the checksum table"),
        }
    }
}

/// A static filter or map cannot be built from its keys.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// See [`SizeError`].
    #[error(transparent)]
    Size(#[from] SizeError),
    /// No seed made a table of the keys. By chance that does not happen: the digests are no hashes,
    /// or were chosen.
    #[error("no table was found for the keys in {attempts} attempts: use another seed, or a secret")]
    Attempts {
        /// How many seeds were tried.
        attempts: u32,
    },
    /// One key was given two values.
    #[error("a key was given two values, {first} and {second}")]
    TwoValues {
        /// The smaller one.
        first: u32,
        /// The larger one.
        second: u32,
    },
    /// A value does not fit the cells of a map.
    #[error("a value of {value} does not fit {bits} bits")]
    Value {
        /// What was given.
        value: u32,
        /// Bits per value.
        bits: u32,
    },
    /// As many values as keys are needed.
    #[error("{keys} keys and {values} values: each key needs one")]
    Values {
        /// Keys given.
        keys: usize,
        /// Values given.
        values: usize,
    },
}

/// A value of a map that cannot be changed; the map is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The key is not among those that the map was built of.
    #[error("the key is not in the map, and its keys are fixed")]
    Absent,
    /// The value does not fit the cells of the map.
    #[error("a value of {value} does not fit {bits} bits")]
    Value {
        /// What was given.
        value: u32,
        /// Bits per value.
        bits: u32,
    },
}

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// See [`SizeError`].
    #[error(transparent)]
    Size(#[from] SizeError),
    /// See [`Mismatch`].
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// See [`Full`].
    #[error(transparent)]
    Full(#[from] Full),
    /// See [`InsertError`].
    #[error(transparent)]
    Insert(#[from] InsertError),
    /// See [`RemoveError`].
    #[error(transparent)]
    Remove(#[from] RemoveError),
    /// See [`Overflow`].
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// See [`PointError`].
    #[error(transparent)]
    Point(#[from] PointError),
    /// See [`OutOfRange`].
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// See [`NegativeWeight`].
    #[error(transparent)]
    NegativeWeight(#[from] NegativeWeight),
    /// See [`Saturated`].
    #[error(transparent)]
    Saturated(#[from] Saturated),
    /// See [`BuildError`].
    #[error(transparent)]
    Build(#[from] BuildError),
    /// See [`UpdateError`].
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// See [`EncodeError`].
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// See [`DecodeError`].
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The files of a split filter are open elsewhere, in this process or another.
    #[error("the filter is in use: its counters are open elsewhere")]
    InUse,
}
