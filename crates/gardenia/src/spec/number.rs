//! Numbers as people write them: `10M`, `64MiB`, `0.1%`, `1/1000`.

use alloc::borrow::ToOwned;
use alloc::string::String;

/// A whole number: `1000`, `1_000`, `1,000`, `10M`, `1.5k`, `1e7`, `64Ki`, `0x1f`.
pub fn count(text: &str) -> Result<u64, String> {
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+')) {
        return u64::from_str_radix(digits, 16).map_err(|_| "not a hexadecimal number of 64 bits".to_owned());
    }
    whole(text, "a number such as 1000, 10M or 1e7 is expected")
}

/// A number of bits, or with a `B` a number of bytes in bits: `8M`, `1MiB`.
pub fn bits(text: &str) -> Result<u64, String> {
    let expected = "a size such as 8M (bits) or 1MiB (bytes) is expected";
    match text.strip_suffix('B') {
        Some(bytes) => whole(bytes, expected)?.checked_mul(8).ok_or_else(|| "too large".to_owned()),
        None => whole(text, expected),
    }
}

/// A number of bytes: `64k`, `1MiB`, `10MB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    whole(text.strip_suffix('B').unwrap_or(text), "a size such as 64k or 1MiB is expected")
}

/// A probability: `0.01`, `1%`, `1/100`, `1e-2`. Its range is for the filter to judge.
pub fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let share = if let Some(percent) = text.strip_suffix('%') {
        number(percent).map(|percent| percent / 100.0)
    } else if let Some((part, whole)) = text.split_once('/') {
        number(part).zip(number(whole)).map(|(part, whole)| part / whole)
    } else {
        number(text)
    };
    share
        .filter(|share| share.is_finite())
        .ok_or_else(|| "a probability such as 0.01, 1% or 1/100 is expected".to_owned())
}

/// A number of bytes for people: `999 bytes`, `12.7 MB`.
#[must_use]
pub fn show_bytes(number: u64) -> String {
    match number {
        1 => return "1 byte".to_owned(),
        0..1000 => return alloc::format!("{number} bytes"),
        _ => {}
    }
    let (mut value, mut unit) = (number as f64 / 1e3, 0);
    // 999.95 kB would be printed as 1000 kB.
    while value >= 999.5 && unit < 5 {
        value /= 1e3;
        unit += 1;
    }
    let decimals = (2 - libm::floor(libm::log10(value)) as i32).clamp(0, 2) as usize;
    let text = alloc::format!("{value:.decimals$}");
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    alloc::format!("{short} {}B", ["k", "M", "G", "T", "P", "E"][unit])
}

/// Exact, in integers: 2⁵³ and more must not lose their last digits on the way through a float.
fn whole(text: &str, expected: &str) -> Result<u64, String> {
    let wrong = || expected.to_owned();
    // Servers refuse such numbers, and other programs read them as octal.
    if let [b'0', b'0'..=b'9', ..] | [b'+', ..] = text.as_bytes() {
        return Err("write it without a sign and leading zeros".to_owned());
    }
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && !"._,".contains(c)).unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits_end);
    let (exponent, suffix) = exponent(rest).ok_or_else(wrong)?;
    let factor: u128 = match suffix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(wrong()),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let plain: String = integer.chars().filter(char::is_ascii_digit).collect::<String>() + fraction;
    if integer.is_empty() || !integer.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let too_large = || "too large for 64 bits".to_owned();
    if plain.bytes().any(|b| !b.is_ascii_digit()) {
        return Err(wrong());
    }
    // 26 digits with the largest factor are below 10²⁶·2⁴⁰ < 2¹²⁸.
    let significant = plain.trim_start_matches('0');
    if significant.len() > 26 {
        return Err(if fraction.is_empty() { too_large() } else { wrong() });
    }
    let scaled = significant.parse::<u128>().unwrap_or(0) * factor;
    let shift = exponent - fraction.len() as i32;
    let power = 10_u128.checked_pow(shift.unsigned_abs());
    let value = match (shift < 0, power) {
        _ if scaled == 0 => 0,
        (false, Some(power)) => scaled.checked_mul(power).ok_or_else(too_large)?,
        (false, None) => return Err(too_large()),
        (true, Some(power)) if scaled.is_multiple_of(power) => scaled / power,
        (true, _) => return Err("not a whole number".to_owned()),
    };
    u64::try_from(value).map_err(|_| too_large())
}

/// `e7M` is the exponent 7 and the suffix `M`.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return Some((0, text)) };
    let signed = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let end = rest.len() - signed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let exponent: i32 = rest[..end].parse().ok()?;
    (exponent.abs() < 1000).then_some((exponent, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        for (text, number) in [
            ("0", 0),
            ("1000", 1_000),
            ("1_000", 1_000),
            ("1,000,000", 1_000_000),
            ("10M", 10_000_000),
            ("1e7", 10_000_000),
            ("1E+3", 1_000),
            ("1.5k", 1_500),
            ("2.50K", 2_500),
            ("64Ki", 65_536),
            ("3G", 3_000_000_000),
            ("1T", 1_000_000_000_000),
            ("12.5e2", 1_250),
            ("10.0", 10),
            ("100e-1", 10),
            ("18446744073709551615", u64::MAX),
            ("0xff", 255),
            ("0x10", 16),
            ("0.5k", 500),
            ("0e999", 0),
            ("1e1k", 10_000),
            ("9007199254740993", 9_007_199_254_740_993), // 2⁵³ + 1, which no float holds
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in [
            "",
            "-5",
            "M",
            "ten",
            "1.5",
            "1e",
            "1e-1",
            "10m",
            "10MB",
            "1..5",
            "1.5.2k",
            ".5k",
            "1.5,0k",
            "_1",
            "18446744073709551616",
            "1e20",
            "1e999",
            "1e99999999999",
            "99999999999999999999999999999",
            "1 000",
            "0x",
            "0xg",
            "inf",
            "NaN",
            "1e+",
            "1.00000000000000000000000000001",
            "007",
            "00",
            "+5",
            "00.5k",
            "0x+5",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_shown_for_people() {
        let sizes = [1, 999, 1_000, 12_716_034, 999_999, 999_499, u64::MAX].map(show_bytes);
        assert_eq!(sizes, ["1 byte", "999 bytes", "1 kB", "12.7 MB", "1 MB", "999 kB", "18.4 EB"]);
    }

    #[test]
    fn sizes_are_bits_unless_they_end_in_a_byte() {
        assert_eq!(bits("64MiB"), Ok(64 << 23));
        assert_eq!(bits("1kB"), Ok(8_000));
        assert_eq!(bits("8M"), Ok(8_000_000));
        assert_eq!(bits("3B"), Ok(24));
        assert!(bits("B").is_err() && bits("64 MiB").is_err() && bits("4e18B").is_err());
    }

    #[test]
    fn probabilities_are_read_as_people_write_them() {
        for (text, found) in
            [("0.01", 0.01), ("0.1%", 0.001), ("1/1000", 0.001), ("1e-6", 1e-6), ("150 %", 1.5)]
        {
            assert_eq!(share(text), Ok(found), "{text}");
        }
        for text in ["", "%", "1/0", "1/", "/2", "one", "nan", "inf", "1/2/3", "1%%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
