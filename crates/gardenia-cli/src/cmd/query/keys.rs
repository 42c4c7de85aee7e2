//! Keys that are anywhere in a line: tokens, or what a regular expression matches.

use super::args::QueryArgs;
use super::tokens;
use crate::input::{Batch, Block, KeyArgs, Keys, Scratch};
use crate::message::hinted;
use gardenia::KeyHasher;
use regex_automata::meta::{Cache, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;

/// Finds keys in lines.
pub(super) struct TokenKeys {
    pattern: Option<Regex>,
    /// Make keys of what is found, as whole records.
    keys: Keys,
}

impl TokenKeys {
    /// As the options say; none if keys are whole records, or fields of them.
    pub(super) fn new(args: &QueryArgs, key: &KeyArgs) -> anyhow::Result<Option<Self>> {
        let pattern = match &args.extract {
            Some(text) => Some(pattern(text)?),
            None if args.tokens => None,
            None => return Ok(None),
        };
        let KeyArgs { ignore_case, trim, crlf, hash, upper, int, .. } = *key;
        let args = KeyArgs { ignore_case, trim, crlf, hash, upper, int, ..KeyArgs::default() };
        Ok(Some(Self { pattern, keys: args.keys()? }))
    }

    /// How keys are made from what is found.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Finds the records of a block, the digests of all keys in them and, if wanted, where those
    /// are.
    pub(super) fn read(
        &self,
        hasher: &KeyHasher,
        block: Block<'_>,
        batch: &mut Batch,
        mut spans: Option<&mut Vec<(usize, usize)>>,
    ) {
        batch.find(block);
        if let Some(spans) = &mut spans {
            spans.clear();
        }
        let bytes = block.bytes();
        let mut digests = std::mem::take(&mut batch.digests);
        let (plain, mut scratch) = (self.keys.is_plain(), Scratch::default());
        let mut take = |start: usize, end: usize| {
            let token = &bytes[start..end];
            let digest = match plain {
                true => hasher.digest(token),
                false => match self.keys.bytes_of(token, &mut scratch) {
                    Some(key) => hasher.digest(&key),
                    None => return, // a number is asked for, and this is none
                },
            };
            digests.push(digest);
            if let Some(spans) = &mut spans {
                spans.push((start, end));
            }
        };
        match &self.pattern {
            None if block.end() == b'\n' => tokens::each(bytes, take), // no token goes beyond its line
            None => {
                let mut start = 0;
                for end in batch.ends() {
                    tokens::each(block.without_end(&bytes[start..end]), |from, to| {
                        take(start + from, start + to);
                    });
                    start = end;
                }
            }
            Some(pattern) => {
                let (mut cache, mut captures) = (pattern.create_cache(), pattern.create_captures());
                let mut start = 0;
                for end in batch.ends() {
                    let line = block.without_end(&bytes[start..end]);
                    each_match(pattern, &mut cache, &mut captures, line, |from, to| {
                        take(start + from, start + to);
                    });
                    start = end;
                }
            }
        }
        batch.digests = digests;
    }
}

/// Hands what the first parentheses of a pattern match, or all of it if there are none, to `take`.
fn each_match(
    pattern: &Regex,
    cache: &mut Cache,
    captures: &mut Captures,
    line: &[u8],
    mut take: impl FnMut(usize, usize),
) {
    let group = usize::from(pattern.group_info().group_len(regex_automata::PatternID::ZERO) > 1);
    let mut input = regex_automata::Input::new(line);
    loop {
        let whole = match group {
            0 => pattern.search_with(cache, &input).map(|found| found.span()),
            _ => {
                pattern.search_captures_with(cache, &input, captures);
                captures.get_match().map(|found| found.span())
            }
        };
        let Some(whole) = whole else { return };
        let part = if group == 0 { Some(whole) } else { captures.get_group(group) };
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            take(part.start, part.end);
        }
        input.set_start(whole.end); // no match is empty
    }
}

/// A regular expression for bytes.
fn pattern(text: &str) -> anyhow::Result<Regex> {
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let wrong = |error: String| {
        // The parser draws where it is; the last line of that says what.
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        hinted(format!("--extract {text:?}: {reason}"), "as in grep -E or Perl, without back references")
    };
    let parsed = syntax::parse_with(text, &bytes).map_err(|error| wrong(error.to_string()))?;
    if parsed.properties().minimum_len() == Some(0) {
        let reason = format!("--extract {text:?} matches the empty string, which is in every line");
        return Err(hinted(reason, "use + where * is, so that there is something to look up"));
    }
    let config = Regex::config().utf8_empty(false);
    let built = Regex::builder().configure(config).syntax(bytes).build(text);
    built.map_err(|error| {
        let reason = error.size_limit().map_or_else(|| error.to_string(), |_| "it is too large".to_owned());
        wrong(reason)
    })
}

#[test]
fn a_pattern_gives_its_matches_or_its_first_parentheses() {
    let all = |text: &str, line: &str| -> Vec<String> {
        let pattern = pattern(text).unwrap();
        let (mut cache, mut captures, mut found) =
            (pattern.create_cache(), pattern.create_captures(), Vec::new());
        each_match(&pattern, &mut cache, &mut captures, line.as_bytes(), |start, end| {
            found.push(line[start..end].to_owned());
        });
        found
    };
    assert_eq!(all(r"\d+", "a1 22 b333"), ["1", "22", "333"]);
    assert_eq!(all(r"user=(\w+)", "user=rose user= user=iris;"), ["rose", "iris"]);
    assert_eq!(all(r"a(b)?", "a ab"), ["b"]);
    assert_eq!(all(r"(?:a|b)+", "abba x ab"), ["abba", "ab"]);
    assert_eq!(all(r"[^ ]{2}", "é"), ["é"]); // two bytes
    for empty in ["", "a*", r"\b", "^", "x|", "(a?)"] {
        let error = pattern(empty).unwrap_err().to_string();
        assert!(error.contains("matches the empty string"), "{error}");
    }
    assert!(pattern("(").is_err() && pattern("a{9999}{9999}").is_err());
}
