//! `-h` fits a screen, and examples stay in their columns, however wide the terminal is.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::spec::kinds_that;
use gardenia::Ability;
use std::ffi::OsString;

/// Wider than this nothing gets, as clap has it.
const MOST: usize = 100;

/// Examples stand this far from the margin, and the remark on them behind it, where both do not fit
/// one line.
const INDENT: usize = 6;

/// Reads the command line.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = laid_out(Cli::command(), width());
    let mut args: Vec<OsString> = std::env::args_os().collect();
    if let [_, help, kinds, kind] = &args[..]
        && (help == "help" && kinds == "kinds" && !kind.as_encoded_bytes().starts_with(b"-"))
    {
        args.remove(1); // the help of a kind is what `kinds` prints of it
    }
    let mut matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// What to type instead, where a command line of grep was given to `query`.
pub(crate) fn from_grep(error: &clap::Error) -> Option<&'static str> {
    use clap::error::ErrorKind::{InvalidValue, UnknownArgument};
    let mut args = std::env::args_os().skip(1);
    let asks = args.next().is_some_and(|command| command == "query" || command == "grep");
    // Letters that mean patterns to grep, and that `query` has not, or has for something else.
    let letters = |arg: OsString| {
        let cluster = arg.to_str().and_then(|arg| arg.strip_prefix('-')).unwrap_or_default();
        !cluster.starts_with('-') && cluster.contains(['x', 'w', 'F', 'E', 'G', 'P', 'e'])
    };
    let hint = "grep -xFf LIST FILE is gardenia query --confirm LIST FILE, and with -w --tokens is added; see \
                \"Coming from grep\" in gardenia query --help";
    (matches!(error.kind(), UnknownArgument | InvalidValue) && asks && args.any(letters)).then_some(hint)
}

/// Columns of the terminal: those that are asked for, or that it has.
fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let found = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(found).unwrap_or(MOST).clamp(20, MOST)
}

/// The command with its help made for this width: `-h` without the examples, and `--help` with
/// them.
fn laid_out(command: Command, width: usize) -> Command {
    let name = command.get_name().to_owned();
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let examples = after.map(StyledStr::to_string).map(|text| match &*name {
        "query" => {
            format!("{text}\n\nKinds that may miss lines that went in: {}.", kinds_that(Ability::Miss))
        }
        _ => text,
    });
    let top = command.get_subcommands().next().is_some();
    let command = command.term_width(width).mut_subcommands(move |command| laid_out(command, width));
    let Some(examples) = examples else { return command };
    let command = command.after_long_help(columns(&examples, width));
    if top {
        return command.after_help(columns(&examples, width));
    }
    let kinds = if name == "build" { "\nOptions of one kind of filter: gardenia kinds KIND" } else { "" };
    command.after_help(format!("More options, and examples: gardenia {name} --help{kinds}"))
}

/// The text with each command and the remark on it on one line, or, where one of them does not fit,
/// on lines of their own.
fn columns(text: &str, width: usize) -> String {
    let pairs: Vec<Option<(&str, &str)>> = text.lines().map(pair).collect();
    let fits =
        |(command, remark): (&str, &str)| 2 + command.chars().count() + 2 + remark.chars().count() <= width;
    let mut lines = Vec::new();
    for (line, found) in text.lines().zip(&pairs) {
        match found {
            Some((command, remark))
                if remark.is_empty() || pairs.iter().flatten().all(|pair| fits(*pair)) =>
            {
                let column = pairs.iter().flatten().filter(|(_, remark)| !remark.is_empty());
                let most =
                    pairs.iter().flatten().map(|(_, remark)| remark.chars().count()).max().unwrap_or(0);
                let column = column.map(|(command, _)| command.chars().count()).max().unwrap_or(0);
                // Aligned if all fit that way, and else each behind its own command.
                let column = if 4 + column + most <= width { column } else { command.chars().count() };
                match remark.is_empty() {
                    true => lines.extend(wrapped(command, 2, width)),
                    false => lines.push(format!("  {command:column$}  {remark}")),
                }
            }
            Some((command, remark)) => {
                lines.extend(wrapped(command, 2, width));
                lines.extend(wrapped(remark, INDENT, width));
            }
            None => lines.push((*line).to_owned()),
        }
    }
    lines.join("\n")
}

/// A line of examples or of a table: a command, and the remark on it behind two spaces.
fn pair(line: &str) -> Option<(&str, &str)> {
    let text = line.strip_prefix("  ").filter(|text| !text.starts_with(' '))?;
    let (command, remark) = text.split_once("  ").unwrap_or((text, ""));
    Some((command, remark.trim_start()))
}

/// Words in lines that begin `indent` columns from the margin, the others farther on.
fn wrapped(text: &str, indent: usize, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), " ".repeat(indent));
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(INDENT)));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands and the width of their help.
    fn each(command: &mut Command, check: &mut impl FnMut(&str, String, String)) {
        command.build();
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        check(command.get_name(), short, long);
        let names: Vec<String> =
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for name in names.iter().filter(|name| *name != "help") {
            each(command.find_subcommand_mut(name).unwrap(), check);
        }
    }

    #[test]
    fn examples_stay_in_their_columns_at_any_width() {
        for width in [40, 60, 80, 100] {
            each(&mut laid_out(Cli::command(), width), &mut |name, _, long| {
                let examples = long.lines().skip_while(|line| *line != "Examples:").skip(1);
                for line in examples.take_while(|line| !line.is_empty()) {
                    assert!(
                        line.starts_with("  ") && !line.starts_with("   ") || line.starts_with("      "),
                        "{name} at {width}: {line:?}"
                    );
                    let words = line.split_whitespace().count();
                    assert!(line.chars().count() <= width || words == 1, "{name} at {width}: {line:?}");
                }
            });
        }
    }

    #[test]
    fn the_short_help_of_build_fits_a_screen() {
        each(&mut laid_out(Cli::command(), 80), &mut |name, short, _| {
            if name == "build" {
                let lines: Vec<&str> = short.lines().collect();
                assert!(lines.len() < 40, "{} lines\n{short}", lines.len());
                for heading in ["Size and kind of the filter:", "Keys out of records:"] {
                    assert!(lines.iter().any(|line| line.starts_with(heading)), "{short}");
                }
            }
        });
    }

    #[test]
    fn what_does_not_fit_one_line_gets_lines_of_its_own() {
        let text =
            "Examples:\n  gardenia tour          see all of it\n  gardenia x -o y\n\nExit codes: 0 done.";
        assert_eq!(
            columns(text, 60),
            "Examples:\n  gardenia tour  see all of it\n  gardenia x -o y\n\nExit codes: 0 done."
        );
        assert_eq!(
            columns(text, 22),
            "Examples:\n  gardenia tour\n      see all of it\n  gardenia x -o y\n\nExit codes: 0 done."
        );
        assert_eq!(columns("  gardenia build --force out", 20), "  gardenia build\n      --force out");
    }
}
