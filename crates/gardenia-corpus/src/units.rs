//! What a text consists of: paragraphs, sentences, words, n-grams.

use gardenia::{Digest, KeyHasher};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// What is removed within a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Lines of the text.
    Line,
    /// Paragraphs that blank lines separate.
    Block,
    /// Sentences, by Unicode's rules.
    Sentence,
}

/// How words are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// By Unicode's rules: for every script.
    Unicode,
    /// By white space: faster.
    Space,
}

/// Hands each unit of a text to `each`, with what separates it from the next. Together they are the
/// text.
pub fn split(text: &str, by: Split, mut each: impl FnMut(Range<usize>)) {
    match by {
        Split::Line => {
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]) {
                if end > start {
                    each(start..end);
                }
                start = end;
            }
        }
        Split::Block => {
            // A block ends behind the blank lines that follow it.
            let (mut start, mut blank, mut line) = (0, false, 0);
            for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]) {
                let empty = text[line..end].trim().is_empty();
                if blank && !empty {
                    each(start..line);
                    start = line;
                }
                blank = empty;
                line = end;
            }
            if text.len() > start {
                each(start..text.len());
            }
        }
        Split::Sentence => {
            for (start, sentence) in text.split_sentence_bound_indices() {
                each(start..start + sentence.len());
            }
        }
    }
}

/// The words of a text, hashed.
#[derive(Debug, Default)]
pub struct Hashed {
    /// One for each word.
    pub words: Vec<u64>,
}

impl Hashed {
    /// Hashes the words of a text.
    pub fn fill(&mut self, text: &str, by: Words, hasher: &KeyHasher) {
        self.words.clear();
        let mut push = |word: &str| self.words.push(hasher.digest(word.as_bytes()).0);
        match by {
            Words::Space => text.split_whitespace().for_each(push),
            // Between ASCII letters, digits and white space Unicode's rules do what is done here: the rest is left to them.
            Words::Unicode => {
                let mut rest = text;
                while !rest.is_empty() {
                    let plain = rest.bytes().position(|byte| {
                        !(byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'\n' | b'\t' | b'\r'))
                    });
                    let plain = plain.unwrap_or(rest.len());
                    if plain == rest.len() {
                        rest.split_ascii_whitespace().for_each(&mut push);
                        return;
                    }
                    // A word may go on behind what is not plain: back to the white space before it, on to that behind it.
                    let start = rest[..plain].rfind([' ', '\n', '\t', '\r']).map_or(0, |at| at + 1);
                    let end = rest[plain..].find([' ', '\n', '\t', '\r']).map_or(rest.len(), |at| plain + at);
                    rest[..start].split_ascii_whitespace().for_each(&mut push);
                    rest[start..end].unicode_words().for_each(&mut push);
                    rest = &rest[end..];
                }
            }
        }
    }

    /// Digests of all runs of `n` words; of a shorter text that of all its words, if it has any.
    pub fn grams(&self, n: usize, out: &mut Vec<Digest>) {
        let n = n.min(self.words.len());
        if n == 0 {
            return;
        }
        // A polynomial of the words' hashes modulo 2^64 rolls from one run to the next, and a final mix spreads it.
        const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
        let last = (1..n).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut rolling =
            self.words[..n].iter().fold(0u64, |sum, word| sum.wrapping_mul(BASE).wrapping_add(*word));
        out.push(Digest(Digest(rolling).word(1)));
        for (gone, new) in self.words.iter().zip(&self.words[n..]) {
            rolling = rolling.wrapping_sub(gone.wrapping_mul(last)).wrapping_mul(BASE).wrapping_add(*new);
            out.push(Digest(Digest(rolling).word(1)));
        }
    }

    /// The distinct ones of these, in no order of the text: a false positive for one of them is one
    /// for all its repeats, so that they count once. A text of fewer than n words, or than `least`,
    /// has none.
    pub fn distinct_grams(&self, n: usize, least: usize, out: &mut Vec<Digest>) {
        if self.words.len() < n.max(least) {
            return;
        }
        let mut own = Vec::with_capacity(self.words.len());
        self.grams(n, &mut own);
        own.sort_unstable();
        own.dedup();
        out.append(&mut own);
    }
}

/// How many words a text has, told apart by white space.
pub fn count_words(text: &str) -> u64 {
    // A word begins where white space ends. Few bytes at a time, so that their sum fits a byte and many are compared at once.
    let space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0xc);
    let bytes = text.as_bytes();
    let first = bytes.first().is_some_and(|byte| !space(*byte));
    let (before, after) = (&bytes[..bytes.len().saturating_sub(1)], bytes.get(1..).unwrap_or_default());
    let begins = before.chunks(128).zip(after.chunks(128)).map(|(before, after)| {
        let pairs = before.iter().zip(after);
        u64::from(pairs.map(|(before, after)| u8::from(space(*before) & !space(*after))).sum::<u8>())
    });
    u64::from(first) + begins.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, by: Split) -> Vec<&str> {
        let mut all = Vec::new();
        split(text, by, |range| all.push(&text[range]));
        assert_eq!(all.concat(), text);
        all
    }

    #[test]
    fn a_text_is_the_sum_of_its_units() {
        assert_eq!(pieces("a\n\nb\nc", Split::Line), ["a\n", "\n", "b\n", "c"]);
        assert_eq!(pieces("a\nb\n\n \nc\n", Split::Block), ["a\nb\n\n \n", "c\n"]);
        assert_eq!(pieces("\n\na\n\nb", Split::Block), ["\n\n", "a\n\n", "b"]);
        assert_eq!(pieces("One two. Three! Four", Split::Sentence), ["One two. ", "Three! ", "Four"]);
        assert!(pieces("", Split::Line).is_empty());
    }

    /// The quick way must find the words that Unicode's rules find.
    #[test]
    fn words_are_those_of_unicode() {
        let hasher = KeyHasher::xxh3(0);
        let texts = [
            "plain words 12 only",
            "don't stop",
            "a.b c-d 3.14, x_y",
            "été naïve Ünder",
            "日本語 テキスト",
            "",
            " . ",
            "a\u{b}b c\u{a0}d",
            "e\u{301}a b",
            "x\u{200d}y z",
            "end.",
            "'quoted' \"words\" (here)",
            "tab\tnew\r\nline",
            "a\u{2028}b",
            "👍🏽 ok",
        ];
        for text in texts {
            let mut hashed = Hashed::default();
            hashed.fill(text, Words::Unicode, &hasher);
            let expected: Vec<u64> =
                text.unicode_words().map(|word| hasher.digest(word.as_bytes()).0).collect();
            assert_eq!(hashed.words, expected, "{text:?}");
        }
    }

    #[test]
    fn words_are_counted_as_white_space_tells_them_apart() {
        let long = "ab c\n\n d\u{b}e ".repeat(100);
        for text in [
            "",
            " ",
            "a",
            " a",
            "a ",
            "a b",
            "\t\na\r\nb\u{c}c",
            "é à",
            "a\u{a0}b",
            &long,
            &long[1..],
            "x".repeat(300).as_str(),
        ] {
            assert_eq!(count_words(text), text.split_ascii_whitespace().count() as u64, "{text:?}");
        }
    }

    #[test]
    fn runs_of_words_are_equal_exactly_if_their_words_are() {
        let hashed = Hashed { words: vec![1, 2, 3, 1, 2, 3, 4] };
        let mut grams = Vec::new();
        hashed.grams(3, &mut grams);
        assert_eq!(grams.len(), 5);
        assert_eq!(grams[0], grams[3]);
        let mut distinct = vec![grams[4]];
        hashed.distinct_grams(3, 7, &mut distinct);
        assert_eq!(distinct.len(), 1 + 4); // what is there already stays
        assert!(distinct[1..].windows(2).all(|pair| pair[0] < pair[1]));
        assert!(grams.iter().all(|gram| distinct[1..].contains(gram)));
        for (n, least) in [(8, 0), (3, 8)] {
            let mut none = Vec::new();
            hashed.distinct_grams(n, least, &mut none);
            assert!(none.is_empty());
        }
        let mut short = Vec::new();
        Hashed { words: vec![1, 2] }.grams(3, &mut short);
        Hashed::default().grams(3, &mut short);
        assert_eq!(short.len(), 1);
    }
}
