//! Table 3: keys that are all known up front choose again, round after round.
//!
//! A thousand trials are simulated with true random positions by code that shares nothing with the
//! library; the library's own rounds, several times slower per trial because each position is
//! hashed anew from a digest, make a tenth as many. The rows of one run (30 rounds, 40 rounds)
//! share their trials. The rows with one group are those of Table 1.

use super::fewer;
use crate::choices::{LUMETTA, RANGES, Rounds, TABLE_3, Ties, library_offline, printed, range, ranges};
use crate::{Bench, Cell, Checks, Experiment, Form, Mean, Outcome, Plan, Progress, Table};

/// Table 3 of Lumetta and Mitzenmacher.
#[derive(Clone, Copy, Debug, Default)]
pub struct LumettaTable3 {
    /// How simulated keys choose among equals.
    pub ties: Ties,
}

impl Experiment for LumettaTable3 {
    fn name(&self) -> &'static str {
        "lumetta-table-3"
    }
    fn title(&self) -> &'static str {
        "Filters with choices, all keys known up front, in rounds"
    }
    fn source(&self) -> &'static str {
        "Lumetta and Mitzenmacher (2007), Table 3"
    }
    fn claim(&self) -> &'static str {
        "Rounds over all keys lower the false-positive rate from 2.2% to 1.5% (two groups) and 1.2% (three) at 8 bits per key, and to a third and a sixth at 32."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(1000, 40);
        let fewer = fewer(trials);
        let last = |row: usize| TABLE_3[row].rates[TABLE_3[row].rates.len() - 1].0;
        let work = |row: usize| TABLE_3[row].setting.positions() * last(row);
        let total = (0..TABLE_3.len()).map(|row| (trials + 4 * fewer) * work(row)).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let columns =
            ["m/n", "c", "k", "rounds", "simulated", "library", "paper", "simulated off", "library off"];
        let title = format!("False positives, {trials} trials ({fewer} of the library), n = 10,000");
        let (mut table, mut extremes) = (Table::new(title, &columns), ranges());
        for (at, row) in TABLE_3.iter().enumerate() {
            let setting = row.setting;
            let until: Vec<u64> = row.rates.iter().map(|&(rounds, _)| rounds).collect();
            let simulated = bench.trials(&setting.name(), trials, work(at), |stream, _| {
                let mut rounds = Rounds::new(setting, self.ties, stream);
                let fills: Vec<f64> = (0..last(at)).map(|_| rounds.round()).collect();
                Ok(until.iter().map(|&round| setting.rate(fills[round as usize - 1])).collect::<Vec<_>>())
            })?;
            let library =
                bench.trials(&format!("library {}", setting.name()), fewer, 4 * work(at), |stream, _| {
                    let fills = library_offline(&setting, &until, stream)?;
                    Ok(fills.into_iter().map(|fill| setting.rate(fill)).collect::<Vec<_>>())
                })?;
            for (column, &(rounds, paper)) in row.rates.iter().enumerate() {
                if let Some((.., ends)) =
                    RANGES.iter().find(|(of, after, _)| (*of, *after) == (setting, rounds))
                {
                    let rates: Vec<f64> = simulated.iter().map(|trial| trial[column]).collect();
                    range(&mut extremes, setting, rounds, &rates, *ends);
                }
                let mean =
                    |trials: &[Vec<f64>]| Mean::of(&trials.iter().map(|t| t[column]).collect::<Vec<_>>());
                let (simulated, library) = (mean(&simulated), mean(&library));
                let mut checks = Checks::default();
                // The library's few trials follow the law of the simulated ones, which know their spread.
                let library = library.spread_of(simulated);
                checks.is("simulated", simulated, printed(paper, simulated));
                checks.is("library", library, printed(paper, simulated));
                let (rate, off) = (Form::Power(3), Form::Percent(2));
                let cells = vec![
                    Cell::Count(setting.cells / setting.items),
                    Cell::Count(setting.choices.into()),
                    Cell::Count(setting.hashes.into()),
                    Cell::Count(rounds),
                    Cell::Mean(simulated, rate),
                    Cell::Mean(library, rate),
                    Cell::Number(paper, rate),
                    Cell::Number(simulated.relative_to(paper), off),
                    Cell::Number(library.relative_to(paper), off),
                ];
                table.judge(cells, checks);
            }
        }
        table.note(format!("Source: {LUMETTA}, Table 3."));
        table.note(
            "A row agrees if both means equal the paper's within four standard errors of both and half a unit of its last digit. The paper's own error is that of a thousand trials like ours; that of the library's fewer trials \
             follows from the spread of the simulated ones.",
        );
        Ok(Outcome { tables: vec![table, extremes], figures: Vec::new() })
    }
}
