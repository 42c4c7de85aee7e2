//! Table 1: false positives of filters whose keys come one by one.
//!
//! The rate of a trial follows from its ones, as in the paper, and rates are averaged. Two columns
//! are ours: a simulation with true random positions that shares no code with the library, and the
//! library's own `ChoiceBloom` on random digests with independent positions, as many trials each.

use crate::choices::{ELSEWHERE_16, LUMETTA, Rule, TABLE_1, library_online, online, printed};
use crate::{Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Table};
use gardenia::theory::choices::{best_hashes, expected_fill, fpp};

/// Table 1 of Lumetta and Mitzenmacher, and the rates for other k that the text gives.
#[derive(Clone, Copy, Debug, Default)]
pub struct LumettaTable1 {
    /// How the simulated keys choose.
    pub rule: Rule,
}

/// The rate of c groups over that of one, each with its best k, by equation (3.2).
fn predicted(choices: u32) -> Vec<(f64, f64)> {
    let items = 10_000;
    let rate = |cells, choices| fpp(cells, items, best_hashes(cells, items, choices), choices);
    let point =
        |per_item: u64| (per_item as f64, rate(per_item * items, choices) / rate(per_item * items, 1));
    (6..=34).map(point).collect()
}

impl Experiment for LumettaTable1 {
    fn name(&self) -> &'static str {
        "lumetta-table-1"
    }
    fn title(&self) -> &'static str {
        "Filters with choices, keys inserted one by one"
    }
    fn source(&self) -> &'static str {
        "Lumetta and Mitzenmacher (2007), Table 1 and section 3.1"
    }
    fn claim(&self) -> &'static str {
        "Letting each key use the cheapest of c groups gains nothing at 8 bits per key, little at 16, and a factor of two at 32."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(1000, 60);
        let rows = || TABLE_1.iter().chain(&ELSEWHERE_16);
        // A position costs the library about twice as much as the simulation.
        let total = rows().map(|row| 3 * trials * row.setting.positions()).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let columns =
            ["m/n", "c", "k", "simulated", "library", "paper", "simulated off", "library off", "by (3.2)"];
        let mut table = Table::new(format!("False positives, {trials} trials, n = 10,000"), &columns);
        let axes = (Axis::linear("bits per key, m/n"), Axis::linear("rate over that of a plain filter"));
        let mut figure = Figure::new("Gain from choosing, keys one by one", axes.0, axes.1);
        let mut points = vec![Vec::new(); 3];
        for (number, row) in rows().enumerate() {
            let (setting, paper) = (row.setting, row.rate);
            let simulated = bench.trials(&setting.name(), trials, setting.positions(), |stream, _| {
                Ok(setting.rate(online(&setting, self.rule, stream)))
            })?;
            let library = bench.trials(
                &format!("library {}", setting.name()),
                trials,
                2 * setting.positions(),
                |stream, _| Ok(setting.rate(library_online(&setting, stream)?)),
            )?;
            let (simulated, library) = (Mean::of(&simulated), Mean::of(&library));
            let mut checks = Checks::default();
            checks.is("simulated", simulated, printed(paper, simulated));
            checks.is("library", library, printed(paper, library));
            let predicted = expected_fill(setting.cells, setting.items, setting.hashes, setting.choices);
            let (rate, off) = (Form::Power(3), Form::Percent(2));
            let cells = vec![
                Cell::Count(setting.cells / setting.items),
                Cell::Count(setting.choices.into()),
                Cell::Count(setting.hashes.into()),
                Cell::Mean(simulated, rate),
                Cell::Mean(library, rate),
                Cell::Number(paper, rate),
                Cell::Number(simulated.relative_to(paper), off),
                Cell::Number(library.relative_to(paper), off),
                Cell::Number(setting.rate(predicted), rate),
            ];
            table.judge(cells, checks);
            // The paper's table itself, each rate over that of one group.
            if number < TABLE_1.len() {
                let plain =
                    TABLE_1.iter().find(|row| row.setting.cells == setting.cells).map_or(1.0, |row| row.rate);
                let Mean { mean, standard_error, trials } = simulated;
                let ratio = Mean { mean: mean / plain, standard_error: standard_error / plain, trials };
                points[setting.choices as usize - 1].push(((setting.cells / setting.items) as f64, ratio));
            }
        }
        for (points, choices) in points.into_iter().zip(1..) {
            figure = figure
                .dots(format!("c = {choices}"), points)
                .theory(format!("c = {choices}"), predicted(choices));
        }
        table
            .note(format!("Source: {LUMETTA}, Table 1; the last two rows are from the text of section 3.1."));
        table.note(
            "A row agrees if both means equal the paper's within four standard errors of both and half a unit of its last digit. The paper's own error is that of a thousand trials like ours.",
        );
        Ok(Outcome { tables: vec![table], figures: vec![figure] })
    }
}
