//! Numbers as people write and read them: `10M`, `64MiB`, `0.1%`, `1/1000`; 12,345,678 and 12.7 MB.

pub use gardenia::spec::number::{
    bytes as parse_bytes, count as parse_count, share as parse_share, show_bytes as bytes,
};

use std::time::{SystemTime, UNIX_EPOCH};

/// 12,345,678
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 key`, `2 keys`.
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A day of the Gregorian calendar, in UTC: `2026-11-18`.
pub fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    // Years begin in March, so that the leap day is the last: Hinnant, "chrono-compatible low-level date algorithms".
    let (era, of_era) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}

/// A limit in bytes, as people give it: `64 MiB`, `1,500 bytes`.
pub fn limit(number: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| number.trailing_zeros() >= *shift && number > 0) {
        Some((shift, unit)) => format!("{} {unit}", count(number >> shift)),
        None => plural(number, "byte"),
    }
}

/// A number that was not counted: `0.25`, `12.3`, `12,346`.
pub fn number(value: f64) -> String {
    if value < 1000.0 { short(value) } else { count(value.round() as u64) }
}

/// A probability: `1.02%`, and `1 in 1,234,567` where percents have too many zeros.
pub fn share(share: f64) -> String {
    match 1.0 / share {
        one if share == 0.0 || one <= 1e4 => percent(share),
        one if one < 1e9 => format!("1 in {}", count(one.round() as u64)),
        // Nobody knows such a rate to its last digit.
        one => format!("1 in {one:.1e}"),
    }
}

/// A probability: `1.02%`, however small.
pub fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// A time: `12.3 ns`, `45 ms`, `1.2 s`.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", short(value))
}

/// Three significant digits, no zeros at the end.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        let days = [0, 58, 59, 11_016, 11_017, 19_782, 19_783, 20_775, 47_540, 47_541];
        let dates = days.map(|day| date(UNIX_EPOCH + std::time::Duration::from_secs(day * 86_400 + 86_399)));
        // As `date -u -d @SECONDS +%F` prints them: leap days of 2000 and 2024, none in 2100.
        let expected = [
            "1970-01-01",
            "1970-02-28",
            "1970-03-01",
            "2000-02-29",
            "2000-03-01",
            "2024-02-29",
            "2024-03-01",
            "2026-11-18",
            "2100-02-28",
            "2100-03-01",
        ];
        assert_eq!(dates, expected);
    }

    #[test]
    fn numbers_are_printed_for_people() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(count), ["0", "999", "1,000", "12,345,678"]);
        let sizes = [1, 999, 1_000, 12_716_034, 999_999, 999_499, u64::MAX].map(bytes);
        assert_eq!(sizes, ["1 byte", "999 bytes", "1 kB", "12.7 MB", "1 MB", "999 kB", "18.4 EB"]);
        let shares = [0.0, 0.01, 0.010_234, 0.5, 1.0, 1e-4, 1e-6, 1.33e-17].map(share);
        assert_eq!(shares, ["0%", "1%", "1.02%", "50%", "100%", "0.01%", "1 in 1,000,000", "1 in 7.5e16"]);
        assert_eq!([0.0, 0.25, 12.34, 999.9, 12_345.6].map(number), ["0", "0.25", "12.3", "1000", "12,346"]);
        assert_eq!([0.010_234, 1e-6].map(percent), ["1.02%", "0.0001%"]);
        assert_eq!([1.23e-8, 0.045, 61.04].map(seconds), ["12.3 ns", "45 ms", "61 s"]);
    }
}
