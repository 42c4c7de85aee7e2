//! The table of options: each once, with its word, what it takes and what it means.

use super::number;
use crate::filter::{Clearing, Effort, PolicyId, Update};
use crate::index::{Form, SchemeId};
use alloc::string::{String, ToString};
use core::fmt;

/// Declares the options from the table below.
macro_rules! params {
    ($($param:ident $word:literal $(or $alias:literal)*, $takes:expr, $meaning:literal;)+) => {
        /// An option of a [`Spec`](super::Spec).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Param {
            $(#[doc = $meaning] $param,)+
        }

        impl Param {
            /// All options, in the order in which a spec prints them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$param),+];

            /// Its word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$param => $word,)+
                }
            }

            /// Other words for it.
            #[must_use]
            pub const fn aliases(self) -> &'static [&'static str] {
                match self {
                    $(Self::$param => &[$($alias),*],)+
                }
            }

            /// What it takes.
            #[must_use]
            pub const fn takes(self) -> Takes {
                match self {
                    $(Self::$param => $takes,)+
                }
            }

            /// What it means, in a line.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$param => $meaning,)+
                }
            }
        }
    };
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A whole number within these bounds: `1000`, `10M`, `1e7`.
    Whole(u64, u64),
    /// A size in bits: `8M`, or in bytes: `1MiB`.
    Bits,
    /// A size in bytes: `64k`, `1MiB`.
    Bytes,
    /// A probability: `0.01`, `1%`, `1/100`.
    Share,
    /// Any positive number: `9.6`.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or its place among them counted from 0.
    Level(&'static [&'static str]),
    /// Nothing: it is given or not.
    Nothing,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number, or a size.
    Whole(u64),
    /// A probability, or any number.
    Real(f64),
    /// A word.
    Word(&'static str),
    /// It was given.
    Given,
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&'static str> for Value {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl fmt::Display for Value {
    /// Exactly: what is printed reads as the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) if *value != 0.0 && value.abs() < 1e-4 => write!(f, "{value:e}"),
            Self::Real(value) => value.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Given => Ok(()),
        }
    }
}

impl Takes {
    /// The value that a text stands for; the error says what is expected.
    pub(super) fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Whole(least, most) => match number::count(text)? {
                value if (least..=most).contains(&value) => Ok(Value::Whole(value)),
                _ if most == u64::MAX => Err(alloc::format!("it must be at least {least}")),
                _ => Err(alloc::format!("it must be between {least} and {most}")),
            },
            Self::Bits => number::bits(text).map(Value::Whole),
            Self::Bytes => number::bytes(text).map(Value::Whole),
            Self::Share => match number::share(text)? {
                value if value > 0.0 && value < 1.0 => Ok(Value::Real(value)),
                _ => Err("it must be between 0 and 1 (exclusive), such as 0.01 or 1%".to_string()),
            },
            Self::Number => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(Value::Real(value)),
                _ => Err("a number such as 9.6 is expected".to_string()),
            },
            Self::Word(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
                Some(word) => Ok(Value::Word(word)),
                None => Err(alloc::format!("it must be one of {}", words.join(", "))),
            },
            Self::Level(words) => match words.iter().enumerate().find(|(level, _)| level.to_string() == text)
            {
                Some((_, word)) => Ok(Value::Word(word)),
                None => Self::Word(words).parse(text),
            },
            Self::Nothing => Err("it takes no value".to_string()),
        }
    }

    /// The same value as the option holds it: a real number that is whole for an option that takes
    /// whole ones, and the reverse; the word of a level. JSON writers and their users choose
    /// freely.
    pub(super) fn fitted(self, value: Value) -> Value {
        const TOP: f64 = 18_446_744_073_709_551_616.0; // 2⁶⁴
        let whole = match value {
            Value::Whole(value) => Some(value),
            // No conversion saturates: 2⁶⁴ itself is out.
            Value::Real(value) if (0.0..TOP).contains(&value) && libm::trunc(value) == value => {
                Some(value as u64)
            }
            _ => None,
        };
        match (self, whole) {
            (Self::Whole(..) | Self::Bits | Self::Bytes, Some(whole)) => Value::Whole(whole),
            (Self::Share | Self::Number, Some(whole)) => Value::Real(whole as f64),
            (Self::Level(words), Some(level)) => {
                let word = usize::try_from(level).ok().and_then(|level| words.get(level));
                word.map_or(value, |word| Value::Word(word))
            }
            _ => value,
        }
    }

    /// Whether a value is one that the option takes.
    pub(super) fn admits(self, value: Value) -> bool {
        match (self, value) {
            (Self::Whole(least, most), Value::Whole(value)) => (least..=most).contains(&value),
            (Self::Bits | Self::Bytes, Value::Whole(_)) => true,
            (Self::Share, Value::Real(value)) => value > 0.0 && value < 1.0,
            (Self::Number, Value::Real(value)) => value.is_finite() && value >= 0.0,
            (Self::Word(words) | Self::Level(words), Value::Word(word)) => words.contains(&word),
            (Self::Nothing, Value::Given) => true,
            _ => false,
        }
    }
}

impl Takes {
    /// The words to choose from, if it is one of some.
    #[must_use]
    pub const fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Word(words) | Self::Level(words) => Some(words),
            _ => None,
        }
    }
}

/// The names of a numbered enum, as words of an option.
macro_rules! names {
    ($of:ty) => {{
        const NAMES: [&str; <$of>::ALL.len()] = {
            let mut names = [""; <$of>::ALL.len()];
            let mut at = 0;
            while at < names.len() {
                names[at] = <$of>::ALL[at].name();
                at += 1;
            }
            names
        };
        &NAMES
    }};
}

const U64: u64 = u64::MAX;
const K: u64 = crate::index::MAX_HASHES as u64;

params! {
    Policy "policy", Takes::Word(names!(PolicyId)), "How a spectral filter counts.";
    Items "items" or "window", Takes::Whole(1, U64), "Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.";
    Fpp "fpp" or "error", Takes::Share, "False-positive rate once they are in: 1 % unless given.";
    PlannedFpp "planned-fpp", Takes::Share, "The rate that was asked for, where a filled spec gives the shape: a note.";
    Bits "bits", Takes::Bits, "Size in bits.";
    Cells "cells", Takes::Whole(1, U64), "Size in cells, for kinds whose cells have several bits.";
    Memory "memory", Takes::Bytes, "Memory limit; without fpp all of it is used, for the lowest false-positive rate.";
    Hashes "hashes", Takes::Whole(1, K), "Bits or cells per key, with a size; the best number unless given.";
    Width "width", Takes::Whole(1, 64), "Bits per cell.";
    Scheme "scheme", Takes::Word(names!(SchemeId)), "How positions follow from a digest: fractional unless given.";
    Seed "seed", Takes::Whole(0, U64), "Seed of the hash function (default 0); only filters with the same seed can be merged.";
    Hasher "hasher", Takes::Word(&["xxh3", "xxh64"]), "Hash function: xxh3 unless given; xxh64 for filters as in Parquet files.";
    Decrements "decrements" or "evict", Takes::Whole(1, U64), "Cells that an insertion ages, with cells and hashes, instead of fpp.";
    Drawn "drawn", Takes::Nothing, "Draws the cells that age one by one, as in the paper: slower.";
    Digit "digit", Takes::Whole(1, 32), "Bits per digit of a count: 4 unless given.";
    Compact "compact", Takes::Nothing, "Cells as wide as their counts need: smaller and slower.";
    SecondaryCells "secondary-cells", Takes::Whole(1, U64), "Cells of the secondary filter: half of the primary's unless given.";
    SecondaryHashes "secondary-hashes", Takes::Whole(1, K), "Cells per key there: as in the primary unless given.";
    NoMarker "no-marker", Takes::Nothing, "Without the marker, as in the paper's basic form: some counts are then too small.";
    AsPrinted "as-printed", Takes::Nothing, "As no-marker, and the secondary filter is believed, as in the paper: counts are wrong more often.";
    Choices "choices", Takes::Whole(2, 32), "Groups of bits that a key may choose from: 2 unless given.";
    Effort "effort", Takes::Level(names!(Effort)), "How hard keys choose: online unless given; all others need all keys at once.";
    Epsilon "epsilon", Takes::Share, "How far a count may be above the truth, as a share of all that was counted: 0.01 % unless given.";
    Delta "delta", Takes::Share, "How often a count may be farther above: 1 % unless given.";
    Columns "columns", Takes::Whole(1, U64), "Cells per row.";
    Rows "rows", Takes::Whole(1, K), "Rows, with a size: 4 unless given.";
    Copies "copies", Takes::Whole(1, K), "Copies of the modified form.";
    Form "form", Takes::Word(names!(Form)), "How rows are hashed: original unless given.";
    Update "update", Takes::Word(names!(Update)), "What happens to the cells of a key: conservative unless given.";
    Max "max", Takes::Whole(1, U64), "The most keys that will come, of a kind that grows in place: with fewer doublings its fingerprints can be shorter.";
    Growth "growth", Takes::Whole(1, 32_768), "How many times as many keys each part holds as the one before it.";
    Tightening "tightening", Takes::Share, "The rate of each part over that of the one before it.";
    Peak "peak", Takes::Whole(0, 63), "The part that may have the largest rate.";
    Fingerprint "fingerprint", Takes::Whole(1, 32), "Bits per fingerprint, instead of fpp: 8 report 1 absent key in 256 as present.";
    Arity "arity", Takes::Whole(3, 4), "Cells per key: 3 unless given; 4 is 4 % smaller and slower.";
    ValueBits "value-bits", Takes::Whole(1, 32), "Bits per value: those of the largest unless given.";
    Check "check", Takes::Whole(0, 30), "Bits that recognise absent keys: 8 unless given, for 1 in 256.";
    Wire "wire", Takes::Number, "Bits per key in the file, instead of fpp.";
    MemoryPerKey "memory-per-key", Takes::Number, "Bits per key in memory: 32 unless given; more make the file smaller.";
    Clearing "clearing", Takes::Word(names!(Clearing)), "Which bit is cleared to lose a false positive: ratio unless given.";
    Space "space", Takes::Word(&["jaccard", "hamming"]), "What a key is: a set of words, or bits in hexadecimal digits.";
    Near "near", Takes::Share, "Keys up to this distance are found: 10 % unless given.";
    Far "far", Takes::Share, "Keys at least this far are not: 60 % unless given.";
}

impl Param {
    /// The option that this word names, in any case.
    ///
    /// ```
    /// use gardenia::spec::Param;
    /// assert_eq!(Param::from_word("ITEMS"), Some(Param::Items));
    /// assert_eq!(Param::from_word("window"), Some(Param::Items));
    /// assert_eq!(Param::from_word("roses"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let named = |param: &Self| {
            [param.word()].iter().chain(param.aliases()).any(|known| known.eq_ignore_ascii_case(word))
        };
        Self::ALL.into_iter().find(named)
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
