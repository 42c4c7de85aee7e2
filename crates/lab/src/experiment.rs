//! What an experiment is, and what it gives back.

use crate::{Figure, Plan, Table, Verdict};
use serde::Serialize;

/// Hears how far a run is. It is called by all threads at once.
pub trait Progress: Sync {
    /// `done` of `total` units of work are done. Calls of several threads may overtake each other.
    fn at(&self, done: u64, total: u64);
}

/// Nobody listens.
impl Progress for () {
    fn at(&self, _: u64, _: u64) {}
}

/// An experiment of a paper, or one of our own: one file in `experiments`.
pub trait Experiment: Sync {
    /// How the command line names it.
    fn name(&self) -> &'static str;
    /// What it is about, in a line.
    fn title(&self) -> &'static str;
    /// Authors, paper, year, table.
    fn source(&self) -> &'static str;
    /// What is to be shown, in one or two sentences.
    fn claim(&self) -> &'static str;
    /// Runs it.
    ///
    /// # Errors
    /// If the plan cannot be (see [`Plan::check`]), or a filter cannot be made.
    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome>;
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Tables of numbers, with a verdict to each row that claims something.
    pub tables: Vec<Table>,
    /// Pictures of them.
    pub figures: Vec<Figure>,
}

impl Outcome {
    /// All verdicts, in order.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.verdict.as_ref())
    }

    /// Whether a row differs.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.verdicts().any(Verdict::differs)
    }

    /// `9 rows agree, 1 is explained, 2 differ`.
    #[must_use]
    pub fn summary(&self) -> String {
        let of = |word: &str| self.verdicts().filter(|verdict| verdict.word() == word).count();
        let say = |count: usize, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {more}")),
        };
        let parts = [
            say(of("agrees"), "row agrees", "rows agree"),
            say(of("explained"), "is explained", "are explained"),
            say(of("DIFFERS"), "DIFFERS", "DIFFER"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
