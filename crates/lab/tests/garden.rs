//! The experiments on k, on sketches and on the garden notice what is broken, in the rows where it shows.

use lab::experiments::{GrothoffK, KmCountMin};
use lab::{Experiment, Outcome, Plan, Step, Table};

fn run(experiment: &dyn Experiment) -> Outcome {
    experiment.run(&Plan::quick(), &()).unwrap_or_else(|error| panic!("{}: {error}", experiment.name()))
}

fn text(outcome: &Outcome) -> String {
    outcome.tables.iter().map(Table::to_text).collect()
}

/// The rows of each table that differ, by number.
fn differing(outcome: &Outcome) -> Vec<Vec<usize>> {
    let rows = |table: &Table| {
        let differs = |row: &lab::Row| row.verdict.as_ref().is_some_and(lab::Verdict::differs);
        table.rows.iter().zip(1..).filter(|(row, _)| differs(row)).map(|(_, number)| number).collect()
    };
    outcome.tables.iter().map(rows).collect()
}

#[test]
fn a_number_of_hashes_that_is_always_rounded_down_is_noticed_where_up_is_better() {
    let outcome = run(&GrothoffK { round_down: true });
    // b = 4, 7, 8, 10, 11, 14 and 33 of 2, 3, … 16 and 33.
    assert_eq!(
        differing(&outcome),
        [vec![3, 6, 7, 9, 10, 13, 16], vec![], vec![], vec![]],
        "{}",
        text(&outcome)
    );
}

#[test]
fn a_sketch_whose_rows_are_all_the_same_is_noticed_as_soon_as_it_has_two() {
    let outcome = run(&KmCountMin { step: Step::Missing });
    let differing = differing(&outcome);
    // Two rows in three are the modified form, with one copy and with two; the first three have one row.
    assert_eq!(differing[2], [5, 6, 8, 9, 11, 12, 14, 15], "{}", text(&outcome));
    assert_eq!(differing[3..], [vec![], vec![]], "{}", text(&outcome));
}
