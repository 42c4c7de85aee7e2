//! Dates and times of day as the numbers that column formats store.

/// Days since 1 January 1970 of a date of the Gregorian calendar, `YYYY-MM-DD`.
pub(super) fn days(text: &str) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let mut parts = text.splitn(3, '-');
    let mut part = |least: usize| {
        let part = parts.next()?;
        let fits = part.len() >= least && part.len() <= 6 && part.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| part.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (sign * part(4)?, part(2)?, part(2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let longest = longest.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=*longest).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last: Hinnant, "chrono-compatible low-level date algorithms".
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Ticks since midnight of `HH:MM[:SS[.fraction]]`, with `per_second` ticks to a second; `None` if
/// the fraction is finer.
pub(super) fn ticks(text: &str, per_second: i64) -> Option<i64> {
    let two = |text: &str, below: i64| {
        let number = (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten()?;
        Some(i64::from(number)).filter(|number| *number < below)
    };
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (two(parts.next()?, 24)?, two(parts.next()?, 60)?);
    let (seconds, fraction) = match parts.next().map(|rest| rest.split_once('.').unwrap_or((rest, ""))) {
        Some((seconds, fraction)) => (two(seconds, 60)?, fraction),
        None => (0, ""),
    };
    let mut ticks = 0;
    let mut unit = per_second;
    for digit in fraction.bytes() {
        let digit = i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        if unit == 1 && digit > 0 {
            return None;
        }
        unit /= 10;
        ticks += digit * unit;
    }
    Some(((hours * 60 + minutes) * 60 + seconds) * per_second + ticks)
}

/// Ticks since 1970 of a date and a time, `YYYY-MM-DDTHH:MM:SS[.fraction][Z]`, with a space in
/// place of the `T` if you like.
pub(super) fn timestamp(text: &str, per_second: i64) -> Option<i64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    days(date)?.checked_mul(86_400)?.checked_mul(per_second)?.checked_add(ticks(time, per_second)?)
}

#[test]
fn dates_are_counted_from_1970() {
    // By Python's datetime.date(…).toordinal() - 719163.
    let known = [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2000-02-29", 11_016),
        ("2024-12-31", 20_088),
        ("0001-01-01", -719_162),
    ];
    known.iter().for_each(|(text, number)| assert_eq!(days(text), Some(*number), "{text}"));
    for wrong in
        ["2023-02-29", "2023-13-01", "2023-00-01", "2023-1-1", "20230101", "", "2023-01-32", "x-01-01"]
    {
        assert_eq!(days(wrong), None, "{wrong}");
    }
    assert_eq!(timestamp("1970-01-02T00:00:01.5Z", 1_000), Some(86_401_500));
    assert_eq!(timestamp("1970-01-02 00:00:01.123456", 1_000_000), Some(86_401_123_456));
    assert_eq!(timestamp("1970-01-02 00:00:01.1234", 1_000), None); // finer than it is stored
    assert_eq!(
        (ticks("23:59:59.999", 1_000), ticks("24:00:00", 1), ticks("1:00", 1)),
        (Some(86_399_999), None, None)
    );
}
