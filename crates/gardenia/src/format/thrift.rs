//! Thrift's compact protocol, as far as Parquet's footers need it: fields are visited, and what is
//! not wanted is skipped.
//!
//! Nothing is built of what is read, nesting is bounded, and a list has no more elements than bytes
//! are left.

use super::cursor::Cursor;
use crate::DecodeError;
use alloc::vec::Vec;

/// How deep values may be nested. Parquet's own are less than ten deep.
const MAX_DEPTH: u32 = 32;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// A value that is about to be read.
pub(super) struct Value<'a, 'b> {
    cursor: &'b mut Cursor<'a>,
    kind: u8,
    depth: u32,
    /// Where its field begins.
    start: usize,
}

/// Visits the fields of the struct at the cursor: `visit` reads or skips each value.
pub(super) fn fields<'a>(
    cursor: &mut Cursor<'a>,
    visit: &mut dyn FnMut(i16, Value<'a, '_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    fields_at(cursor, 0, visit)
}

fn fields_at<'a>(
    cursor: &mut Cursor<'a>,
    depth: u32,
    visit: &mut dyn FnMut(i16, Value<'a, '_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::Damaged("values of the footer are nested too deep"));
    }
    let mut id = 0i16;
    loop {
        let start = cursor.at();
        let head = cursor.u8()?;
        if head == 0 {
            return Ok(());
        }
        let next = match head >> 4 {
            0 => i16::try_from(cursor.zigzag()?).ok(),
            delta => id.checked_add(delta.into()),
        };
        id = next.ok_or(DecodeError::Damaged("a field of the footer has no number"))?;
        visit(id, Value { cursor, kind: head & 15, depth: depth + 1, start })?;
    }
}

const WRONG: DecodeError = DecodeError::Damaged("a field of the footer has another type than it should");

impl<'a> Value<'a, '_> {
    /// The number of its type.
    pub(super) fn kind(&self) -> u8 {
        self.kind
    }

    /// Where its field begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Where the value itself begins.
    pub(super) fn at(&self) -> usize {
        self.cursor.at()
    }

    /// Passes over the value, and returns where it ends.
    pub(super) fn pass(self) -> Result<usize, DecodeError> {
        let Self { cursor, kind, depth, start } = self;
        Value { cursor: &mut *cursor, kind, depth, start }.skip()?;
        Ok(cursor.at())
    }

    /// A whole number.
    pub(super) fn int(self) -> Result<i64, DecodeError> {
        match self.kind {
            BYTE => Ok(i64::from(self.cursor.u8()? as i8)),
            I16 | I32 | I64 => self.cursor.zigzag(),
            _ => Err(WRONG),
        }
    }

    /// A truth value.
    pub(super) fn flag(self) -> Result<bool, DecodeError> {
        match self.kind {
            TRUE => Ok(true),
            FALSE => Ok(false),
            _ => Err(WRONG),
        }
    }

    /// A string of bytes.
    pub(super) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        if self.kind != BINARY {
            return Err(WRONG);
        }
        let len = self.cursor.varint()?;
        self.cursor.take(len)
    }

    /// The fields of a struct.
    pub(super) fn fields(
        self,
        visit: &mut dyn FnMut(i16, Value<'a, '_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.kind != STRUCT {
            return Err(WRONG);
        }
        fields_at(self.cursor, self.depth, visit)
    }

    /// The elements of a list, in order.
    pub(super) fn list(
        self,
        visit: &mut dyn FnMut(Value<'a, '_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.kind != LIST {
            return Err(WRONG);
        }
        elements(self.cursor, self.depth, visit)
    }

    /// Passes over the value, whatever it is.
    pub(super) fn skip(self) -> Result<(), DecodeError> {
        let Self { cursor, kind, depth, .. } = self;
        if depth > MAX_DEPTH {
            return Err(DecodeError::Damaged("values of the footer are nested too deep"));
        }
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => cursor.u8().map(drop),
            I16 | I32 | I64 => cursor.varint().map(drop),
            DOUBLE => cursor.take(8).map(drop),
            BINARY => {
                let len = cursor.varint()?;
                cursor.take(len).map(drop)
            }
            LIST | SET => elements(cursor, depth, &mut |value| value.skip()),
            MAP => {
                let len = cursor.varint()?;
                if len == 0 {
                    return Ok(());
                }
                let kinds = cursor.u8()?;
                check_len(cursor, len)?;
                for _ in 0..len {
                    for kind in [kinds >> 4, kinds & 15] {
                        element(cursor, kind, depth, &mut |value| value.skip())?;
                    }
                }
                Ok(())
            }
            STRUCT => fields_at(cursor, depth, &mut |_, value| value.skip()),
            UUID => cursor.take(16).map(drop),
            _ => Err(DecodeError::Damaged("the footer has a value of no known type")),
        }
    }
}

/// No list has more elements than bytes are left: each takes one at least.
fn check_len(cursor: &Cursor<'_>, len: u64) -> Result<(), DecodeError> {
    if len <= cursor.left() {
        Ok(())
    } else {
        Err(DecodeError::Damaged("a list of the footer is longer than the footer"))
    }
}

fn elements<'a>(
    cursor: &mut Cursor<'a>,
    depth: u32,
    visit: &mut dyn FnMut(Value<'a, '_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let head = cursor.u8()?;
    let len = if head >> 4 == 15 { cursor.varint()? } else { u64::from(head >> 4) };
    check_len(cursor, len)?;
    (0..len).try_for_each(|_| element(cursor, head & 15, depth, visit))
}

/// One element of a list. Truth values, which fields hold in their type, have a byte here.
fn element<'a>(
    cursor: &mut Cursor<'a>,
    kind: u8,
    depth: u32,
    visit: &mut dyn FnMut(Value<'a, '_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let kind = if matches!(kind, TRUE | FALSE) { cursor.u8()?.clamp(TRUE, FALSE) } else { kind };
    let start = cursor.at();
    visit(Value { cursor, kind, depth: depth + 1, start })
}

/// Writes the head of a field that follows the field `before` of the same struct.
pub(super) fn put_field(out: &mut Vec<u8>, before: i16, id: i16, kind: u8) {
    match id - before {
        delta @ 1..=15 => out.push((delta as u8) << 4 | kind),
        _ => {
            out.push(kind);
            put_zigzag(out, id.into());
        }
    }
}

/// Writes a number with its sign in the lowest bit, seven bits a byte.
pub(super) fn put_zigzag(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number << 1 ^ number >> 63) as u64);
}

/// Writes a number, seven bits a byte, lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}
