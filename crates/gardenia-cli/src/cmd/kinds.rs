//! `gardenia kinds`: the table of kinds.

use crate::Outcome;
use gardenia::Kind;
use gardenia::spec::{Param, Takes};
use serde_json::{Value, json};
use std::io::{self, Write};

/// List the kinds of filters with their abilities and options
///
/// Options are the same for `gardenia build`, for GD.RESERVE of the Redis module and for `Spec` in Rust;
/// `gardenia build --help` says what each of them means.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia kinds                             one paragraph per kind
  gardenia kinds --json | jq '.kinds[].name'

Exit codes: 0 done, 2 error.")]
pub(crate) struct KindsArgs {
    /// Print JSON, with what each option means and accepts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &KindsArgs) -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    if args.json {
        let options: Vec<Value> = Param::ALL.into_iter().map(option).collect();
        let table = json!({ "kinds": Kind::ALL.map(described), "options": options });
        writeln!(out, "{}", serde_json::to_string_pretty(&table)?)?;
    } else {
        for kind in Kind::ALL {
            let words = described(kind);
            writeln!(out, "{}: {}", kind.name(), kind.summary())?;
            for what in ["abilities", "options"] {
                let words: Vec<&str> =
                    words[what].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                writeln!(out, "  {what}: {}", words.join(", "))?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn described(kind: Kind) -> Value {
    json!({
        "name": kind.name(),
        "number": kind.number(),
        "summary": kind.summary(),
        "holds_keys": kind.holds_keys(),
        "abilities": kind.abilities().iter().map(|ability| ability.name()).collect::<Vec<_>>(),
        "options": kind.params().iter().map(|param| param.word()).collect::<Vec<_>>(),
    })
}

fn option(param: Param) -> Value {
    let (kind, range) = match param.takes() {
        Takes::Whole(least, most) => ("whole", json!([least, most])),
        Takes::Bits => ("bits", Value::Null),
        Takes::Bytes => ("bytes", Value::Null),
        Takes::Share => ("share", Value::Null),
        Takes::Number => ("number", Value::Null),
        Takes::Nothing => ("flag", Value::Null),
        takes => ("word", json!(takes.words())),
    };
    json!({ "name": param.word(), "aliases": param.aliases(), "meaning": param.meaning(), "accepts": kind, "values": range })
}
