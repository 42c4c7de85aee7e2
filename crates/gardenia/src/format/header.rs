//! The header: what a filter is, in little-endian bytes with a checksum.

use super::{ReadOptions, notes};
use crate::cells::counter_bytes;
use crate::error::Part;
use crate::filter::{About, Identity};
use crate::hash::{HasherId, KeyHasher, SecretKey};
use crate::index::{MAX_CELLS, MAX_HASHES, NumberedScheme, Scheme, SchemeId};
use crate::kinds::Kind;
use crate::{DecodeError, EncodeError};
use alloc::vec::Vec;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes: a byte that is no text, "GDN", and line ends that a text-mode transfer would
/// change.
pub(super) const MAGIC: [u8; 8] = *b"\x89GDN\r\n\x1a\n";
/// The version written, and the newest read.
pub(super) const VERSION: u16 = 1;
/// Bytes before the parts of variable length.
pub(super) const FIXED: usize = 104;
/// The most user metadata.
pub(crate) const MAX_METADATA: usize = 64 << 10;
/// The most bytes of a kind's own parameters.
const MAX_PARAMS: usize = 64 << 10;
/// Payloads start at a multiple of this.
const ALIGNMENT: usize = 64;
/// Flag: the secret of the hasher is in the header.
const SECRET_STORED: u16 = 1;

/// What a file says about its filter before the payload.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// Version of the format that the file was written in.
    pub version: u16,
    /// Kind, hasher, scheme and shape.
    pub identity: Identity,
    /// Bytes of payload.
    pub payload_len: u64,
    /// Keys the filter was planned for; 0 if unknown.
    pub planned_items: u64,
    /// False-positive probability it was planned for; 0 if unknown.
    pub planned_fpp: f64,
    /// Keys counted by kinds that count them; `u64::MAX` when not counted.
    pub items: u64,
    /// The kind's own parameters.
    pub params: Vec<u8>,
    /// The user's own bytes.
    pub metadata: Vec<u8>,
    /// Tagged notes, such as how keys were made. See [`About::key_note`].
    pub notes: Vec<u8>,
    /// The secret of hasher 2, if the writer chose to store it.
    pub secret: Option<SecretKey>,
}

impl Header {
    /// The header of a filter that is about to be stored.
    pub(crate) fn new(
        identity: Identity,
        hasher: &KeyHasher,
        about: &About,
        payload_len: u64,
    ) -> Result<Self, EncodeError> {
        if !about.is_portable() {
            return Err(EncodeError::NotPortable);
        }
        let secret = match hasher {
            KeyHasher::Sip13 { secret } if about.stores_secret() => Some(secret.clone()),
            _ => None,
        };
        Ok(Self {
            version: VERSION,
            identity,
            payload_len,
            planned_items: about.planned_items(),
            planned_fpp: about.planned_fpp(),
            items: if counted_elsewhere(identity.kind) {
                about.counted_items().unwrap_or(u64::MAX)
            } else {
                u64::MAX
            },
            params: Vec::new(),
            metadata: about.metadata().to_vec(),
            notes: about.notes().to_vec(),
            secret,
        })
    }

    /// The header with the kind's own parameters, as 64-bit numbers.
    pub(crate) fn with_params(self, words: &[u64]) -> Self {
        Self { params: words.iter().flat_map(|word| word.to_le_bytes()).collect(), ..self }
    }

    /// The kind's own parameters, which must be exactly `N` 64-bit numbers.
    pub(crate) fn param_words<const N: usize>(&self) -> Result<[u64; N], DecodeError> {
        let (value, rule) = (self.params.len() as u64, "this kind has other parameters");
        if self.params.len() == N * 8 {
            Ok(core::array::from_fn(|i| Fields(&self.params).u64(i * 8)))
        } else {
            Err(DecodeError::Field { field: "parameter length", value, rule })
        }
    }

    /// Bytes up to and with the header's sum.
    fn len(&self) -> usize {
        FIXED + self.params.len() + self.metadata.len() + self.notes.len() + 8
    }

    /// Where the payload starts.
    pub(super) fn payload_offset(&self) -> u64 {
        self.len().next_multiple_of(ALIGNMENT) as u64
    }

    /// The header, its checksum and the padding up to the payload.
    pub(super) fn encode(&self) -> Vec<u8> {
        let id = &self.identity;
        let mut bytes = Vec::with_capacity(self.payload_offset() as usize);
        let mut put = |field: &[u8]| bytes.extend_from_slice(field);
        put(&MAGIC);
        put(&VERSION.to_le_bytes());
        put(&id.kind.number().to_le_bytes());
        put(&(self.len() as u32).to_le_bytes());
        put(&[id.hasher.number(), id.scheme.map_or(0, SchemeId::number)]);
        put(&(if self.secret.is_some() { SECRET_STORED } else { 0 }).to_le_bytes());
        put(&id.hashes.to_le_bytes());
        put(&id.mark.to_le_bytes());
        put(&id.cells.to_le_bytes());
        put(&id.width.to_le_bytes());
        put(&(self.notes.len() as u32).to_le_bytes());
        put(&self.payload_len.to_le_bytes());
        put(&self.planned_items.to_le_bytes());
        put(&self.planned_fpp.to_bits().to_le_bytes());
        put(&self.items.to_le_bytes());
        put(&(self.params.len() as u32).to_le_bytes());
        put(&(self.metadata.len() as u32).to_le_bytes());
        put(self.secret.as_ref().map_or(&[0; 16], |secret| secret.bytes()));
        put(&self.params);
        put(&self.metadata);
        put(&self.notes);
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.resize(self.payload_offset() as usize, 0);
        bytes
    }

    /// Length of the whole header with padding, from its first [`FIXED`] bytes, after checking what
    /// must be checked before more is read.
    pub(super) fn measure(fixed: &[u8; FIXED]) -> Result<usize, DecodeError> {
        let get = Fields(fixed);
        let found = get.array(0);
        if found != MAGIC {
            return Err(DecodeError::Magic { expected: MAGIC, found });
        }
        let version = get.u16(8);
        if version == 0 || version > VERSION {
            return Err(DecodeError::Version { found: version, known: VERSION });
        }
        let [params, metadata, notes] = [80, 84, 44].map(|at| get.u32(at) as usize);
        let check = |field, value: usize, max, rule| {
            if value > max { Err(DecodeError::Field { field, value: value as u64, rule }) } else { Ok(()) }
        };
        check("parameter length", params, MAX_PARAMS, "at most 65536 bytes are allowed")?;
        check("metadata length", metadata, MAX_METADATA, "at most 65536 bytes are allowed")?;
        check("length of notes", notes, notes::MAX, "at most 65536 bytes are allowed")?;
        let (len, stated) = (FIXED + params + metadata + notes + 8, get.u32(12));
        if stated as usize != len {
            let rule = "that is not the sum of its parts";
            return Err(DecodeError::Field { field: "header length", value: stated.into(), rule });
        }
        Ok(len.next_multiple_of(ALIGNMENT))
    }

    /// The header in `bytes`, which are as long as [`measure`](Self::measure) says.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let get = Fields(bytes);
        let [params, metadata, notes] = [80, 84, 44].map(|at| get.u32(at) as usize);
        let end = FIXED + params + metadata + notes;
        let (expected, found) = (get.u64(end), xxh3_64(&bytes[..end]));
        if expected != found {
            return Err(DecodeError::Checksum { part: Part::Header, expected, found });
        }
        if bytes[end + 8..].iter().any(|&b| b != 0) {
            return Err(DecodeError::Damaged("the padding before the payload is not zero"));
        }
        let kind = Kind::from_number(get.u16(10)).ok_or(DecodeError::UnknownKind(get.u16(10)))?;
        let hasher = HasherId::from_number(bytes[16]).ok_or(DecodeError::UnknownHasher(bytes[16]))?;
        let scheme = match bytes[17] {
            0 => None,
            number => Some(SchemeId::from_number(number).ok_or(DecodeError::UnknownScheme(number))?),
        };
        let flags = get.u16(18);
        DecodeError::check("flags", flags.into(), flags & !SECRET_STORED == 0, "only flag 1 is known")?;
        let stored = flags & SECRET_STORED != 0;
        let keyed = hasher == HasherId::Sip13;
        DecodeError::check("flags", flags.into(), keyed || !stored, "only hasher 2 has a secret")?;
        let secret: [u8; 16] = get.array(88);
        let absent = stored || secret == [0; 16];
        DecodeError::check("secret", 0, absent, "the flags say that there is none")?;
        let (hashes, cells, width) = (get.u32(20), get.u64(32), get.u32(40));
        DecodeError::check("hashes", hashes.into(), hashes <= MAX_HASHES, "at most 255 are allowed")?;
        DecodeError::check("cells", cells, (1..=MAX_CELLS).contains(&cells), "1 to 2^40 are allowed")?;
        DecodeError::check(
            "cell width",
            width.into(),
            (1..=64).contains(&width),
            "1 to 64 bits are allowed",
        )?;
        let noted = &bytes[end - notes..end];
        notes::check(noted)?;
        let payload_len = get.u64(48);
        let whole = payload_len.is_multiple_of(8) && payload_len <= MAX_CELLS * 8;
        DecodeError::check(
            "payload length",
            payload_len,
            whole,
            "whole 64-bit words up to 2^43 bytes are allowed",
        )?;
        let planned_fpp = f64::from_bits(get.u64(64));
        let sane = (0.0..=1.0).contains(&planned_fpp);
        DecodeError::check(
            "planned rate",
            planned_fpp.to_bits(),
            sane,
            "its bits are not a number from 0 to 1",
        )?;
        let header = Self {
            version: get.u16(8),
            identity: Identity { kind, hasher, mark: get.u64(24), scheme, hashes, cells, width },
            payload_len,
            planned_items: get.u64(56),
            planned_fpp,
            items: get.u64(72),
            params: bytes[FIXED..FIXED + params].to_vec(),
            metadata: bytes[FIXED + params..end - notes].to_vec(),
            notes: noted.to_vec(),
            secret: stored.then(|| SecretKey::new(secret)),
        };
        if let Some(secret) = &header.secret {
            header.check_secret(secret)?;
        }
        Ok(header)
    }

    /// Whether a reader must bring the secret of the hasher.
    #[must_use]
    pub fn needs_secret(&self) -> bool {
        self.identity.hasher == HasherId::Sip13 && self.secret.is_none()
    }

    fn check_secret(&self, secret: &SecretKey) -> Result<(), DecodeError> {
        let (expected, found) = (self.identity.mark, secret.id());
        if expected == found { Ok(()) } else { Err(DecodeError::SecretWrong { expected, found }) }
    }

    /// The hasher, with its secret from the file or the options.
    pub(crate) fn hasher(&self, options: &ReadOptions) -> Result<KeyHasher, DecodeError> {
        match self.identity.hasher {
            HasherId::Xxh3 => Ok(KeyHasher::xxh3(self.identity.mark)),
            HasherId::Xxh64 => Ok(KeyHasher::xxh64(self.identity.mark)),
            HasherId::Fnv1 if self.identity.mark == 0 => Ok(KeyHasher::Fnv1),
            HasherId::Fnv1 => {
                let (value, rule) = (self.identity.mark, "hasher 3 has none");
                Err(DecodeError::Field { field: "seed", value, rule })
            }
            HasherId::Sip13 => {
                let missing = DecodeError::SecretMissing { id: self.identity.mark };
                // The given one first: a wrong one is refused even if the file stores its own.
                let secret = options.secret.as_ref().or(self.secret.as_ref()).ok_or(missing)?.clone();
                self.check_secret(&secret)?;
                Ok(KeyHasher::sip13(secret))
            }
        }
    }

    /// The scheme, as type `S`.
    pub(crate) fn scheme<S: NumberedScheme>(&self) -> Result<S, DecodeError> {
        let id = self.identity.scheme.ok_or(DecodeError::UnknownScheme(0))?;
        if self.identity.hashes == 0 {
            return Err(DecodeError::Field { field: "hashes", value: 0, rule: "at least 1 is needed" });
        }
        let scheme = S::restore(id, self.identity.hashes).ok_or(DecodeError::Scheme { found: id.name() })?;
        check_fit(&scheme, self.identity.cells)?;
        Ok(scheme)
    }

    /// What the filter was made for.
    pub(crate) fn about(&self) -> About {
        let stores_secret = self.secret.is_some();
        let mut about =
            About::stored(self.planned_items, self.planned_fpp, self.metadata.clone(), stores_secret)
                .with_notes(self.notes.clone());
        if counted_elsewhere(self.identity.kind) && self.items != u64::MAX {
            about.set_counted_items(Some(self.items));
        }
        about
    }

    /// The file holds this kind.
    pub(crate) fn check_kind(&self, expected: Kind) -> Result<(), DecodeError> {
        let (expected, found) = (expected.name(), self.identity.kind.name());
        if expected == found { Ok(()) } else { Err(DecodeError::Kind { expected, found }) }
    }

    /// Cells have this width.
    pub(crate) fn check_width(&self, width: u32) -> Result<(), DecodeError> {
        let value = self.identity.width.into();
        let rule = "this kind has another";
        if self.identity.width == width {
            Ok(())
        } else {
            Err(DecodeError::Field { field: "cell width", value, rule })
        }
    }

    /// The payload is one array of counters as wide as the header says.
    pub(crate) fn check_counters(&self) -> Result<(), DecodeError> {
        let (cells, width) = (self.identity.cells, self.identity.width);
        let rule = "counters have 1 to 32 bits";
        let needed = counter_bytes(cells, width).ok_or(DecodeError::Field {
            field: "cell width",
            value: width.into(),
            rule,
        })?;
        self.check_payload(needed)
    }

    /// This kind has no scheme.
    pub(crate) fn check_no_scheme(&self) -> Result<(), DecodeError> {
        match self.identity.scheme {
            None => Ok(()),
            Some(id) => {
                let rule = "this kind has none";
                Err(DecodeError::Field { field: "scheme", value: id.number().into(), rule })
            }
        }
    }

    /// The kind's own parameters are these.
    pub(crate) fn check_params(&self, params: &[u8]) -> Result<(), DecodeError> {
        let value = self.params.len() as u64;
        let rule = "this kind has other parameters";
        if self.params == params {
            Ok(())
        } else {
            Err(DecodeError::Field { field: "parameter length", value, rule })
        }
    }

    /// The payload is as long as the shape needs.
    pub(crate) fn check_payload(&self, needed: u64) -> Result<(), DecodeError> {
        let rule = "the cells need another";
        if self.payload_len == needed {
            Ok(())
        } else {
            Err(DecodeError::Field { field: "payload length", value: self.payload_len, rule })
        }
    }
}

/// Whether the number of keys in a filter of this kind is known only if the program that fills it
/// counts them. Other kinds count on their own, or cannot.
fn counted_elsewhere(kind: Kind) -> bool {
    matches!(kind, Kind::Bloom | Kind::Compressed)
}

/// The scheme can use this many cells.
pub(crate) fn check_fit(scheme: &impl Scheme, cells: u64) -> Result<(), DecodeError> {
    let rule = "this scheme needs a multiple of its hashes (with prime slices, of a prime)";
    if scheme.fit(cells) == cells {
        Ok(())
    } else {
        Err(DecodeError::Field { field: "cells", value: cells, rule })
    }
}

/// Fixed-width little-endian fields at fixed offsets of bytes that are long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|i| self.0[at + i])
    }
    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}
