//! What every filter knows about itself: its identity, and what it was made for.

use crate::format::Kind;
use crate::hash::{HasherId, Key};
use crate::index::SchemeId;
use crate::{EncodeError, Mismatch};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Hasher, seed, scheme and shape: filters with one identity give one key the same cells.
///
/// Equality, merging and decoding all ask this type, so that the checks cannot drift apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Kind of filter.
    pub kind: Kind,
    /// Hash function.
    pub hasher: HasherId,
    /// Seed of the hash function, or id of its secret.
    pub mark: u64,
    /// Scheme, if it has a number.
    pub scheme: Option<SchemeId>,
    /// Probes per key.
    pub hashes: u32,
    /// Number of cells.
    pub cells: u64,
    /// Bits per cell.
    pub width: u32,
}

impl Identity {
    /// Whether filters of these identities can be combined; if not, the first difference.
    ///
    /// ```
    /// use gardenia::Bloom;
    /// let (a, b) = (Bloom::new(10, 0.1)?, Bloom::new(20, 0.1)?);
    /// let difference = a.identity().check(&b.identity()).unwrap_err();
    /// assert_eq!(difference.what, "cells");
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn check(&self, other: &Self) -> Result<(), Mismatch> {
        let scheme = |id: &Self| id.scheme.map_or("a scheme without a number", SchemeId::name).to_owned();
        let fields = [
            ("kind", self.kind.name().to_owned(), other.kind.name().to_owned()),
            ("hasher", self.hasher.name().to_owned(), other.hasher.name().to_owned()),
            ("seed", format!("{:#x}", self.mark), format!("{:#x}", other.mark)),
            ("scheme", scheme(self), scheme(other)),
            ("hashes", self.hashes.to_string(), other.hashes.to_string()),
            ("cells", self.cells.to_string(), other.cells.to_string()),
            ("cell width", self.width.to_string(), other.width.to_string()),
        ];
        match fields.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            Some((what, ours, theirs)) => Err(Mismatch { what, ours, theirs }),
            None => Ok(()),
        }
    }
}

/// What a filter was made for, and a note of its user: stored with it, but not part of its
/// identity.
#[derive(Debug, Default)]
pub struct About {
    planned_items: u64,
    planned_fpp: f64,
    counted_items: Option<u64>,
    metadata: Vec<u8>,
    /// Tagged notes, as a header holds them.
    notes: Vec<u8>,
    store_secret: bool,
    /// Set once a key came by [`Hashed`](crate::Hashed). Atomic, because shared filters insert by
    /// `&self`; and apart, because the compiler then knows that nothing else of a filter changes
    /// while it is borrowed: a loop of queries keeps hasher and shape in registers.
    unportable: Box<AtomicBool>,
}

impl About {
    /// A filter planned for `items` keys at `fpp`; zero when it was given by its shape.
    pub(crate) fn planned(items: u64, fpp: f64) -> Self {
        Self { planned_items: items, planned_fpp: fpp, ..Self::default() }
    }

    /// Notes what was asked for.
    pub(crate) fn plan(&mut self, items: u64, fpp: f64) {
        (self.planned_items, self.planned_fpp) = (items, fpp);
    }

    /// Keys the filter was planned for; 0 if it was given by its shape.
    #[must_use]
    pub fn planned_items(&self) -> u64 {
        self.planned_items
    }

    /// False-positive probability it was planned for; 0 if it was given by its shape.
    #[must_use]
    pub fn planned_fpp(&self) -> f64 {
        self.planned_fpp
    }

    /// The number of keys that the program which filled a classical filter counted, if known: some
    /// foreign formats store it. Insertions do not change it.
    #[must_use]
    pub fn counted_items(&self) -> Option<u64> {
        self.counted_items
    }

    /// Sets the number of keys counted, which files of classical filters keep; 2⁶⁴ − 1 stands for
    /// `None`.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(10, 0.1)?;
    /// assert_eq!(filter.about().counted_items(), None);
    /// filter.about_mut().set_counted_items(Some(7));
    /// let copy = gardenia::Bloom::from_bytes(&filter.to_bytes().unwrap()).unwrap();
    /// assert_eq!(copy.about().counted_items(), Some(7));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn set_counted_items(&mut self, items: Option<u64>) {
        self.counted_items = items.filter(|items| *items != u64::MAX);
    }

    /// Notes that the keys counted by another came in: the sum, as far as both are known.
    pub(crate) fn count_all(&mut self, other: &Self) {
        let sum =
            self.counted_items.zip(other.counted_items).map(|(ours, theirs)| ours.saturating_add(theirs));
        self.set_counted_items(sum);
    }

    /// Bytes of the user's own, kept in the file's header.
    #[must_use]
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Sets the user's own bytes; at most 64 KiB.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(10, 0.1)?;
    /// filter.about_mut().set_metadata(b"spring 2026").unwrap();
    /// let copy = gardenia::Bloom::from_bytes(&filter.to_bytes().unwrap()).unwrap();
    /// assert_eq!(copy.about().metadata(), b"spring 2026");
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn set_metadata(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let max = crate::format::MAX_METADATA;
        if bytes.len() > max {
            return Err(EncodeError::Metadata { bytes: bytes.len(), max });
        }
        self.metadata = bytes.to_vec();
        Ok(())
    }

    /// How keys were made from records by whoever filled the filter; `None` if that is not known,
    /// as of keys that a program inserted.
    ///
    /// The bytes are the writer's own. `gardenia build` writes its key options as a JSON object,
    /// and `gardenia query` makes keys the same way. They are no part of the filter's identity, and
    /// change no answer.
    #[must_use]
    pub fn key_note(&self) -> Option<&[u8]> {
        crate::format::notes::get(&self.notes, crate::format::notes::KEYS)
    }

    /// Sets how keys were made; all notes together have room for 64 KiB.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(10, 0.1)?;
    /// assert_eq!(filter.about().key_note(), None);
    /// filter.about_mut().set_key_note(Some(b"{}")).unwrap();
    /// let copy = gardenia::Bloom::from_bytes(&filter.to_bytes().unwrap()).unwrap();
    /// assert_eq!(copy.about().key_note(), Some(&b"{}"[..]));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn set_key_note(&mut self, note: Option<&[u8]>) -> Result<(), EncodeError> {
        self.notes = crate::format::notes::with(&self.notes, crate::format::notes::KEYS, note)?;
        Ok(())
    }

    /// All notes, as a header holds them.
    pub(crate) fn notes(&self) -> &[u8] {
        &self.notes
    }

    /// The same with the notes of a header.
    pub(crate) fn with_notes(self, notes: Vec<u8>) -> Self {
        Self { notes, ..self }
    }

    /// Notes that a key of type `K` went in.
    #[inline]
    pub(crate) fn took<K: Key + ?Sized>(&self) {
        if !K::PORTABLE {
            self.unportable.store(true, Relaxed);
        }
    }

    /// [`took`](Self::took) with the type inferred.
    #[inline]
    pub(crate) fn took_key<K: Key>(&self, _: &K) {
        self.took::<K>();
    }

    /// Whether all keys had portable bytes.
    pub(crate) fn is_portable(&self) -> bool {
        !self.unportable.load(Relaxed)
    }

    /// What a header says.
    pub(crate) fn stored(items: u64, fpp: f64, metadata: Vec<u8>, store_secret: bool) -> Self {
        Self { metadata, store_secret, ..Self::planned(items, fpp) }
    }

    /// Whether a file may hold the secret of a keyed filter.
    #[must_use]
    pub fn stores_secret(&self) -> bool {
        self.store_secret
    }

    /// Lets files hold the secret of a keyed filter, so that whoever has the file can ask it.
    /// Without this a reader must bring the secret
    /// ([`ReadOptions::secret`](crate::ReadOptions::secret)).
    pub fn store_secret(&mut self, yes: bool) {
        self.store_secret = yes;
    }

    /// Notes that the filter is empty again.
    pub(crate) fn forget(&mut self) {
        *self.unportable.get_mut() = false;
        self.counted_items = None;
    }

    /// Notes that the keys of another filter came in.
    pub(crate) fn took_all(&self, other: &Self) {
        if !other.is_portable() {
            self.unportable.store(true, Relaxed);
        }
    }
}

impl Clone for About {
    fn clone(&self) -> Self {
        Self {
            planned_items: self.planned_items,
            planned_fpp: self.planned_fpp,
            counted_items: self.counted_items,
            metadata: self.metadata.clone(),
            notes: self.notes.clone(),
            store_secret: self.store_secret,
            unportable: Box::new(AtomicBool::new(!self.is_portable())),
        }
    }
}
