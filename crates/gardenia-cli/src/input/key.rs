//! What of a record is its key. All subcommands read keys in one way, so that they agree.
//!
//! A record may have no key: too few fields, no such JSON value. It is in no filter, and is never taken for
//! another one's repeat. How many there were is said at the end of each input.

use super::batch::{Batch, Odd};
use super::record::{Block, Form, MAX_RECORD};
use crate::human;
use crate::message::hinted;
use gardenia::{Digest, KeyHasher};
use memchr::memchr_iter;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sha1::Digest as _;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

const HEADING: &str = "Keys out of records";

/// How a record gives its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct KeyArgs {
    /// The key is this field, from 1; with --csv also its name in the first record [default: the whole record]
    #[arg(short, long, value_name = "N", help_heading = HEADING)]
    pub(crate) field: Option<String>,

    /// The byte between fields, or \t [default: a tab, with --csv a comma]
    #[arg(long, value_name = "C", value_parser = delimiter, help_heading = HEADING)]
    pub(crate) delimiter: Option<u8>,

    /// Fields may be quoted and hold line ends; the first record names them, has no key and is always printed
    #[arg(long, help_heading = HEADING)]
    pub(crate) csv: bool,

    /// The first record of --csv is one like the others
    #[arg(long, requires = "csv", help_heading = HEADING)]
    pub(crate) no_header: bool,

    /// Records are JSON, and the key is the value at PATH: id, user.id, or a JSON pointer /user/id
    #[arg(long, value_name = "PATH", conflicts_with_all = ["field", "delimiter", "csv"], help_heading = HEADING)]
    pub(crate) json_key: Option<String>,

    /// Records end in a NUL byte, not in a line end
    #[arg(short = '0', long, help_heading = HEADING)]
    pub(crate) null: bool,

    /// Take ASCII capitals for small letters
    #[arg(short, long, help_heading = HEADING)]
    pub(crate) ignore_case: bool,

    /// Leave out white space around a key
    #[arg(long, help_heading = HEADING)]
    pub(crate) trim: bool,

    /// Lines end in CR LF: leave out the CR
    #[arg(long, help_heading = HEADING)]
    pub(crate) crlf: bool,

    /// Pass over records whose key is empty, as if they were not there
    #[arg(long, help_heading = HEADING)]
    pub(crate) skip_empty: bool,

    /// The key is the hash of what it would be, in hexadecimal digits: for lists of hashed passwords
    #[arg(long, value_enum, help_heading = HEADING)]
    pub(crate) hash: Option<HashName>,

    /// With capital digits
    #[arg(long, requires = "hash", help_heading = HEADING)]
    pub(crate) upper: bool,

    /// Refuse records longer than SIZE, such as 1GiB; each is held in memory, several times over [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = longest, allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) max_line: Option<u64>,

    /// Keys are whole numbers, those that programs insert as numbers: 7, +7 and 007 are one key
    #[arg(long, conflicts_with_all = ["hash", "ignore_case"], help_heading = HEADING)]
    pub(crate) int: bool,
}

/// Hash functions of published lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HashName {
    Md5,
    Sha1,
    Sha256,
}

/// A length that a record can have.
fn longest(text: &str) -> Result<u64, String> {
    human::parse_bytes(text)
        .and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("at least 1 byte is needed".to_owned()) })
}

/// One byte, or `\t`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' && *byte != b'"' => Ok(*byte),
        _ => Err("one byte such as , or : is expected, or \\t".to_owned()),
    }
}

impl KeyArgs {
    /// The options that were given, as people type them: two runs that agree in this have the same keys.
    pub(crate) fn describe(&self) -> String {
        let Self {
            field,
            delimiter,
            csv,
            no_header,
            json_key,
            null,
            ignore_case,
            trim,
            crlf,
            skip_empty,
            ..
        } = self;
        let hash = self.hash.and_then(|hash| clap::ValueEnum::to_possible_value(&hash));
        let flag = |given: &bool, name: &str| given.then(|| name.to_owned());
        let options = [
            field.as_ref().map(|field| format!("--field {field}")),
            delimiter.map(|byte| format!("--delimiter {}", byte.escape_ascii())),
            flag(csv, "--csv"),
            flag(no_header, "--no-header"),
            json_key.as_ref().map(|path| format!("--json-key {path}")),
            flag(null, "--null"),
            flag(ignore_case, "--ignore-case"),
            flag(trim, "--trim"),
            flag(crlf, "--crlf"),
            flag(skip_empty, "--skip-empty"),
            hash.map(|hash| format!("--hash {}", hash.get_name())),
            flag(&self.upper, "--upper"),
            flag(&self.int, "--int"),
        ];
        let options: Vec<String> = options.into_iter().flatten().collect();
        if options.is_empty() { "whole lines".to_owned() } else { options.join(" ") }
    }

    /// What to do with records that are a key and a value: in the fields 1 and 2, unless said otherwise.
    pub(crate) fn keys_and_values(&self, value: Option<&str>) -> anyhow::Result<Keys> {
        let mut args = self.clone();
        if args.json_key.is_none() && args.field.is_none() {
            args.field = Some("1".to_owned());
        }
        let value = match (value, args.json_key.is_some()) {
            (Some(value), _) => value,
            (None, false) => "2",
            (None, true) => {
                return Err(hinted("where a record has its value is not said", "--value PATH says it"));
            }
        };
        let mut other = args.clone();
        *(if args.json_key.is_some() { &mut other.json_key } else { &mut other.field }) =
            Some(value.to_owned());
        Ok(Keys { value: Some(other.keys()?.part), ..args.keys()? })
    }

    /// What to do with records; an error if the options make no sense.
    pub(crate) fn keys(&self) -> anyhow::Result<Keys> {
        let form = Form {
            end: if self.null { 0 } else { b'\n' },
            csv: self.csv.then_some(self.delimiter.unwrap_or(b',')),
            max: usize::try_from(self.max_line.unwrap_or(MAX_RECORD)).unwrap_or(usize::MAX),
        };
        if self.delimiter.is_some() && self.field.is_none() && !self.csv {
            return Err(hinted("--delimiter is of no use without a field", "-f N says which"));
        }
        let number = |text: &str| text.parse::<usize>().ok().filter(|&number| number > 0).map(|n| n - 1);
        let part = match (&self.json_key, &self.field) {
            (Some(path), _) => KeyPart::Json(json_path(path)?),
            (None, None) => KeyPart::Whole,
            (None, Some(text)) => match (number(text), self.csv) {
                (Some(at), true) => KeyPart::Csv(at),
                (Some(at), false) => KeyPart::Field(at, self.delimiter.unwrap_or(b'\t')),
                (None, true) if !self.no_header => KeyPart::Named(text.clone()),
                _ => {
                    let hint = "fields have numbers from 1; with --csv also the names of its first record";
                    return Err(hinted(format!("there is no field {text:?}"), hint));
                }
            },
        };
        let header = self.csv && !self.no_header;
        Ok(Keys { args: self.clone(), form, part, value: None, header, keyless: AtomicU64::new(0) })
    }
}

/// The steps of `user.id`, or of the JSON pointer `/user/id`.
fn json_path(text: &str) -> anyhow::Result<Vec<String>> {
    let steps: Vec<String> = match text.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect(),
        None => text.split('.').map(str::to_owned).collect(),
    };
    if text.is_empty() || (!text.starts_with('/') && steps.iter().any(String::is_empty)) {
        return Err(hinted(
            format!("{text:?} is no path to a JSON value"),
            "write it like user.id or /user/id",
        ));
    }
    Ok(steps)
}

/// The part of a record that its key is in.
#[derive(Clone, Debug)]
enum KeyPart {
    Whole,
    /// So many delimiters come before it.
    Field(usize, u8),
    Csv(usize),
    /// To be found in the first record.
    Named(String),
    Json(Vec<String>),
}

/// Finds the keys of records.
#[derive(Debug)]
pub(crate) struct Keys {
    args: KeyArgs,
    form: Form,
    part: KeyPart,
    /// Where a record has its value, if it has one.
    value: Option<KeyPart>,
    header: bool,
    keyless: AtomicU64,
}

/// Room to work in, used again for each record.
#[derive(Default)]
pub(super) struct Scratch {
    fields: Fields,
    text: Vec<u8>,
}

/// The fields of a CSV record, without their quotes, one after the other.
#[derive(Default)]
struct Fields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// How records are told apart.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Records without a key, so far in this input.
    pub(super) fn keyless(&self) -> u64 {
        self.keyless.load(Ordering::Relaxed)
    }

    /// What the keys of records that have none should have been.
    pub(super) fn missing(&self) -> String {
        match &self.part {
            KeyPart::Json(path) => format!("no JSON value at {}", path.join(".")),
            KeyPart::Field(at, _) | KeyPart::Csv(at) => format!("no field {}", at + 1),
            KeyPart::Named(name) => format!("no field {name}"),
            KeyPart::Whole => "no key".to_owned(),
        }
    }

    /// For an input that begins with `block`: the names of CSV fields stand there.
    pub(super) fn at(&self, block: Block<'_>) -> anyhow::Result<Self> {
        let (part, value) = (self.named(&self.part, block)?, self.value.as_ref());
        let value = value.map(|value| self.named(value, block)).transpose()?;
        Ok(Self { args: self.args.clone(), part, value, keyless: AtomicU64::new(0), ..*self })
    }

    /// A part of records, by its number if it has a name.
    fn named(&self, part: &KeyPart, block: Block<'_>) -> anyhow::Result<KeyPart> {
        let KeyPart::Named(name) = part else { return Ok(part.clone()) };
        let mut header = None;
        block.each(|record| _ = header.get_or_insert(record));
        let header = header.unwrap_or_default();
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header); // a byte order mark
        let mut fields = Fields::default();
        let count = fields.parse(self.form, header);
        let field = |at: usize| fields.get(at).trim_ascii();
        let found = (0..count).find(|&at| field(at) == name.as_bytes());
        found.map(KeyPart::Csv).ok_or_else(|| {
            let names = (0..count.min(20)).map(|at| String::from_utf8_lossy(field(at)).into_owned());
            let hint = format!("it has {}", names.collect::<Vec<_>>().join(", "));
            hinted(format!("the first record has no field called {name:?}"), hint)
        })
    }

    /// Whether a key is all the bytes of its record.
    fn is_plain(&self) -> bool {
        let KeyArgs { ignore_case, trim, crlf, skip_empty, hash, int, .. } = &self.args;
        matches!(self.part, KeyPart::Whole)
            && !self.header
            && !(*ignore_case || *trim || *crlf || *skip_empty || *int)
            && hash.is_none()
    }

    /// Fills `batch` with the digests of a block's records.
    pub(crate) fn read(&self, hasher: &KeyHasher, block: Block<'_>, batch: &mut Batch) -> anyhow::Result<()> {
        batch.clear();
        if self.is_plain() {
            let (bytes, mut start) = (block.bytes(), 0);
            let Batch { digests, ends, .. } = batch;
            block.each_end(|end| {
                digests.push(hasher.digest(block.without_end(&bytes[start..end])));
                ends.push(end);
                start = end;
            });
            return Ok(());
        }
        let mut digests = std::mem::take(&mut batch.digests);
        let done = self.each(block, batch, |_, key| {
            digests.push(self.digest_key(hasher, key)?);
            Ok(())
        });
        batch.digests = digests;
        self.note(batch);
        done
    }

    /// Hands the digests of keys and their values to `take`.
    pub(crate) fn pairs(
        &self,
        hasher: &KeyHasher,
        block: Block<'_>,
        batch: &mut Batch,
        mut take: impl FnMut(Digest, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut fields = Fields::default();
        self.each(block, batch, |record, key| {
            let value = self.value.as_ref().and_then(|part| self.extract(part, record, &mut fields));
            let Some(value) = value else {
                let record = String::from_utf8_lossy(&record[..record.len().min(40)]).into_owned();
                return Err(hinted(
                    format!("{record:?} has no value"),
                    "--value says where it is, as -f does of the key",
                ));
            };
            take(self.digest_key(hasher, key)?, &value)
        })?;
        self.note(batch);
        Ok(())
    }

    /// Hands records and their keys to `take`, and fills `batch` but for the digests.
    fn each(
        &self,
        block: Block<'_>,
        batch: &mut Batch,
        mut take: impl FnMut(&[u8], &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        batch.clear();
        let (bytes, mut start, mut failed) = (block.bytes(), 0, Ok(()));
        let Batch { ends, odd, scratch, .. } = batch;
        block.each_end(|end| {
            let record = block.without_end(&bytes[start..end]);
            let found = match () {
                () if failed.is_err() => return,
                () if start == 0 && block.is_first() && self.header => Found::Odd(Odd::Header),
                () => self.key(record, scratch),
            };
            match found {
                Found::Key(key) => failed = take(record, key),
                Found::Odd(why) => odd.push((ends.len(), why)),
            }
            ends.push(end);
            start = end;
        });
        failed
    }

    /// Finds the keys themselves.
    pub(crate) fn texts(&self, block: Block<'_>, found: &mut KeyTexts) -> anyhow::Result<()> {
        self.texts_too(block, found)?;
        self.note(&found.batch);
        Ok(())
    }

    /// As [`texts`](Self::texts), of a block that was [`read`](Self::read).
    pub(crate) fn texts_too(&self, block: Block<'_>, found: &mut KeyTexts) -> anyhow::Result<()> {
        found.plain = self.is_plain();
        if found.plain {
            return Ok(());
        }
        found.bytes.clear();
        found.ends.clear();
        let KeyTexts { batch, bytes, ends, .. } = found;
        self.each(block, batch, |_, key| {
            bytes.extend_from_slice(key);
            ends.push(bytes.len());
            Ok(())
        })
    }

    /// Counts the records without a key.
    fn note(&self, batch: &Batch) {
        let keyless = batch.odd.iter().filter(|(_, why)| *why == Odd::Keyless).count();
        self.keyless.fetch_add(keyless as u64, Ordering::Relaxed);
    }

    /// The digest of one record's key, if it has one.
    pub(crate) fn digest(&self, hasher: &KeyHasher, record: &[u8]) -> anyhow::Result<Option<Digest>> {
        match self.key(record, &mut Scratch::default()) {
            Found::Key(key) => self.digest_key(hasher, key).map(Some),
            Found::Odd(_) => Ok(None),
        }
    }

    fn digest_key(&self, hasher: &KeyHasher, key: &[u8]) -> anyhow::Result<Digest> {
        if self.args.int { Ok(hasher.digest_key(&integer(key)?)) } else { Ok(hasher.digest(key)) }
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Scratch) -> Found<'a> {
        if self.form.csv.is_some() && self.line(record).is_empty() {
            return Found::Odd(Odd::LeftOut); // a blank line
        }
        let Scratch { fields, text } = scratch;
        match self.extract(&self.part, record, fields) {
            Some(key) => self.normal(key, text),
            None => Found::Odd(Odd::Keyless),
        }
    }

    /// A record without the carriage return that belongs to its end.
    fn line<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let crlf = self.args.crlf || self.form.csv.is_some();
        if crlf { record.strip_suffix(b"\r").unwrap_or(record) } else { record }
    }

    /// A part of a record, as it stands there.
    fn extract<'a>(&self, part: &KeyPart, record: &'a [u8], fields: &'a mut Fields) -> Option<Cow<'a, [u8]>> {
        let record = self.line(record);
        match part {
            KeyPart::Whole => Some(record.into()),
            KeyPart::Field(at, delimiter) => field(record, *at, *delimiter).map(Cow::Borrowed),
            KeyPart::Csv(at) => {
                let count = fields.parse(self.form, record);
                (*at < count).then(|| Cow::Borrowed(fields.get(*at)))
            }
            KeyPart::Named(_) => None, // has a number before records are read
            KeyPart::Json(path) => json_value(record, path),
        }
    }

    /// The key as the options want it.
    fn normal<'a>(&self, key: Cow<'a, [u8]>, text: &'a mut Vec<u8>) -> Found<'a> {
        let args = &self.args;
        let key = match (args.trim, key) {
            (false, key) => key,
            (true, Cow::Borrowed(key)) => key.trim_ascii().into(),
            (true, Cow::Owned(key)) => key.trim_ascii().to_vec().into(),
        };
        if args.skip_empty && key.is_empty() {
            return Found::Odd(Odd::LeftOut);
        }
        if !args.ignore_case
            && args.hash.is_none()
            && let Cow::Borrowed(key) = key
        {
            return Found::Key(key);
        }
        text.clear();
        text.extend_from_slice(&key);
        if args.ignore_case {
            text.make_ascii_lowercase();
        }
        if let Some(hash) = args.hash {
            let hashed = match hash {
                HashName::Md5 => md5::Md5::digest(&text).to_vec(),
                HashName::Sha1 => sha1::Sha1::digest(&text).to_vec(),
                HashName::Sha256 => sha2::Sha256::digest(&text).to_vec(),
            };
            let digits = if args.upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
            text.clear();
            text.extend(
                hashed.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| digits[usize::from(digit)]),
            );
        }
        Found::Key(text)
    }
}

/// The keys of a block.
#[derive(Default)]
pub(crate) struct KeyTexts {
    batch: Batch,
    /// They are the block's records.
    plain: bool,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyTexts {
    /// The keys, in order, of the block they were found in.
    pub(crate) fn slices<'a>(&'a self, block: Block<'a>) -> Vec<&'a [u8]> {
        let mut slices = Vec::new();
        if self.plain {
            block.each(|record| slices.push(record));
        } else {
            let starts = std::iter::once(0).chain(self.ends.iter().copied());
            slices.extend(starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]));
        }
        slices
    }
}

/// What a record gave.
enum Found<'a> {
    Key(&'a [u8]),
    Odd(Odd),
}

/// The field after `at` delimiters.
fn field(record: &[u8], at: usize, delimiter: u8) -> Option<&[u8]> {
    let mut marks = memchr_iter(delimiter, record);
    let start = match at.checked_sub(1) {
        Some(before) => marks.nth(before)? + 1,
        None => 0,
    };
    let end = marks.next().unwrap_or(record.len());
    Some(&record[start..end])
}

impl Fields {
    /// Parses a record; how many fields it has.
    fn parse(&mut self, form: Form, record: &[u8]) -> usize {
        let Self { bytes, ends } = self;
        // Without its quotes nothing is longer.
        bytes.resize(bytes.len().max(record.len() + 1), 0);
        ends.resize(ends.len().max(16), 0);
        loop {
            let mut parser = form.parser();
            let (first, read, written, count) = parser.read_record(record, bytes, ends);
            // The record ends where the input does, and an empty input says so.
            let (second, _, _, more) = match first {
                csv_core::ReadRecordResult::InputEmpty => {
                    parser.read_record(&record[read..], &mut bytes[written..], &mut ends[count..])
                }
                first => (first, 0, 0, 0),
            };
            match second {
                csv_core::ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                csv_core::ReadRecordResult::OutputFull => bytes.resize(2 * bytes.len(), 0),
                _ => return count + more,
            }
        }
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }
}

/// The value at a path: the text of a string, and other values as they are written.
fn json_value<'a>(record: &'a [u8], path: &[String]) -> Option<Cow<'a, [u8]>> {
    let mut reader = serde_json::Deserializer::from_slice(record);
    let raw = At(path).deserialize(&mut reader).ok().flatten()?;
    reader.end().ok()?;
    let text = raw.get();
    if text.starts_with('"') {
        return match serde_json::from_str::<Text<'a>>(text).ok()?.0 {
            Cow::Borrowed(text) => Some(Cow::Borrowed(text.as_bytes())),
            Cow::Owned(text) => Some(Cow::Owned(text.into_bytes())),
        };
    }
    (text != "null").then_some(Cow::Borrowed(text.as_bytes()))
}

/// A string, copied only if it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads the value at a path and passes over all others.
#[derive(Clone, Copy)]
struct At<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<&'de RawValue>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(deserializer).map(Some),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<Text<'de>>()? {
            match self.0.split_first() {
                Some((step, rest)) if *step == name.0 => found = map.next_value_seed(At(rest))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut at) = (None, 0);
        let (step, rest) =
            self.0.split_first().map_or((None, self.0), |(step, rest)| (step.parse().ok(), rest));
        loop {
            if step == Some(at) {
                match seq.next_element_seed(At(rest))? {
                    Some(value) => found = value,
                    None => return Ok(found),
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    // A path that goes on where the value ends leads nowhere; that is no fault of the record.
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A whole number from -2⁶³ to 2⁶⁴ - 1, as the 64 bits that stand for it.
fn integer(text: &[u8]) -> anyhow::Result<u64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i128>().ok());
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    number.filter(|number| range.contains(number)).map(|number| number as u64).ok_or_else(|| {
        let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        hinted(format!("{text:?} is not a whole number of 64 bits"), "without --int any line is a key")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of one record, as text.
    fn key(args: KeyArgs, record: &str) -> Option<String> {
        let keys = args.keys().unwrap();
        match keys.key(record.as_bytes(), &mut Scratch::default()) {
            Found::Key(key) => Some(String::from_utf8(key.to_vec()).unwrap()),
            Found::Odd(_) => None,
        }
    }

    fn check(args: &KeyArgs, cases: &[(&str, Option<&str>)]) {
        for (record, expected) in cases {
            assert_eq!(key(args.clone(), record).as_deref(), *expected, "{args:?} {record:?}");
        }
    }

    #[test]
    fn numbers_are_the_keys_that_programs_insert() {
        let (hasher, keys) =
            (KeyHasher::default(), KeyArgs { int: true, ..KeyArgs::default() }.keys().unwrap());
        let digest = |text: &str| keys.digest(&hasher, text.as_bytes()).ok().flatten();
        assert_eq!(digest("7"), Some(hasher.digest_key(&7u8)));
        assert_eq!([" +007\r", "7"].map(digest), [digest("7"); 2]);
        assert_eq!(digest("-1"), Some(hasher.digest_key(&-1i32)));
        assert_eq!(digest("18446744073709551615"), digest("-1")); // by design: 64 bits
        assert_eq!(digest("-9223372036854775808"), Some(hasher.digest_key(&i64::MIN)));
        for text in ["", "x", "1.5", "18446744073709551616", "-9223372036854775809", "1 2", "0x7"] {
            assert_eq!(digest(text), None, "{text}");
        }
    }

    #[test]
    fn fields_are_counted_from_one() {
        let field = |n: &str, delimiter| KeyArgs { field: Some(n.into()), delimiter, ..KeyArgs::default() };
        check(&field("1", None), &[("a\tb", Some("a")), ("a", Some("a")), ("", Some("")), ("\tb", Some(""))]);
        check(&field("2", Some(b':')), &[("a:b:c", Some("b")), ("a:", Some("")), ("a", None)]);
        check(&field("3", Some(b' ')), &[("a b c", Some("c")), ("a  c", Some("c")), ("a b", None)]);
        assert!(field("0", None).keys().is_err() && field("x", None).keys().is_err());
    }

    #[test]
    fn csv_fields_lose_their_quotes() {
        let csv = |n: &str, crlf| KeyArgs { csv: true, field: Some(n.into()), crlf, ..KeyArgs::default() };
        check(
            &csv("2", false),
            &[
                ("a,b,c", Some("b")),
                ("a,\"b,\"\"x\"\"\ny\",c", Some("b,\"x\"\ny")),
                ("a,\"b\"\r", Some("b")),
                ("a,", Some("")),
                ("a", None),
                ("", None),
            ],
        );
        let many = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        check(&csv("1000", false), &[(&many, Some("999"))]);
        check(&csv("16", false), &[(&many, Some("15"))]);
    }

    #[test]
    fn json_values_are_found_by_their_path() {
        let json = |path: &str| KeyArgs { json_key: Some(path.into()), ..KeyArgs::default() };
        check(
            &json("id"),
            &[
                (r#"{"id":"rose"}"#, Some("rose")),
                (r#" {"a":[1,{"id":2}], "id" : 7.50 } "#, Some("7.50")),
                (r#"{"id":"\u0072ose\n"}"#, Some("rose\n")),
                (r#"{"i\u0064":true}"#, Some("true")),
                (r#"{"id":{"a": 1}}"#, Some(r#"{"a": 1}"#)),
                (r#"{"id":null}"#, None),
                (r#"{"other":1}"#, None),
                (r#"{"id":1"#, None),
                (r#"{"id":1} x"#, None),
                ("[1]", None),
                ("1", None),
                ("rose", None),
                ("", None),
            ],
        );
        let nested = r#"{"user":{"tags":["a","b"],"x/y":3,"id":"4"}}"#;
        for (path, expected) in
            [("user.id", Some("4")), ("user.tags.1", Some("b")), ("user.tags.2", None), ("user.id.x", None)]
        {
            check(&json(path), &[(nested, expected)]);
        }
        check(&json("/user/x~1y"), &[(nested, Some("3"))]);
        assert!(["", "a..b", "."].iter().all(|path| json(path).keys().is_err()));
    }

    #[test]
    fn keys_are_made_alike() {
        let default = KeyArgs::default;
        check(&default(), &[(" A\r", Some(" A\r"))]);
        check(&KeyArgs { crlf: true, ..default() }, &[(" A\r", Some(" A")), ("A\r\r", Some("A\r"))]);
        check(&KeyArgs { trim: true, ..default() }, &[(" A \r", Some("A")), (" ", Some(""))]);
        check(&KeyArgs { ignore_case: true, ..default() }, &[("RoSE", Some("rose")), ("É", Some("É"))]);
        check(
            &KeyArgs { skip_empty: true, trim: true, ..default() },
            &[(" ", None), ("", None), ("a", Some("a"))],
        );
        let sha1 = KeyArgs { hash: Some(HashName::Sha1), upper: true, ..default() };
        check(&sha1, &[("password", Some("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"))]);
        let md5 = KeyArgs { hash: Some(HashName::Md5), ignore_case: true, ..default() };
        check(&md5, &[("PassWord", Some("5f4dcc3b5aa765d61d8327deb882cf99"))]);
        let sha256 = KeyArgs { hash: Some(HashName::Sha256), ..default() };
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        check(&sha256, &[("", Some(empty))]);
    }
}
