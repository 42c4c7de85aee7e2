//! Values of a JSON line, found where they stand: documents keep their bytes.

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::{RawValue, Value};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A key of a line, by its path: `text`, or `metadata.url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads `a.b` as the key `b` of the object under `a`. A leading `$.`, as jq and dolma have it,
    /// is accepted.
    pub fn new(text: &str) -> Self {
        Self(text.strip_prefix("$.").unwrap_or(text).split('.').map(str::to_owned).collect())
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bad {
    /// No JSON object.
    Json,
    /// The key is missing, or what it holds is no text.
    Key,
    /// The line is longer than is accepted.
    Long,
    /// Invalid UTF-8.
    Utf8,
}

impl Bad {
    /// All of them.
    pub const ALL: [Bad; 4] = [Bad::Json, Bad::Key, Bad::Long, Bad::Utf8];

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Json => "no JSON object",
            Self::Key => "no text under the key, or the key occurs twice",
            Self::Long => "longer than --max-line",
            Self::Utf8 => "invalid UTF-8",
        }
    }

    /// As a name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "broken_json",
            Self::Key => "missing_key",
            Self::Long => "too_long",
            Self::Utf8 => "invalid_utf8",
        }
    }
}

/// Finds the raw values of these paths in a line; an error if the line is no object or a wanted key
/// occurs twice.
pub fn find<'a, const N: usize>(
    line: &'a str,
    paths: &[Option<&KeyPath>; N],
) -> Result<[Option<&'a str>; N], Bad> {
    struct Wanted<'p, const N: usize>(&'p [Option<&'p KeyPath>; N], usize);
    impl<'de, const N: usize> Visitor<'de> for Wanted<'_, N> {
        type Value = ([Option<&'de str>; N], bool);
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut found, mut twice) = ([None; N], false);
            while let Some(Text(key)) = map.next_key()? {
                let wanted = |path: &Option<&KeyPath>| {
                    path.is_some_and(|path| path.0.get(self.1).is_some_and(|part| *part == key))
                };
                if !self.0.iter().any(wanted) {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                let raw: &'de str = map.next_value::<&RawValue>()?.get();
                for (slot, path) in found.iter_mut().zip(self.0).filter(|(_, path)| wanted(path)) {
                    let deeper = path.is_some_and(|path| path.0.len() > self.1 + 1);
                    let value = if deeper { inner(raw, *path, self.1 + 1) } else { Ok(Some(raw)) };
                    match value {
                        Ok(value) if slot.is_none() => *slot = value,
                        _ => twice = true,
                    }
                }
            }
            Ok((found, twice))
        }
    }
    fn inner<'a>(raw: &'a str, path: Option<&KeyPath>, depth: usize) -> Result<Option<&'a str>, Bad> {
        if !raw.starts_with('{') {
            return Ok(None);
        }
        at(raw, &[path], depth).map(|[found]| found)
    }
    fn at<'a, const N: usize>(
        line: &'a str,
        paths: &[Option<&KeyPath>; N],
        depth: usize,
    ) -> Result<[Option<&'a str>; N], Bad> {
        let mut json = serde_json::Deserializer::from_str(line);
        let (found, twice) = json.deserialize_map(Wanted(paths, depth)).map_err(|_| Bad::Json)?;
        json.end().map_err(|_| Bad::Json)?;
        if twice { Err(Bad::Key) } else { Ok(found) }
    }
    at(line, paths, 0)
}

/// A key or text, borrowed if it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// The text that a raw value stands for; none if it is no text.
pub fn text(raw: &str) -> Option<Cow<'_, str>> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str::<Text<'_>>(raw).ok().map(|text| text.0)
}

/// One form for all JSON of the same value, so that files and programs agree on it: no white space,
/// names in order, and numbers by value (`1`, `1.0` and `1e0` are one). None if it cannot be read.
pub fn canonical(raw: &str) -> Option<String> {
    // Every integral double below 2^64 is an integer exactly; serde_json reads larger integers as doubles.
    fn number(value: &mut Value) {
        match value {
            Value::Number(number) => {
                if let Some(double) =
                    number.as_f64().filter(|double| number.is_f64() && double.fract() == 0.0)
                {
                    if (0.0..2f64.powi(64)).contains(&double) {
                        *value = (double as u64).into();
                    } else if (-2f64.powi(63)..0.0).contains(&double) {
                        *value = (double as i64).into();
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(number),
            Value::Object(values) => {
                values.values_mut().for_each(number);
                values.sort_keys(); // they are, unless another crate asks serde_json for their own order
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut value = serde_json::from_str(raw).ok()?;
    number(&mut value);
    Some(value.to_string())
}

/// The same, with room for texts that have escapes: between them the bytes are copied as they
/// stand.
pub fn decode<'a>(raw: &'a str, room: &'a mut String) -> Option<&'a str> {
    let mut rest = raw.strip_prefix('"')?.strip_suffix('"')?;
    room.clear();
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        room.push_str(&rest[..at]);
        let (length, character) = unescape(&rest.as_bytes()[at..])?;
        room.push(character);
        rest = rest.get(at + length..)?;
    }
    if room.is_empty() {
        return Some(rest);
    }
    room.push_str(rest);
    Some(room)
}

/// The length of an escape, and what it stands for; none if that is half of a character.
fn unescape(bytes: &[u8]) -> Option<(usize, char)> {
    let character = match bytes.get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let unit = |at: usize| {
                let digits =
                    bytes.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
                u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
            };
            let first = unit(2)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((6, char::from_u32(first)?));
            }
            let second =
                unit(8).filter(|second| bytes[6..8] == *b"\\u" && (0xdc00..0xe000).contains(second))?;
            return Some((12, char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?));
        }
        other @ (b'"' | b'\\' | b'/') => char::from(*other),
        _ => return None,
    };
    Some((2, character))
}

/// Where pieces of a text stand within its raw value: `spans` are in bytes of the text, ascending,
/// and do not overlap.
pub fn raw_spans(raw: &str, spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = raw.as_bytes();
    let (mut at, mut decoded) = (1, 0); // behind the quote
    let mut seek = |target: usize| {
        while decoded < target {
            let (raw_len, len) = match bytes[at] {
                b'\\' => escape(&bytes[at..]),
                _ => {
                    // All up to the next escape is itself.
                    let run = memchr::memchr(b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
                    let run = run.min(target - decoded);
                    (run, run)
                }
            };
            at += raw_len;
            decoded += len;
        }
        at
    };
    spans.iter().map(|span| seek(span.start)..seek(span.end)).collect()
}

/// Lengths of an escape, and of what it stands for.
fn escape(bytes: &[u8]) -> (usize, usize) {
    if bytes[1] != b'u' {
        return (2, 1);
    }
    let digits = |at: usize| {
        let digits = bytes.get(at..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    match digits(2) {
        0xd800..=0xdbff => (12, 4),
        other => (6, char::from_u32(other).map_or(3, char::len_utf8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<'a>(line: &'a str, path: &str) -> Result<Option<&'a str>, Bad> {
        find(line, &[Some(&KeyPath::new(path))]).map(|[found]| found)
    }

    #[test]
    fn values_are_found_where_they_stand() {
        let line =
            r#"{"id": 7, "te\u0078t": "a\nb", "meta": {"url": "u", "text": 1}, "list": [{"text": 0}]}"#;
        assert_eq!(one(line, "text"), Ok(Some(r#""a\nb""#)));
        assert_eq!(one(line, "meta.url"), Ok(Some(r#""u""#)));
        assert_eq!(one(line, "$.id"), Ok(Some("7")));
        assert_eq!((one(line, "none"), one(line, "id.more")), (Ok(None), Ok(None)));
        for broken in
            ["", "[]", "{", r#"{"text": "a" "b"}"#, r#"{"text": "a"} x"#, "7", r#"{"text": "\ud800"}x"#]
        {
            assert_eq!(one(broken, "text"), Err(Bad::Json), "{broken}");
        }
        assert_eq!(one(r#"{"text": 1, "text": 2}"#, "text"), Err(Bad::Key));
    }

    #[test]
    fn equal_values_have_one_form() {
        for same in [
            &["1", "1.0", "1e0", "10e-1", " 1 "][..],
            &["100", "1e2", "1E+2", "100.00"],
            &["0", "-0", "-0.0", "0e5"],
            &["-3", "-3.0"],
            &["9007199254740993"],
            &["9007199254740992", "9007199254740992.0"],
            &["1e30", "1000000000000000000000000000000"],
            &["0.5", "5e-1", "0.50"],
            &["true"],
            &[
                r#"{"b": [1.0, {"y": "é", "x": null}], "a": 2}"#,
                r#"{"a":2e0,"b":[1,{"x":null,"y":"\u00e9"}]}"#,
            ],
            &[r#"["1"]"#],
            &["[1]"],
        ] {
            let form = canonical(same[0]).unwrap();
            assert!(same.iter().all(|other| canonical(other).as_ref() == Some(&form)), "{same:?}: {form}");
        }
        assert_ne!(canonical("9007199254740993"), canonical("9007199254740992"));
        assert_ne!(canonical("[1]"), canonical(r#"["1"]"#));
        assert_eq!((canonical("NaN"), canonical(r#"["\ud800"]"#)), (None, None));
    }

    /// The quick way must give what the parser gives: for all escapes, halves of characters, and
    /// what surrounds them.
    #[test]
    fn texts_are_decoded_as_the_parser_does() {
        let pieces = [
            "a",
            "é🌹",
            r"\n",
            r"\t",
            r"\r",
            r"\b",
            r"\f",
            r#"\""#,
            r"\\",
            r"\/",
            r"\u0041",
            r"\u00e9",
            r"\u0000",
            r"\ud83c\udf39",
            r"\uD83C\uDF39",
            r"\ud83c",
            r"\udf39",
            r"\ud83cx",
            r"\ud83c\u0041",
            r"\ud83c\n",
        ];
        let mut room = String::new();
        for first in pieces {
            for second in pieces {
                for raw in [
                    format!("\"{first}{second}\""),
                    format!("\"{first} x {second}\""),
                    format!("\"{first}\""),
                ] {
                    assert_eq!(decode(&raw, &mut room), text(&raw).as_deref(), "{raw}");
                }
            }
        }
        assert_eq!(decode("7", &mut room), None);
        assert_eq!(decode("\"\"", &mut room), Some(""));
    }

    #[test]
    fn spans_of_a_text_are_found_in_its_raw_value() {
        let raw = r#""a\n\u00e9\ud83c\udf39é\"end\\""#;
        let decoded = text(raw).unwrap();
        assert_eq!(decoded, "a\néé\"end\\".replace("éé", "é🌹é"));
        let starts: Vec<usize> = decoded.char_indices().map(|(at, _)| at).chain([decoded.len()]).collect();
        for (at, &start) in starts.iter().enumerate() {
            for &end in &starts[at..] {
                let raw_span = raw_spans(raw, std::slice::from_ref(&(start..end))).remove(0);
                let again = format!("\"{}\"", &raw[raw_span]);
                assert_eq!(text(&again).unwrap(), decoded[start..end]);
            }
        }
        assert_eq!(text("7"), None);
    }
}
