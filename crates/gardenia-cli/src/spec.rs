//! The options of a filter on the command line: one for each in the library's table, and `--kind`.

use crate::input;
use crate::message::hinted;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use gardenia::spec::{Param, SpecError, Takes};
use gardenia::{Ability, Kind, Spec};
use std::path::{Path, PathBuf};

/// The kind of filter and its options, as they were given.
#[derive(Debug, Default)]
pub(crate) struct SpecArgs {
    file: Option<PathBuf>,
    kind: Option<String>,
    options: Vec<(Param, String)>,
}

impl SpecArgs {
    /// What the options describe; `default` is the kind if none is named.
    pub(crate) fn spec(&self, default: Kind) -> anyhow::Result<Spec> {
        let named = self.kind.as_deref().and_then(Spec::named);
        let spec = match &self.file {
            Some(path) => from_file(path)?,
            None => named.clone().unwrap_or_else(|| Spec::new(default)),
        };
        // As everywhere else: `spectral-mi` has a policy already.
        let said = |param: &Param| named.as_ref().is_some_and(|named| named.has(*param));
        if let Some((param, _)) = self.options.iter().find(|(param, _)| said(param)) {
            return Err(hinted(format!("{} is given twice", spell(*param)), "leave out one of them"));
        }
        let read = |spec: Spec, (param, text): &(Param, String)| spec.parse_option(*param, text);
        self.options.iter().try_fold(spec, read).map_err(explain)
    }

    /// Whether a kind is named.
    pub(crate) fn is_kind_given(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether the spec is in a file.
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether an option is given.
    pub(crate) fn has(&self, param: Param) -> bool {
        self.options.iter().any(|(given, _)| *given == param)
    }
}

/// An option as it is written here.
pub(crate) fn spell(param: Param) -> String {
    format!("--{}", param.word())
}

/// What is wrong, and which option to change.
pub(crate) fn explain(error: SpecError) -> anyhow::Error {
    match error.remedy(spell) {
        remedy if remedy.is_empty() => anyhow::Error::msg(error.what(spell)),
        remedy => hinted(error.what(spell), remedy),
    }
}

/// The letters of options that people give often.
fn letter(param: Param) -> Option<char> {
    match param {
        Param::Items => Some('n'),
        Param::Fpp => Some('p'),
        Param::Memory => Some('m'),
        Param::Width => Some('w'),
        _ => None,
    }
}

/// In fewer words than the table has, for the screen.
fn short(param: Param) -> Option<&'static str> {
    match param {
        Param::Items => Some("Number of distinct keys [default: counted in the input]"),
        Param::Fpp => Some("False-positive rate, such as 0.1% or 1/1000 [default: 1%]"),
        Param::Memory => Some("Memory limit; without --fpp all of it is used"),
        _ => None,
    }
}

const HEADING: &str = "Size and kind of the filter";

/// What stands for the value of an option in `--help`.
fn placeholder(takes: Takes) -> &'static str {
    match takes {
        Takes::Whole(..) => "N",
        Takes::Bits | Takes::Bytes => "SIZE",
        Takes::Share => "P",
        Takes::Number => "X",
        _ => "WORD",
    }
}

/// The kinds that have an option, unless most do.
fn kinds_with(param: Param) -> Option<String> {
    let with: Vec<&str> =
        Kind::ALL.into_iter().filter(|kind| kind.params().contains(&param)).map(Kind::name).collect();
    (2 * with.len() < Kind::ALL.len()).then(|| with.join(", "))
}

fn option(param: Param) -> Arg {
    // What only some kinds have is explained with the kind, by `gardenia kinds KIND`.
    let special = kinds_with(param);
    let help = match &special {
        Some(kinds) => format!("{} ({kinds})", param.meaning().trim_end_matches('.')),
        None => short(param).unwrap_or(param.meaning().trim_end_matches('.')).to_owned(),
    };
    let arg = Arg::new(param.word()).long(param.word()).aliases(param.aliases().iter().copied()).help(help);
    let arg = letter(param).into_iter().fold(arg, Arg::short).help_heading(HEADING);
    let arg = arg.hide(param == Param::PlannedFpp).hide_long_help(special.is_some());
    let arg = arg.hide_short_help(
        special.is_some() || matches!(param, Param::Hashes | Param::Scheme | Param::Seed | Param::Width),
    );
    match param.takes() {
        Takes::Nothing => arg.action(ArgAction::SetTrue),
        takes => {
            let arg = arg.value_name(placeholder(takes)).allow_negative_numbers(true);
            match takes {
                Takes::Word(words) => arg.value_parser(PossibleValuesParser::new(words)).ignore_case(true),
                _ => arg,
            }
        }
    }
}

fn kind() -> Arg {
    let built = |(name, _): &(&str, &str)| Spec::named(name).is_some_and(|spec| spec.kind().is_built());
    let kinds = Spec::names().filter(built);
    let kinds = kinds.map(|(name, summary)| PossibleValue::new(name).help(summary.trim_end_matches('.')));
    Arg::new("kind")
        .short('k')
        .long("kind")
        .value_name("KIND")
        .ignore_case(true)
        .value_parser(PossibleValuesParser::new(kinds))
        .hide_possible_values(true)
        .help_heading(HEADING)
        .help("Kind of filter: see `gardenia kinds` [default: blocked]")
}

fn file() -> Arg {
    Arg::new("spec")
        .long("spec")
        .value_name("FILE")
        .conflicts_with_all(std::iter::once("kind").chain(Param::ALL.iter().map(|param| param.word())))
        .value_parser(clap::value_parser!(PathBuf))
        .hide_short_help(true)
        .help_heading(HEADING)
        .help("File with a spec, such as: blocked items=10M fpp=0.1%; for filters that are built apart and merged")
}

/// The spec in a file, as `gardenia info` prints it.
fn from_file(path: &Path) -> anyhow::Result<Spec> {
    let text = std::fs::read_to_string(path).with_context(|| input::name(path))?;
    let spec: Result<Spec, SpecError> = text.trim().parse();
    spec.map_err(|error| anyhow::Error::msg(error.to_string())).with_context(|| input::name(path))
}

impl clap::Args for SpecArgs {
    fn augment_args(command: Command) -> Command {
        let command = command.arg(kind()).arg(file());
        Param::ALL.into_iter().fold(command, |command, param| command.arg(option(param)))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SpecArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |param: Param| match param.takes() {
            Takes::Nothing => matches.get_flag(param.word()).then(String::new),
            _ => matches.get_one::<String>(param.word()).cloned(),
        };
        let options = Param::ALL.into_iter().filter_map(|param| Some((param, given(param)?))).collect();
        let (file, kind) =
            (matches.get_one::<PathBuf>("spec").cloned(), matches.get_one::<String>("kind").cloned());
        Ok(Self { file, kind, options })
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What a kind must be able to do, in words for a hint.
pub(crate) fn kinds_that(ability: Ability) -> String {
    let able = Kind::ALL.into_iter().filter(|kind| kind.is_built() && kind.can(ability));
    able.map(Kind::name).collect::<Vec<_>>().join(", ")
}
