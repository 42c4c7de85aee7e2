//! The lab: the papers' experiments, repeated, ours beside theirs.
//!
//! ```text
//! gardenia lab list
//! gardenia lab run lumetta-table-1
//! ```
//!
//! Each experiment is one file in `experiments`, found by its name: it states the claim and the
//! source, makes its trials on a [`Bench`], and returns an [`Outcome`] of [`Table`]s whose verdicts
//! follow from the numbers. Random streams follow from the plan's seed, the experiment, the point
//! and the trial ([`Stream`]), so a result depends on the seed and the trials, and not on the
//! number of threads.
//!
//! ```
//! let plan = lab::Plan { trials: Some(5), ..lab::Plan::quick() };
//! let outcome = lab::find("lumetta-table-2").unwrap().run(&plan, &())?;
//! assert!(!outcome.differs(), "{}", outcome.tables[0].to_text());
//! # Ok::<(), anyhow::Error>(())
//! ```

mod choices;
mod drawing;
mod errata;
mod experiment;
pub mod experiments;
mod figure;
mod garden;
mod html;
mod journal;
mod plan;
mod queries;
mod report;
mod schemes;
mod stats;
mod table;
pub mod theory;
mod verdict;

pub use choices::{Rule, Setting, Ties};
pub use drawing::{Look, draw};
pub use errata::{ERRATA, Erratum};
pub use experiment::{Experiment, Outcome, Progress};
pub use experiments::{all, find};
pub use figure::{Axis, Figure, Mark, Scale, Series};
pub use garden::{Below, Exponent, Raise, Step, Swap, Top};
pub use journal::Journal;
pub use plan::{Bench, Plan, Stream};
pub use report::{Report, Run};
pub use schemes::Way;
pub use stats::{Fit, Mean, chi_square_tail, poisson_tail};
pub use table::{Cell, Form, Row, Table, wrap};
pub use verdict::{Checks, Claim, Comparison, Reference, Verdict};
