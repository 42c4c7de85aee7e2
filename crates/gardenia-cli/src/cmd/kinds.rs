//! `gardenia kinds`: the table of kinds.

use super::build::EFFORT;
use crate::Outcome;
use crate::message::hinted;
use crate::spec::spell;
use gardenia::spec::{Param, Takes};
use gardenia::{Ability, Kind, Spec};
use serde_json::{Value, json};
use std::io::{self, Write};

/// List the kinds of filters with their abilities and options
///
/// Options are the same for `gardenia build`, for GD.RESERVE of the Redis module and for `Spec` in
/// Rust. With the name of a kind, the meaning of each of its options is printed, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia kinds                             one paragraph per kind
  gardenia kinds choice                      what choice can do, and what its options mean
  gardenia kinds --json | jq '.kinds[].name'

Exit codes: 0 done, 2 error.")]
pub(crate) struct KindsArgs {
    /// Kind to describe in full
    #[arg(value_name = "KIND", conflicts_with = "json")]
    kind: Option<String>,

    /// Print JSON, with what each option means and accepts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &KindsArgs) -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    if let Some(name) = &args.kind {
        let kind = Spec::named(name).map(|spec| spec.kind()).ok_or_else(|| {
            let names: Vec<&str> = Spec::names().map(|(name, _)| name).collect();
            hinted(format!("there is no kind {name:?}"), format!("the kinds are {}", names.join(", ")))
        })?;
        write!(out, "{}", told(kind))?;
    } else if args.json {
        let options: Vec<Value> = Param::ALL.into_iter().map(option).collect();
        let table = json!({ "kinds": Kind::ALL.map(described), "presets": presets(), "options": options });
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
            if !kind.is_built() {
                writeln!(out, "  {NOT_BUILT}")?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// Of kinds that `gardenia build` does not make.
const NOT_BUILT: &str = "not for `gardenia build`: a type of the library";

/// All about a kind: what it can do, and what each of its options means.
fn told(kind: Kind) -> String {
    let abilities: Vec<&str> = kind.abilities().iter().map(|ability| ability.name()).collect();
    let not_built = if kind.is_built() { String::new() } else { format!("  {NOT_BUILT}\n") };
    let mut text = format!(
        "{}: {}\n  abilities: {}\n{not_built}\nOptions:\n",
        kind.name(),
        kind.summary(),
        abilities.join(", ")
    );
    for param in kind.params().iter().filter(|param| **param != Param::PlannedFpp) {
        let accepts = match param.takes() {
            Takes::Nothing => String::new(),
            Takes::Whole(least, most) if most < u64::MAX => format!(" {least}..{most}"),
            Takes::Whole(..) => " N".to_owned(),
            Takes::Bits | Takes::Bytes => " SIZE".to_owned(),
            Takes::Share => " P".to_owned(),
            Takes::Number => " X".to_owned(),
            takes => format!(" {}", takes.words().unwrap_or_default().join("|")),
        };
        // What `build` does otherwise than the library.
        let built = match param {
            Param::Effort => format!(" `gardenia build` uses {} unless --spec FILE is given.", EFFORT.name()),
            _ => String::new(),
        };
        text += &format!("  {}{accepts}\n      {}{built}\n", spell(*param), param.meaning());
    }
    text
}

fn described(kind: Kind) -> Value {
    json!({
        "name": kind.name(),
        "number": kind.number(),
        "summary": kind.summary(),
        "holds_keys": kind.holds_keys(),
        "built": kind.is_built(),
        "abilities": kind.abilities().iter().map(|ability| ability.name()).collect::<Vec<_>>(),
        "options": kind.params().iter().map(|param| param.word()).collect::<Vec<_>>(),
    })
}

/// Other names for a kind, and what filters by that name can do.
fn presets() -> Vec<Value> {
    let presets = Spec::names().filter(|(name, _)| Kind::from_name(name).is_none());
    let described = presets.filter_map(|(name, summary)| {
        let spec = Spec::named(name)?;
        let filter = spec.clone().items(1).build().ok();
        let able = |ability: &Ability| match &filter {
            Some(filter) => filter.can(*ability),
            None => spec.kind().can(*ability),
        };
        let abilities: Vec<&str> =
            Ability::ALL.iter().filter(|ability| able(ability)).map(|a| a.name()).collect();
        let (kind, means) = (spec.kind().name(), spec.to_string());
        Some(
            json!({ "name": name, "kind": kind, "means": means, "summary": summary, "abilities": abilities }),
        )
    });
    described.collect()
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
