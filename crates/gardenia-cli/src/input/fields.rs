//! Which fields of a record its key is built from, and what is between them.

use memchr::{memchr_iter, memmem};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// What is between fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    Byte(u8),
    /// More than one byte.
    Text(Vec<u8>),
    /// White space of any length; at the start and the end of a record it is left out, as by awk.
    Blanks,
}

impl Delimiter {
    /// What is put between the fields of a key.
    pub(super) fn joint(&self) -> &[u8] {
        match self {
            Self::Byte(byte) => std::slice::from_ref(byte),
            Self::Text(text) => text,
            Self::Blanks => b" ",
        }
    }

    /// Whether it is anywhere in some text.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        match self {
            Self::Blanks => text.iter().any(|byte| matches!(byte, b' ' | b'\t')),
            other => memmem::find(text, other.joint()).is_some(),
        }
    }

    /// As it is typed: what reads as the same delimiter.
    pub(super) fn typed(&self) -> String {
        match self {
            Self::Byte(b'\t') => "\\t".to_owned(),
            Self::Blanks => "\\s+".to_owned(),
            other => String::from_utf8_lossy(other.joint()).into_owned(),
        }
    }
}

impl FromStr for Delimiter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"\\t" => Ok(Self::Byte(b'\t')),
            b"\\s+" => Ok(Self::Blanks),
            [] => Err("some text such as , or :: is expected".to_owned()),
            text if text.contains(&b'\n') || text == b"\"" => {
                Err("a delimiter is neither a line end nor a quote".to_owned())
            }
            [byte] => Ok(Self::Byte(*byte)),
            text => Ok(Self::Text(text.to_vec())),
        }
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => byte.escape_ascii().fmt(f),
            Self::Text(text) => text.escape_ascii().fmt(f),
            Self::Blanks => f.write_str("\\s+"),
        }
    }
}

/// A field, or some in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// From 0.
    One(usize),
    Range(Range<usize>),
    From(usize),
    /// Of CSV, by the first record.
    Named(String),
}

/// The fields that `-f` names, such as `3`, `1,4-6` or, if they have names, `host,port`; none if it
/// makes no sense.
pub(super) fn picks(text: &str, named: bool) -> Option<Vec<Pick>> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|&number| number > 0).map(|n| n - 1);
    let pick = |text: &str| match text.split_once('-') {
        None => number(text).map(Pick::One),
        Some(("", "")) => None,
        Some(("", last)) => number(last).map(|last| Pick::Range(0..last + 1)),
        Some((first, "")) => number(first).map(Pick::From),
        Some((first, last)) => match (number(first)?, number(last)?) {
            (first, last) if first <= last => Some(Pick::Range(first..last + 1)),
            _ => None,
        },
    };
    let name = |text: &str| (named && !text.is_empty()).then(|| Pick::Named(text.to_owned()));
    text.split(',').map(|text| pick(text).or_else(|| name(text))).collect()
}

impl Pick {
    /// Hands the number of each field to `take`, and whether it is the first; false if a record of
    /// `count` fields lacks one.
    pub(super) fn each(picks: &[Self], count: usize, mut take: impl FnMut(usize, bool)) -> bool {
        let mut first = true;
        for pick in picks {
            let range = match pick {
                Self::One(at) => *at..at + 1,
                Self::Range(range) => range.clone(),
                Self::From(at) => *at..count.max(at + 1),
                Self::Named(_) => return false, // has a number before records are read
            };
            if range.end > count {
                return false;
            }
            for at in range {
                take(at, first);
                first = false;
            }
        }
        true
    }
}

/// Where the fields of a record are.
#[derive(Default)]
pub(super) struct Split(Vec<Range<usize>>);

impl Split {
    /// Finds all fields.
    pub(super) fn fields(&mut self, record: &[u8], delimiter: &Delimiter) {
        self.0.clear();
        match delimiter {
            Delimiter::Byte(byte) => self.between(record, memchr_iter(*byte, record), 1),
            Delimiter::Text(text) => self.between(record, memmem::find_iter(record, text), text.len()),
            Delimiter::Blanks => {
                let mut start = 0;
                for word in record.split(u8::is_ascii_whitespace) {
                    if !word.is_empty() {
                        self.0.push(start..start + word.len());
                    }
                    start += word.len() + 1;
                }
            }
        }
    }

    fn between(&mut self, record: &[u8], marks: impl Iterator<Item = usize>, len: usize) {
        let mut start = 0;
        for mark in marks {
            self.0.push(start..mark);
            start = mark + len;
        }
        self.0.push(start..record.len());
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, at: usize) -> Range<usize> {
        self.0[at].clone()
    }
}
