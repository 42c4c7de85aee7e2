//! Every experiment in a hurry: it agrees, it does not depend on threads, and it notices what is
//! broken.

use lab::experiments::{
    LumettaElsewhere, LumettaRounds, LumettaTable1, LumettaTable2, LumettaTable3, Space, Speed,
};
use lab::{Comparison, Experiment, Outcome, Plan, Rule, Table, Ties, Verdict};
use std::sync::OnceLock;

fn run(experiment: &dyn Experiment, plan: &Plan) -> Outcome {
    experiment.run(plan, &()).unwrap_or_else(|error| panic!("{}: {error}", experiment.name()))
}

fn text(outcome: &Outcome) -> String {
    outcome.tables.iter().map(Table::to_text).collect()
}

/// All experiments in a hurry, once for all tests.
fn quick() -> &'static [(&'static str, Outcome)] {
    static QUICK: OnceLock<Vec<(&'static str, Outcome)>> = OnceLock::new();
    QUICK.get_or_init(|| {
        let each = |experiment: Box<dyn Experiment>| {
            let start = std::time::Instant::now();
            let outcome = run(&*experiment, &Plan::quick());
            println!("{}: {:.1} s, {}", experiment.name(), start.elapsed().as_secs_f64(), outcome.summary());
            (experiment.name(), outcome)
        };
        lab::all().into_iter().map(each).collect()
    })
}

/// All rows that claim something, with what they belong to.
fn judged() -> impl Iterator<Item = (&'static str, &'static Table, &'static lab::Row)> {
    let rows = |table: &'static Table| table.rows.iter().map(move |row| (table, row));
    let all = quick().iter().flat_map(move |(name, outcome)| {
        outcome.tables.iter().flat_map(rows).map(move |(table, row)| (*name, table, row))
    });
    all.filter(|(.., row)| row.verdict.is_some())
}

#[test]
fn all_experiments_agree_in_a_hurry() {
    for (name, outcome) in quick() {
        assert!(outcome.verdicts().count() > 0, "{name}");
    }
    let differ = |outcome: &&(&str, Outcome)| outcome.1.differs();
    let differing: String =
        quick().iter().filter(differ).map(|(name, outcome)| format!("{name}\n{}", text(outcome))).collect();
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn a_reference_that_is_moved_by_five_standard_errors_is_noticed_in_every_row() {
    let mut moved = 0;
    for (name, table, row) in judged() {
        let place = || format!("{name}: {}\n{:?}", table.title, row.cells);
        let comparisons = row.checks.comparisons();
        assert_eq!(row.verdict.as_ref(), Some(&row.checks.verdict()), "{}", place());
        // Rows that show an error in print may do so by being far from it; any other is compared two-sidedly.
        let explained = matches!(row.verdict, Some(Verdict::Explained(_)));
        assert!(
            !comparisons.is_empty() && (explained || comparisons.iter().any(Comparison::is_tight)),
            "{}",
            place()
        );
        for (at, comparison) in comparisons.iter().enumerate() {
            for changed in comparison.changed() {
                let mut others = comparisons.to_vec();
                others[at] = changed.clone();
                assert!(row.checks.with(others).verdict().differs(), "{}\n{changed:?}", place());
                moved += 1;
            }
        }
    }
    assert!(moved > 2_000, "{moved}");
}

#[test]
fn changed_numbers_of_papers_and_theories_are_noticed() {
    // Experiment, what is compared, the change, and how many rows must notice it at least.
    type Change = fn(f64) -> f64;
    let changes: [(&str, &str, Change, usize); 15] = [
        ("lumetta-table-1", "", |x| if x == 3.935e-4 { 4.01e-4 } else { x }, 1),
        ("lumetta-table-1", "", |x| if x == 2.323e-2 { 2.350e-2 } else { x }, 1),
        ("lumetta-table-3", "", |x| if x == 3.525e-8 { 3.66e-8 } else { x }, 1),
        ("lumetta-table-2", "(3.2)", |x| x + 0.0005, 6),
        ("lumetta-elsewhere", "against (3.2)", |x| x + 0.0005, 5),
        // What is found but not stored is a thousandth to a tenth.
        ("garden-a2", "found, ", |x| if x > 0.2 { x.powf(1.06) } else { x }, 6),
        ("garden-counting", "filters in which a cell overflows", |x| 1.15 * x, 6),
        ("garden-bitwise", "overcount", |x| 0.8 * x, 6),
        ("garden-spectral", "E_B", |x| 1.15 * x, 3),
        ("garden-stable", "rate in the long run, by zeros", |x| 1.05 * x, 2),
        ("garden-stable", "forgotten", |x| 1.06 * x, 8),
        ("km-count-min", "by the bound", |x| 0.02 * x, 10),
        // A quarter of 6n/m² at 16 bits for each of 1,000 keys is 1.28% of p.
        ("km-convergence", "rate of the library's filters over p", |x| x + 0.0128, 2),
        ("space", "that the filters report", |x| 0.85 * x, 40),
        ("speed", "that the filter reports", |x| 0.85 * x, 15),
    ];
    for (experiment, what, change, least) in changes {
        let notices = |comparison: &&Comparison| {
            let mut changed = (*comparison).clone();
            changed.reference.value = change(changed.reference.value);
            comparison.what.contains(what) && comparison.holds() && !changed.holds()
        };
        let rows = judged().filter(|(name, ..)| *name == experiment);
        let noticed = rows.filter(|(.., row)| row.checks.comparisons().iter().any(|of| notices(&of))).count();
        assert!(noticed >= least, "{experiment}, {what}: {noticed} rows notice it, not {least}");
    }
}

#[test]
fn every_erratum_of_the_list_is_shown() {
    for erratum in &lab::ERRATA {
        let explained = judged().any(|(name, _, row)| {
            let reason = |verdict: &Verdict| matches!(verdict, Verdict::Explained(why) if why.starts_with(&erratum.name()));
            name == erratum.experiment && row.verdict.as_ref().is_some_and(reason)
        });
        assert!(explained, "{erratum:?}");
    }
}

#[test]
fn the_number_of_threads_changes_no_number() {
    for experiment in lab::all() {
        let numbers = |threads| {
            let plan = Plan { threads, trials: Some(2), ..Plan::quick() };
            let mut outcome = run(&*experiment, &plan);
            println!("{}, two trials: {}", experiment.name(), outcome.summary());
            outcome.tables.retain(|table| !table.timed);
            outcome.figures.retain(|figure| !figure.timed);
            outcome
        };
        assert_eq!(numbers(1), numbers(3), "{}", experiment.name());
    }
}

#[test]
fn another_seed_gives_other_numbers() {
    let numbers = |seed| run(&LumettaTable1::default(), &Plan { seed, trials: Some(2), ..Plan::quick() });
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
}

/// Runs it with so few trials that a verdict needs a real difference, and counts the rows that
/// differ.
fn differing(experiment: &dyn Experiment, trials: u64) -> (usize, usize, Outcome) {
    let outcome = run(experiment, &Plan { trials: Some(trials), ..Plan::quick() });
    let differ = outcome.verdicts().filter(|verdict| verdict.differs()).count();
    (differ, outcome.verdicts().count(), outcome)
}

#[test]
fn keys_that_do_not_choose_are_noticed() {
    // The rows for one group have no choice, and agree.
    let (differ, all, outcome) = differing(&LumettaTable1 { rule: Rule::Any }, 4);
    assert_eq!(differ, all - 3, "{}", text(&outcome));
    let (differ, all, outcome) = differing(&LumettaTable2 { rule: Rule::Any }, 4);
    assert_eq!(differ, all, "{}", text(&outcome));
    let (differ, all, outcome) = differing(&LumettaElsewhere { rule: Rule::Any }, 8);
    assert_eq!(differ, all - 1, "{}", text(&outcome));
}

#[test]
fn ties_that_go_to_the_first_are_noticed() {
    // The range of the rates is wider than what ties gain.
    let (differ, all, outcome) = differing(&LumettaTable3 { ties: Ties::First }, 30);
    assert!(differ >= all - 1, "{}", text(&outcome));
    let (differ, all, outcome) = differing(&LumettaRounds { ties: Ties::First }, 4);
    assert_eq!(differ, all, "{}", text(&outcome));
}

#[test]
fn filters_that_are_too_full_or_forget_are_noticed() {
    // A tenth more keys is too much for these at most rates; others grow, forget, or were made of all keys.
    let (_, _, outcome) = differing(&Space { overfull: true }, 8);
    for name in ["blocked", "bloom", "choice, online", "counting", "spectral"] {
        let rows = outcome.tables.iter().flat_map(|table| &table.rows);
        let rows: Vec<_> = rows.filter(|row| row.cells[0] == lab::Cell::text(name)).collect();
        let differ = |row: &&&lab::Row| row.verdict.as_ref().is_some_and(lab::Verdict::differs);
        assert!(rows.iter().filter(differ).count() >= 2, "{name}: {}", text(&outcome));
    }
    let outcome = run(&Speed { forgetful: true }, &Plan::quick());
    assert!(outcome.verdicts().all(lab::Verdict::differs), "{}", text(&outcome));
}

#[test]
fn names_are_different_and_found() {
    let all = lab::all();
    let names: std::collections::BTreeSet<&str> = all.iter().map(|experiment| experiment.name()).collect();
    assert_eq!(names.len(), all.len());
    assert!(names.iter().all(|name| lab::find(name).is_some_and(|found| found.name() == *name)));
    assert!(lab::find("no-such-experiment").is_none());
}
