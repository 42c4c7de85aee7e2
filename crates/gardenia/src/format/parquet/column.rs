//! Types of Parquet's columns, and the bytes that a value has there.

use crate::format::civil;
use crate::format::foreign::KeyError;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How a column's values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Physical {
    /// One bit; such columns have no filters.
    Boolean,
    /// 4 bytes.
    Int32,
    /// 8 bytes.
    Int64,
    /// 12 bytes: timestamps of old writers.
    Int96,
    /// 4 bytes of floating point.
    Float,
    /// 8 bytes of floating point.
    Double,
    /// Any number of bytes.
    ByteArray,
    /// This many bytes.
    Fixed(u32),
}

/// Parts of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeUnit {
    /// Thousandths.
    Millis,
    /// Millionths.
    Micros,
    /// Thousand-millionths.
    Nanos,
}

impl TimeUnit {
    /// How many make a second.
    #[must_use]
    pub const fn per_second(self) -> i64 {
        match self {
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }
}

/// What a column's values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Logical {
    /// No more than the physical type says, or something that does not change how values are
    /// written.
    Plain,
    /// Text: strings, enums, JSON.
    Text,
    /// A whole number of 8 to 64 bits.
    Integer {
        /// Its bits.
        bits: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// Days since 1970.
    Date,
    /// Time of day.
    Time(TimeUnit),
    /// Time since 1970.
    Timestamp(TimeUnit),
    /// A decimal number, as a whole one and this many digits after the point.
    Decimal {
        /// The digits.
        scale: u32,
    },
    /// 16 bytes.
    Uuid,
    /// Half of a float.
    Float16,
}

/// The type of a column.
///
/// ```
/// use gardenia::format::parquet::{ColumnType, Logical, Physical, TimeUnit};
/// let day = ColumnType::new(Physical::Int32, Logical::Date);
/// assert_eq!(day.encode("1970-01-03").unwrap(), [2, 0, 0, 0]);
/// let price = ColumnType::new(Physical::Fixed(3), Logical::Decimal { scale: 2 });
/// assert_eq!(price.encode("-1.5").unwrap(), [0xff, 0xff, 0x6a]); // -150
/// assert_eq!(price.to_string(), "decimal with 2 digits after the point");
/// assert!(price.encode("1.555").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnType {
    /// How its values are stored.
    pub physical: Physical,
    /// What they mean.
    pub logical: Logical,
}

impl core::fmt::Display for ColumnType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.logical, self.physical) {
            (Logical::Text, _) => f.write_str("string"),
            (Logical::Integer { bits, signed: true }, _) => write!(f, "int{bits}"),
            (Logical::Integer { bits, signed: false }, _) => write!(f, "uint{bits}"),
            (Logical::Date, _) => f.write_str("date"),
            (Logical::Time(unit), _) => write!(f, "time[{}]", unit.name()),
            (Logical::Timestamp(unit), _) => write!(f, "timestamp[{}]", unit.name()),
            (Logical::Decimal { scale }, _) => write!(f, "decimal with {scale} digits after the point"),
            (Logical::Uuid, _) => f.write_str("uuid"),
            (Logical::Float16, _) => f.write_str("float16"),
            (Logical::Plain, Physical::Boolean) => f.write_str("boolean"),
            (Logical::Plain, Physical::Int32) => f.write_str("int32"),
            (Logical::Plain, Physical::Int64) => f.write_str("int64"),
            (Logical::Plain, Physical::Int96) => f.write_str("int96"),
            (Logical::Plain, Physical::Float) => f.write_str("float"),
            (Logical::Plain, Physical::Double) => f.write_str("double"),
            (Logical::Plain, Physical::ByteArray) => f.write_str("bytes"),
            (Logical::Plain, Physical::Fixed(len)) => write!(f, "{len} bytes"),
        }
    }
}

impl ColumnType {
    /// The type of a column whose values are stored and meant like this.
    pub const fn new(physical: Physical, logical: Logical) -> Self {
        Self { physical, logical }
    }

    /// The bytes that a value, written as text, is hashed as. Whole numbers stand for the stored
    /// number also where dates or times are stored. Dates are written `2026-11-18`, times
    /// `23:59:59.5`, timestamps `2026-11-18T23:59:59.5Z`.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, KeyError> {
        self.encoded(text).ok_or_else(|| KeyError::not(text.as_bytes(), &self.wanted()))
    }

    fn wanted(&self) -> String {
        match (self.logical, self.physical) {
            (Logical::Date, _) => "a date such as 2026-11-18".to_string(),
            (Logical::Time(unit), _) => format!("a time such as 23:59:59.5, in {}", unit.name()),
            (Logical::Timestamp(unit), _) => {
                format!("a time such as 2026-11-18T23:59:59.5Z, in {}", unit.name())
            }
            (Logical::Plain, Physical::Boolean) => "in a filter: columns of booleans have none".to_string(),
            (Logical::Plain, Physical::Int96) => {
                "24 hexadecimal digits, as a value of type int96 is given here".to_string()
            }
            (Logical::Plain, Physical::Fixed(len)) => format!("{len} bytes in hexadecimal digits"),
            (Logical::Float16, _) => {
                "4 hexadecimal digits, as a value of type float16 is given here".to_string()
            }
            _ => format!("a value of type {self}"),
        }
    }

    fn encoded(&self, text: &str) -> Option<Vec<u8>> {
        let trimmed = text.trim();
        let number = match self.logical {
            Logical::Date => trimmed.parse::<i64>().ok().or_else(|| civil::days(trimmed)),
            Logical::Time(unit) => {
                trimmed.parse::<i64>().ok().or_else(|| civil::ticks(trimmed, unit.per_second()))
            }
            Logical::Timestamp(unit) => {
                trimmed.parse::<i64>().ok().or_else(|| civil::timestamp(trimmed, unit.per_second()))
            }
            Logical::Decimal { scale } => return self.decimal(unscaled(trimmed, scale)?),
            Logical::Integer { bits, signed } => {
                let number = trimmed.parse::<i128>().ok()?;
                let bits = u32::from(bits).clamp(1, 64);
                let range =
                    if signed { -(1 << (bits - 1))..=(1 << (bits - 1)) - 1 } else { 0..=(1i128 << bits) - 1 };
                range.contains(&number).then_some(number as i64)
            }
            Logical::Uuid => return uuid(trimmed),
            Logical::Float16 => return hex(trimmed, 2),
            Logical::Text | Logical::Plain => match self.physical {
                Physical::Int32 | Physical::Int64 => trimmed.parse::<i64>().ok(),
                Physical::Float => return Some(trimmed.parse::<f32>().ok()?.to_le_bytes().to_vec()),
                Physical::Double => return Some(trimmed.parse::<f64>().ok()?.to_le_bytes().to_vec()),
                Physical::ByteArray => return Some(text.as_bytes().to_vec()),
                Physical::Fixed(len) => return hex(trimmed, len),
                Physical::Int96 => return hex(trimmed, 12),
                Physical::Boolean => None,
            },
        }?;
        let unsigned = matches!(self.logical, Logical::Integer { signed: false, .. });
        match self.physical {
            Physical::Int32 if unsigned => Some(u32::try_from(number).ok()?.to_le_bytes().to_vec()),
            Physical::Int32 => Some(i32::try_from(number).ok()?.to_le_bytes().to_vec()),
            Physical::Int64 => Some(number.to_le_bytes().to_vec()),
            _ => None,
        }
    }

    /// A decimal number: as an integer, or big-endian with its sign.
    fn decimal(&self, unscaled: i128) -> Option<Vec<u8>> {
        let bytes = unscaled.to_be_bytes();
        // Bytes at the front that say no more than the sign.
        let spare = |at: usize| {
            let sign = if unscaled < 0 { 0xff } else { 0 };
            bytes[..at].iter().all(|byte| *byte == sign)
                && bytes.get(at).is_some_and(|next| next >> 7 == sign >> 7)
        };
        match self.physical {
            Physical::Int32 => Some(i32::try_from(unscaled).ok()?.to_le_bytes().to_vec()),
            Physical::Int64 => Some(i64::try_from(unscaled).ok()?.to_le_bytes().to_vec()),
            Physical::Fixed(len) => {
                let len = len as usize;
                match len.checked_sub(16) {
                    Some(more) if more <= 64 => {
                        let mut wide = alloc::vec![if unscaled < 0 { 0xff } else { 0 }; more];
                        wide.extend(bytes);
                        Some(wide)
                    }
                    Some(_) => None,
                    None => spare(16 - len).then(|| bytes[16 - len..].to_vec()),
                }
            }
            // Writers store the shortest form.
            Physical::ByteArray => {
                let from = (0..16).rev().find(|at| spare(*at)).unwrap_or(0);
                Some(bytes[from..].to_vec())
            }
            _ => None,
        }
    }
}

/// A decimal number times ten to the scale; `None` if digits would be lost.
fn unscaled(text: &str, scale: u32) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale as usize || whole.len() + fraction.len() == 0 {
        return None;
    }
    let zeros = core::iter::repeat_n('0', scale as usize - fraction.len());
    let number =
        whole.chars().chain(fraction.chars()).chain(zeros).try_fold(0i128, |number, digit| {
            number.checked_mul(10)?.checked_add(digit.to_digit(10)?.into())
        })?;
    Some(if negative { -number } else { number })
}

/// This many bytes in hexadecimal digits.
fn hex(text: &str, len: u32) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes.filter(|bytes| rest.is_empty() && bytes.len() == len as usize)
}

/// A UUID, with its hyphens or without.
fn uuid(text: &str) -> Option<Vec<u8>> {
    hex(&text.replace('-', ""), 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(physical: Physical, logical: Logical, text: &str) -> Option<Vec<u8>> {
        ColumnType { physical, logical }.encode(text).ok()
    }

    #[test]
    fn values_are_hashed_as_writers_store_them() {
        use Logical::*;
        use Physical::*;
        let int = |bits, signed| Integer { bits, signed };
        assert_eq!(encode(Int32, int(8, true), "-1"), Some(vec![255; 4]));
        assert_eq!(encode(Int32, int(8, true), "128"), None);
        assert_eq!(encode(Int32, int(32, false), "4294967295"), Some(vec![255; 4]));
        assert_eq!(encode(Int64, int(64, false), "18446744073709551615"), Some(vec![255; 8]));
        assert_eq!(encode(Int32, Plain, "3000000000"), None);
        assert_eq!(
            encode(Int64, Timestamp(TimeUnit::Micros), "1970-01-01T00:00:01Z"),
            encode(Int64, Plain, "1000000")
        );
        assert_eq!(encode(Int64, Time(TimeUnit::Nanos), "00:00:00.000000002"), encode(Int64, Plain, "2"));
        assert_eq!(encode(Int32, Decimal { scale: 2 }, "1.5"), encode(Int32, Plain, "150"));
        assert_eq!(encode(ByteArray, Decimal { scale: 0 }, "128"), Some(vec![0, 128]));
        assert_eq!(encode(ByteArray, Decimal { scale: 0 }, "-128"), Some(vec![128]));
        assert_eq!(encode(ByteArray, Decimal { scale: 0 }, "0"), Some(vec![0]));
        assert_eq!(encode(Fixed(2), Decimal { scale: 1 }, "-0.1"), Some(vec![255, 255]));
        assert_eq!(encode(Fixed(1), Decimal { scale: 0 }, "200"), None);
        assert_eq!(encode(Fixed(17), Decimal { scale: 0 }, "-1"), Some(vec![255; 17]));
        assert_eq!(
            encode(Fixed(16), Uuid, "00112233-4455-6677-8899-aabbccddeeff").map(|bytes| bytes[15]),
            Some(255)
        );
        assert_eq!(encode(Fixed(2), Plain, "00ff"), Some(vec![0, 255]));
        assert_eq!(encode(Double, Plain, " 1.5"), Some(1.5f64.to_le_bytes().to_vec()));
        assert_eq!(encode(ByteArray, Text, " a "), Some(b" a ".to_vec()));
        assert_eq!(encode(Boolean, Plain, "true"), None);
    }
}
