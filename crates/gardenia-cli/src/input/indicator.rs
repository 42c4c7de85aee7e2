//! Lines of indicator lists that are written for people: keys are compared as they stand, so that
//! no log line has them.

/// Whether a key stands for many others: `*.evil.example`, `203.0.113.0/24`.
pub(crate) fn is_pattern(key: &[u8]) -> bool {
    key.starts_with(b"*.") || is_range(key)
}

/// Whether a key was changed so that nobody clicks on it: `evil[.]example`, `hxxp://…`.
pub(super) fn is_defanged(key: &[u8]) -> bool {
    memchr::memmem::find(key, b"[.]").is_some() || key.starts_with(b"hxxp")
}

/// Whether a key is a range of addresses in the notation of CIDR.
fn is_range(key: &[u8]) -> bool {
    let Some(slash) = memchr::memrchr(b'/', key) else { return false };
    let (address, bits) = (&key[..slash], &key[slash + 1..]);
    let count = |byte| memchr::memchr_iter(byte, address).count();
    let four = count(b'.') == 3 && address.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let six = count(b':') > 1 && address.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':');
    (four || six) && (1..=3).contains(&bits.len()) && bits.iter().all(u8::is_ascii_digit)
}

#[test]
fn what_is_written_for_people_is_told_from_keys() {
    for key in ["*.evil.example", "203.0.113.0/24", "2001:db8::/32", "::/0"] {
        assert!(is_pattern(key.as_bytes()), "{key}");
    }
    for key in ["evil.example", "203.0.113.7", "/etc/passwd", "a/24", "2001:db8::1", "1.2.3/24", "*", "1/2"] {
        assert!(!is_pattern(key.as_bytes()) && !is_defanged(key.as_bytes()), "{key}");
    }
    assert!(is_defanged(b"evil[.]example") && is_defanged(b"hxxps://evil.example"));
}
