//! How keys were made, as `build` stores it in a filter, and as whoever uses that filter makes them
//! again.
//!
//! Two questions are kept apart. *Where* a record has its key is a matter of each file: a list may
//! have one in every line, and a log in its second field. So each option that is not given is the
//! filter's, unless those that are given choose another structure. *What* the key is made into
//! (small letters, a hash, a number) must be the same, or nothing is found: it is copied, and an
//! option that contradicts it is refused.

use super::fields::picks;
use super::key::{Digits, HashName, Inherited, KeyArgs, Seen};
use crate::message::hinted;
use anyhow::Context;
use clap::{Args, FromArgMatches, ValueEnum};
use gardenia::filter::About;
use serde::{Deserialize, Serialize};

/// Whether what the filter says of its keys is to be followed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct StoredArgs {
    /// Make keys by the options given here alone, whatever the filter was built with
    #[arg(long, hide_short_help = true, help_heading = "Keys out of records")]
    pub(crate) keys_as_given: bool,
}

/// What a filter says of its keys. Fields are added, never renamed; one that is not known here
/// makes keys that cannot be made here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delimiter: Option<String>,
    #[serde(skip_serializing_if = "is_not")]
    csv: bool,
    #[serde(skip_serializing_if = "is_not")]
    no_header: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_key: Option<String>,
    #[serde(skip_serializing_if = "is_not")]
    null: bool,
    #[serde(skip_serializing_if = "is_not")]
    crlf: bool,
    #[serde(skip_serializing_if = "is_not")]
    ignore_case: bool,
    #[serde(skip_serializing_if = "is_not")]
    trim: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "is_not")]
    upper: bool,
    #[serde(skip_serializing_if = "is_not")]
    int: bool,
    /// Without --crlf, some keys end in a carriage return.
    #[serde(skip_serializing_if = "is_not")]
    cr: bool,
    /// Keys are hashes in the list, with such letters among their digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    digits: Option<Digits>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks it so")]
fn is_not(flag: &bool) -> bool {
    !flag
}

impl Stored {
    /// What `build` stores: all that decides the keys, less how long a record may be and whether
    /// empty keys are left out.
    fn of(args: &KeyArgs, seen: &Seen) -> Self {
        let KeyArgs {
            field,
            delimiter,
            csv,
            no_header,
            json_key,
            null,
            ignore_case,
            trim,
            crlf,
            skip_empty: _,
            hash,
            upper,
            max_line: _,
            int,
            inherited: _,
        } = args.clone();
        let delimiter = delimiter.map(|delimiter| delimiter.typed());
        let hash = hash.and_then(|hash| hash.to_possible_value()).map(|hash| hash.get_name().to_owned());
        let (cr, digits) = (seen.cr() && !crlf, seen.digits());
        Self {
            field,
            delimiter,
            csv,
            no_header,
            json_key,
            null,
            crlf,
            ignore_case,
            trim,
            hash,
            upper,
            int,
            cr,
            digits,
        }
    }

    /// The options that stand for it.
    fn args(&self) -> anyhow::Result<KeyArgs> {
        let Self { field, csv, no_header, json_key, null, ignore_case, trim, crlf, upper, int, .. } =
            self.clone();
        let delimiter = self.delimiter.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg)?;
        let hash = self.hash.as_deref().map(|name| HashName::from_str(name, false));
        let hash = hash.transpose().map_err(anyhow::Error::msg)?;
        let (skip_empty, max_line, inherited) = (false, None, Inherited::default());
        Ok(KeyArgs {
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
            hash,
            upper,
            max_line,
            int,
            inherited,
        })
    }
}

/// What a filter says of its keys, if it says anything.
fn stored(about: &About) -> anyhow::Result<Option<Stored>> {
    let unknown = |error: &dyn std::fmt::Display| {
        let reason =
            format!("the filter says how its keys were made, and this program cannot read it: {error}");
        hinted(reason, "give the key options it was built with, and --keys-as-given")
    };
    match about.key_note() {
        Some(note) => serde_json::from_slice(note).map(Some).map_err(|error| unknown(&error)),
        None => match serde_json::from_slice(about.metadata()) {
            Ok(OldState { keys: Some(keys), .. }) => {
                let args = typed(&keys).ok_or_else(|| unknown(&keys))?;
                Ok(Some(Stored::of(&args, &Seen::default())))
            }
            _ => Ok(None),
        },
    }
}

/// What `dedup --state` said of its keys before it left the same note as `build`: the options, as
/// they are described to people.
#[derive(Deserialize)]
struct OldState {
    #[serde(rename = "dedup")]
    _mode: serde_json::Value,
    #[serde(rename = "fpp")]
    _fpp: f64,
    keys: Option<String>,
}

/// The options that were described in this way.
fn typed(described: &str) -> Option<KeyArgs> {
    let words = described.split(' ').filter(|_| described != KeyArgs::default().describe());
    let command = KeyArgs::augment_args(clap::Command::new("keys").no_binary_name(true));
    let args = KeyArgs::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()?;
    (args.describe() == described).then_some(args)
}

/// What a filter says of its keys, as options; for people.
pub(crate) fn described(about: &About) -> Option<String> {
    match stored(about) {
        Ok(None) => None,
        Ok(Some(stored)) => stored.args().ok().map(|args| args.describe()),
        Err(_) => Some(String::from_utf8_lossy(about.key_note()?).into_owned()),
    }
}

/// Whether some keys of a filter end in a carriage return, if it says how its keys were made.
pub(crate) fn has_cr(about: &About) -> Option<bool> {
    about.key_note()?;
    stored(about).ok().flatten().map(|stored| stored.cr)
}

/// Whether two filters have keys that were made alike, wherever they stood; the options of both if
/// not.
pub(crate) fn check_alike(ours: &About, theirs: &About) -> anyhow::Result<Result<(), (String, String)>> {
    let (Some(ours), Some(theirs)) = (stored(ours)?, stored(theirs)?) else { return Ok(Ok(())) };
    let what = |stored: &Stored| Stored {
        ignore_case: stored.ignore_case,
        trim: stored.trim,
        hash: stored.hash.clone(),
        upper: stored.upper,
        int: stored.int,
        ..Stored::default()
    };
    let (ours, theirs) = (what(&ours), what(&theirs));
    if ours == theirs {
        return Ok(Ok(()));
    }
    Ok(Err((ours.args()?.describe(), theirs.args()?.describe())))
}

impl KeyArgs {
    /// Stores how the keys were made, and what was seen of them; `anywhere` if where they stood
    /// says nothing of where others stand.
    pub(crate) fn store(&self, about: &mut About, seen: &Seen, anywhere: bool) -> anyhow::Result<()> {
        let mut stored = Stored::of(self, seen);
        if anywhere {
            let (field, delimiter, json_key) = (None, None, None);
            let (csv, no_header, null) = (false, false, false);
            stored = Stored { field, delimiter, json_key, csv, no_header, null, ..stored };
        }
        Ok(about.set_key_note(Some(&serde_json::to_vec(&stored)?))?)
    }

    /// How keys are to be made for a filter: as these options say, and where they say nothing as
    /// the filter does.
    pub(crate) fn of_filter(&self, about: &About, how: StoredArgs) -> anyhow::Result<Self> {
        if how.keys_as_given {
            return Ok(self.clone());
        }
        let Some(found) = stored(about)? else { return Ok(self.clone()) };
        let theirs = found.args().context("how the filter's keys were made")?;
        self.check(&theirs, &found)?;
        // A hash of what is looked up is compared with hashes that were in the list: how they got there, and where
        // they stood, is no matter of ours.
        let listed = self.hash.is_some() && theirs.hash.is_none();
        let from = if listed { self.clone() } else { self.place(&theirs) };
        let what = if listed { self } else { &theirs };
        Ok(Self {
            crlf: self.crlf || theirs.crlf,
            ignore_case: what.ignore_case,
            trim: what.trim,
            hash: what.hash,
            upper: what.upper,
            int: what.int,
            ..from
        })
    }

    /// What a filter says of its keys, as the options that `build` was given.
    pub(crate) fn stored_in(about: &About) -> anyhow::Result<Option<Self>> {
        stored(about)?.map(|stored| stored.args()).transpose()
    }

    /// These options, and for where keys are those of `theirs` that are not given, if they fit
    /// together.
    fn place(&self, theirs: &Self) -> Self {
        let whole = self.field.as_deref() == Some("0");
        // Fields of lines, while theirs are of CSV: a delimiter says so that CSV files of theirs have not.
        let lines = self.field.is_some()
            && !self.csv
            && theirs.csv
            && self.delimiter.as_ref().is_some_and(|ours| *ours != theirs.csv_delimiter_or_default());
        let other = whole
            || lines
            || (self.json_key.is_some() && theirs.json_key.is_none())
            || (self.json_key.is_none() && theirs.json_key.is_some() && self.says_fields())
            || (self.says_fields() && !theirs.says_fields());
        if other {
            return self.clone();
        }
        let csv = self.csv || theirs.csv;
        // A comma is the delimiter of CSV, and a tab that of lines.
        let same = csv == theirs.csv;
        let field = self.field.clone().or_else(|| theirs.field.clone());
        // Only a header has names.
        let named = self.field.as_deref().is_some_and(|field| picks(field, false).is_none());
        let delimiter = self.delimiter.clone().or_else(|| theirs.delimiter.clone().filter(|_| same));
        let found = Self {
            no_header: self.no_header || (theirs.no_header && !named),
            json_key: self.json_key.clone().or_else(|| theirs.json_key.clone()),
            null: self.null || theirs.null,
            field,
            delimiter,
            csv,
            ..self.clone()
        };
        let inherited = Inherited {
            some: found != *self,
            // Of fields that are named here: the others are meant as they are stored.
            delimiter: self.field.is_some() && self.delimiter.is_none() && found.delimiter.is_some(),
            null: found.null && !self.null,
        };
        Self { inherited, ..found }
    }

    /// Whether an option puts keys into fields.
    fn says_fields(&self) -> bool {
        self.field.is_some() || self.delimiter.is_some() || self.csv || self.no_header
    }

    /// Refuses what contradicts the filter: with it, keys that are in would not be found.
    fn check(&self, theirs: &Self, stored: &Stored) -> anyhow::Result<()> {
        let (listed, cr) = (self.hash.is_some() && theirs.hash.is_none(), stored.cr);
        if listed && !self.upper && stored.digits == Some(Digits::Upper) {
            let reason = "the filter was built from hashes in upper-case digits: without --upper they would not be found";
            return Err(hinted(reason, "add --upper, or, if only some of them are so, --keys-as-given"));
        }
        if listed && self.upper && stored.digits == Some(Digits::Lower) {
            let reason =
                "the filter was built from hashes in lower-case digits: with --upper they would not be found";
            return Err(hinted(
                reason,
                "leave out --upper, or, if only some of them are so, add --keys-as-given",
            ));
        }
        let contradiction = match () {
            () if self.hash.is_some() && theirs.hash.is_some() && self.hash != theirs.hash => Some("--hash"),
            () if self.hash.is_some() && theirs.int => Some("--hash"),
            () if self.upper && listed && theirs.ignore_case => Some("--upper"),
            () if self.upper && !listed && !theirs.upper => Some("--upper"),
            () if self.int && !theirs.int => Some("--int"),
            () if self.ignore_case && !theirs.ignore_case && !listed => Some("--ignore-case"),
            () if self.trim && !theirs.trim && !listed => Some("--trim"),
            () if self.crlf && cr => Some("--crlf"),
            () => None,
        };
        let Some(option) = contradiction else { return Ok(()) };
        let how = match cr && option == "--crlf" {
            true => "the CR of each line end as part of the key".to_owned(),
            false => theirs.describe(),
        };
        Err(hinted(
            format!("the filter was built with {how}: with {option} its keys would not be found"),
            format!(
                "leave out {option}, build the filter with it, or, if its keys are so already, add --keys-as-given"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(args: &KeyArgs) -> About {
        let mut about = About::default();
        args.store(&mut about, &Seen::default(), false).unwrap();
        about
    }

    const FOLLOW: StoredArgs = StoredArgs { keys_as_given: false };

    #[test]
    fn what_is_stored_is_what_is_read() {
        let all = KeyArgs {
            field: Some("mail".into()),
            delimiter: Some("\\t".parse().unwrap()),
            csv: true,
            no_header: true,
            null: true,
            ignore_case: true,
            trim: true,
            crlf: true,
            hash: Some(HashName::Ntlm),
            upper: true,
            ..KeyArgs::default()
        };
        let json = KeyArgs { json_key: Some("user.id".into()), int: true, ..KeyArgs::default() };
        for args in [KeyArgs::default(), all, json] {
            let found = KeyArgs::default().of_filter(&about(&args), FOLLOW).unwrap();
            assert_eq!(KeyArgs { inherited: Inherited::default(), ..found }, args);
        }
        assert_eq!(about(&KeyArgs::default()).key_note(), Some(&b"{}"[..]));
        let later = || {
            let mut about = About::default();
            about.set_key_note(Some(br#"{"stemmed":true}"#)).unwrap();
            about
        };
        assert!(KeyArgs::default().of_filter(&later(), FOLLOW).is_err());
        assert!(KeyArgs::default().of_filter(&later(), StoredArgs { keys_as_given: true }).is_ok());
    }

    #[test]
    fn where_keys_are_is_each_files_own_and_what_they_are_is_the_filters() {
        let built = KeyArgs { field: Some("2".into()), ignore_case: true, ..KeyArgs::default() };
        let asked =
            KeyArgs { field: Some("1".into()), delimiter: Some(" ".parse().unwrap()), ..KeyArgs::default() };
        let found = asked.of_filter(&about(&built), FOLLOW).unwrap();
        assert_eq!(found, KeyArgs { ignore_case: true, ..asked });
        let plain = about(&KeyArgs::default());
        for wrong in [
            KeyArgs { ignore_case: true, ..KeyArgs::default() },
            KeyArgs { trim: true, ..KeyArgs::default() },
            KeyArgs { int: true, ..KeyArgs::default() },
        ] {
            assert!(wrong.of_filter(&plain, FOLLOW).is_err(), "{wrong:?}");
            assert_eq!(wrong.of_filter(&plain, StoredArgs { keys_as_given: true }).unwrap(), wrong);
            assert_eq!(wrong.of_filter(&About::default(), FOLLOW).unwrap(), wrong);
        }
        // Hashes in the list: what is looked up is hashed.
        let hashed = KeyArgs { hash: Some(HashName::Sha1), upper: true, trim: true, ..KeyArgs::default() };
        assert_eq!(hashed.of_filter(&plain, FOLLOW).unwrap(), hashed);
        let md5 = KeyArgs { hash: Some(HashName::Md5), ..KeyArgs::default() };
        assert!(hashed.of_filter(&about(&md5), FOLLOW).is_err());
    }
}
