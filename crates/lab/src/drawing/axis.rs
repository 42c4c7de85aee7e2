//! Where numbers stand on an axis, and which of them are written beside it.

use crate::Scale;

/// A stretch of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A number beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Its place, from 0 to 1.
    pub(super) at: f64,
    pub(super) label: String,
}

impl Span {
    /// That holds all values, with a little room; `None` if there is none that can be drawn.
    pub(super) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let drawn = values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (low, high) = drawn
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        Some(match scale {
            Scale::Linear => {
                let room = if high > low { (high - low) * 0.04 } else { low.abs().max(1.0) * 0.5 };
                // Nothing is below zero where all is above, and bars stand on it.
                let bottom = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
                Self { scale, low: bottom, high: high + room }
            }
            Scale::Log => {
                let room = if high > low { libm::pow(high / low, 0.04) } else { 2.0 };
                Self { scale, low: low / room, high: high * room }
            }
        })
    }

    /// Where a value stands, from 0 to 1; `None` if it has no place.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => libm::log(value / self.low) / libm::log(self.high / self.low),
            Scale::Log => return None,
        };
        place.is_finite().then_some(place)
    }

    /// The same, moved to the nearer end if it lies outside: for ends of error bars and feet of
    /// bars.
    pub(super) fn clamped(&self, value: f64) -> f64 {
        self.place(value).map_or(0.0, |place| place.clamp(0.0, 1.0))
    }

    /// Up to about `most` round numbers.
    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        let decades = libm::log10(self.high / self.low);
        let values = match self.scale {
            Scale::Log if decades >= 0.95 => self.powers(most, decades),
            _ => {
                let (step, decimals) = step((self.high - self.low) / most as f64);
                let first = libm::ceil(self.low / step - 1e-9) as i64;
                let last = libm::floor(self.high / step + 1e-9) as i64;
                (first..=last).map(|number| label(number as f64 * step, decimals)).collect()
            }
        };
        values
            .into_iter()
            .filter_map(|(value, label)| self.place(value).map(|at| Tick { at, label }))
            .filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&tick.at))
            .collect()
    }

    /// Powers of ten, with 2 and 5 between them where there are few, or only some where there are
    /// many.
    fn powers(&self, most: usize, decades: f64) -> Vec<(f64, String)> {
        let (first, last) =
            (libm::floor(libm::log10(self.low)) as i32, libm::ceil(libm::log10(self.high)) as i32);
        let factors: &[u32] = if decades * 3.0 <= most as f64 { &[1, 2, 5] } else { &[1] };
        let every = libm::ceil(decades / most as f64).max(1.0) as i32;
        let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
        powers
            .flat_map(|power| {
                factors
                    .iter()
                    .map(move |&factor| (f64::from(factor) * libm::exp10(power.into()), power, factor))
            })
            .map(|(value, power, factor)| {
                let text = match power {
                    0..=5 => thousands(libm::round(value)),
                    -2..0 => format!("{value:.*}", power.unsigned_abs() as usize),
                    _ if factor == 1 => format!("10{}", superscript(power)),
                    _ => format!("{factor}·10{}", superscript(power)),
                };
                (value, text)
            })
            .collect()
    }
}

/// The least of 1, 2, 5 times a power of ten that is no less than this, and the decimals that it
/// needs.
fn step(least: f64) -> (f64, usize) {
    let power = libm::floor(libm::log10(least));
    let unit = libm::exp10(power);
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * unit >= least * (1.0 - 1e-9))
        .unwrap_or(10.0);
    let decimals = if factor == 10.0 { -power - 1.0 } else { -power };
    (factor * unit, decimals.clamp(0.0, 300.0) as usize)
}

/// A number of an even axis, written with that many decimals, or as a power of ten where it is
/// long.
fn label(value: f64, decimals: usize) -> (f64, String) {
    let text = match decimals {
        0 if value.abs() >= 1e7 => power_of_ten(value),
        0 if value < 0.0 => format!("−{}", thousands(-value)),
        0 => thousands(value),
        5.. => power_of_ten(value),
        _ => format!("{value:.decimals$}").replace('-', "−"),
    };
    (value, text)
}

/// 4·10⁻⁴, 2.5·10⁷
fn power_of_ten(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:.1e}");
    let (factor, power) = text.split_once('e').expect("the form of a power");
    let factor = factor.trim_end_matches(".0").replace('-', "−");
    format!("{factor}·10{}", superscript(power.parse().expect("a whole power")))
}

/// 10,000
fn thousands(value: f64) -> String {
    crate::table::thousands(libm::round(value) as u64)
}

/// ⁻¹²
fn superscript(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = power.unsigned_abs().to_string();
    let sign = if power < 0 { "⁻" } else { "" };
    sign.chars().chain(digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, most: usize) -> Vec<String> {
        let span = Span { scale, low, high };
        span.ticks(most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_span() {
        assert_eq!(labels(Scale::Linear, 0.0, 10_400.0, 5), ["0", "5,000", "10,000"]);
        assert_eq!(labels(Scale::Linear, 0.98, 1.21, 5), ["1.00", "1.05", "1.10", "1.15", "1.20"]);
        assert_eq!(labels(Scale::Linear, -1.2, 1.3, 6), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(Scale::Linear, -1e-5, 3.2e-5, 5), ["−1·10⁻⁵", "0", "1·10⁻⁵", "2·10⁻⁵", "3·10⁻⁵"]);
        assert_eq!(labels(Scale::Linear, 0.0, 3e7, 3), ["0", "1·10⁷", "2·10⁷", "3·10⁷"]);
        assert_eq!(labels(Scale::Log, 900.0, 11_000.0, 6), ["1,000", "2,000", "5,000", "10,000"]);
        assert_eq!(labels(Scale::Log, 900.0, 4_100.0, 6), ["1,000", "2,000", "3,000", "4,000"]);
        assert_eq!(labels(Scale::Log, 90.0, 110_000.0, 6), ["100", "1,000", "10,000", "100,000"]);
        assert_eq!(labels(Scale::Log, 0.9, 110.0, 8), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(labels(Scale::Log, 9e-8, 2.0, 4), ["10⁻⁶", "10⁻⁴", "0.01", "1"]);
    }

    #[test]
    fn values_stand_where_their_scale_says() {
        let line = Span::of(Scale::Linear, [0.0, 100.0].into_iter()).unwrap();
        assert_eq!((line.low, line.high), (0.0, 104.0));
        assert_eq!(line.place(52.0), Some(0.5));
        let log = Span::of(Scale::Log, [1.0, 0.0, -3.0, 10_000.0].into_iter()).unwrap();
        assert!((log.place(100.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((log.place(0.0), log.clamped(0.0), log.clamped(1e9)), (None, 0.0, 1.0));
        // The same little room at both ends.
        let ends = [log.place(1.0).unwrap(), 1.0 - log.place(10_000.0).unwrap()];
        assert!(ends.iter().all(|room| (room - 0.04 / 1.08).abs() < 1e-12), "{ends:?}");
    }

    #[test]
    fn one_value_has_a_span_and_none_has_not() {
        for (scale, value) in [(Scale::Linear, 0.0), (Scale::Linear, -7.0), (Scale::Log, 1e-9)] {
            let span = Span::of(scale, [value].into_iter()).unwrap();
            assert!(span.low < span.high && (0.0..=1.0).contains(&span.place(value).unwrap()), "{span:?}");
            assert!(!span.ticks(5).is_empty(), "{span:?}");
        }
        assert_eq!(Span::of(Scale::Log, [0.0, -1.0, f64::NAN].into_iter()), None);
    }
}
