//! What of a record is its key. All subcommands read keys in one way, so that they agree.
//!
//! A record may have no key: too few fields, no such JSON value. It is in no filter, and is never
//! taken for another one's repeat. How many there were, and where the first is, is reported at the
//! end of each input.

use super::batch::{Batch, Odd};
use super::fields::{Delimiter, Pick, Split, picks};
use super::indicator::{is_defanged, is_pattern};
use super::record::{Block, Form, MAX_RECORD};
use crate::human;
use crate::message::{hinted, say};
use gardenia::{Digest, KeyHasher};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sha1::Digest as _;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const HEADING: &str = "Keys out of records";

/// How a record gives its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct KeyArgs {
    /// The key is this field, from 1; several as 1,3-5 are joined
    ///
    /// With --csv a field is also called by its name in the first record. 0 is the whole record,
    /// which is the default.
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = HEADING)]
    pub(crate) field: Option<String>,

    /// The text between fields; \t is a tab, \s+ any white space [default: tab, or comma]
    #[arg(long, value_name = "TEXT", help_heading = HEADING)]
    pub(crate) delimiter: Option<Delimiter>,

    /// Records are CSV: fields may be quoted, and the first record names them
    ///
    /// Quoted fields may hold line ends. The first record has no key and is always printed.
    #[arg(long, help_heading = HEADING)]
    pub(crate) csv: bool,

    /// The CSV file has no header row
    #[arg(long, hide_short_help = true, help_heading = HEADING)]
    pub(crate) no_header: bool,

    /// Records are JSON; the key is the value at PATH, such as user.id
    ///
    /// A path such as id or user.id, or a JSON pointer such as /user/id.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["field", "delimiter", "csv"], help_heading = HEADING)]
    pub(crate) json_key: Option<String>,

    /// Records end with a NUL byte instead of a line end
    #[arg(short = '0', long, hide_short_help = true, help_heading = HEADING)]
    pub(crate) null: bool,

    /// Ignore ASCII case
    #[arg(short, long, help_heading = HEADING)]
    pub(crate) ignore_case: bool,

    /// Strip leading and trailing white space from keys
    #[arg(long, help_heading = HEADING)]
    pub(crate) trim: bool,

    /// Lines end in CR LF; the CR is not part of the key
    #[arg(long, hide_short_help = true, help_heading = HEADING)]
    pub(crate) crlf: bool,

    /// Skip records whose key is empty
    #[arg(long, hide_short_help = true, help_heading = HEADING)]
    pub(crate) skip_empty: bool,

    /// Hash each key, and use the hexadecimal digest instead
    ///
    /// For lists of hashed passwords, for example.
    #[arg(long, value_enum, help_heading = HEADING)]
    pub(crate) hash: Option<HashName>,

    /// Use upper-case hexadecimal digits with --hash
    #[arg(long, requires = "hash", hide_short_help = true, help_heading = HEADING)]
    pub(crate) upper: bool,

    /// Refuse records longer than SIZE, such as 1GiB; each is held in memory, several times over
    /// [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = longest, allow_negative_numbers = true, hide_short_help = true, help_heading = HEADING)]
    pub(crate) max_line: Option<u64>,

    /// Parse keys as 64-bit integers, as programs insert them: 7, +7 and 007 are the same key
    #[arg(long, conflicts_with_all = ["hash", "ignore_case"], hide_short_help = true, help_heading = HEADING)]
    pub(crate) int: bool,

    /// What of this the filter says, and not the command line.
    #[arg(skip)]
    pub(crate) inherited: Inherited,
}

/// Where keys are in records, as far as the filter says it and not the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    /// Some of it.
    pub(crate) some: bool,
    /// What is between the fields that the command line names.
    pub(crate) delimiter: bool,
    /// That records end in NUL.
    pub(crate) null: bool,
}

/// Hash functions of published lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HashName {
    Md5,
    Sha1,
    Sha256,
    Sha512,
    /// MD4 of the text in UTF-16, as Windows stores passwords
    Ntlm,
}

/// A length that a record can have.
fn longest(text: &str) -> Result<u64, String> {
    human::parse_bytes(text)
        .and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("at least 1 byte is needed".to_owned()) })
}

impl KeyArgs {
    /// The options that were given, as people type them: two runs that agree in this have the same
    /// keys.
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
            delimiter.as_ref().map(|delimiter| format!("--delimiter {delimiter}")),
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

    /// What to do with records that are a key and a value: in the fields 1 and 2, unless said
    /// otherwise.
    pub(crate) fn keys_and_values(&self, value: Option<&str>) -> anyhow::Result<Keys> {
        let mut args = self.clone();
        if args.json_key.is_none() && args.field.is_none() {
            args.field = Some("1".to_owned());
        }
        let value = match (value, args.json_key.is_some()) {
            (Some(value), _) => value,
            (None, false) => "2",
            (None, true) => {
                return Err(hinted("--json-key needs the path of the value", "add --value PATH"));
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
            csv: self.csv.then(|| self.csv_delimiter()).transpose()?,
            max: usize::try_from(self.max_line.unwrap_or(MAX_RECORD)).unwrap_or(usize::MAX),
        };
        if self.delimiter.is_some() && self.field.is_none() && !self.csv {
            return Err(hinted("--delimiter needs a field", "add -f N"));
        }
        if self.no_header && !self.csv {
            return Err(hinted("--no-header needs --csv", "add --csv"));
        }
        let part = match (&self.json_key, &self.field) {
            (Some(path), _) => KeyPart::Json(json_path(path)?),
            (None, None) => KeyPart::Whole,
            (None, Some(text)) if text == "0" => KeyPart::Whole,
            (None, Some(text)) => self.fields(text)?,
        };
        let header = self.csv && !self.no_header;
        let args = self.clone();
        let (flaws, tell, seen) = (Flaws::default(), Tell::default(), Arc::default());
        Ok(Keys { args, form, part, value: None, header, flaws, tell, seen })
    }
}

impl KeyArgs {
    /// What is between the fields of CSV.
    pub(super) fn csv_delimiter_or_default(&self) -> Delimiter {
        self.delimiter.clone().unwrap_or(Delimiter::Byte(b','))
    }

    /// The one byte between the fields of CSV.
    fn csv_delimiter(&self) -> anyhow::Result<u8> {
        match self.csv_delimiter_or_default() {
            Delimiter::Byte(byte) => Ok(byte),
            other => {
                let reason = format!("with --csv the delimiter is one byte, not {other}");
                Err(hinted(reason, "leave out --csv, or change --delimiter"))
            }
        }
    }

    /// The fields that `-f` names.
    fn fields(&self, text: &str) -> anyhow::Result<KeyPart> {
        let named = self.csv && !self.no_header;
        let Some(picks) = picks(text, named) else {
            let hint = "fields have numbers from 1; with --csv also the names of its first record";
            return Err(hinted(format!("there is no field {text:?}"), hint));
        };
        Ok(match (&*picks, self.csv, &self.delimiter) {
            (_, true, _) if picks.iter().any(|pick| matches!(pick, Pick::Named(_))) => {
                KeyPart::Named(text.to_owned(), picks)
            }
            ([Pick::One(at)], true, _) => KeyPart::Csv(*at),
            (_, true, _) => KeyPart::CsvFields(picks),
            ([Pick::One(at)], false, None) => KeyPart::Field(*at, b'\t'),
            ([Pick::One(at)], false, Some(Delimiter::Byte(byte))) => KeyPart::Field(*at, *byte),
            (_, false, delimiter) => {
                KeyPart::Fields(picks, delimiter.clone().unwrap_or(Delimiter::Byte(b'\t')))
            }
        })
    }
}

/// The steps of `user.id`, or of the JSON pointer `/user/id`.
fn json_path(text: &str) -> anyhow::Result<Vec<String>> {
    let steps: Vec<String> = match text.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect(),
        // As jq writes it, too: .user.id
        None => text.strip_prefix('.').unwrap_or(text).split('.').map(str::to_owned).collect(),
    };
    if text.is_empty() || (!text.starts_with('/') && steps.iter().any(String::is_empty)) {
        return Err(hinted(
            format!("{text:?} is not a valid JSON path"),
            "write it like user.id or /user/id",
        ));
    }
    Ok(steps)
}

/// The part of a record that its key is in.
#[derive(Clone, Debug)]
enum KeyPart {
    Whole,
    /// This many delimiters come before it.
    Field(usize, u8),
    /// Several, or of a delimiter that is no single byte.
    Fields(Vec<Pick>, Delimiter),
    Csv(usize),
    CsvFields(Vec<Pick>),
    /// To be found in the first record: by all of the text, if it is one name, or by its parts.
    Named(String, Vec<Pick>),
    Json(Vec<String>),
}

/// The byte order mark of UTF-8, which some editors write at the start of a file.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reports that a file begins with a byte order mark.
pub(crate) fn warn_of_mark(name: &str) {
    say(&format!("gardenia: warning: {name}: begins with a byte order mark, which is part of its first key"));
    say(r"hint: remove it: sed '1s/^\xEF\xBB\xBF//' FILE | gardenia …");
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
    flaws: Flaws,
    tell: Tell,
    seen: Arc<Seen>,
}

/// What keys of any input have that is not seen, and keeps others from being found.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// A carriage return at the end.
    cr: AtomicBool,
    /// They are hashes with capital letters among their digits, or with small ones.
    upper: AtomicBool,
    lower: AtomicBool,
    /// One that is written for people, and its line.
    unusual: OnceLock<(String, u64)>,
}

/// The letters among the hexadecimal digits of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Digits {
    Upper,
    Lower,
}

/// Records at the start of an input whose keys are looked at more closely.
const SAMPLE: u64 = 100;

impl Seen {
    /// Whether a key ended in a carriage return.
    pub(crate) fn cr(&self) -> bool {
        self.cr.load(Ordering::Relaxed)
    }

    /// Which letters hashes had, if the keys were such, and of one kind.
    pub(super) fn digits(&self) -> Option<Digits> {
        match (self.upper.load(Ordering::Relaxed), self.lower.load(Ordering::Relaxed)) {
            (true, false) => Some(Digits::Upper),
            (false, true) => Some(Digits::Lower),
            _ => None,
        }
    }

    /// A key that no line has where it stands for others, or for itself in another form; and its
    /// line.
    pub(crate) fn unusual(&self) -> Option<&(String, u64)> {
        self.unusual.get()
    }

    fn note(&self, key: &[u8], line: u64) {
        if is_pattern(key) || is_defanged(key) {
            let key = String::from_utf8_lossy(&key[..key.len().min(40)]).into_owned();
            self.unusual.get_or_init(|| (key, line));
        }
        // MD5 and NTLM, SHA-1, SHA-256, SHA-512.
        if [32, 40, 64, 128].contains(&key.len()) && key.iter().all(u8::is_ascii_hexdigit) {
            self.upper.fetch_or(key.iter().any(u8::is_ascii_uppercase), Ordering::Relaxed);
            self.lower.fetch_or(key.iter().any(u8::is_ascii_lowercase), Ordering::Relaxed);
        }
    }
}

/// Which bytes of keys are reported that nobody sees, and that keep them from being found.
#[derive(Clone, Copy, Debug, Default)]
struct Tell {
    /// A carriage return at the end.
    cr: bool,
    /// A byte order mark before the first.
    mark: bool,
    /// Nothing, but keys are looked at more closely.
    sample: bool,
}

/// Records of an input that have no key.
#[derive(Debug, Default)]
struct Flaws {
    /// Those that have one.
    keyed: AtomicU64,
    keyless: Tally,
    /// With --int, those that are no numbers.
    no_numbers: Tally,
    /// A key ends in a carriage return.
    cr: AtomicBool,
    /// The first key begins with a byte order mark.
    mark: bool,
    /// The delimiter that the filter stores is not in its first records.
    undivided: bool,
}

/// How many there were, and the line of the first.
#[derive(Debug)]
struct Tally {
    count: AtomicU64,
    first: AtomicU64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), first: AtomicU64::new(u64::MAX) }
    }
}

impl Tally {
    fn add(&self, line: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.fetch_min(line, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Room to work in, used again for each record.
#[derive(Default)]
pub(crate) struct Scratch {
    fields: Fields,
    text: Vec<u8>,
}

/// The fields of a CSV record, without their quotes, one after the other.
#[derive(Default)]
struct Fields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Of records that are not CSV.
    split: Split,
    /// Those that make a key.
    joined: Vec<u8>,
}

impl Keys {
    /// How records are told apart.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Reports the records of the input `name` that have no key. An error if where keys are is what
    /// the filter says, and no record has one there: then nothing was looked up.
    pub(super) fn report(&self, name: &str) -> anyhow::Result<()> {
        let Flaws { keyed, keyless, no_numbers, cr, mark, undivided } = &self.flaws;
        if self.args.inherited.some && keyless.count() > 0 && keyed.load(Ordering::Relaxed) == 0 {
            let (missing, how) = (self.missing(), self.args.describe());
            let reason = format!(
                "{name}: no record has a key ({missing}) with {how}, some of it stored in the filter"
            );
            let hint = "say where the keys are here: -f N --delimiter TEXT, or -f 0 for whole lines";
            return Err(hinted(reason, hint));
        }
        let what = if self.form.end == b'\n' { "line" } else { "record" };
        for (tally, missing) in
            [(keyless, self.missing()), (no_numbers, "no whole number of 64 bits".to_owned())]
        {
            let (count, first) = (tally.count(), human::count(tally.first.load(Ordering::Relaxed)));
            match count {
                0 => {}
                1 => say(&format!("gardenia: warning: {name}: 1 record has {missing}, in {what} {first}")),
                _ => say(&format!(
                    "gardenia: warning: {name}: {} have {missing}, the first in {what} {first}",
                    human::plural(count, "record")
                )),
            }
        }
        if self.tell.cr && cr.load(Ordering::Relaxed) {
            say(&format!(
                "gardenia: warning: {name}: some lines end in CR LF, and the CR is part of their keys"
            ));
            say("hint: --crlf leaves it out");
        }
        if self.tell.mark && *mark {
            warn_of_mark(name);
        }
        if *undivided && let Some(delimiter) = &self.args.delimiter {
            say(&format!(
                "gardenia: warning: {name}: the filter was built with --delimiter {delimiter}, which is not in the first records here"
            ));
            say("hint: give the --delimiter of this input");
        }
        Ok(())
    }

    /// Reports inputs whose first key begins with a byte order mark, and notes what a filter built
    /// from them has to say of its keys.
    pub(crate) fn tell_marks(mut self) -> Self {
        (self.tell.mark, self.tell.sample) = (true, true);
        self
    }

    /// Reports inputs whose keys end in a carriage return or begin with a byte order mark: those
    /// that they are compared with have none, and would not be found.
    pub(crate) fn tell_unseen_bytes(mut self, cr: bool) -> Self {
        self.tell = Tell { cr, mark: true, sample: false };
        self
    }

    /// Whether a carriage return at the end of a record would be part of its key.
    pub(crate) fn line_ends_matter(&self) -> bool {
        self.form.csv.is_none() && !self.args.crlf && !self.args.trim && !self.args.int
    }

    fn note_cr(&self, cr: bool) {
        if cr {
            self.seen.cr.store(true, Ordering::Relaxed);
            self.flaws.cr.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a key of any input ended in a carriage return.
    pub(crate) fn saw_cr(&self) -> bool {
        self.seen.cr()
    }

    /// What was seen of the keys of all inputs.
    pub(crate) fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// What the keys of records that have none should have been.
    fn missing(&self) -> String {
        match &self.part {
            KeyPart::Json(path) => format!("no JSON value at {}", path.join(".")),
            KeyPart::Field(..)
            | KeyPart::Fields(..)
            | KeyPart::Csv(_)
            | KeyPart::CsvFields(_)
            | KeyPart::Named(..) => {
                format!("no field {}", self.args.field.as_deref().unwrap_or_default())
            }
            KeyPart::Whole => "no key".to_owned(),
        }
    }

    /// For an input that begins with `block`: the names of CSV fields stand there.
    pub(super) fn at(&self, block: Block<'_>) -> anyhow::Result<Self> {
        let (part, value) = (self.named(&self.part, block)?, self.value.as_ref());
        let value = value.map(|value| self.named(value, block)).transpose()?;
        if self.args.inherited.null && !block.bytes().contains(&0) && block.bytes().contains(&b'\n') {
            let reason = "the filter was built from records that end in NUL (-0), and there is none here";
            return Err(hinted(
                reason,
                "say where the keys are: -f 0 for whole lines, or all of it with --keys-as-given",
            ));
        }
        let (args, seen) = (self.args.clone(), Arc::clone(&self.seen));
        // The first record of CSV names its fields, and is read without the mark.
        let mark = !self.header && block.bytes().starts_with(MARK);
        let delimiter = self.args.delimiter.as_ref().filter(|_| self.args.inherited.delimiter);
        let undivided = delimiter.is_some_and(|delimiter| !delimiter.is_in(block.bytes()));
        let keys =
            Self { args, part, value, flaws: Flaws { mark, undivided, ..Flaws::default() }, seen, ..*self };
        if keys.tell.sample && keys.args.hash.is_none() {
            let (mut scratch, mut at) = (Scratch::default(), 0);
            block.each(|record| {
                at += 1;
                if at <= SAMPLE
                    && let Some(key) = keys.text_of(record, &mut scratch)
                {
                    keys.seen.note(key, at);
                }
            });
        }
        Ok(keys)
    }

    /// A part of records, by its number if it has a name.
    fn named(&self, part: &KeyPart, block: Block<'_>) -> anyhow::Result<KeyPart> {
        let KeyPart::Named(text, picks) = part else { return Ok(part.clone()) };
        let mut header = None;
        block.each(|record| _ = header.get_or_insert(record));
        let header = header.unwrap_or_default();
        let header = header.strip_prefix(MARK).unwrap_or(header);
        let mut fields = Fields::default();
        let count = fields.parse(self.form, header);
        let field = |at: usize| fields.get(at).trim_ascii();
        let find = |name: &str| (0..count).find(|&at| field(at) == name.as_bytes());
        if let Some(at) = find(text) {
            return Ok(KeyPart::Csv(at));
        }
        let number = |pick: &Pick| match pick {
            Pick::Named(name) => find(name).map(Pick::One).ok_or_else(|| {
                let names = (0..count.min(20)).map(|at| String::from_utf8_lossy(field(at)).into_owned());
                let hint = format!("it has {}", names.collect::<Vec<_>>().join(", "));
                hinted(format!("the first record has no field called {name:?}"), hint)
            }),
            pick => Ok(pick.clone()),
        };
        let picks = picks.iter().map(number).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(if let [Pick::One(at)] = picks[..] { KeyPart::Csv(at) } else { KeyPart::CsvFields(picks) })
    }

    /// Whether a key is all the bytes of its record.
    pub(crate) fn is_plain(&self) -> bool {
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
            let mut cr = false;
            block.each_end(|end| {
                let record = block.without_end(&bytes[start..end]);
                cr |= record.last() == Some(&b'\r');
                digests.push(hasher.digest(record));
                ends.push(end);
                start = end;
            });
            self.note_cr(cr);
            return Ok(());
        }
        let mut digests = std::mem::take(&mut batch.digests);
        let done = self.each(block, batch, |_, key| {
            let digest = self.digest_key(hasher, key);
            digests.extend(digest);
            Ok(digest.is_some())
        });
        batch.digests = digests;
        self.note(block, batch);
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
                    "name its field with --value N, as -f does for the key",
                ));
            };
            let Some(digest) = self.digest_key(hasher, key) else { return Ok(false) };
            take(digest, &value).map(|()| true)
        })?;
        self.note(block, batch);
        Ok(())
    }

    /// Hands records and their keys to `take`, and fills `batch` but for the digests. `take` says
    /// whether the key is one.
    fn each(
        &self,
        block: Block<'_>,
        batch: &mut Batch,
        mut take: impl FnMut(&[u8], &[u8]) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        batch.clear();
        let (bytes, mut start, mut failed, mut cr) = (block.bytes(), 0, Ok(()), false);
        let ends_matter = self.line_ends_matter();
        let Batch { ends, odd, scratch, .. } = batch;
        block.each_end(|end| {
            let record = block.without_end(&bytes[start..end]);
            let found = match () {
                () if failed.is_err() => return,
                () if start == 0 && block.is_first() && self.header => Found::Odd(Odd::Header),
                () => self.key(record, scratch),
            };
            match found {
                Found::Key(key) => {
                    cr |= ends_matter && key.last() == Some(&b'\r');
                    match take(record, key) {
                        Ok(true) => {}
                        Ok(false) => odd.push((ends.len(), Odd::NoNumber)),
                        Err(error) => failed = Err(error.context(format!("line {}", block.line(start)))),
                    }
                }
                Found::Odd(why) => odd.push((ends.len(), why)),
            }
            ends.push(end);
            start = end;
        });
        self.note_cr(cr);
        failed
    }

    /// Finds the keys themselves.
    pub(crate) fn texts(&self, block: Block<'_>, found: &mut KeyTexts) -> anyhow::Result<()> {
        self.texts_too(block, found)?;
        self.note(block, &found.batch);
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
            if self.args.int && integer(key).is_none() {
                return Ok(false);
            }
            bytes.extend_from_slice(key);
            ends.push(bytes.len());
            Ok(true)
        })
    }

    /// Counts the records of a block that have no key.
    fn note(&self, block: Block<'_>, batch: &Batch) {
        let start = |at: usize| at.checked_sub(1).map_or(0, |before| batch.ends[before]);
        let mut keyless = 0;
        for (at, why) in &batch.odd {
            match why {
                Odd::Keyless => self.flaws.keyless.add(block.line(start(*at))),
                Odd::NoNumber => self.flaws.no_numbers.add(block.line(start(*at))),
                Odd::Header | Odd::LeftOut => {}
            }
            keyless += 1;
        }
        self.flaws.keyed.fetch_add((batch.ends.len() - keyless) as u64, Ordering::Relaxed);
    }

    /// The digest of the key in a part of a record that is in line `line`; a record without one is
    /// noted.
    pub(crate) fn digest(&self, hasher: &KeyHasher, record: &[u8], line: u64) -> Option<Digest> {
        let mut scratch = Scratch::default();
        self.digest_key(hasher, self.text(record, line, &mut scratch)?)
    }

    /// As [`digest`](Self::digest), the key itself.
    pub(crate) fn text<'a>(&self, record: &'a [u8], line: u64, scratch: &'a mut Scratch) -> Option<&'a [u8]> {
        match self.key(record, scratch) {
            Found::Key(key) if self.args.int && integer(key).is_none() => {
                self.flaws.no_numbers.add(line);
                None
            }
            Found::Key(key) => {
                self.flaws.keyed.fetch_add(1, Ordering::Relaxed);
                Some(key)
            }
            Found::Odd(_) => {
                self.flaws.keyless.add(line);
                None
            }
        }
    }

    /// The bytes that stand for the key of a record, if it has one: those that are hashed.
    pub(crate) fn bytes_of<'a>(&self, record: &'a [u8], scratch: &'a mut Scratch) -> Option<Cow<'a, [u8]>> {
        let text = self.text_of(record, scratch)?;
        if self.args.int {
            return integer(text).map(|number| number.to_le_bytes().to_vec().into());
        }
        Some(text.into())
    }

    /// The key of a record as text, if it has one: with --int it is a number.
    pub(crate) fn text_of<'a>(&self, record: &'a [u8], scratch: &'a mut Scratch) -> Option<&'a [u8]> {
        match self.key(record, scratch) {
            Found::Key(key) if self.args.int && integer(key).is_none() => None,
            Found::Key(key) => Some(key),
            Found::Odd(_) => None,
        }
    }

    /// The part of a record that its key is made from, as it stands there.
    pub(crate) fn part_of<'a>(&self, record: &'a [u8], scratch: &'a mut Scratch) -> Option<Cow<'a, [u8]>> {
        self.extract(&self.part, record, &mut scratch.fields)
    }

    /// The digest of a key; `None` if it is no number and has to be one.
    fn digest_key(&self, hasher: &KeyHasher, key: &[u8]) -> Option<Digest> {
        if self.args.int { Some(hasher.digest_key(&integer(key)?)) } else { Some(hasher.digest(key)) }
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
            KeyPart::Fields(picks, delimiter) => {
                let Fields { split, joined, .. } = fields;
                split.fields(record, delimiter);
                joined.clear();
                let joint = delimiter.joint();
                let whole = Pick::each(picks, split.len(), |at, first| {
                    if !first {
                        joined.extend_from_slice(joint);
                    }
                    joined.extend_from_slice(&record[split.get(at)]);
                });
                whole.then_some(Cow::Borrowed(joined))
            }
            KeyPart::CsvFields(picks) => {
                let (count, delimiter) = (fields.parse(self.form, record), self.form.csv.unwrap_or(b','));
                let mut joined = std::mem::take(&mut fields.joined);
                joined.clear();
                let whole = Pick::each(picks, count, |at, first| {
                    if !first {
                        joined.push(delimiter);
                    }
                    quote(fields.get(at), delimiter, &mut joined);
                });
                fields.joined = joined;
                whole.then_some(Cow::Borrowed(&fields.joined))
            }
            KeyPart::Named(..) => None, // has a number before records are read
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
                HashName::Sha512 => sha2::Sha512::digest(&text).to_vec(),
                HashName::Ntlm => md4::Md4::digest(utf16(text)).to_vec(),
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

/// Appends a field as CSV writes it, so that the fields of a key cannot run into each other.
fn quote(field: &[u8], delimiter: u8, joined: &mut Vec<u8>) {
    if !field.iter().any(|byte| [delimiter, b'"', b'\n', b'\r'].contains(byte)) {
        joined.extend_from_slice(field);
        return;
    }
    joined.push(b'"');
    for &byte in field {
        joined.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
    }
    joined.push(b'"');
}

/// The field after `at` delimiters.
fn field(record: &[u8], at: usize, delimiter: u8) -> Option<&[u8]> {
    let mut marks = memchr::memchr_iter(delimiter, record);
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
        let Self { bytes, ends, .. } = self;
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

/// Text as Windows hashes it: UTF-16, little-endian. What is no UTF-8 is taken byte by byte, as
/// Latin-1.
fn utf16(text: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Err(_) => text.iter().flat_map(|byte| [*byte, 0]).collect(),
    }
}

/// A whole number from -2⁶³ to 2⁶⁴ - 1, as the 64 bits that stand for it.
fn integer(text: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i128>().ok());
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    number.filter(|number| range.contains(number)).map(|number| number as u64)
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
        let digest = |text: &str| keys.digest(&hasher, text.as_bytes(), 1);
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
        check(&field("1", None), &[("a\tb", Some("a")), ("a", Some("a")), ("", Some("")), ("\tb", Some(""))]);
        check(&field("2", Some(":")), &[("a:b:c", Some("b")), ("a:", Some("")), ("a", None)]);
        check(&field("3", Some(" ")), &[("a b c", Some("c")), ("a  c", Some("c")), ("a b", None)]);
        check(&field("0", None), &[("a\tb", Some("a\tb"))]);
        assert!(field("x", None).keys().is_err());
    }

    fn field(n: &str, delimiter: Option<&str>) -> KeyArgs {
        let delimiter = delimiter.map(|text| text.parse().unwrap());
        KeyArgs { field: Some(n.into()), delimiter, ..KeyArgs::default() }
    }

    #[test]
    fn several_fields_are_joined_in_the_order_given() {
        check(&field("3,1", Some(":")), &[("a:b:c", Some("c:a")), ("a:b", None), ("a::", Some(":a"))]);
        check(&field("2-3", Some(" ")), &[("a b c d", Some("b c")), ("a b", None)]);
        check(&field("2-", None), &[("a\tb\tc", Some("b\tc")), ("a\tb", Some("b")), ("a", None)]);
        check(&field("-2", Some(":")), &[("a:b:c", Some("a:b")), ("a", None)]);
        check(&field("1,1", Some(":")), &[("a:b", Some("a:a"))]);
        for text in ["", ",", "1,", "3-2", "0-1", "1-0", "-", "1--2", "a", "1-99999999999999999999"] {
            assert!(field(text, None).keys().is_err(), "{text}");
        }
    }

    #[test]
    fn delimiters_may_be_white_space_or_longer() {
        let blanks = |n: &str| field(n, Some(r"\s+"));
        check(&blanks("2"), &[("a  \t b c", Some("b")), ("  a b  ", Some("b")), ("a ", None), ("", None)]);
        check(&blanks("1-2"), &[(" a\t\tb c", Some("a b"))]);
        check(&field("2", Some("||")), &[("a||b|c||d", Some("b|c")), ("a|||b", Some("|b")), ("a", None)]);
        check(&field("2", Some(r"\t")), &[("a\tb", Some("b"))]);
        check(&field("1,2", Some(", ")), &[("a, b, c", Some("a, b"))]);
        assert!(["", "\n", "\"", "a\nb"].iter().all(|text| text.parse::<Delimiter>().is_err()));
        let csv = KeyArgs { csv: true, ..field("1", Some("::")) };
        assert!(csv.keys().is_err());
    }

    #[test]
    fn several_csv_fields_are_joined_as_csv() {
        let csv = |n: &str| KeyArgs { csv: true, ..field(n, None) };
        check(&csv("1,3"), &[("a,b,c", Some("a,c")), ("a,b", None), ("\"a\",,\"c\"", Some("a,c"))]);
        check(&csv("2-"), &[("a,\"b,\"\"x\",c", Some("\"b,\"\"x\",c"))]);
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
        let sha512 = KeyArgs { hash: Some(HashName::Sha512), ..default() };
        assert!(key(sha512, "abc").unwrap().starts_with("ddaf35a193617abacc417349ae204131")); // FIPS 180-4
        // `printf %s TEXT | iconv -t UTF-16LE | openssl md4`
        let ntlm = KeyArgs { hash: Some(HashName::Ntlm), upper: true, ..default() };
        check(
            &ntlm,
            &[
                ("password", Some("8846F7EAEE8FB117AD06BDD830B7586C")),
                ("", Some("31D6CFE0D16AE931B73C59D7E0C089C0")),
            ],
        );
    }
}
