//! Numbers off the front of foreign bytes, each checked before it is read.

use super::ReadOptions;
use crate::{DecodeError, SizeError};
use alloc::vec::Vec;

/// Reads numbers one after the other. Bytes that are missing are an error that says how many.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Declares how numbers are read.
macro_rules! numbers {
    ($($name:ident -> $type:ty, $from:ident;)+) => {
        $(pub(super) fn $name(&mut self) -> Result<$type, DecodeError> {
            self.array().map(<$type>::$from)
        })+
    };
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// How many bytes were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], DecodeError> {
        if len > self.left() {
            let needed = (self.at as u64).saturating_add(len);
            return Err(DecodeError::Truncated { needed, found: self.bytes.len() as u64 });
        }
        let start = self.at;
        self.at += len as usize;
        Ok(&self.bytes[start..self.at])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.take(N as u64)?;
        Ok(core::array::from_fn(|at| bytes[at]))
    }

    numbers! {
        u8 -> u8, from_be_bytes;
        u16_le -> u16, from_le_bytes;
        u32_le -> u32, from_le_bytes;
        u64_le -> u64, from_le_bytes;
        f64_le -> f64, from_le_bytes;
        i32_be -> i32, from_be_bytes;
        i64_be -> i64, from_be_bytes;
    }

    /// A number of seven bits a byte, lowest first: of LEB128, as Thrift, Protocol Buffers and
    /// RocksDB write it.
    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(DecodeError::Damaged("a number is longer than 64 bits"))
    }

    /// A [`varint`](Self::varint) with the sign in its lowest bit.
    pub(super) fn zigzag(&mut self) -> Result<i64, DecodeError> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Whether this number is one of these; an error that says which are.
    pub(super) fn one_of(
        &self,
        field: &'static str,
        value: u64,
        range: core::ops::RangeInclusive<u64>,
        rule: &'static str,
    ) -> Result<u64, DecodeError> {
        if range.contains(&value) { Ok(value) } else { Err(DecodeError::Field { field, value, rule }) }
    }

    /// The next `count` words of 8 bytes: memory is taken once they are known to be there, and
    /// allowed.
    pub(super) fn words(
        &mut self,
        count: u64,
        options: &ReadOptions,
        from: fn([u8; 8]) -> u64,
    ) -> Result<Vec<u64>, DecodeError> {
        let (needed, max) = (count.saturating_mul(8), options.max_bytes);
        if needed > max {
            return Err(DecodeError::TooLarge { needed, max });
        }
        let bytes = self.take(needed)?;
        let mut words = Vec::new();
        words.try_reserve_exact(bytes.len() / 8).map_err(|_| SizeError::Memory { bytes: needed })?;
        words.extend(bytes.as_chunks().0.iter().map(|word| from(*word)));
        Ok(words)
    }

    /// An error unless all bytes were read.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            extra => Err(DecodeError::Trailing { extra }),
        }
    }
}

/// A copy of bytes, if it is allowed and there is memory for it.
pub(super) fn copied(bytes: &[u8], options: &ReadOptions) -> Result<Vec<u8>, DecodeError> {
    let (needed, max) = (bytes.len() as u64, options.max_bytes);
    if needed > max {
        return Err(DecodeError::TooLarge { needed, max });
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| SizeError::Memory { bytes: needed })?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}
