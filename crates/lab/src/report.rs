//! What a run leaves behind: text for people, JSON for programs, a CSV file per table.

use crate::{Experiment, Figure, Look, Outcome, Plan, Table, Verdict, drawing, html, wrap};
use serde::Serialize;

/// One experiment with its outcome, in the form of JSON: fields are added, never renamed or
/// removed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    claim: &'static str,
    summary: String,
    differs: bool,
    tables: Vec<Table>,
    figures: Vec<Figure>,
}

impl Report {
    /// What came out of `experiment`.
    #[must_use]
    pub fn new(experiment: &dyn Experiment, outcome: Outcome) -> Self {
        let (summary, differs) = (outcome.summary(), outcome.differs());
        let Outcome { tables, figures } = outcome;
        let (name, title) = (experiment.name(), experiment.title());
        Self {
            name,
            title,
            source: experiment.source(),
            claim: experiment.claim(),
            summary,
            differs,
            tables,
            figures,
        }
    }

    /// Whether a row differs.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.differs
    }

    /// `lumetta-table-1: 11 rows agree`
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{}: {}", self.name, self.summary)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn title(&self) -> &'static str {
        self.title
    }

    pub(crate) fn source(&self) -> &'static str {
        self.source
    }

    pub(crate) fn claim(&self) -> &'static str {
        self.claim
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    pub(crate) fn figures(&self) -> &[Figure] {
        &self.figures
    }

    pub(crate) fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.verdict.as_ref())
    }

    /// Heading, claim, figures if somebody can look at them, tables and summary.
    #[must_use]
    pub fn to_text(&self, look: Option<&Look>) -> String {
        let mut out = format!("# {}\n\n", self.name);
        for paragraph in [format!("{}. {}.", self.title, self.source), format!("Claim: {}", self.claim)] {
            wrap(&paragraph, &mut out);
        }
        if let Some(look) = look {
            let names = drawing::names(&self.figures);
            for figure in &self.figures {
                out.push('\n');
                out.push_str(&drawing::draw(figure, &names, look));
            }
        }
        for table in &self.tables {
            out.push('\n');
            out.push_str(&table.to_text());
        }
        out + "\n" + &self.summary() + "\n"
    }

    /// A file name and the contents for each table: `NAME.csv`, or `NAME-1.csv` and so on where
    /// there are several.
    #[must_use]
    pub fn to_csv(&self) -> Vec<(String, String)> {
        let names = (1..).map(|number| match self.tables.len() {
            1 => format!("{}.csv", self.name),
            _ => format!("{}-{number}.csv", self.name),
        });
        names.zip(self.tables.iter().map(Table::to_csv)).collect()
    }
}

/// All experiments of a run, in the form of JSON. It holds nothing that depends on the number of
/// threads, beside tables that are marked as `timed`.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    seed: u64,
    quick: bool,
    trials: Option<u64>,
    experiments: Vec<Report>,
}

impl Run {
    /// What came out of a plan.
    #[must_use]
    pub fn new(plan: &Plan, experiments: Vec<Report>) -> Self {
        Self { seed: plan.seed, quick: plan.quick, trials: plan.trials, experiments }
    }

    /// All reports.
    #[must_use]
    pub fn experiments(&self) -> &[Report] {
        &self.experiments
    }

    /// All numbers, with all digits.
    ///
    /// # Errors
    /// If there is no memory left for it.
    pub fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// One HTML file that needs no other. `command` is what gives these numbers, `facts` what else
    /// should be known.
    #[must_use]
    pub fn to_html(&self, command: &str, facts: &str) -> String {
        html::page(self, command, facts)
    }
}

/// Text that may stand in HTML and SVG, also within quotes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
