//! Kirsch and Mitzenmacher's experiments notice a scheme that is broken, and which one.

use lab::experiments::{KmConvergence, KmFigure1, KmFigure2};
use lab::{Cell, Experiment, Outcome, Plan, Verdict, Way};
use std::collections::BTreeSet;

/// The schemes whose rows differ in the quick plan, and what of them: the word before the colon of
/// each reason.
fn differing(experiment: &dyn Experiment) -> BTreeSet<(String, String)> {
    let outcome = experiment.run(&Plan::quick(), &()).unwrap();
    let mut differ = BTreeSet::new();
    for table in &outcome.tables {
        let scheme = table.columns.iter().position(|column| column == "scheme");
        for row in &table.rows {
            if let (Some(Verdict::Differs(reasons)), Some(at)) = (&row.verdict, scheme) {
                let Cell::Text(name) = &row.cells[at] else { panic!("no name: {row:?}") };
                let word = |reason: &String| reason.split(':').next().unwrap_or_default().to_owned();
                differ.extend(reasons.iter().map(|reason| (name.clone(), word(reason))));
            } else {
                assert!(!row.verdict.as_ref().is_some_and(Verdict::differs), "{}", table.to_text());
            }
        }
    }
    differ
}

/// The names alone.
fn names(differ: BTreeSet<(String, String)>) -> BTreeSet<String> {
    differ.into_iter().map(|(name, _)| name).collect()
}

fn only(way: Way) -> BTreeSet<String> {
    BTreeSet::from([way.name().to_owned()])
}

const ONES: &[Way] = &[Way::Standard, Way::Double, Way::Cube];
const OTHERS: &[Way] = &[Way::Partition, Way::Square, Way::Triple];

#[test]
fn figure_1_tells_which_schemes_are_broken_and_whose() {
    for (simulated, library) in [(ONES, OTHERS), (OTHERS, ONES)] {
        let differ = differing(&KmFigure1 { broken: simulated, broken_library: library });
        let of = |word: &str| -> BTreeSet<&str> {
            differ.iter().filter(|(_, why)| why == word).map(|(name, _)| name.as_str()).collect()
        };
        let expected = |ways: &[Way]| ways.iter().map(|way| way.name()).collect::<BTreeSet<_>>();
        assert_eq!((of("simulated"), of("library")), (expected(simulated), expected(library)), "{differ:?}");
    }
}

#[test]
fn an_even_step_alone_is_noticed() {
    let differ = differing(&KmFigure1 { broken: &[Way::Double], ..KmFigure1::default() });
    assert_eq!(names(differ), only(Way::Double));
}

#[test]
fn figure_2_names_the_scheme_that_is_broken() {
    // The others are broken in ways that 8 bits per key hardly show.
    for way in [Way::Standard, Way::Partition] {
        assert_eq!(names(differing(&KmFigure2 { broken: Some(way) })), only(way));
    }
}

#[test]
fn convergence_names_the_scheme_that_is_broken() {
    for way in [Way::Standard, Way::Double, Way::Square, Way::Cube, Way::Triple] {
        // What the library promises does not depend on what is broken here.
        let mut differ = differing(&KmConvergence { broken: Some(way) });
        differ.retain(|(_, what)| what != "rate of the library's filters over p");
        assert_eq!(names(differ), only(way));
    }
}

#[test]
fn figures_show_every_scheme() {
    let plan = Plan { trials: Some(2), ..Plan::quick() };
    let series = |outcome: &Outcome, figure: usize| -> BTreeSet<String> {
        outcome.figures[figure].series.iter().map(|series| series.name.clone()).collect()
    };
    let all: BTreeSet<String> = Way::ALL.iter().map(|way| way.name().to_owned()).collect();
    let outcome = KmFigure1::default().run(&plan, &()).unwrap();
    assert!(outcome.figures.len() == 4 && (0..4).all(|figure| series(&outcome, figure).is_superset(&all)));
    let outcome = KmConvergence::default().run(&plan, &()).unwrap();
    assert!(outcome.figures.len() == 2 && (0..2).all(|figure| series(&outcome, figure) == all));
    assert_eq!(KmFigure2::default().run(&plan, &()).unwrap().figures.len(), 6);
}
