//! Every experiment in a hurry: it agrees, it does not depend on threads, and it notices what is broken.

use lab::experiments::{
    ChoiceDoubleHashing, LumettaElsewhere, LumettaRounds, LumettaTable1, LumettaTable2, LumettaTable3, Space,
    Speed,
};
use lab::{Experiment, Outcome, Plan, Rule, Table, Ties};

fn run(experiment: &dyn Experiment, plan: &Plan) -> Outcome {
    experiment.run(plan, &()).unwrap_or_else(|error| panic!("{}: {error}", experiment.name()))
}

fn text(outcome: &Outcome) -> String {
    outcome.tables.iter().map(Table::to_text).collect()
}

#[test]
fn all_experiments_agree_in_a_hurry() {
    for experiment in lab::all() {
        let outcome = run(&*experiment, &Plan::quick());
        assert!(outcome.verdicts().count() > 0 && !outcome.differs(), "{}", text(&outcome));
    }
}

#[test]
fn the_number_of_threads_changes_no_number() {
    for experiment in lab::all() {
        let numbers = |threads| {
            let plan = Plan { threads, trials: Some(2), ..Plan::quick() };
            let mut outcome = run(&*experiment, &plan);
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

/// Runs it with so few trials that a verdict needs a real difference, and counts the rows that differ.
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
    assert_eq!(differ, all, "{}", text(&outcome));
}

#[test]
fn ties_that_go_to_the_first_are_noticed() {
    let (differ, all, outcome) = differing(&LumettaTable3 { ties: Ties::First }, 8);
    assert_eq!(differ, all, "{}", text(&outcome));
    let (differ, all, outcome) = differing(&LumettaRounds { ties: Ties::First }, 4);
    assert_eq!(differ, all, "{}", text(&outcome));
}

#[test]
fn a_default_scheme_that_overlaps_is_noticed() {
    let outcome = run(&ChoiceDoubleHashing { broken: true }, &Plan::quick());
    let verdicts: Vec<_> = outcome.verdicts().map(lab::Verdict::word).collect();
    assert_eq!(
        verdicts,
        ["explained", "agrees", "agrees", "agrees", "agrees", "DIFFERS"],
        "{}",
        text(&outcome)
    );
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
