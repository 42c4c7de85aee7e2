//! What counts as the same text: Unicode composition, case, white space, punctuation.

use anyhow::bail;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Differences that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalise {
    /// Unicode's composition: é is é, whether it is one character or two.
    pub nfc: bool,
    /// Upper and lower case.
    pub case: bool,
    /// White space: any run of it is one space, and none at the ends.
    pub space: bool,
    /// Characters other than letters, digits and white space.
    pub punct: bool,
}

const NAMES: [&str; 4] = ["nfc", "case", "space", "punct"];

impl FromStr for Normalise {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut all = [false; 4];
        for name in text.split(',').map(str::trim).filter(|name| *name != "none") {
            match NAMES.iter().position(|known| *known == name) {
                Some(at) => all[at] = true,
                None if name == "all" => all = [true; 4],
                None => bail!("{name} is no normalisation: none, all, or some of {}", NAMES.join(",")),
            }
        }
        let [nfc, case, space, punct] = all;
        Ok(Self { nfc, case, space, punct })
    }
}

impl fmt::Display for Normalise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [self.nfc, self.case, self.space, self.punct];
        let names: Vec<&str> =
            NAMES.into_iter().zip(all).filter(|(_, on)| *on).map(|(name, _)| name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

impl Normalise {
    /// The text without the differences that do not count.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = match self.nfc && !text.is_ascii() && is_nfc_quick(text.chars()) != IsNormalized::Yes {
            true => Cow::Owned(text.nfc().collect()),
            false => Cow::Borrowed(text),
        };
        if !(self.case || self.space || self.punct) {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut gap = false;
        if text.is_ascii() {
            for byte in text.bytes() {
                // What Unicode calls white space includes the vertical tab, which `is_ascii_whitespace` does not.
                let space = matches!(byte, b'\t'..=b'\r' | b' ');
                if self.punct && !(space || byte.is_ascii_alphanumeric()) {
                    continue;
                }
                if self.space && space {
                    gap = !out.is_empty();
                    continue;
                }
                if std::mem::take(&mut gap) {
                    out.push(' ');
                }
                out.push(char::from(if self.case { byte.to_ascii_lowercase() } else { byte }));
            }
            return Cow::Owned(out);
        }
        for c in text.chars() {
            let space = c.is_whitespace();
            if self.punct && !(space || c.is_alphanumeric()) {
                continue;
            }
            if self.space && space {
                gap = !out.is_empty();
                continue;
            }
            if std::mem::take(&mut gap) {
                out.push(' ');
            }
            if self.case { out.extend(c.to_lowercase()) } else { out.push(c) }
        }
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_removed_by_its_own_option() {
        let apply = |names: &str, text: &str| names.parse::<Normalise>().unwrap().apply(text).into_owned();
        assert_eq!(apply("none", " A  b! "), " A  b! ");
        assert_eq!(apply("nfc", "e\u{301}"), "é");
        assert_eq!(apply("case", "ÉCOLE Ab"), "école ab");
        assert_eq!(apply("space", "  a \n\t b\u{3000}é "), "a b é");
        assert_eq!(apply("punct", "a-b, c!é…"), "ab cé");
        assert_eq!(apply("all", " Hello,\n  WORLD. "), "hello world");
        assert!("loud".parse::<Normalise>().is_err());
        assert_eq!("space,nfc".parse::<Normalise>().unwrap().to_string(), "nfc,space");
    }

    /// The quick way for ASCII must be the general one.
    #[test]
    fn ascii_is_normalised_as_all_text_is() {
        let text: String = (0..128u8).map(char::from).chain("  a B\u{b}c".chars()).collect();
        for bits in 0..16 {
            let rule =
                Normalise { nfc: bits & 1 > 0, case: bits & 2 > 0, space: bits & 4 > 0, punct: bits & 8 > 0 };
            let general = rule.apply(&format!("{text}é")).into_owned();
            assert_eq!(format!("{}é", rule.apply(&text)), general, "{rule}");
        }
    }
}
