//! Rates against rounds: how soon do they settle, and what do random ties gain?
//!
//! Simulated with true random positions, as Table 3, whose rates say what more rounds must bring:
//! "around 1–2 %" for five more with two groups, and for ten more with three. Random ties "improve
//! performance nontrivially": by more than four standard errors.

use crate::choices::{LUMETTA, Rounds, Setting, TABLE_3, TRIALS, Ties, printed};
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Reference, Table,
};

/// False positives against the number of rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct LumettaRounds {
    /// How keys choose among equals, where they should do so at random.
    pub ties: Ties,
}

const SETTINGS: [Setting; 6] = [
    Setting::paper(8, 2, 8),
    Setting::paper(8, 3, 8),
    Setting::paper(16, 2, 14),
    Setting::paper(16, 3, 15),
    Setting::paper(32, 2, 26),
    Setting::paper(32, 3, 27),
];

const ROUNDS: usize = 40;
const SHOWN: [usize; 10] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 40];

/// Rates after each round, one list per trial.
type Curves = Vec<Vec<f64>>;

/// The mean over trials of something about each.
fn mean(curves: &Curves, of: impl Fn(&Vec<f64>) -> f64) -> Mean {
    Mean::of(&curves.iter().map(of).collect::<Vec<_>>())
}

impl Experiment for LumettaRounds {
    fn name(&self) -> &'static str {
        "lumetta-rounds"
    }
    fn title(&self) -> &'static str {
        "Filters with choices: false positives against the number of rounds"
    }
    fn source(&self) -> &'static str {
        "Lumetta and Mitzenmacher (2007), section 3.2"
    }
    fn claim(&self) -> &'static str {
        "Ten rounds are enough for two groups and thirty for three: further rounds gain 1 to 2%. Ties must be broken at random."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(200, 32);
        let work = |setting: &Setting| ROUNDS as u64 * setting.positions();
        let settings: Vec<Setting> =
            SETTINGS.into_iter().filter(|s| !plan.quick || s.cells <= 160_000).collect();
        let total = settings.iter().map(|setting| 2 * trials * work(setting)).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let curves = |setting: &Setting, ties: Ties| {
            // The same keys for both ways, so that their difference is that of the ways.
            bench.trials(&setting.name(), trials, work(setting), |stream, _| {
                let mut rounds = Rounds::new(*setting, ties, stream);
                Ok((0..ROUNDS).map(|_| setting.rate(rounds.round())).collect::<Vec<_>>())
            })
        };

        let names: Vec<String> = settings
            .iter()
            .map(|s| format!("m/n={} c={} k={}", s.cells / s.items, s.choices, s.hashes))
            .collect();
        let columns: Vec<&str> = std::iter::once("rounds").chain(names.iter().map(String::as_str)).collect();
        let mut rates =
            Table::new(format!("False positives after rounds, {trials} trials, n = 10,000"), &columns);
        let columns = ["m/n", "c", "k", "rounds", "rate falls by", "paper", "first of equals is worse by"];
        let mut claims = Table::new("Gain from more rounds and random ties", &columns);
        let (mut all, mut figures) = (Vec::new(), Vec::new());
        for (setting, name) in settings.iter().zip(&names) {
            let (random, first) = (curves(setting, self.ties)?, curves(setting, Ties::First)?);
            let points = |curves: &Curves| {
                (0..ROUNDS)
                    .map(|round| ((round + 1) as f64, mean(curves, |curve| curve[round])))
                    .collect::<Vec<_>>()
            };
            let axes = (Axis::log("rounds"), Axis::log("false positives"));
            let figure = Figure::new(name.clone(), axes.0, axes.1);
            figures.push(figure.line("random ties", points(&random)).line("first of equals", points(&first)));
            let (from, to) = if setting.choices == 2 { (10, 15) } else { (30, 40) };
            let falls = mean(&random, |curve| 1.0 - curve[to - 1] / curve[from - 1]);
            let more = Mean::of(
                &first.iter().zip(&random).map(|(a, b)| a[to - 1] / b[to - 1] - 1.0).collect::<Vec<_>>(),
            );
            let mut checks = Checks::default();
            let rates = TABLE_3.iter().find(|row| row.setting == *setting).map_or(&[][..], |row| row.rates);
            let rate_after = |rounds: usize| {
                rates.iter().find(|(after, _)| *after == rounds as u64).map(|(_, rate)| *rate)
            };
            let paper = rate_after(from).zip(rate_after(to)).map(|(from, to)| 1.0 - to / from);
            if let Some(rate) = rate_after(to) {
                let ours = mean(&random, |curve| curve[to - 1]);
                checks.is(&format!("rate after {to} rounds"), ours, printed(rate, ours));
            }
            if let (Some(paper), Some(rate)) = (paper, rate_after(to)) {
                // Both rates were rounded.
                let half = 2.0 * Reference::printed(rate, 4).half_unit / rate;
                let paper = Reference { half_unit: half, ..paper.into() }.of_trials(TRIALS, falls);
                checks.is("gain from more rounds", falls, paper);
            }
            checks.above("how much worse the first of equals is", more, 0.0);
            let worse =
                random.iter().flat_map(|curve| curve.windows(2)).filter(|pair| pair[1] > pair[0]).count();
            checks.exactly("rounds that made a filter worse", worse as u64, 0);
            let cells = vec![
                Cell::Count(setting.cells / setting.items),
                Cell::Count(setting.choices.into()),
                Cell::Count(setting.hashes.into()),
                Cell::text(format!("{from} to {to}")),
                Cell::Mean(falls, Form::Percent(2)),
                Cell::number(paper, Form::Percent(2)),
                Cell::Mean(more, Form::Percent(1)),
            ];
            claims.judge(cells, checks);
            all.push(random);
        }
        for shown in SHOWN {
            let mut cells = vec![Cell::Count(shown as u64)];
            let of = |curves: &Curves| Cell::Mean(mean(curves, |curve| curve[shown - 1]), Form::Power(3));
            cells.extend(all.iter().map(of));
            rates.row(cells, None);
        }
        claims.note(format!("Source: {LUMETTA}, section 3.2; the rates it prints are in lumetta-table-3."));
        claims.note(
            "A row agrees if the rate, and what the last rounds bring, are those of the paper's Table 3 (where it has both \
             rates) but for four standard errors and its last digits, random ties gain more than four standard errors \
             on the same keys, and no round made a filter worse.",
        );
        Ok(Outcome { tables: vec![rates, claims], figures })
    }
}
