//! What in a line may be an indicator: names, addresses, domains, URLs, hashes. The rules are in
//! the help of `query`, and the tests below say them again.

use crate::input::is_pattern;
use memchr::{memchr_iter, memrchr};

/// What a byte is to a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Belongs to names, and to all else.
    Name,
    /// Belongs to chunks, and ends a name.
    Joint,
    /// Ends a chunk, and may be in a URL.
    Mark,
    /// Ends everything.
    Gap,
}
use Sort::{Gap, Joint, Mark, Name};

const SORTS: [Sort; 256] = {
    let mut sorts = [Gap; 256];
    let mut at = 0;
    while at < 256 {
        sorts[at] = match at as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | 0x80.. => Name,
            b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|' | b',' | b';' => Mark,
            b'"' | b'<' | b'>' | b'`' | 0..=b' ' | 0x7f => Gap,
            _ => Joint,
        };
        at += 1;
    }
    sorts
};

/// By RFC 1035, as text without the last dot.
const LONGEST_DOMAIN: usize = 253;

/// A URL is taken beyond its chunk up to this length, and up to that number are looked for in a
/// chunk: a line that an attacker writes takes no longer than others.
const LONGEST_URL: usize = 4096;
const MOST_URLS: usize = 4;

fn sort(byte: u8) -> Sort {
    SORTS[usize::from(byte)]
}

/// Whether a key can be found at all: it is a token where it stands alone.
pub(crate) fn is_token(key: &[u8]) -> bool {
    let mut whole = false;
    each(key, |start, end| whole |= (start, end) == (0, key.len()));
    whole && !is_pattern(key)
}

/// Hands the tokens of a line to `take`, each by where it starts and ends. Some are given twice.
#[inline]
pub(crate) fn each(line: &[u8], mut take: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < line.len() {
        match sort(line[at]) {
            Gap | Mark => at += 1,
            Name | Joint => at = chunk(line, at, &mut take),
        }
    }
}

/// The tokens of a chunk; where it ends.
#[inline]
fn chunk(line: &[u8], start: usize, take: &mut impl FnMut(usize, usize)) -> usize {
    let (mut at, mut name, mut joints, mut colons, mut special) = (start, start, 0u32, 0u32, false);
    loop {
        let byte = line.get(at).copied().unwrap_or(b' ');
        let sort = sort(byte);
        if sort == Name {
            at += 1;
            continue;
        }
        if at > name {
            self::name(line, name, at, take);
        }
        if sort != Joint {
            break;
        }
        joints += 1;
        colons += u32::from(byte == b':');
        special |= matches!(byte, b'@' | b'=' | b':');
        at += 1;
        name = at;
    }
    if joints > 0 {
        let end = trimmed(line, start, at);
        if start < end {
            take(start, end);
        }
        if special {
            parts(line, start, at, colons, take);
        }
    }
    at
}

/// The end of a chunk without the punctuation of a sentence.
fn trimmed(line: &[u8], start: usize, end: usize) -> usize {
    let chunk = &line[start..end];
    let kept =
        chunk.iter().rposition(|byte| !matches!(byte, b'.' | b'!' | b'?' | b':')).map_or(0, |at| at + 1);
    // fe80:: is an address.
    if chunk[kept..].starts_with(b"::") { start + kept + 2 } else { start + kept }
}

/// A name, and what of it is a domain above it.
#[inline]
fn name(line: &[u8], mut start: usize, mut end: usize, take: &mut impl FnMut(usize, usize)) {
    let edge = |byte: u8| matches!(byte, b'.' | b'-');
    while start < end && edge(line[start]) {
        start += 1;
    }
    while start < end && edge(line[end - 1]) {
        end -= 1;
    }
    if start == end {
        return;
    }
    take(start, end);
    // A longer name is no domain, and would have too many above it.
    if end - start > LONGEST_DOMAIN {
        return;
    }
    // The last label of an IPv4 address is a number: there are no domains above it.
    let Some(last) = memrchr(b'.', &line[start..end]).map(|at| start + at) else {
        return;
    };
    if line[last + 1..end].iter().all(u8::is_ascii_digit) {
        return;
    }
    memchr_iter(b'.', &line[start..last]).for_each(|at| take(start + at + 1, end));
}

/// What is in a chunk with `@`, `=` or `:`.
#[cold]
#[inline(never)]
fn parts(line: &[u8], start: usize, end: usize, colons: u32, take: &mut impl FnMut(usize, usize)) {
    let chunk = &line[start..end];
    if let Some(equals) = chunk.iter().position(|&byte| byte == b'=') {
        let (from, to) = (start + equals + 1, trimmed(line, start + equals + 1, end));
        if from < to {
            take(from, to);
        }
    }
    let is_name = |byte: &u8| sort(*byte) == Name;
    for at in (start..end).filter(|&at| line[at] == b'@') {
        let local = |byte: &u8| is_name(byte) || matches!(byte, b'+' | b'%');
        let from = at - line[start..at].iter().rev().take_while(|byte| local(byte)).count();
        let mut to = at + 1 + line[at + 1..end].iter().take_while(|byte| is_name(byte)).count();
        while matches!(line[to - 1], b'.' | b'-') {
            to -= 1;
        }
        if from < at && to > at + 1 {
            take(from, to);
        }
    }
    if colons > 1 {
        let mut at = start;
        while at < end {
            let len = line[at..end]
                .iter()
                .take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
                .count();
            let run = &line[at..at + len];
            if run.iter().filter(|&&byte| byte == b':').count() > 1 {
                let to = trimmed(line, at, at + len);
                if to > at && (at, to) != (start, end) {
                    take(at, to);
                }
            }
            at += len.max(1);
        }
    }
    for at in (start..end).filter(|&at| line[at..].starts_with(b"://")).take(MOST_URLS) {
        let letters = line[start..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let whole = at + line[at..].iter().take(LONGEST_URL).take_while(|byte| sort(**byte) != Gap).count();
        if letters > 0 {
            for end in [end, whole.max(end)] {
                let end = trimmed(line, at - letters, end);
                take(at - letters, end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn tokens(line: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        each(line.as_bytes(), |start, end| {
            assert!(start < end, "{line}");
            _ = found.insert(String::from_utf8_lossy(&line.as_bytes()[start..end]).into_owned());
        });
        found
    }

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(tokens(line), expected.iter().map(|&token| token.to_owned()).collect(), "{line}");
    }

    #[test]
    fn names_are_addresses_hashes_and_words() {
        check("", &[]);
        check(" -- ... - ", &[]);
        check("10.0.0.1 GET 200", &["10.0.0.1", "GET", "200"]);
        check("(10.0.0.1), [a_b-c]", &["10.0.0.1", "a_b-c"]);
        check("d41d8cd98f00b204e9800998ecf8427e.", &["d41d8cd98f00b204e9800998ecf8427e"]);
        check("-x- .y. zoë", &["x", "y", "zoë"]);
        check("\0a\x7fb\r", &["a", "b"]);
    }

    #[test]
    fn domains_are_also_those_above_them() {
        check("www.evil.example", &["www.evil.example", "evil.example"]);
        check("a.b.evil.example.", &["a.b.evil.example", "b.evil.example", "evil.example"]);
        check("example", &["example"]);
        check("10.1.2.3", &["10.1.2.3"]);
        check(
            "1.2.3.4.in-addr.arpa",
            &[
                "1.2.3.4.in-addr.arpa",
                "2.3.4.in-addr.arpa",
                "3.4.in-addr.arpa",
                "4.in-addr.arpa",
                "in-addr.arpa",
            ],
        );
    }

    #[test]
    fn chunks_are_urls_ports_and_paths() {
        check("10.0.0.1:443", &["10.0.0.1", "443", "10.0.0.1:443"]);
        check("\"/item/ab?\"", &["item", "ab", "/item/ab"]);
        check("src=x.org:80,", &["src", "x.org", "80", "src=x.org:80", "x.org:80"]);
        let url = ["http", "evil.example", "a", "x", "1", "http://evil.example/a?x=1", "1"];
        check("<http://evil.example/a?x=1>", &url);
        let both = tokens("(see http://evil.example/a(b),c)");
        assert!(
            both.contains("http://evil.example/a") && both.contains("http://evil.example/a(b),c)"),
            "{both:?}"
        );
        assert!(tokens("u=\"https://e.org/\".").contains("https://e.org/"));
    }

    #[test]
    fn mail_addresses_are_found_in_what_is_around_them() {
        let found = tokens("mailto:rose+x@mail.evil.example, to=<a@b.org>.");
        for token in ["rose+x@mail.evil.example", "mail.evil.example", "evil.example", "a@b.org", "b.org"] {
            assert!(found.contains(token), "{token}: {found:?}");
        }
        check("@a b@", &["a", "b", "@a", "b@"]);
    }

    #[test]
    fn ipv6_addresses_are_found_in_what_is_around_them() {
        for line in
            ["[2001:db8::1]:443", "src=2001:db8::1", "2001:db8::1/64", "via 2001:db8::1.", "x%2001:db8::1"]
        {
            assert!(tokens(line).contains("2001:db8::1"), "{line}: {:?}", tokens(line));
        }
        assert!(tokens("fe80:: ::1").is_superset(&["fe80::", "::1"].map(String::from).into()));
    }

    #[test]
    fn keys_of_which_no_line_has_a_token_are_told() {
        for key in [
            "evil.example",
            "10.0.0.1",
            "2001:db8::1",
            "fe80::",
            "a@b.org",
            "http://e.org/a(b)?x=1",
            "/etc/x",
            "x",
        ] {
            assert!(is_token(key.as_bytes()), "{key}");
        }
        for key in [
            "",
            "bad file.exe",
            "evil[.]example",
            "# addresses",
            "evil.example.",
            "-x",
            "*.e.org",
            "10.0.0.0/8",
        ] {
            assert!(!is_token(key.as_bytes()), "{key}");
        }
    }

    #[test]
    fn no_line_is_too_odd() {
        let odd = b"@=:/.-+%a0 \"<\xff".to_vec();
        let mut state = 1u64;
        for len in 0..2000 {
            let line: Vec<u8> = (0..len % 40)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    odd[(state >> 33) as usize % odd.len()]
                })
                .collect();
            each(&line, |start, end| assert!(start < end && end <= line.len(), "{line:?}"));
        }
    }
}
