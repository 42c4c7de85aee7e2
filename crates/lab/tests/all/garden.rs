//! The experiments on k, on sketches and on the garden notice what is broken, in the rows where it
//! shows.

use lab::experiments::{
    GardenA2, GardenBitwise, GardenCounting, GardenSpectral, GardenStable, GrothoffK, KmCountMin,
};
use lab::{Below, Experiment, Exponent, Outcome, Plan, Raise, Step, Swap, Table, Top};

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
    // Every second row is the modified form.
    assert!(!differing[0].is_empty() && differing[0].iter().all(|row| row % 2 == 0), "{}", text(&outcome));
    assert_eq!(differing[1..3], [vec![2, 4], vec![2, 4, 6]], "{}", text(&outcome));
    // Two rows in three are the modified form, with one copy and with two; the first three have one row.
    assert_eq!(differing[3], [5, 6, 8, 9, 11, 12, 14, 15], "{}", text(&outcome));
    assert!(differing[4..].iter().all(Vec::is_empty), "{}", text(&outcome));
}

#[test]
fn a_minimum_increase_that_raises_all_counters_is_noticed_at_every_skew() {
    let outcome = run(&GardenSpectral { raise: Raise::All });
    let differing = differing(&outcome);
    assert_eq!(differing[..2], [vec![1, 2, 3], vec![1, 2, 3]], "{}", text(&outcome));
    // The row of what is printed on minimum increase has its own comparison with the library.
    assert!(differing[2].contains(&2) && differing[3].is_empty(), "{}", text(&outcome));
}

#[test]
fn ages_that_wrap_below_zero_are_noticed_at_every_moment_and_at_long_gaps() {
    let outcome = run(&GardenStable { below: Below::Wrap });
    let differing = differing(&outcome);
    assert_eq!(differing[0], (1..=16).collect::<Vec<_>>(), "{}", text(&outcome));
    assert_eq!(differing[2], [1, 2], "{}", text(&outcome));
    // Seven gaps of each filter. A cell that was set just now is not yet zero, and does not wrap.
    let noticed = |row: usize| differing[1].contains(&row);
    assert!([6, 7, 13, 14].into_iter().all(noticed) && !noticed(1) && !noticed(8), "{}", text(&outcome));
}

#[test]
fn buffers_that_swap_at_every_key_are_noticed_unless_the_key_is_the_last() {
    let outcome = run(&GardenA2 { swap: Swap::Forgets });
    let differing = differing(&outcome);
    // Thirteen ages of each filter: the newest key is still found. No rate is right.
    assert_eq!(differing[0], (2..=13).chain(15..=26).collect::<Vec<_>>(), "{}", text(&outcome));
    assert_eq!(differing[1..], [(1..=14).collect::<Vec<_>>(), (1..=4).collect()], "{}", text(&outcome));
}

#[test]
fn cells_that_are_lowered_from_their_top_are_noticed_where_some_get_there() {
    let outcome = run(&GardenCounting { top: Top::Lowers });
    let differing = differing(&outcome);
    assert_eq!(differing[..2], [vec![], vec![]] as [Vec<usize>; 2], "{}", text(&outcome));
    // Four bits at half fill never get there; the last table says that no key is missing, which is wrong now.
    assert!(
        !differing[2].contains(&1) && differing[2].contains(&3) && differing[2].contains(&4),
        "{}",
        text(&outcome)
    );
    assert_eq!(differing[3], [1], "{}", text(&outcome));
}

#[test]
fn digits_read_at_the_printed_place_are_noticed_in_every_count() {
    let outcome = run(&GardenBitwise { exponent: Exponent::Printed });
    assert_eq!(
        differing(&outcome),
        [(1..=10).collect(), (1..=10).collect(), (1..=3).collect(), vec![]] as [Vec<usize>; 4],
        "{}",
        text(&outcome)
    );
}
