//! The `gardenia build` that makes a design.

use crate::spec::spell;
use gardenia::Spec;
use gardenia::plan::Design;
use gardenia::spec::{Param, Value};

/// A size that differs by less than this is the same for whoever builds it.
const SAME: f64 = 0.01;

/// Options that say how large a filter is.
const SIZES: [Param; 7] =
    [Param::Items, Param::Fpp, Param::PlannedFpp, Param::Bits, Param::Cells, Param::Hashes, Param::Memory];

/// The options of `gardenia build` that make this design: what was asked for, if that is enough,
/// and else its shape.
fn options(design: &Design, memory: Option<u64>, fpp: Option<f64>) -> String {
    let spec = &design.spec;
    let option = |param: Param| match spec.get(param) {
        Some(Value::Given) | None => format!(" {}", spell(param)),
        Some(Value::Real(value)) => format!(" {} {}", spell(param), rate(value)),
        Some(value) => format!(" {} {value}", spell(param)),
    };
    let (kind, items) = (spec.kind().name(), spec.whole(Param::Items).unwrap_or(design.items));
    // How wide cells are follows from the rate, or from what is to be counted.
    let others = |width: bool| -> String {
        let kept = |param: &Param| {
            !SIZES.contains(param)
                && (width || ![Param::Width, Param::Fingerprint, Param::Arity].contains(param))
        };
        spec.given().filter(kept).map(option).collect()
    };
    let fpp = fpp.or(Some(0.01).filter(|_| memory.is_none()));
    let rate = fpp.map(|fpp| format!("--fpp {}", rate(fpp)));
    let memory = memory.map(|bytes| format!("--memory {bytes}"));
    let sizes = || [&rate, &memory].into_iter().flatten();
    let short = [false, true].into_iter().flat_map(|width| sizes().map(move |size| (width, size)));
    let mut short =
        short.map(|(width, size)| format!("--kind {kind} --items {}{} {size}", count(items), others(width)));
    short.find(|options| is(options, design)).unwrap_or_else(|| {
        let given = spec.given().filter(|param| *param != Param::PlannedFpp);
        format!("--kind {kind}{}", given.map(option).collect::<String>())
    })
}

/// Whether options give a filter of the design's size and rate.
fn is(options: &str, design: &Design) -> bool {
    // As `build` reads them, but in the words of a spec.
    let mut words = options.split(' ').skip(1);
    let kind = words.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = words.collect();
    let pairs =
        rest.join(" ").split("--").skip(1).map(|pair| pair.trim().replacen(' ', "=", 1)).collect::<Vec<_>>();
    let Ok(spec) = format!("{kind} {}", pairs.join(" ")).parse::<Spec>() else { return false };
    let Ok(size) = spec.size() else { return false };
    size.bytes <= design.bytes
        && size.bytes as f64 > design.bytes as f64 * (1.0 - SAME)
        && size.fpp.is_none_or(|fpp| fpp <= design.fpp * (1.0 + SAME))
}

/// `10M`, `3k`, `12345`.
fn count(number: u64) -> String {
    let units = [(1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= *unit && number.is_multiple_of(*unit)) {
        Some((unit, letter)) => format!("{}{letter}", number / unit),
        None => number.to_string(),
    }
}

/// A rate in three digits at most, rounded down, so that it holds: `0.1%`, `1e-6`.
fn rate(value: f64) -> String {
    let exponent = value.log10().floor() as i32 - 2;
    let digits = (value / 10f64.powi(exponent) * (1.0 + 1e-12)).floor();
    match format!("{digits}e{exponent}").parse::<f64>() {
        Ok(short) if short < 1e-4 => format!("{short:e}"),
        Ok(short) if short < 1.0 => {
            format!("{}%", format!("{:.5}", short * 100.0).trim_end_matches('0').trim_end_matches('.'))
        }
        _ => value.to_string(),
    }
}

/// The whole command, with the files that are known.
pub(crate) fn line(design: &Design, memory: Option<u64>, fpp: Option<f64>, files: &[String]) -> String {
    let keys = match files {
        [] => "KEYS".to_owned(),
        files => files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" "),
    };
    format!("gardenia build {} -o OUT.gdn {keys}", options(design, memory, fpp))
}

/// A name as a shell takes it for one word.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:=@%".contains(c);
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[test]
fn names_are_one_word_for_a_shell() {
    assert_eq!(
        ["a/b.txt", "a b", "it's", "", "$x"].map(quoted),
        ["a/b.txt", "'a b'", r"'it'\''s'", "''", "'$x'"]
    );
}

#[test]
fn numbers_are_short() {
    assert_eq!([1, 999, 3_000, 10_000_000, 900_000_001].map(count), ["1", "999", "3k", "10M", "900000001"]);
    let rates = [0.01, 0.001, 1.0 / 3.0, 1e-6, 9.999_512_109e-7, 0.005, 1e-4, 8.0].map(rate);
    assert_eq!(rates, ["1%", "0.1%", "33.3%", "1e-6", "9.99e-7", "0.5%", "0.01%", "8"]);
}
