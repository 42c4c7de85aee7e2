//! How many bits a key takes at which rate of errors, in every filter, beside the least that any
//! filter needs.
//!
//! A filter of n keys with a false-positive rate ε takes at least n·log2(1/ε) bits, however it
//! works. What each kind takes above that pays for something: speed, keys that come later, removal,
//! counts, forgetting. Sizes and rates are those of filters that the planner designed
//! ([`gardenia::plan`]), filled with random keys and asked; the verdict is on its promise.

use crate::queries::found;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::Ability;
use gardenia::Kind;
use gardenia::plan::{Design, ErrorMeans, Need};
use gardenia::spec::Param;
use serde::{Deserialize, Serialize};

/// Bits per key against the rate of errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Space {
    /// Fills filters with a tenth more keys than they were designed for, where they take them: it
    /// shows that the verdicts notice.
    pub overfull: bool,
}

/// Rates that are planned for.
const RATES: [f64; 6] = [0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5];

/// How many false positives the queries of a filter should find.
const ENOUGH: f64 = 1_000.0;

/// Filters of more bits per key are left out: they would push all others to the edge.
const WIDEST: f64 = 130.0;

/// What is asked of the planner, in the order of the figures.
const NEEDS: [(&str, &[Ability]); 9] = [
    ("sets that accept more keys", &[]),
    ("fixed sets", &[Ability::Fixed]),
    ("fixed sets", &[Ability::Fixed, Ability::Map]),
    ("fixed sets", &[Ability::Send]),
    ("sets that remove, count, grow or forget", &[Ability::Remove]),
    ("sets that remove, count, grow or forget", &[Ability::Count]),
    ("sets that remove, count, grow or forget", &[Ability::Grow]),
    ("sets that remove, count, grow or forget", &[Ability::Grow, Ability::Remove]),
    ("sets that remove, count, grow or forget", &[Ability::Forget]),
];

/// A design, with the figure that it belongs to.
struct Point {
    figure: &'static str,
    name: String,
    target: f64,
    design: Design,
}

/// What people call a design.
fn name(design: &Design) -> String {
    let option = |param| design.spec.get(param).map_or_else(String::new, |value| value.to_string());
    match design.kind {
        Kind::Choice => format!("choice, {}", option(Param::Effort)),
        Kind::Bloomier => format!("bloomier, values of {} bits", option(Param::ValueBits)),
        Kind::Compressed => "compressed, in a file".to_owned(),
        _ => design.kind.name().to_owned(),
    }
}

/// All designs for this many keys, each kind once for each rate.
fn points(items: u64, rates: &[f64]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for (figure, abilities) in NEEDS {
        for &target in rates {
            let need = abilities.iter().fold(Need::of(items).fpp(target), |need, ability| match ability {
                Ability::Count => need.count(15),
                Ability::Map => need.values(8),
                other => need.with(*other),
            });
            // A need that cannot be met at this rate has no point.
            let Ok(plan) = need.plan() else { continue };
            for design in plan.designs() {
                let name = name(design);
                let known = points.iter().any(|point| point.name == name && point.target == target);
                let wide = design.bits_per_key > WIDEST || design.kind == Kind::CountMin;
                if !known && !wide && design.error == ErrorMeans::FalsePositive {
                    points.push(Point { figure, name, target, design: design.clone() });
                }
            }
        }
    }
    points.sort_by(|a, b| (a.figure, &a.name).cmp(&(b.figure, &b.name)));
    let order = |figure| NEEDS.iter().position(|(name, _)| *name == figure);
    points.sort_by_key(|point| order(point.figure));
    points
}

/// A filter that was built and asked.
#[derive(Serialize, Deserialize)]
struct Trial {
    memory_bits: f64,
    file_bits: f64,
    found: u64,
    told: f64,
}

fn trial(design: &Design, items: u64, queries: u64, stream: &mut Stream) -> Result<Trial> {
    let keys = stream.digests(items);
    let filter = design.build_from(&keys)?;
    let (found, told) = (found(&filter, queries, stream), filter.fpp());
    let per_key = 8.0 / items as f64;
    Ok(Trial {
        memory_bits: filter.memory_bytes() as f64 * per_key,
        file_bits: filter.to_bytes()?.len() as f64 * per_key,
        found,
        told,
    })
}

/// The least bits that any filter needs, for rates as small as these.
fn limit(rates: &[f64]) -> Vec<(f64, f64)> {
    let least = rates.iter().copied().fold(1.0, f64::min);
    (8..=40).map(|i| libm::pow(least, f64::from(i) / 40.0)).map(|rate| (-libm::log2(rate), rate)).collect()
}

impl Experiment for Space {
    fn name(&self) -> &'static str {
        "space"
    }
    fn title(&self) -> &'static str {
        "Bits per key against the false-positive rate, for every filter"
    }
    fn source(&self) -> &'static str {
        "Our own; the limit log2(1/rate) is by Carter, Floyd, Gill, Markowsky and Wegman (1978)"
    }
    fn claim(&self) -> &'static str {
        "Every filter keeps its planned false-positive rate in the planned number of bits, and none beats the information limit."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let items = if plan.quick { 10_000 } else { 100_000 };
        let rates = if plan.quick { &RATES[..4] } else { &RATES };
        let filters = plan.trials(4, 2);
        let points = points(items, rates);
        let queries = |point: &Point| (ENOUGH / point.design.fpp).clamp(1_000.0, 2e7) as u64;
        let work = |point: &Point| queries(point) + 10 * items;
        let total = points.iter().map(|point| filters * work(point)).sum();
        let bench = Bench::new(plan, self.name(), progress, total);

        let columns = [
            "filter",
            "planned",
            "in memory",
            "in a file",
            "rate",
            "told",
            "promised",
            "limit",
            "above the limit",
        ];
        let (mut tables, mut figures) = (Vec::new(), Vec::new());
        let (mut table, mut figure) = (Table::new("", &columns), None);
        let mut line = Vec::new();
        let mut points = points.iter().peekable();
        while let Some(point) = points.next() {
            // Fixed sets are sized by their keys, and a cuckoo filter takes no more than it has room for.
            let takes_more = !point.design.is_fixed() && point.design.kind != Kind::Cuckoo;
            let keys = if self.overfull && takes_more { items + items / 10 } else { items };
            let name = format!("{} {} n={items}", point.name, point.target);
            let trials = bench.trials(&name, filters, work(point), |stream, _| {
                trial(&point.design, keys, queries(point), stream)
            })?;
            let asked = queries(point) * filters;
            let found = trials.iter().map(|trial| trial.found).sum();
            let rate = Mean::of_rate(found, asked);
            let mean = |of: fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / filters as f64;
            let (memory, file) = (mean(|trial| trial.memory_bits), mean(|trial| trial.file_bits));
            // Compressed filters are made to be sent: their size is that of the file.
            let sent = point.design.kind == Kind::Compressed;
            let bits = if sent { file } else { memory };
            let value_bits = point.design.spec.whole(Param::ValueBits).unwrap_or(0) as f64;
            let limit = -libm::log2(rate.mean.max(0.5 / asked as f64)) + value_bits;

            let mut checks = Checks::default();
            // What the very same filters tell of themselves, and what was promised. The bound is what one filter of a thousand
            // exceeds, three standard deviations; the mean of several has less to fear.
            let Design { fpp, bound, .. } = point.design;
            let told = mean(|trial| trial.told);
            checks.number("found, against the rate that the filters report", found, told * asked as f64);
            let chance = (bound - fpp) / 3.0 / libm::sqrt(filters as f64);
            let promised = Mean { mean: told, standard_error: chance, trials: u64::MAX };
            checks.at_most("the reported rate, against the planned one", promised, fpp);
            let least = -libm::log2(rate.mean + 4.0 * rate.standard_error) + value_bits;
            checks.computed_at_most("the limit of that rate, against the bits", least, bits);
            // Sizes of fixed sets depend on their keys a little, and small filters are padded to whole cache lines.
            let padding = 512.0 * 8.0 / items as f64;
            checks.computed_at_most(
                "bits, against the planned ones",
                memory,
                point.design.bits_per_key * 1.01 + padding,
            );
            let cells = vec![
                Cell::text(&point.name),
                Cell::Number(point.target, Form::Power(0)),
                Cell::Number(memory, Form::Fixed(2)),
                Cell::Number(file, Form::Fixed(2)),
                Cell::Mean(rate, Form::Power(2)),
                Cell::Number(told, Form::Power(2)),
                Cell::Number(point.design.fpp, Form::Power(2)),
                Cell::Number(limit, Form::Fixed(2)),
                Cell::Number(bits / limit - 1.0, Form::Percent(0)),
            ];
            table.judge(cells, checks);
            line.extend((rate.mean > 0.0).then_some((bits - value_bits, rate)));
            // The last of its name ends the line, and the last of its figure ends that.
            let next = points.peek();
            if next.is_none_or(|next| (next.figure, &next.name) != (point.figure, &point.name)) {
                line.sort_by(|a, b| a.0.total_cmp(&b.0));
                let axes = || (Axis::linear("bits per key"), Axis::log("rate of errors"));
                let empty = || Figure::new(point.figure, axes().0, axes().1);
                figure =
                    Some(figure.take().unwrap_or_else(empty).line(&point.name, std::mem::take(&mut line)));
            }
            if next.is_none_or(|next| next.figure != point.figure) {
                figures.extend(figure.take().map(|figure| figure.theory("limit", self::limit(rates))));
                table.title = format!("Bits per key: {}; {filters} filters of {items} keys", point.figure);
                tables.push(std::mem::replace(&mut table, Table::new("", &columns)));
            }
        }
        if let Some(last) = tables.last_mut() {
            last.note(
                "A row agrees if queries find the rate that the filters report (as a Poisson number, no rarer than four standard errors), that rate is at most the planned one (with the planner's bound on chance), the memory is within 1% of the plan, and the bits are not below the limit of the measured rate.",
            );
            last.note(format!(
                "Left out: sketches, whose errors are of another kind; retouched filters, which are as large as the Bloom filter they came from; distance-sensitive filters; and designs of more than {WIDEST:.0} bits per key. The values of a Bloomier filter count towards the limit, and are not in the figure. A window holds the last keys, and half of the A² filter is a second window.",
            ));
        }
        Ok(Outcome { tables, figures })
    }
}
