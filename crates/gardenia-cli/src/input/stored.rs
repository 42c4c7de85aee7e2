//! How keys were made, as `build` stores it in a filter, and as whoever uses that filter makes them
//! again.
//!
//! Two questions are kept apart. *Where* a record has its key is a matter of each file: a list may
//! have one in every line, and a log in its second field. So what the filter says of that counts
//! only if the command line says nothing. *What* the key is made into (small letters, a hash, a
//! number) must be the same, or nothing is found: it is taken over, and an option that contradicts
//! it is refused.

use super::key::{HashName, KeyArgs};
use crate::message::hinted;
use anyhow::Context;
use clap::ValueEnum;
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
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks it so")]
fn is_not(flag: &bool) -> bool {
    !flag
}

impl Stored {
    /// What `build` stores: all that decides the keys, less how long a record may be and whether
    /// empty keys are left out.
    fn of(args: &KeyArgs, cr: bool) -> Self {
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
        let cr = cr && !crlf;
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
        }
    }

    /// The options that stand for it.
    fn args(&self) -> anyhow::Result<KeyArgs> {
        let Self { field, csv, no_header, json_key, null, ignore_case, trim, crlf, upper, int, .. } =
            self.clone();
        let delimiter = self.delimiter.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg)?;
        let hash = self.hash.as_deref().map(|name| HashName::from_str(name, false));
        let hash = hash.transpose().map_err(anyhow::Error::msg)?;
        let (skip_empty, max_line, inherited) = (false, None, true);
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
    let Some(note) = about.key_note() else { return Ok(None) };
    serde_json::from_slice(note).map(Some).map_err(|error| {
        let reason =
            format!("the filter says how its keys were made, and this program cannot read it: {error}");
        hinted(reason, "give the key options it was built with, and --keys-as-given")
    })
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
    /// Stores how the keys were made. `cr` if some of them end in a carriage return; `anywhere` if
    /// where they stood says nothing of where others stand.
    pub(crate) fn store(&self, about: &mut About, cr: bool, anywhere: bool) -> anyhow::Result<()> {
        let mut stored = Stored::of(self, cr);
        if anywhere {
            let Stored { ignore_case, trim, hash, upper, int, crlf, cr, .. } = stored;
            stored = Stored { ignore_case, trim, hash, upper, int, crlf, cr, ..Stored::default() };
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
        self.check(&theirs, found.cr)?;
        let Self { field, delimiter, csv, no_header, json_key, null, .. } = self;
        let says_where =
            field.is_some() || delimiter.is_some() || *csv || *no_header || json_key.is_some() || *null;
        let from = if says_where { self } else { &theirs };
        // A hash of what is looked up is compared with hashes that were in the list: how they got there is no matter of ours.
        let listed = self.hash.is_some() && theirs.hash.is_none();
        let what = if listed { self } else { &theirs };
        Ok(Self {
            field: from.field.clone(),
            delimiter: from.delimiter.clone(),
            csv: from.csv,
            no_header: from.no_header,
            json_key: from.json_key.clone(),
            null: from.null,
            crlf: self.crlf || theirs.crlf,
            ignore_case: what.ignore_case,
            trim: what.trim,
            hash: what.hash,
            upper: what.upper,
            int: what.int,
            skip_empty: self.skip_empty,
            max_line: self.max_line,
            inherited: !says_where && from.is_somewhere(),
        })
    }

    /// Whether keys are in a part of a record.
    fn is_somewhere(&self) -> bool {
        self.field.is_some() || self.csv || self.json_key.is_some() || self.null
    }

    /// Refuses what contradicts the filter: with it, keys that are in would not be found.
    fn check(&self, theirs: &Self, cr: bool) -> anyhow::Result<()> {
        let listed = self.hash.is_some() && theirs.hash.is_none();
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
        args.store(&mut about, false, false).unwrap();
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
            assert_eq!(KeyArgs { inherited: false, ..found }, args);
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
