//! `-h` fits a screen, and examples stay in their columns, however wide the terminal is.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::spec::kinds_that;
use gardenia::Ability;
use std::ffi::OsString;

/// Wider than this nothing gets, as clap has it.
const MOST: usize = 100;

/// Remarks on examples stand this far from the margin, where both do not fit one line.
const INDENT: usize = 6;

/// For the commands that read filters.
const IN_USE: &str = "\
To replace a filter that is in use, write a new file and mv it over the old one, as gardenia's own commands do. If a \
filter is truncated or overwritten in place (by cp, say), the command that uses it ends with an error and prints no \
answers from it.";

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
            let kinds = kinds_that(Ability::Miss);
            format!("{text}\n\nKinds that may miss lines that were added: {kinds}.\n\n{IN_USE}")
        }
        // Two policies of spectral, and partitions of choice, are the exceptions that `AnyFilter::can` makes.
        "remove" => {
            format!("{text}\n\nKinds that can: {}, but not spectral-mi.", kinds_that(Ability::Remove))
        }
        "merge" => format!(
            "{text}\n\nKinds that can: {}, but not spectral-rm, and choice only with --effort online.\n\n\
             With --intersect: {}.",
            kinds_that(Ability::Merge),
            kinds_that(Ability::Intersect)
        ),
        "count" | "diff" | "eval" | "get" | "info" => format!("{text}\n\n{IN_USE}"),
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

/// The text with each section of examples or of a table laid out for this width.
fn columns(text: &str, width: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let sections = lines.split(|line| line.is_empty()).map(|lines| section(lines, width).join("\n"));
    sections.collect::<Vec<_>>().join("\n\n")
}

/// A line of a section.
enum Line {
    Text(String),
    /// A command or a word, and the remark on it, which may be empty.
    Pair(String, String),
}

/// The lines of a section. A command stays on one line, so that it can be copied, and a remark
/// that is not in a column of its own has the mark of a comment.
fn section(text: &[&str], width: usize) -> Vec<String> {
    let examples = text.first() == Some(&"Examples:");
    let mut lines = Vec::new();
    for line in text {
        match (pair(line), lines.last_mut()) {
            (Some((name, remark)), _) => lines.push(Line::Pair(name.to_owned(), remark.to_owned())),
            // The remark goes on.
            (None, Some(Line::Pair(_, remark))) if line.starts_with("   ") => {
                remark.push(' ');
                remark.push_str(line.trim_start());
            }
            (None, _) => lines.push(Line::Text((*line).to_owned())),
        }
    }
    let len = |text: &str| text.chars().count();
    let remarked = || {
        lines.iter().filter_map(|line| match line {
            Line::Pair(name, remark) if !remark.is_empty() => Some((len(name), len(remark))),
            _ => None,
        })
    };
    let column = remarked().map(|(name, _)| name).max().unwrap_or(0);
    let in_columns = remarked().all(|(_, remark)| 4 + column + remark <= width);
    let in_lines = remarked().all(|(name, remark)| 6 + name + remark <= width);
    let mut out = Vec::new();
    for line in lines {
        match line {
            Line::Text(text) => out.push(text),
            Line::Pair(name, remark) if remark.is_empty() && examples => out.push(whole(&name)),
            Line::Pair(name, remark) if remark.is_empty() => out.extend(wrapped(&name, 2, INDENT, width)),
            Line::Pair(name, remark) if in_columns => out.push(format!("  {name:column$}  {remark}")),
            Line::Pair(name, remark) if examples && in_lines => out.push(format!("  {name}  # {remark}")),
            Line::Pair(name, remark) if examples => {
                out.push(whole(&name));
                let lines = wrapped(&remark, INDENT + 2, INDENT + 2, width);
                out.extend(lines.iter().map(|line| format!("{:INDENT$}# {}", "", line.trim_start())));
            }
            Line::Pair(name, remark) if column <= width / 4 => {
                let lines = wrapped(&remark, 4 + column, 4 + column, width);
                let first = lines.first().map_or("", |line| line.trim_start());
                out.push(format!("  {name:column$}  {first}"));
                out.extend(lines.into_iter().skip(1));
            }
            Line::Pair(name, remark) => {
                out.push(format!("  {name}"));
                out.extend(wrapped(&remark, INDENT, INDENT, width));
            }
        }
    }
    out
}

/// Stands for a blank at which clap is not to wrap a line.
const BLANK: char = '\u{a0}';

/// A command on a line of its own, however long it is.
fn whole(command: &str) -> String {
    format!("  {command}").replace(' ', &BLANK.to_string())
}

/// Help as it is printed.
pub(crate) fn printed(text: &str) -> String {
    text.replace(BLANK, " ")
}

/// A line of examples or of a table: a command, and the remark on it behind two spaces.
fn pair(line: &str) -> Option<(&str, &str)> {
    let text = line.strip_prefix("  ").filter(|text| !text.starts_with(' '))?;
    let (command, remark) = text.split_once("  ").unwrap_or((text, ""));
    Some((command, remark.trim_start()))
}

/// Words in lines, of which the first begins `indent` columns from the margin and the others
/// `rest`.
fn wrapped(text: &str, indent: usize, rest: usize, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), " ".repeat(indent));
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
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
        let commands = |text: &str| -> Vec<String> {
            let lines = text.lines().skip_while(|line| *line != "Examples:").skip(1);
            let lines = lines.take_while(|line| !line.is_empty());
            lines.filter_map(pair).map(|(command, _)| command.to_owned()).collect()
        };
        let mut written = std::collections::HashMap::new();
        let mut all = vec![Cli::command()];
        while let Some(command) = all.pop() {
            all.extend(command.get_subcommands().cloned());
            let help = command.get_after_help().map(StyledStr::to_string).unwrap_or_default();
            written.insert(command.get_name().to_owned(), commands(&help));
        }
        for width in [40, 60, 80, 100] {
            each(&mut laid_out(Cli::command(), width), &mut |name, _, long| {
                let long = printed(&long);
                let examples = long.lines().skip_while(|line| *line != "Examples:").skip(1);
                let examples: Vec<&str> = examples.take_while(|line| !line.is_empty()).collect();
                for line in &examples {
                    let (command, remark) = (pair(line).is_some(), line.starts_with("      # "));
                    assert!(command || remark, "{name} at {width}: {line:?}");
                    let words = line.split_whitespace().count();
                    let fits = line.chars().count() <= width || words <= 2;
                    // Only a command alone may be longer than the line: it is never parted.
                    let alone = command && !line[2..].contains("  ");
                    assert!(fits || alone, "{name} at {width}: {line:?}");
                }
                for command in &written[name] {
                    let line = format!("  {command}");
                    let found = |given: &&str| *given == line || given.starts_with(&format!("{line}  "));
                    assert!(examples.iter().any(found), "{name} at {width}: {command:?} in\n{long}");
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
            printed(&columns(text, 60)),
            "Examples:\n  gardenia tour  see all of it\n  gardenia x -o y\n\nExit codes: 0 done."
        );
        assert_eq!(
            printed(&columns(text, 22)),
            "Examples:\n  gardenia tour\n      # see all of it\n  gardenia x -o y\n\nExit codes: 0 done."
        );
        let text = "Examples:\n  gardenia build --force out";
        assert_eq!(printed(&columns(text, 20)), text);
        // Side by side, but not in columns.
        let text = "Examples:\n  a  first of all, and this is the longest\n  gardenia build  b";
        assert_eq!(
            columns(text, 50),
            "Examples:\n  a  # first of all, and this is the longest\n  gardenia build  # b"
        );
        // What words mean, on several lines.
        let text = "Words are:\n  name    the first\n          of all\n  b       x";
        assert_eq!(columns(text, 40), "Words are:\n  name  the first of all\n  b     x");
        assert_eq!(columns(text, 20), "Words are:\n  name  the first of\n        all\n  b     x");
    }
}
