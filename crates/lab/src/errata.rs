//! What is printed wrong in the papers, and the rows that show it: the only rows that may be
//! *explained*.
//!
//! A fault of this project is never on the list. A row that is not what a paper prints, and is not
//! listed, differs.

/// An error in print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// The experiment that shows it.
    pub experiment: &'static str,
    /// The row, or rows, as the experiment calls them.
    pub row: &'static str,
    /// Its number in the notes of this project; `None` for what is not wrong but imprecise.
    pub number: Option<u32>,
    /// The paper.
    pub paper: &'static str,
    /// Where in it.
    pub place: &'static str,
    /// What is printed.
    pub printed: &'static str,
    /// What is right.
    pub right: &'static str,
}

impl Erratum {
    /// `erratum 9`.
    #[must_use]
    pub fn name(&self) -> String {
        self.number.map_or_else(|| "imprecise".to_owned(), |number| format!("erratum {number}"))
    }
}

const GARDEN: &str = "Vallentin, A Garden Variety of Bloom Filters (2011)";
const KM06: &str = "Kirsch and Mitzenmacher (2006)";
const KM08: &str = "Kirsch and Mitzenmacher (2008)";
const LUMETTA: &str = "Lumetta and Mitzenmacher (2007)";
const GROTHOFF: &str = "Grothoff, A Quick Introduction to Bloom Filters";

const fn erratum(
    [experiment, row]: [&'static str; 2],
    number: u32,
    [paper, place]: [&'static str; 2],
    [printed, right]: [&'static str; 2],
) -> Erratum {
    Erratum { experiment, row, number: Some(number), paper, place, printed, right }
}

/// All of them.
pub const ERRATA: [Erratum; 17] = [
    erratum(
        ["grothoff-k", "k* = ⌊b·ln 2⌋ is the arg min"],
        1,
        [GARDEN, "basic Bloom filter"],
        ["k* = ⌊(m/n)·ln 2⌋", "floor or ceiling, whichever has fewer false positives"],
    ),
    erratum(
        ["grothoff-k", "k in {⌈c·ln 2⌉, ⌈c·ln 2⌉}"],
        20,
        [KM06, "section 6"],
        ["two ceilings", "floor and ceiling"],
    ),
    erratum(
        ["grothoff-k", "a random choice per key is a linear combination"],
        27,
        [GROTHOFF, "on a random number of hashes"],
        ["a linear combination of both rates", "worse than that: the keys share one fill"],
    ),
    erratum(
        ["grothoff-k", "k(b) = b·ln 2 minimises formula (1)"],
        26,
        [GROTHOFF, "formula (2)"],
        ["b·ln 2", "-ln 2/(n·ln(1 - 1/(nb)))"],
    ),
    erratum(
        ["km-count-min", "Theorem 9.1"],
        13,
        [KM08, "Theorem 9.1, statement and proof; section 9.2 for the copies (erratum 14)"],
        [
            "δ ≥ ln 1/ε(1 - 1/2e²); 2⌈ln(1/δ)/ln(1/ε)⌉ copies",
            "d ≥ ln(1/(ε(1 - 1/(2e²)))); half as many copies",
        ],
    ),
    Erratum {
        experiment: "km-figure-2",
        row: "normal density",
        number: None,
        paper: KM08,
        place: "section 8, Figure 2",
        printed: "the normal density as a reasonable approximation of Q",
        right: "near by eye; Q is binomial and skewed, and a chi-square test of enough trials tells the two apart",
    },
    erratum(
        ["choice-double-hashing", "double, odd step"],
        23,
        [LUMETTA, "section 3.1 and footnote 1"],
        ["nearly the same false-positive probability", "higher by about 12n/m² for each group"],
    ),
    erratum(
        ["garden-counting", "inserted keys are removed"],
        2,
        [GARDEN, "counting Bloom filter"],
        ["deletions necessarily introduce false negatives", "only if what is removed was never inserted"],
    ),
    erratum(
        ["garden-spectral", "MS: Pr(estimate ≠ minimum) = E_B"],
        3,
        [GARDEN, "spectral Bloom filter, minimum selection"],
        ["Pr(estimate ≠ minimum) = E_B", "Pr(count ≠ minimum) = E_B"],
    ),
    erratum(
        ["garden-spectral", "MI: E_B/k for keys drawn alike"],
        4,
        [GARDEN, "spectral Bloom filter, minimum increase"],
        ["E_B/k", "about half of E_B; the size of the errors falls by more"],
    ),
    erratum(
        ["garden-spectral", "RM: at least as well as MS"],
        5,
        [GARDEN, "spectral Bloom filter, recurring minimum"],
        ["at least as well as MS", "worse than MS in the same memory"],
    ),
    erratum(
        ["garden-spectral", "RM as printed: at least as well as MS"],
        5,
        [GARDEN, "spectral Bloom filter, recurring minimum"],
        ["at least as well as MS", "worse than MS in the same memory, and counts that are too low"],
    ),
    erratum(
        ["garden-bitwise", "exponent"],
        6,
        [GARDEN, "bitwise Bloom filter"],
        ["C = Σ c_i 2^(Σ_{j=0..i} w_i)", "the sum of w_j over j < i"],
    ),
    erratum(
        ["garden-bitwise", "1 bit, plain bits"],
        7,
        [GARDEN, "bitwise Bloom filter"],
        ["insert into V_1 and remove from V_0", "a carry takes the whole digit out of counters"],
    ),
    erratum(
        ["garden-stable", "long run"],
        8,
        [GARDEN, "stable Bloom filter"],
        ["1/(d/k - d/m + 1)", "(1 - (1/(1 + 1/(P(1/K - 1/m))))^Max)^K"],
    ),
    erratum(
        ["garden-a2", "φ is kept"],
        9,
        [GARDEN, "A² Bloom filter"],
        ["k = ⌊-log2 φ_a⌋", "the k that holds most keys at the target"],
    ),
    erratum(
        ["garden-a2", "1 - √(1-φ) is the filter's false-positive rate"],
        9,
        [GARDEN, "A² Bloom filter"],
        ["φ_a = 1 - √(1-φ) as the error of the filter", "the budget of one buffer of two"],
    ),
];

/// The erratum that a row of an experiment may show.
pub(crate) fn find(experiment: &str, row: &str) -> Option<&'static Erratum> {
    ERRATA.iter().find(|erratum| erratum.experiment == experiment && erratum.row == row)
}

#[test]
fn every_erratum_names_its_experiment_and_where_it_is() {
    for erratum in &ERRATA {
        assert!(crate::find(erratum.experiment).is_some(), "{erratum:?}");
        let texts = [erratum.row, erratum.paper, erratum.place, erratum.printed, erratum.right];
        assert!(texts.iter().all(|text| !text.is_empty()), "{erratum:?}");
        assert_eq!(find(erratum.experiment, erratum.row), Some(erratum), "listed once");
    }
}
