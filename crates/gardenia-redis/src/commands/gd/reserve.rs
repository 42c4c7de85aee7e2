//! `GD.RESERVE`.

use super::{EXISTS, NOT_MADE, Refusal, announce, find, told, words};
use crate::commands::bf::pass_on_creation;
use crate::commands::parse_number;
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::Setting;
use crate::engine::settings::InitialSize;
use crate::values::any::Any;
use crate::values::bloom::Bloom;
use crate::values::wanted::{Kind, Made, Name, Takes, Value, Wanted};

/// Parses what follows the key of GD.RESERVE; the error says what to change.
pub(super) fn parse(args: &[impl AsRef<[u8]>]) -> Result<Wanted, String> {
    let mut args = args.iter().map(AsRef::as_ref);
    let kinds = || Kind::ALL.map(|(name, _)| name).join(", ");
    match args.next() {
        Some(word) if word.eq_ignore_ascii_case(b"KIND") => {}
        _ => return Err("KIND and a kind of filter must follow the key".to_owned()),
    }
    let name = args.next().ok_or_else(|| format!("KIND needs one of {}", kinds()))?;
    let known = Kind::ALL.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    let (_, kind) = known.ok_or_else(|| {
        format!("kind {} is unknown, or not made here: {} are known", String::from_utf8_lossy(name), kinds())
    })?;
    let mut wanted = Wanted::new(kind);
    while let Some(word) = args.next() {
        let known = Name::ALL.into_iter().find(|(known, ..)| word.eq_ignore_ascii_case(known.as_bytes()));
        let (word, name, takes) =
            known.ok_or_else(|| format!("option {} is unknown", String::from_utf8_lossy(word)))?;
        let mut value = || args.next().ok_or_else(|| format!("{word} needs a value"));
        let value = match takes {
            Takes::Nothing => Value::Given,
            Takes::Whole(most) => {
                let number = str::from_utf8(value()?).ok().filter(|text| !text.starts_with('+'));
                let number = number.and_then(|text| text.parse().ok()).filter(|number| *number <= most);
                Value::Whole(number.ok_or_else(|| format!("{word} must be a whole number from 0 to {most}"))?)
            }
            Takes::Share => {
                let share = parse_number(value()?).filter(|share| *share > 0.0 && *share < 1.0);
                Value::Share(share.ok_or_else(|| format!("{word} must be a number between 0 and 1"))?)
            }
            Takes::Word(names) => {
                let given = value()?;
                let number = names.iter().position(|name| given.eq_ignore_ascii_case(name.as_bytes()));
                Value::Word(number.ok_or_else(|| format!("{word} must be one of {}", names.join(", ")))?)
            }
        };
        if !wanted.set(name, value) {
            return Err(format!("{word} is given twice"));
        }
    }
    Ok(wanted)
}

pub(super) fn reserve(ctx: &Context<'_>) -> Result<(), Failure> {
    told(ctx, make(ctx))
}

fn make(ctx: &Context<'_>) -> Result<(), Refusal> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity.into()) };
    if rest.len() < 2 {
        return Err(Failure::Arity.into());
    }
    let wanted = parse(rest).map_err(words)?;
    let wanted = wanted.settled(InitialSize::get().unsigned_abs()).map_err(words)?;
    let mut key = ctx.open_mut(*name)?;
    if !key.is_empty() {
        return Err(if find(&mut key).is_other() { WRONG_TYPE } else { EXISTS }.into());
    }
    match wanted.build(ctx.limit()).map_err(words)? {
        Made::Any(filter) => {
            if !key.set(Any::Whole(filter)) {
                return Err(NOT_MADE.into());
            }
            ctx.replicate_made(c"GD.RESERVE", *name, &wanted.words());
        }
        Made::Scaling(plan, filter) => {
            if !key.set(Bloom::Whole(filter)) {
                return Err(NOT_MADE.into());
            }
            pass_on_creation(ctx, *name, &plan);
        }
    }
    announce(ctx, *name, c"gd.reserve");
    ctx.reply_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::alloc::peak_of;
    use gardenia::AnyFilter;

    fn wanted(line: &str) -> Result<Wanted, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wanted = parse(&words)?;
        wanted.settled(100).map_err(|error| error.to_string())
    }

    fn made(line: &str) -> Result<Made, String> {
        wanted(line)?.build(1 << 20).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, text) in [
            ("ROSE bloom", "KIND and a kind of filter must follow the key"),
            ("KIND bloom ROSES 1", "option ROSES is unknown"),
            ("KIND bloom ITEMS", "ITEMS needs a value"),
            ("KIND bloom ITEMS -1", "ITEMS must be a whole number from 0 to 18446744073709551615"),
            ("KIND bloom ITEMS +1", "ITEMS must be a whole number from 0 to 18446744073709551615"),
            (
                "KIND bloom ITEMS 18446744073709551616",
                "ITEMS must be a whole number from 0 to 18446744073709551615",
            ),
            ("KIND bloom ITEMS 1 ITEMS 2", "ITEMS is given twice"),
            ("KIND bloom ITEMS 1 WINDOW 2", "WINDOW is given twice"),
            ("KIND bloom ITEMS 9 FPP nan", "FPP must be a number between 0 and 1"),
            ("KIND bloom ITEMS 9 FPP 1", "FPP must be a number between 0 and 1"),
            ("KIND bloom ITEMS 9 ERROR 0", "ERROR must be a number between 0 and 1"),
            ("KIND bloom ITEMS 9 WIDTH 4", "a filter of kind bloom has no WIDTH: leave it out"),
            (
                "KIND bloom",
                "a filter of kind bloom needs ITEMS, the items to make room for, or a size and HASHES",
            ),
            ("KIND bloom BITS 100", "a filter of kind bloom needs ITEMS or HASHES beside its size"),
            ("KIND bloom ITEMS 9 HASHES 3", "HASHES needs a size: BITS, CELLS or MEMORY"),
            ("KIND bloom ITEMS 9 BITS 99 FPP 0.1", "BITS and FPP are both given: leave out one of them"),
            ("KIND counting CELLS 9 BITS 99 ITEMS 3", "BITS and CELLS are both given: leave out one of them"),
            ("KIND bloom ITEMS 0", "a filter needs room for at least 1 item, not 0"),
            ("KIND bloom BITS 0 ITEMS 9", "a filter needs at least 1 cell, not 0"),
            (
                "KIND bloom ITEMS 9 SCHEME rose",
                "SCHEME must be one of independent, partition, partition-prime, double, enhanced-square, enhanced-cube, enhanced, triple, partition-independent, fractional",
            ),
            ("KIND cuckoo", "a filter of kind cuckoo needs ITEMS, or CELLS and WIDTH"),
            ("KIND cuckoo CELLS 100", "CELLS needs WIDTH, the bits of a fingerprint, such as 12"),
            (
                "KIND stable",
                "a filter of kind stable needs ITEMS, the items to be remembered, or a size and FPP",
            ),
            ("KIND count-min ITEMS 9", "a filter of kind count-min has no ITEMS: leave it out"),
            ("KIND count-min ROWS 3", "ROWS needs a size: COLUMNS, BITS or MEMORY"),
            (
                "KIND count-min EPSILON 0.1 COLUMNS 9",
                "EPSILON and COLUMNS are both given: leave out one of them",
            ),
            ("KIND count-min WIDTH 5", "WIDTH needs to be 4, 8, 32 or 64"),
            ("KIND scalable ITEMS 0", "a filter needs room for at least 1 item, not 0"),
            ("KIND scalable ITEMS 1073741825", "ITEMS of kind scalable needs to be 1073741824 at most"),
            (
                "KIND bloom ITEMS 1000 FPP 0.01 MEMORY 1000",
                "the filter needs 1200 bytes, and MEMORY allows 1000: raise it, or FPP, or leave out FPP",
            ),
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
    fn sizes_beyond_all_bounds_are_refused_and_take_no_memory() {
        for (name, kind) in Kind::ALL {
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
                    let wanted = wanted(&line).unwrap();
                    let (made, peak) = peak_of(|| wanted.build(1 << 20));
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
            let settled = wanted(line).unwrap();
            let words = settled.words();
            // Nothing is left open: no setting is asked for.
            let again = parse(&words).unwrap().settled(0).unwrap();
            assert_eq!(again, settled, "{line}");
            let bytes = |wanted: &Wanted| match wanted.build(u64::MAX).unwrap() {
                Made::Any(filter) => filter.to_vec().unwrap(),
                Made::Scaling(..) => panic!(),
            };
            assert_eq!(bytes(&again), bytes(&settled), "{line}");
        }
    }

    #[test]
    fn filters_are_what_was_asked_for() {
        let any = |line: &str| match made(line).unwrap() {
            Made::Any(filter) => filter,
            Made::Scaling(..) => panic!("{line}"),
        };
        for (name, kind) in Kind::ALL {
            if kind == Kind::Scalable {
                continue;
            }
            let sketch = kind == Kind::CountMin;
            let filter =
                any(&format!("KIND {name} {} SEED 5", if sketch { "" } else { "ITEMS 50 FPP 0.002" }));
            assert_eq!(crate::values::any::kind_name(&filter), name);
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
