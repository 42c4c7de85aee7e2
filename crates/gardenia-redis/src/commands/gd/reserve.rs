//! `GD.RESERVE`.

use super::{EXISTS, NOT_MADE, Refusal, announce, find, told, words};
use crate::commands::bf::pass_on_creation;
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Keys, Setting};
use crate::engine::settings::{InitialSize, MAX_CAPACITY};
use crate::values::any::Any;
use crate::values::bloom::{Bloom, BloomPlan, Scaling};
use gardenia::index::SchemeId;
use gardenia::spec::{Param, SpecError, Takes, Value};
use gardenia::{Ability, AnyFilter, Kind, Spec};

/// Parses what follows the key of GD.RESERVE; the error says what to change.
pub(super) fn parse(args: &[impl AsRef<[u8]>]) -> Result<Spec, String> {
    let mut args = args.iter().map(|arg| String::from_utf8_lossy(arg.as_ref()));
    let reserved = |kind: &Kind| kind.holds_keys() && kind.can(Ability::Insert);
    let kinds = || Kind::ALL.into_iter().filter(reserved).map(Kind::name).collect::<Vec<_>>().join(", ");
    match args.next() {
        Some(word) if word.eq_ignore_ascii_case("KIND") => {}
        _ => return Err("KIND and a kind of filter must follow the key".to_owned()),
    }
    let name = args.next().ok_or_else(|| format!("KIND needs one of {}", kinds()))?;
    let known = Spec::named(&name).filter(|spec| reserved(&spec.kind()));
    let mut spec =
        known.ok_or_else(|| format!("kind {name} is unknown, or not made here: {} are known", kinds()))?;
    while let Some(word) = args.next() {
        let param = Param::from_word(&word).ok_or_else(|| format!("option {word} is unknown"))?;
        if spec.has(param) {
            return Err(format!("{} is given twice: leave out one of them", spell(param)));
        }
        let value = match param.takes() {
            Takes::Nothing => "".into(),
            _ => args.next().ok_or_else(|| format!("{} needs a value", spell(param)))?,
        };
        spec = spec.parse_option(param, &value).map_err(explain)?;
    }
    Ok(spec)
}

/// An option as it is written here.
fn spell(param: Param) -> String {
    param.word().to_ascii_uppercase()
}

/// What is wrong, and what to change.
pub(super) fn explain(error: SpecError) -> String {
    match error.remedy(spell) {
        remedy if remedy.is_empty() => error.what(spell),
        remedy => format!("{}: {remedy}", error.what(spell)),
    }
}

/// The lowest rate that is planned here.
const LOWEST: f64 = 1e-12;
/// The same of kinds whose planning searches.
const LOWEST_SEARCHED: f64 = 1e-7;
/// The same with a scheme that was asked for: below what it can keep, the search goes far.
const LOWEST_OF_SCHEMES: f64 = 1e-4;
/// The most hashes: what a rate costs to compute grows with their square, and a rate of 2⁻⁴⁰ is low
/// enough.
const MOST_HASHES: u64 = 40;
/// Bits per item from which on the best filter has more hashes than that.
const MOST_BITS_PER_ITEM: u64 = 57;

/// The fewest bits of a filter that is sized by them alone.
const FEWEST_BITS: u64 = 1_000;

/// An error if the plan would stop the server for long: all others take less than 10 ms
/// (`bench/limits.py`).
fn check_effort(spec: &Spec) -> Result<(), String> {
    let (kind, name) = (spec.kind(), spec.kind().name());
    let elsewhere =
        "planning it would stop the server: build the filter with the command line, and load it with GD.LOAD";
    let lowest = match kind {
        Kind::Scalable => 0.0,
        _ if spec.has(Param::Scheme) => LOWEST_OF_SCHEMES,
        Kind::Stable | Kind::Choice => LOWEST_SEARCHED,
        _ => LOWEST,
    };
    if spec.real(Param::Fpp).is_some_and(|fpp| fpp < lowest) {
        let with = if spec.has(Param::Scheme) { " with SCHEME" } else { "" };
        return Err(format!("FPP of kind {name}{with} must be {lowest:e} or more here, because {elsewhere}"));
    }
    if spec.has(Param::Scheme) && !spec.has(Param::Items) && !spec.has(Param::Hashes) && spec.has(Param::Fpp)
    {
        return Err(format!(
            "SCHEME is given without ITEMS or HASHES: give one of them, because {elsewhere}"
        ));
    }
    // Every number of hashes is tried where no key has room.
    let bits = spec.whole(Param::Bits);
    let bits = bits.or_else(|| spec.whole(Param::Memory).map(|bytes| bytes.saturating_mul(8)));
    // Counters have four bits or more.
    let width = if kind.params().contains(&Param::Width) { spec.whole(Param::Width).unwrap_or(4) } else { 1 };
    let bits = spec.whole(Param::Cells).or_else(|| bits.map(|bits| bits / width.max(1)));
    let open = !spec.has(Param::Items) && !spec.has(Param::Hashes);
    if kind == Kind::A2 && open && bits.is_some_and(|bits| bits < FEWEST_BITS) {
        return Err(format!(
            "BITS of kind {name} must be {FEWEST_BITS} or more here: raise them, or give ITEMS"
        ));
    }
    for param in [Param::Hashes, Param::SecondaryHashes] {
        if spec.whole(param).is_some_and(|hashes| hashes > MOST_HASHES) {
            return Err(format!("{} must be {MOST_HASHES} at most here, because {elsewhere}", spell(param)));
        }
    }
    // Stable filters, and those with choices, end at fewer hashes by themselves. Those with two buffers halve their bits.
    let chosen = kind.params().contains(&Param::Hashes) && !matches!(kind, Kind::Choice | Kind::Stable);
    let chosen = chosen && !spec.has(Param::Hashes) && !spec.has(Param::Fpp);
    let most = if kind == Kind::A2 { 2 * MOST_BITS_PER_ITEM } else { MOST_BITS_PER_ITEM };
    if let (true, Some(bits), Some(items)) = (chosen, bits, spec.whole(Param::Items))
        && bits / items.max(1) > most
    {
        return Err(format!(
            "more than {most} bits per item are given, and HASHES are not: give HASHES, {MOST_HASHES} at most, or fewer bits"
        ));
    }
    Ok(())
}

/// The same with everything filled in that was left open; `first` is where scalable filters begin.
fn filled(spec: Spec, first: u64) -> Result<Spec, String> {
    spec.check_insertable().map_err(explain)?;
    let open = spec.kind() == Kind::Scalable && !spec.has(Param::Items);
    let spec = if open { spec.items(first) } else { spec };
    spec.filled().map_err(explain)
}

/// The words that ask for it.
fn words_of(spec: &Spec) -> Vec<String> {
    let options = spec.given().flat_map(|param| {
        let value = spec.get(param).filter(|value| *value != Value::Given);
        [Some(spell(param)), value.map(|value| value.to_string())].into_iter().flatten()
    });
    ["KIND".to_owned(), spec.kind().name().to_owned()].into_iter().chain(options).collect()
}

/// A filter that was made.
#[derive(Debug)]
pub(super) enum Made {
    /// A key of `GD.*`.
    Any(AnyFilter),
    /// A key of `BF.*`, and the plan that it was built from.
    Scaling(BloomPlan, Scaling),
}

/// The filter of a filled spec; refused if it takes more than `limit` bytes, before any are taken.
fn build(spec: &Spec, limit: u64) -> Result<Made, String> {
    let over = |needed: u64| {
        format!(
            "the filter needs {needed} bytes, over the limit of {limit}: lower its size, or raise bf.memory-limit"
        )
    };
    let largest = MAX_CAPACITY.unsigned_abs();
    if spec.kind() == Kind::Scalable && spec.whole(Param::Items).is_some_and(|items| items > largest) {
        return Err(format!("ITEMS of kind scalable must be {largest} at most"));
    }
    match spec.size().map_err(explain)?.bytes {
        needed if needed > limit => return Err(over(needed)),
        _ => {}
    }
    if spec.kind() == Kind::Scalable {
        let whole = |param| spec.whole(param).unwrap_or(0);
        let real = |param| spec.real(param).unwrap_or(0.0);
        let scheme = match spec.get(Param::Scheme) {
            Some(Value::Word(name)) => SchemeId::from_name(name),
            _ => None,
        };
        let plan = BloomPlan {
            error: real(Param::Fpp),
            capacity: whole(Param::Items),
            expansion: whole(Param::Growth) as u32,
            seed: whole(Param::Seed),
            tightening: real(Param::Tightening),
            peak: whole(Param::Peak) as u32,
            scheme: scheme.unwrap_or_default(),
        };
        let filter = plan.build(limit).map_err(|_| over(limit.saturating_add(1)))?;
        return Ok(Made::Scaling(plan, filter));
    }
    Ok(Made::Any(match spec.build().map_err(explain)? {
        AnyFilter::Compressed(filter) => filter.into_bloom().into(),
        filter => filter,
    }))
}

pub(super) fn reserve(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, make(ctx, keys))
}

fn make(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity.into()) };
    if rest.len() < 2 {
        return Err(Failure::Arity.into());
    }
    let asked = parse(rest).map_err(words)?;
    // What was accepted elsewhere is accepted here.
    if !ctx.is_repeated() {
        check_effort(&asked).map_err(words)?;
    }
    let spec = filled(asked, InitialSize::get().unsigned_abs()).map_err(words)?;
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        return Err(if find(&mut key).is_other() { WRONG_TYPE } else { EXISTS }.into());
    }
    match build(&spec, ctx.limit()).map_err(words)? {
        Made::Any(filter) => {
            if !key.set(Any::Whole(filter)) {
                return Err(NOT_MADE.into());
            }
            ctx.replicate_made(c"GD.RESERVE", *name, &words_of(&spec));
        }
        Made::Scaling(plan, filter) => {
            if !key.set(Bloom::Whole(filter)) {
                return Err(NOT_MADE.into());
            }
            pass_on_creation(ctx, *name, &plan);
        }
    }
    drop(key);
    announce(ctx, keys, *name, c"gd.reserve");
    ctx.reply_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::alloc::peak_of;
    use gardenia::AnyFilter;

    fn reserved() -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| kind.holds_keys() && kind.can(Ability::Insert))
    }

    fn asked(line: &str) -> Result<Spec, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        filled(parse(&words)?, 100)
    }

    fn made(line: &str) -> Result<Made, String> {
        build(&asked(line)?, 1 << 20)
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, text) in [
            ("ROSE bloom", "KIND and a kind of filter must follow the key"),
            ("KIND bloom ROSES 1", "option ROSES is unknown"),
            ("KIND bloom ITEMS", "ITEMS needs a value"),
            ("KIND bloom ITEMS 007", "ITEMS is \"007\": write it without a sign and leading zeros"),
            ("KIND bloom MEMORY 01KiB", "MEMORY is \"01KiB\": write it without a sign and leading zeros"),
            ("KIND bloom ITEMS -0", "ITEMS is \"-0\": a number such as 1000, 10M or 1e7 is expected"),
            ("KIND bloom ITEMS -1", "ITEMS is \"-1\": a number such as 1000, 10M or 1e7 is expected"),
            (
                "KIND bloom ITEMS 18446744073709551616",
                "ITEMS is \"18446744073709551616\": too large for 64 bits",
            ),
            ("KIND bloom ITEMS 1 ITEMS 2", "ITEMS is given twice: leave out one of them"),
            ("KIND bloom ITEMS 1 WINDOW 2", "ITEMS is given twice: leave out one of them"),
            (
                "KIND bloom ITEMS 9 ERROR 1",
                "FPP is \"1\": it must be between 0 and 1 (exclusive), such as 0.01 or 1%",
            ),
            (
                "KIND bloom ITEMS 9 WIDTH 4",
                "a filter of kind bloom has no WIDTH: leave it out, or choose another kind, such as counting, bitwise, spectral",
            ),
            (
                "KIND bloom",
                "nothing says how large a filter of kind bloom is to be: give ITEMS, the number of keys",
            ),
            ("KIND bloom ITEMS 9 HASHES 3", "HASHES is given alone: give a size, too: BITS or CELLS"),
            (
                "KIND bloom ITEMS 9 BITS 99 FPP 0.1",
                "BITS and FPP are both given, and each fixes the other: leave out one of them",
            ),
            ("KIND bloom ITEMS 0", "ITEMS is \"0\": it must be at least 1"),
            ("KIND bloom BITS 0 ITEMS 9", "a filter needs at least 1 cell, not 0: raise BITS or CELLS"),
            (
                "KIND cuckoo CELLS 100",
                "CELLS is given alone: give WIDTH, the bits of a fingerprint such as 12, too",
            ),
            (
                "KIND count-min ITEMS 9",
                "a filter of kind count-min has no ITEMS: leave it out, or choose another kind, such as bloom, blocked, counting",
            ),
            ("KIND scalable ITEMS 1073741825", "ITEMS of kind scalable must be 1073741824 at most"),
        ] {
            assert_eq!(made(line).err().as_deref(), Some(text), "{line}");
        }
        let unknown = made("KIND rose").unwrap_err();
        assert!(unknown.starts_with("kind rose is unknown") && unknown.contains("blocked"), "{unknown}");
        for line in [
            "KIND bloom ITEMS 1000000 FPP 0.001",
            "KIND blocked BITS 80000000 HASHES 3",
            "KIND dynamic ITEMS 1000000",
            "KIND scalable ITEMS 10000000",
            "KIND compressed ITEMS 1000000",
            "KIND count-min COLUMNS 1000000 ROWS 5",
            "KIND cuckoo ITEMS 9000000",
            "KIND spectral-rm ITEMS 100000",
            "KIND a2 WINDOW 1000000",
        ] {
            let text = made(line).unwrap_err();
            assert!(text.contains("over the limit of 1048576"), "{line}: {text}");
        }
    }

    #[test]
    fn plans_that_take_long_are_refused() {
        let check = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            check_effort(&parse(&words).unwrap())
        };
        for (line, text) in [
            ("KIND bloom ITEMS 9 FPP 9e-13", "FPP of kind bloom must be 1e-12 or more here"),
            ("KIND choice ITEMS 9 FPP 9e-8", "FPP of kind choice must be 1e-7 or more here"),
            (
                "KIND bloom ITEMS 9 FPP 9e-5 SCHEME double",
                "FPP of kind bloom with SCHEME must be 1e-4 or more",
            ),
            ("KIND a2 BITS 30 FPP 0.01 SCHEME double", "SCHEME is given without ITEMS or HASHES"),
            ("KIND a2 BITS 999 FPP 0.01", "BITS of kind a2 must be 1000 or more here"),
            ("KIND a2 BITS 1000 HASHES 41", "HASHES must be 40 at most here"),
            ("KIND spectral-rm ITEMS 9 SECONDARY-HASHES 41", "SECONDARY-HASHES must be 40 at most here"),
            ("KIND bloom ITEMS 9 BITS 522", "more than 57 bits per item are given"),
            ("KIND counting ITEMS 9 CELLS 522", "more than 57 bits per item are given"),
            ("KIND bloom ITEMS 9 MEMORY 66", "more than 57 bits per item are given"),
        ] {
            let error = check(line).unwrap_err();
            assert!(error.starts_with(text), "{line}: {error}");
        }
        for line in [
            "KIND bloom ITEMS 9 FPP 1e-12",
            "KIND scalable ITEMS 9 FPP 1e-15",
            "KIND choice ITEMS 9 FPP 1e-7",
            "KIND a2 BITS 1000 HASHES 40",
            "KIND a2 BITS 999 ITEMS 50",
            "KIND a2 BITS 1000",
            "KIND bloom ITEMS 9 BITS 521",
            "KIND counting ITEMS 50 MEMORY 1000",
            "KIND bloom ITEMS 9 BITS 9999 HASHES 40",
            "KIND bloom ITEMS 9 SCHEME double",
            "KIND choice ITEMS 10 BITS 3000",
            "KIND bloom ITEMS 9 MEMORY 1000 FPP 0.01",
            "KIND a2 ITEMS 100 MEMORY 1KiB",
            "KIND stable ITEMS 100 MEMORY 1KiB",
        ] {
            assert_eq!(check(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn sizes_beyond_all_bounds_are_refused_and_take_no_memory() {
        for kind in reserved() {
            let name = kind.name();
            let sizes = match kind {
                Kind::CountMin => ["COLUMNS N ROWS 5", "BITS N ROWS 3", "COLUMNS N ROWS 4294967295"],
                Kind::Cuckoo => ["ITEMS N", "ITEMS N FPP 0.000001", "CELLS N WIDTH 32"],
                Kind::Dynamic | Kind::Scalable => ["ITEMS N", "ITEMS N FPP 0.000001", "ITEMS N FPP 0.9"],
                Kind::Stable => ["ITEMS N", "BITS N HASHES 3 DECREMENTS 3", "ITEMS N FPP 0.3"],
                _ => ["ITEMS N", "BITS N HASHES 3", "ITEMS N FPP 0.3"],
            };
            for size in sizes {
                for number in [100_000_000, 1_000_000_000_000, 1_000_000_000_000_000_000, u64::MAX] {
                    let line = format!("KIND {name} {}", size.replace(" N", &format!(" {number}")));
                    let (made, peak) = peak_of(|| made(&line));
                    assert!(made.is_err() && peak < 1 << 20, "{line}: {peak} bytes");
                }
            }
        }
    }

    #[test]
    fn a_wish_survives_being_passed_on() {
        let lines = [
            "KIND bloom ITEMS 1000 FPP 0.3",
            "KIND bloom MEMORY 1000 ITEMS 100",
            "KIND blocked BITS 10000 HASHES 5",
            "KIND counting ITEMS 100 WIDTH 8 SCHEME double",
            "KIND spectral-ms CELLS 1000 ITEMS 100",
            "KIND spectral-mi ITEMS 100 COMPACT",
            "KIND spectral-rm ITEMS 100 SECONDARY-CELLS 50 SECONDARY-HASHES 3 NO-MARKER",
            "KIND bitwise ITEMS 100 DIGIT 2",
            "KIND stable WINDOW 100",
            "KIND stable CELLS 1000 HASHES 3 DECREMENTS 10",
            "KIND stable MEMORY 1000",
            "KIND a2 WINDOW 100 ERROR 1e-7",
            "KIND a2 MEMORY 1000 FPP 0.1 WINDOW 50",
            "KIND choice ITEMS 100",
            "KIND count-min",
            "KIND count-min MEMORY 10000 UPDATE plain FORM modified",
            "KIND count-min COLUMNS 100 WIDTH 64",
            "KIND cuckoo ITEMS 100 FPP 0.000001",
            "KIND cuckoo ITEMS 100 WIDTH 20",
            "KIND dynamic SEED 18446744073709551615",
        ];
        for line in lines {
            let asked = asked(line).unwrap();
            // Nothing is left open: no setting is asked for.
            let again = filled(parse(&words_of(&asked)).unwrap(), 0).unwrap();
            assert_eq!(again, asked, "{line}");
            let bytes = |spec: &Spec| match build(spec, u64::MAX).unwrap() {
                Made::Any(filter) => filter.to_bytes().unwrap(),
                Made::Scaling(..) => panic!(),
            };
            assert_eq!(bytes(&again), bytes(&asked), "{line}");
        }
    }

    #[test]
    fn filters_are_what_was_asked_for() {
        let any = |line: &str| match made(line).unwrap() {
            Made::Any(filter) => filter,
            Made::Scaling(..) => panic!("{line}"),
        };
        for kind in reserved().filter(|kind| *kind != Kind::Scalable && *kind != Kind::Compressed) {
            let (name, sketch) = (kind.name(), kind == Kind::CountMin);
            let filter =
                any(&format!("KIND {name} {} SEED 5", if sketch { "" } else { "ITEMS 50 FPP 0.002" }));
            assert_eq!(filter.kind(), kind);
            assert_eq!(filter.identity().mark, 5, "{name}");
            if !sketch {
                let about = filter.about();
                assert_eq!((about.planned_items(), about.planned_fpp()), (50, 0.002), "{name}");
            }
        }
        let filter = any("KIND bloom MEMORY 64000 ITEMS 1000");
        assert_eq!(filter.memory_bytes(), 64_000);
        let AnyFilter::CountMin(sketch) = any("KIND count-min COLUMNS 100 ROWS 3 WIDTH 32") else { panic!() };
        assert_eq!((sketch.columns(), sketch.rows()), (100, 3));
        let Made::Scaling(plan, _) = made("KIND scalable").unwrap() else { panic!() };
        assert_eq!((plan.capacity, plan.error, plan.expansion, plan.seed), (100, 0.01, 2, 0));
    }
}
