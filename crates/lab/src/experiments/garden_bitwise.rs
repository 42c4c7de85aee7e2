//! The bitwise filter: counts stored digit by digit, and counts that grow with carries.
//!
//! Placed counts are only ever too high, and exactly as often as the product over their zero digits
//! says. So every trial has as many keys of each count from 1 to 31, and as many absent ones, and
//! the levels hold the same numbers of keys in all trials. Counts that grow are wrong both ways;
//! there is no formula for them, and simulation and library check each other.

use crate::garden::{BitwiseCells, Carry, Exponent, VALLENTIN};
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::BitwiseBloom;
use gardenia::filter::BitwiseLevel;
use gardenia::index::SchemeId;
use gardenia::theory::bitwise::{Digit, exact, overcount};
use gardenia::theory::bloom::fpp_exact;

/// Counts of the bitwise filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct GardenBitwise {
    /// Where the simulation reads the digits of placed counts.
    pub exponent: Exponent,
}

/// Counts from 0, which is absent, to 31, and keys of each.
const COUNTS: u64 = 32;
const EACH: u64 = 20;
const SHOWN: [u64; 10] = [0, 1, 2, 4, 8, 16, 5, 21, 30, 31];

/// Levels of one bit to the digit, and of two and three: digit, cells, hashes.
const BINARY: [(u32, u64, u32); 5] =
    [(1, 3_000, 4), (1, 2_500, 3), (1, 2_000, 5), (1, 2_400, 2), (1, 2_000, 3)];
const WIDE: [(u32, u64, u32); 2] = [(2, 3_000, 4), (3, 2_500, 3)];

/// Of the keys of each count the share that is read exactly, and the mean by which they are read
/// too high; and how many are too low.
#[derive(serde::Serialize, serde::Deserialize)]
struct Placed {
    exact: Vec<f64>,
    over: Vec<f64>,
    low: u64,
}

/// `estimates` in the order of the counts, 20 keys of each.
fn judged(estimates: &[u64]) -> Placed {
    let mut placed = Placed { exact: Vec::new(), over: Vec::new(), low: 0 };
    for (count, keys) in (0..).zip(estimates.chunks_exact(EACH as usize)) {
        let share = |sum: u64| sum as f64 / EACH as f64;
        placed.exact.push(share(keys.iter().filter(|key| **key == count).count() as u64));
        placed.over.push(share(keys.iter().map(|key| key.saturating_sub(count)).sum()));
        placed.low += keys.iter().filter(|key| **key < count).count() as u64;
    }
    placed
}

fn placed(shapes: &[(u32, u64, u32)], exponent: Exponent, stream: &mut Stream) -> Placed {
    let keys = COUNTS * EACH;
    let mut filter = BitwiseCells::new(keys, shapes, exponent, stream);
    (0..keys).for_each(|key| filter.place(key as u32, key / EACH));
    judged(&(0..keys as u32).map(|key| filter.count(key)).collect::<Vec<_>>())
}

fn library_placed(shapes: &[(u32, u64, u32)], stream: &mut Stream) -> Result<Placed> {
    let level =
        |&(digit, cells, hashes): &(u32, u64, u32)| BitwiseLevel { cells, hashes, digit, width: digit + 6 };
    let levels: Vec<BitwiseLevel> = shapes.iter().map(level).collect();
    let keys: Vec<u64> = (0..COUNTS * EACH).map(|_| stream.word()).collect();
    let counts = (0..).zip(&keys).map(|(at, key)| (*key, at / EACH)).filter(|(_, count)| *count > 0);
    let builder = BitwiseBloom::builder().levels(&levels).scheme(SchemeId::Independent);
    Ok(judged(&builder.from_counts(counts)?.count_many(&keys)))
}

/// What theory says of a count: each level with the other keys that have a digit there.
fn levels(shapes: &[(u32, u64, u32)], count: u64) -> Vec<Digit> {
    let mut below = 0;
    let level = |&(width, cells, hashes): &(u32, u64, u32)| {
        let digit = |count: u64| count >> below & ((1 << width) - 1);
        let held = (0..COUNTS).filter(|count| digit(*count) > 0).count() as u64 * EACH;
        let others = held - u64::from(digit(count) > 0);
        below += width;
        Digit { width, fpp: fpp_exact(cells, others, hashes) }
    };
    shapes.iter().map(level).collect()
}

/// The mean by which a count is read too high, from the law of a cell: what the digits of the other
/// keys in it come to. A digit is off by e or more if they come to that in each of its cells. Cells
/// are taken as independent but for the spread of the fill, which is that of a plain filter.
fn expected_overcount(shapes: &[(u32, u64, u32)], count: u64) -> f64 {
    let mut below = 0;
    let level = |&(width, cells, hashes): &(u32, u64, u32)| {
        let (at, top) = (below, (1usize << width) - 1);
        below += width;
        let digit = |count: u64| (count >> at) as usize & top;
        // How likely the others come to 0, 1, … in a cell: one value of the digit after the other.
        let hit = -libm::expm1(f64::from(hashes) * libm::log1p(-1.0 / cells as f64));
        let mut law = vec![0.0; top + 1];
        law[0] = 1.0;
        for value in 1..=top {
            let held = (0..COUNTS).filter(|count| digit(*count) == value).count() as u64 * EACH;
            let others = (held - u64::from(digit(count) == value)) as f64;
            let mut times = libm::exp(others * libm::log1p(-hit));
            let mut sum = vec![0.0; top + 1];
            for in_cell in 0..=top / value {
                (in_cell * value..=top).for_each(|to| sum[to] += times * law[to - in_cell * value]);
                times *= (others - in_cell as f64) / (in_cell + 1) as f64 * hit / (1.0 - hit);
            }
            law = sum;
        }
        let at_least = |least: usize| libm::pow(1.0 - law[..least].iter().sum::<f64>(), f64::from(hashes));
        let others =
            (0..COUNTS).filter(|count| digit(*count) > 0).count() as u64 * EACH - u64::from(digit(count) > 0);
        let spread = fpp_exact(cells, others, hashes) / at_least(1);
        let off: f64 = (1..=top - digit(count)).map(|least| spread * at_least(least)).sum();
        libm::ldexp(off, at as i32)
    };
    shapes.iter().map(level).sum()
}

/// Shares of keys whose grown count is too high and too low.
#[derive(serde::Serialize, serde::Deserialize)]
struct Grown {
    high: f64,
    low: f64,
}

const ITEMS: u64 = 1_000;
const CELLS: u64 = 6_000;
const HASHES: u32 = 5;
const MOST: u64 = 20;

impl Grown {
    fn of(counts: &[u64], estimates: impl Iterator<Item = u64>) -> Self {
        let (mut high, mut low) = (0, 0);
        for (estimate, count) in estimates.zip(counts) {
            high += u64::from(estimate > *count);
            low += u64::from(estimate < *count);
        }
        let share = |count: u64| count as f64 / ITEMS as f64;
        Self { high: share(high), low: share(low) }
    }
    fn wrong(&self) -> f64 {
        self.high + self.low
    }
}

fn workload(stream: &mut Stream) -> (Vec<u64>, Vec<u32>) {
    let counts: Vec<u64> = (0..ITEMS).map(|_| 1 + stream.below(MOST)).collect();
    let keys = stream.shuffled(&counts);
    (counts, keys)
}

fn grown(digit: u32, carry: Carry, stream: &mut Stream) -> Grown {
    let (counts, keys) = workload(stream);
    // More levels than any count needs, false carries included.
    let shapes = vec![(digit, CELLS, HASHES); 10];
    let mut filter = BitwiseCells::new(ITEMS, &shapes, Exponent::Below, stream);
    keys.iter().for_each(|key| filter.insert(*key, carry));
    Grown::of(&counts, (0..ITEMS as u32).map(|key| filter.count(key)))
}

fn library_grown(digit: u32, stream: &mut Stream) -> Result<Grown> {
    let (counts, keys) = workload(stream);
    let digests = stream.digests(ITEMS);
    let builder = BitwiseBloom::builder().cells(CELLS).hashes(HASHES).digit(digit).share(1.0);
    let mut filter = builder.width(digit + 6).scheme(SchemeId::Independent).build()?;
    keys.iter().for_each(|key| _ = filter.insert_digest(digests[*key as usize]));
    Ok(Grown::of(&counts, digests.iter().map(|digest| filter.count_digest(*digest))))
}

impl Experiment for GardenBitwise {
    fn name(&self) -> &'static str {
        "garden-bitwise"
    }
    fn title(&self) -> &'static str {
        "The bitwise filter: counts stored digit by digit, and counts that grow"
    }
    fn source(&self) -> &'static str {
        "Lall and Ogihara (2007); Vallentin, A Garden Variety of Bloom Filters (2011)"
    }
    fn claim(&self) -> &'static str {
        "A stored count is never too low, and exact if no zero digit is read as more. Counts that grow with carries are wrong both ways, and levels must be counters."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let (trials, growing) = (plan.trials(3_000, 400), plan.trials(400, 32));
        let (work, long) = (COUNTS * EACH * 20, ITEMS * MOST * 10);
        let digits = [1, 2, 3, 4];
        let total = 4 * trials * work + (2 * digits.len() as u64 + 1) * growing * long;
        let bench = Bench::new(plan, self.name(), progress, total);
        let (mut tables, mut figures) = (Vec::new(), Vec::new());
        for (shapes, name) in
            [(&BINARY[..], "digits of one bit"), (&WIDE[..], "digits of two and three bits")]
        {
            let simulated =
                bench.trials(name, trials, work, |stream, _| Ok(placed(shapes, self.exponent, stream)))?;
            let library = bench.trials(&format!("library {name}"), trials, work, |stream, _| {
                library_placed(shapes, stream)
            })?;
            tables.push(table(shapes, name, [&simulated, &library]));
            figures.extend(pictures(shapes, name, [&simulated, &library]));
            if shapes.len() == BINARY.len() {
                tables.push(printed(&simulated));
            }
        }
        tables.swap(1, 2);

        let title = format!(
            "Counts that grow from 1 to 20, levels of 6,000 cells, k = 5, 1,000 keys: {growing} filters"
        );
        let columns = ["digit", "too high", "library", "too low", "library"];
        let mut table = Table::new(title, &columns);
        let mut lines: [Vec<(f64, Mean)>; 4] = Default::default();
        for digit in digits {
            let simulated = bench.trials(&format!("grown w={digit}"), growing, long, |stream, _| {
                Ok(grown(digit, Carry::TakesDigit, stream))
            })?;
            let library = bench.trials(&format!("library grown w={digit}"), growing, long, |stream, _| {
                library_grown(digit, stream)
            })?;
            let both = [&simulated, &library];
            let high = both.map(|trials| mean_of(trials, |grown| grown.high));
            let low = both.map(|trials| mean_of(trials, |grown| grown.low));
            let mut checks = Checks::default();
            checks.alike("too high", high[0], high[1]);
            checks.alike("too low", low[0], low[1]);
            checks.above("too low, simulated", low[0], 0.0);
            checks.above("too low, library", low[1], 0.0);
            let form = Form::Fixed(4);
            let mut cells =
                vec![Cell::text(if digit == 1 { "1 bit".to_owned() } else { format!("{digit} bits") })];
            cells.extend([high[0], high[1], low[0], low[1]].map(|mean| Cell::Mean(mean, form)));
            table.judge(cells, checks);
            for (line, mean) in lines.iter_mut().zip([high[0], high[1], low[0], low[1]]) {
                line.push((f64::from(digit), mean));
            }
        }
        let bits =
            bench.trials("grown bits", growing, long, |stream, _| Ok(grown(1, Carry::ClearsBits, stream)))?;
        let wrong = mean_of(&bits, Grown::wrong);
        let mut checks = Checks::default();
        checks.above("counts that are wrong", wrong, 0.5);
        let reason = format!(
            "\"insert into V_1 and remove from V_0\" on plain bits leaves {:.0}% of all counts wrong; a carry must remove the digit from counters",
            100.0 * wrong.mean
        );
        checks.explain("garden-bitwise", "1 bit, plain bits", reason);
        let form = Form::Fixed(4);
        let cells = vec![
            Cell::text("1 bit, plain bits"),
            Cell::Mean(mean_of(&bits, |grown| grown.high), form),
            Cell::Empty,
            Cell::Mean(mean_of(&bits, |grown| grown.low), form),
            Cell::Empty,
        ];
        table.judge(cells, checks);
        table.note(
            "A row agrees if simulation and library have the same errors, and some counts are too low: a digit that reads too high carries too early, and lowers cells of other keys. The last row is explained if more than half of all counts \
             are wrong.",
        );
        tables.push(table);
        let [high, library_high, low, library_low] = lines;
        let title = "Counts that grow from 1 to 20";
        figures.push(
            Figure::new(title, Axis::linear("bits of a digit"), Axis::log("share of keys"))
                .line("too high", high)
                .line("too high, library", library_high)
                .line("too low", low)
                .line("too low, library", library_low),
        );
        Ok(Outcome { tables, figures })
    }
}

fn table(shapes: &[(u32, u64, u32)], name: &str, both: [&Vec<Placed>; 2]) -> Table {
    let title = format!("Placed counts, {name}: {} filters, 20 keys of each count", both[0].len());
    let columns = ["count", "exact", "library", "formula", "too high by", "library", "formula", "overcount"];
    let mut table = Table::new(title, &columns);
    let low: [u64; 2] = both.map(|trials| trials.iter().map(|placed| placed.low).sum());
    for count in SHOWN {
        let digits = levels(shapes, count);
        let (share, most, told) =
            (exact(count, &digits), expected_overcount(shapes, count), overcount(count, &digits));
        let at = count as usize;
        let seen = both.map(|trials| mean_of(trials, |placed| placed.exact[at]));
        let over = both.map(|trials| mean_of(trials, |placed| placed.over[at]));
        let mut checks = Checks::default();
        for (what, seen, over) in [("simulated", seen[0], over[0]), ("library", seen[1], over[1])] {
            checks.is(&format!("exact, {what}"), seen, share);
            checks.is(&format!("too high by, {what}"), over, most);
            if shapes.iter().all(|(width, ..)| *width == 1) {
                checks.is(&format!("too high by, {what}, by theory::bitwise::overcount"), over, told);
            }
        }
        // Of wider digits it is the least.
        checks.computed_at_most("theory::bitwise::overcount, by the formula", told, most);
        checks.exactly("counts that are too low", low[0] + low[1], 0);
        let cells = vec![
            Cell::Count(count),
            Cell::Mean(seen[0], Form::Fixed(4)),
            Cell::Mean(seen[1], Form::Fixed(4)),
            Cell::Number(share, Form::Fixed(5)),
            Cell::Mean(over[0], Form::Fixed(3)),
            Cell::Mean(over[1], Form::Fixed(3)),
            Cell::Number(most, Form::Fixed(4)),
            Cell::Number(told, Form::Fixed(4)),
        ];
        table.judge(cells, checks);
    }
    table.note(
        "Count 0 is an absent key. A row agrees if all means are within four standard errors of theory::bitwise::exact and \
         of what the digits of the other keys in a cell come to (formula), of which theory::bitwise::overcount is the least, and \
         all of it for digits of one bit; and no count of any key is too low.",
    );
    table
}

/// The article's exponent.
fn printed(simulated: &[Placed]) -> Table {
    let columns = ["count", "as printed", "mean found", "expected"];
    let title = "\"C = Σ c_i 2^(Σ_{j=0..i} w_i)\", digits of one bit: what it makes of the digits";
    let mut table = Table::new(title, &columns);
    for count in [5, 21, 31] {
        let found = mean_of(simulated, |placed| placed.over[count as usize] + count as f64);
        let expected = count as f64 + overcount(count, &levels(&BINARY, count));
        // With w_i = 1 the exponent of level i is i + 1.
        let printed: u64 = (0..5).map(|level| (count >> level & 1) << (level + 1)).sum();
        let mut checks = Checks::default();
        checks.is("mean found", found, expected);
        checks.is_not("mean found, by what is printed", found, printed as f64);
        checks.exactly("twice the count", printed, 2 * count);
        let reason = format!(
            "the exponent is the sum of w_j over the levels below, j < i; as printed a count of {count} is read as {printed} \
             though every digit is right"
        );
        checks.explain("garden-bitwise", "exponent", reason);
        let cells = vec![
            Cell::Count(count),
            Cell::Count(printed),
            Cell::Mean(found, Form::Fixed(3)),
            Cell::Number(expected, Form::Fixed(4)),
        ];
        table.judge(cells, checks);
    }
    table.note(format!(
        "Source: {VALLENTIN}. A row is explained if the mean found with the right exponent is within four standard errors of \
         the expected one, and what is printed is twice the count."
    ));
    table
}

fn pictures(shapes: &[(u32, u64, u32)], name: &str, both: [&Vec<Placed>; 2]) -> [Figure; 2] {
    let counts = || Axis::linear("count");
    let title = format!("Placed counts read exactly, {name}");
    let mut shares = Figure::new(title, counts(), Axis::linear("share of keys"));
    let title = format!("Placed counts read too high, {name}");
    let mut sizes = Figure::new(title, counts(), Axis::linear("mean excess"));
    for (name, trials) in ["simulated", "library"].into_iter().zip(both) {
        let all = || (0..COUNTS as usize).map(|count| (count as f64, count));
        shares = shares.dots(name, all().map(|(x, at)| (x, mean_of(trials, |placed| placed.exact[at]))));
        sizes = sizes.dots(name, all().map(|(x, at)| (x, mean_of(trials, |placed| placed.over[at]))));
    }
    let all = || (0..COUNTS).map(|count| (count, count as f64));
    let shares_of = all().map(|(count, x)| (x, exact(count, &levels(shapes, count))));
    let sizes_of = all().map(|(count, x)| (x, expected_overcount(shapes, count)));
    [shares.theory("formula", shares_of), sizes.theory("formula", sizes_of)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_of_one_bit_is_the_theory() {
        for count in 0..COUNTS {
            let (ours, theory) =
                (expected_overcount(&BINARY, count), overcount(count, &levels(&BINARY, count)));
            assert!((ours - theory).abs() < 1e-12, "{count}: {ours} {theory}");
        }
        // A digit at its top cannot be read as more, and a wide one can be off by more than 1.
        assert_eq!(expected_overcount(&WIDE, 31), 0.0);
        let at_all = levels(&WIDE, 0);
        assert!(expected_overcount(&WIDE, 0) > 2.0 * (at_all[0].fpp + 4.0 * at_all[1].fpp));
    }

    #[test]
    fn levels_hold_the_keys_that_have_a_digit() {
        // Half of all counts have each bit; a key that has it is not its own neighbour.
        let digits = levels(&BINARY, 1);
        assert_eq!(digits[0].fpp, fpp_exact(3_000, 319, 4));
        assert_eq!(digits[4].fpp, fpp_exact(2_000, 320, 3));
        assert_eq!(levels(&WIDE, 0)[1].fpp, fpp_exact(2_500, 28 * 20, 3));
    }

    #[test]
    fn judged_counts_are_shares_of_twenty() {
        let mut estimates: Vec<u64> = (0..COUNTS * EACH).map(|key| key / EACH).collect();
        (estimates[EACH as usize], estimates[EACH as usize + 1]) = (5, 3); // two keys of count 1
        estimates[2 * EACH as usize] = 1; // one of count 2
        let placed = judged(&estimates);
        assert_eq!((placed.exact[1], placed.over[1], placed.low), (0.9, 0.3, 1));
        assert!(placed.exact[3] == 1.0 && placed.over[2] == 0.0);
    }
}
