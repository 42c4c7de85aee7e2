//! Equation (3.2) at points that are not in the paper: few and many keys, little and much room, up
//! to 32 groups, and k far from the best.
//!
//! The equation is right to O(1/m). Two terms of that order are left out: positions of one group
//! that coincide, and the steps of a key being steps and not a flow. Each shifts the fill by up to
//! k²n/(2m²), in opposite directions, and that much is allowed beside four standard errors. Where
//! keys are few enough for equation (3.1) to be iterated exactly, the trials are compared with
//! that, and nothing is allowed but four standard errors.

use crate::choices::{RANGES, Rule, TABLE_1, online, printed, range, ranges};
use crate::{
    Bench, Cell, Checks, Experiment, Form, Mean, Outcome, Plan, Progress, Reference, Setting, Table,
};
use gardenia::theory::choices::{expected_fill, expected_ones};

/// Equation (3.2) of Lumetta and Mitzenmacher against simulation, elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct LumettaElsewhere {
    /// How the simulated keys choose.
    pub rule: Rule,
}

/// Keys for which the paper says that the numbers are nearly the same.
const MORE: u64 = 100_000;

const fn point(items: u64, per_item: u64, choices: u32, hashes: u32) -> Setting {
    Setting { items, cells: items * per_item, choices, hashes }
}

const POINTS: [Setting; 13] = [
    point(100, 10, 3, 8),
    point(1_000, 12, 4, 10),
    point(3_000, 5, 2, 4),
    point(5_000, 3, 2, 2),
    point(2_000, 20, 8, 18),
    point(10_000, 8, 2, 3),
    point(10_000, 8, 2, 20),
    point(10_000, 48, 2, 36),
    point(7_000, 6, 16, 7),
    point(20_000, 14, 32, 16),
    point(50_000, 10, 5, 9),
    point(100_000, 24, 2, 18),
    point(1_000_000, 16, 3, 14),
];

impl Experiment for LumettaElsewhere {
    fn name(&self) -> &'static str {
        "lumetta-elsewhere"
    }
    fn title(&self) -> &'static str {
        "Equation 3.2 beyond the paper's own points"
    }
    fn source(&self) -> &'static str {
        "Lumetta and Mitzenmacher (2007), equations 3.1 and 3.2; points of our own"
    }
    fn claim(&self) -> &'static str {
        "The equation, generalised to c groups, predicts the fill for any n, m/n, c and k, up to terms of order 1/m."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let most = plan.trials(2000, 200);
        // Full runs draw up to 1.2 billion positions per point, quick ones 40 million; 30 trials at least.
        let room = if plan.quick { 40_000_000 } else { 1_200_000_000 };
        let points: Vec<Setting> =
            POINTS.into_iter().filter(|point| !plan.quick || point.positions() <= room / 30).collect();
        let trials = |point: &Setting| match plan.trials {
            Some(trials) => trials,
            None => (room / point.positions()).clamp(30, most),
        };
        // What the paper says of the spread of its rates, and of ten times as many keys.
        let (many, fewer) = (plan.trials(1_000, 60), plan.trials(100, 30));
        let wide: Vec<(Setting, [f64; 2])> = RANGES
            .iter()
            .filter(|(_, rounds, _)| *rounds == 0)
            .map(|(setting, _, ends)| (*setting, *ends))
            .collect();
        let large: Vec<(Setting, f64)> = TABLE_1
            .iter()
            .filter(|row| row.setting.choices > 1 && (!plan.quick || row.setting.cells == 80_000))
            .map(|row| (row.setting.with_items(MORE), row.rate))
            .collect();
        let exact_work = 20_000_000;
        let total = points.iter().map(|point| trials(point) * point.positions() + exact_work).sum::<u64>()
            + wide.iter().map(|(setting, _)| many * setting.positions()).sum::<u64>()
            + large.iter().map(|(setting, _)| fewer * setting.positions()).sum::<u64>();
        let bench = Bench::new(plan, self.name(), progress, total);
        let exact = bench.trials("exact", points.len() as u64, exact_work, |_, at| {
            let s = points[at as usize];
            // Of 100,000 keys it would take longer than all trials.
            let few = s.items <= 20_000 && !(plan.quick && s.positions() > 1_000_000);
            let ones = few.then(|| expected_ones(s.cells, s.items, s.hashes, s.choices)).flatten();
            Ok(ones.map(|ones| ones.mean / s.cells as f64))
        })?;
        let columns =
            ["n", "m/n", "c", "k", "trials", "simulated", "by (3.1)", "by (3.2)", "off (3.2)", "order 1/m"];
        let mut table = Table::new("Share of ones", &columns);
        for (setting, exact) in points.iter().zip(exact) {
            let trials = trials(setting);
            let simulated = bench.trials(&setting.name(), trials, setting.positions(), |stream, _| {
                Ok(online(setting, self.rule, stream))
            })?;
            let simulated = Mean::of(&simulated);
            let predicted = expected_fill(setting.cells, setting.items, setting.hashes, setting.choices);
            let (m, k) = (setting.cells as f64, f64::from(setting.hashes));
            let order = k * k * setting.items as f64 / (2.0 * m * m);
            let mut checks = Checks::default();
            let flow = Reference::between(predicted - order, predicted + order);
            checks.is("against (3.2)", simulated, flow);
            if let Some(exact) = exact {
                checks.is("against (3.1)", simulated, exact);
                checks.computed("(3.1) against (3.2)", exact, flow);
            }
            let cells = vec![
                Cell::Count(setting.items),
                Cell::Count(setting.cells / setting.items),
                Cell::Count(setting.choices.into()),
                Cell::Count(setting.hashes.into()),
                Cell::Count(trials),
                Cell::Mean(simulated, Form::Fixed(6)),
                Cell::number(exact, Form::Fixed(6)),
                Cell::Number(predicted, Form::Fixed(6)),
                Cell::Number(simulated.mean - predicted, Form::Power(1)),
                Cell::Number(order, Form::Power(1)),
            ];
            table.judge(cells, checks);
        }
        table.note(
            "A row agrees if the mean is within four standard errors of (3.1), where that was iterated, and within four \
             standard errors and the terms of order 1/m, k²n/(2m²), of (3.2).",
        );
        let mut extremes = ranges();
        for (setting, ends) in wide {
            let rates = bench.trials(
                &format!("range {}", setting.name()),
                many,
                setting.positions(),
                |stream, _| Ok(setting.rate(online(&setting, self.rule, stream))),
            )?;
            range(&mut extremes, setting, 0, &rates, ends);
        }
        let columns = ["m/n", "c", "k", "simulated", "paper, n = 10,000", "off"];
        let mut more = Table::new(format!("False positives, {fewer} trials, n = 100,000"), &columns);
        for (setting, paper) in &large {
            let rates = bench.trials(&setting.name(), fewer, setting.positions(), |stream, _| {
                Ok(setting.rate(online(setting, self.rule, stream)))
            })?;
            let found = Mean::of(&rates);
            // A paper's trial of a tenth of the keys has √10 times the spread.
            let trial = Mean { standard_error: found.standard_error * libm::sqrt(10.0), ..found };
            let mut checks = Checks::default();
            checks.is("simulated", found, printed(*paper, trial));
            let cells = vec![
                Cell::Count(setting.cells / setting.items),
                Cell::Count(setting.choices.into()),
                Cell::Count(setting.hashes.into()),
                Cell::Mean(found, Form::Power(3)),
                Cell::Number(*paper, Form::Power(3)),
                Cell::Number(found.relative_to(*paper), Form::Percent(2)),
            ];
            more.judge(cells, checks);
        }
        more.note(
            "\"The numbers are nearly identical for 100,000 elements\": a row agrees as in lumetta-table-1.",
        );
        Ok(Outcome { tables: vec![table, extremes, more], figures: Vec::new() })
    }
}
