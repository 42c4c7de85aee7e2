//! Tagged notes in a header: what a filter's writer tells its readers, beside the user's own bytes.
//!
//! Each note is a tag, a length and that many bytes; tags ascend. A tag that this reader does not
//! know is kept and written again.

use crate::{DecodeError, EncodeError};
use alloc::vec::Vec;

/// The most bytes of all notes.
pub(crate) const MAX: usize = 64 << 10;
/// How keys were made from records.
pub(crate) const KEYS: u32 = 1;
/// Bytes before those of a note.
const HEAD: usize = 8;

/// A tag and the bytes of its note.
type Note<'a> = (u32, &'a [u8]);

/// The next note, and what follows it; `None` if the bytes end in the middle of it.
fn next(bytes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let [tag, len] = [0, 4].map(|at| u32::from_le_bytes(core::array::from_fn(|i| head[at + i])));
    let (note, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    Some(((tag, note), rest))
}

fn each(bytes: &[u8]) -> impl Iterator<Item = Note<'_>> {
    let mut left = bytes;
    core::iter::from_fn(move || {
        let (note, rest) = next(left)?;
        left = rest;
        Some(note)
    })
}

/// Whole notes with ascending tags, and nothing else.
pub(super) fn check(bytes: &[u8]) -> Result<(), DecodeError> {
    let (mut left, mut last) = (bytes, 0);
    while !left.is_empty() {
        let ((tag, _), rest) = next(left).ok_or(DecodeError::Damaged("a note in the header is cut short"))?;
        if tag <= last {
            let rule = "tags of notes ascend from 1";
            return Err(DecodeError::Field { field: "tag of a note", value: tag.into(), rule });
        }
        (left, last) = (rest, tag);
    }
    Ok(())
}

/// The note with this tag.
pub(crate) fn get(bytes: &[u8], tag: u32) -> Option<&[u8]> {
    each(bytes).find(|(found, _)| *found == tag).map(|(_, note)| note)
}

/// The notes with this one instead of what had its tag, or without it.
pub(crate) fn with(bytes: &[u8], tag: u32, note: Option<&[u8]>) -> Result<Vec<u8>, EncodeError> {
    let mut notes: Vec<Note<'_>> = each(bytes).filter(|(found, _)| *found != tag).collect();
    notes.extend(note.map(|note| (tag, note)));
    notes.sort_unstable_by_key(|(tag, _)| *tag);
    let len = notes.iter().map(|(_, note)| HEAD + note.len()).sum();
    if len > MAX {
        return Err(EncodeError::Metadata { bytes: len, max: MAX });
    }
    let mut all = Vec::with_capacity(len);
    for (tag, note) in notes {
        all.extend_from_slice(&tag.to_le_bytes());
        all.extend_from_slice(&(note.len() as u32).to_le_bytes());
        all.extend_from_slice(note);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_other_tags_are_kept_in_order() {
        let two = with(&with(&[], 7, Some(b"later")).unwrap(), KEYS, Some(b"rose")).unwrap();
        assert_eq!(two, b"\x01\0\0\0\x04\0\0\0rose\x07\0\0\0\x05\0\0\0later");
        assert!(check(&two).is_ok() && check(&[]).is_ok());
        assert_eq!(
            (get(&two, KEYS), get(&two, 7), get(&two, 2)),
            (Some(&b"rose"[..]), Some(&b"later"[..]), None)
        );
        assert_eq!(with(&two, KEYS, None).unwrap(), with(&[], 7, Some(b"later")).unwrap());
        assert_eq!(with(&two, KEYS, Some(b"")).unwrap().len(), 2 * HEAD + 5);
        assert!(with(&two, KEYS, Some(&[0; MAX])).is_err());
    }

    #[test]
    fn notes_that_are_cut_short_or_out_of_order_are_refused() {
        let two = with(&with(&[], 7, Some(b"later")).unwrap(), KEYS, Some(b"rose")).unwrap();
        for end in (1..two.len()).filter(|end| *end != HEAD + 4) {
            assert!(check(&two[..end]).is_err(), "{end}");
        }
        let twice = [&two[..HEAD + 4], &two[..HEAD + 4]].concat();
        let zero = [[0; 4], [0; 4]].concat();
        assert!(check(&twice).is_err() && check(&zero).is_err());
        let long = [1u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        assert!(check(&long).is_err());
    }
}
