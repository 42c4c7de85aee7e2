//! `gardenia diff`: what two filters have in common, estimated from their bits.

use super::merge::{Why, check_keys, check_stdin, mismatch, overlap_of, round};
use crate::args::{MemoryArgs, SecretArgs};
use crate::message::hinted;
use crate::open::load_any;
use crate::{Outcome, foreign, human, input};
use anyhow::Context;
use gardenia::AnyFilter;
use gardenia::format::Format;
use gardenia::theory::bloom::Estimate;
use gardenia::theory::overlap::Overlap;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Compare two filter files
///
/// Prints how many keys are in each, in both and in only one of them, and the Jaccard index: the
/// share of all keys that is in both. All numbers are estimates from the bits, with standard
/// errors. The filters must be of one kind, size and seed: bloom, blocked, compressed, sbbf,
/// counting, spectral-ms or spectral-mi.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia diff monday.gdn tuesday.gdn               how many keys are in both?
  gardenia diff --json a.gdn b.gdn | jq .jaccard

With --json one object is printed; unknown values are null.")]
pub(crate) struct DiffArgs {
    /// A filter file; - is stdin
    pub(crate) a: PathBuf,

    /// Another one, built in the same way
    pub(crate) b: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Format of the filters, if they are another program's and their bytes do not tell
    #[arg(long, value_name = "FORMAT", value_parser = foreign::format_named)]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    check_stdin(&[args.a.clone(), args.b.clone()])?;
    let options = args.memory.options(args.secret.read()?);
    if let Some(outcome) = foreign::diff(args, &options)? {
        return Ok(outcome);
    }
    let (a, b) = (load_any(&args.a, &options)?, load_any(&args.b, &options)?);
    check_keys(&args.a, &a, &args.b, &b)?;
    let told = |filter: &AnyFilter| filter.estimated_items().unwrap_or(Estimate::new(f64::NAN, f64::NAN));
    let (kind, of) = (a.kind().name(), [told(&a), told(&b)]);
    let overlap = overlap_of(a, &b).map_err(|why| match why {
        Why::Mismatch(difference) => mismatch(&args.a, &args.b, &difference),
        Why::Kind => hinted(
            format!("{}: a filter of kind {kind} cannot estimate it", input::name(&args.a)),
            "build both with --kind blocked or bloom",
        ),
    })?;
    let report = Report { names: [input::name(&args.a), input::name(&args.b)], kind, of, overlap };
    let text = if args.json { serde_json::to_string(&report.json())? } else { report.text() };
    writeln!(io::stdout().lock(), "{text}").context("stdout")?;
    Ok(Outcome::Done)
}

struct Report {
    names: [String; 2],
    kind: &'static str,
    of: [Estimate; 2],
    overlap: Overlap,
}

/// What `--json` prints: fields are added, never renamed or removed. Unknown values are null.
#[derive(Serialize)]
struct Json<'a> {
    a: &'a str,
    b: &'a str,
    kind: &'static str,
    items_a: Option<f64>,
    items_a_std_error: Option<f64>,
    items_b: Option<f64>,
    items_b_std_error: Option<f64>,
    union: Option<f64>,
    common: Option<f64>,
    common_std_error: Option<f64>,
    only_a: Option<f64>,
    only_a_std_error: Option<f64>,
    only_b: Option<f64>,
    only_b_std_error: Option<f64>,
    jaccard: Option<f64>,
    jaccard_std_error: Option<f64>,
}

impl Report {
    fn json(&self) -> Json<'_> {
        let known = |number: f64| Some(number).filter(|number| number.is_finite());
        // Chance can make an estimate less than nothing.
        let positive = |number: f64| known(number).map(|number| number.max(0.0));
        let Overlap { common, only_a, only_b, jaccard, jaccard_std_error, .. } = self.overlap;
        Json {
            a: &self.names[0],
            b: &self.names[1],
            kind: self.kind,
            items_a: known(self.of[0].items),
            items_a_std_error: known(self.of[0].std_error),
            items_b: known(self.of[1].items),
            items_b_std_error: known(self.of[1].std_error),
            union: known(self.of[1].items + only_a.items),
            common: positive(common.items),
            common_std_error: known(common.std_error),
            only_a: positive(only_a.items),
            only_a_std_error: known(only_a.std_error),
            only_b: positive(only_b.items),
            only_b_std_error: known(only_b.std_error),
            jaccard: positive(jaccard).map(|jaccard| jaccard.min(1.0)),
            jaccard_std_error: known(jaccard_std_error),
        }
    }

    fn text(&self) -> String {
        let line = |name: &str, told: Estimate| match told.items.is_finite() && told.std_error.is_finite() {
            true => format!("  {name:<16}about {} ± {} keys", round(told.items), round(told.std_error)),
            false => format!("  {name:<16}unknown: a filter is full"),
        };
        let Overlap { common, only_a, only_b, jaccard, jaccard_std_error, .. } = self.overlap;
        let [a, b] = &self.names;
        let mut lines = vec![
            format!("{a} (A) and {b} (B)"),
            line("A", self.of[0]),
            line("B", self.of[1]),
            line("both", common),
            line("A alone", only_a),
            line("B alone", only_b),
        ];
        if jaccard.is_finite() {
            let (share, error) = (human::percent(jaccard.clamp(0.0, 1.0)), human::percent(jaccard_std_error));
            lines.push(format!("  {:<16}{share} ± {error} of all keys are in both", "Jaccard"));
        }
        lines.join("\n")
    }
}
