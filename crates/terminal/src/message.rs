//! What our programs say on stderr: one line per problem, and how to solve it.

use clap::error::{ContextKind, ErrorKind};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// An error with advice: printed as a line of its own, `hint: …`.
#[derive(Debug)]
pub struct Hinted {
    reason: String,
    hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Hinted {}

/// An error with advice.
pub fn hinted(reason: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Hinted { reason: reason.to_string(), hint: hint.to_string() })
}

/// The same error with advice, unless it has some.
pub fn with_hint(error: anyhow::Error, hint: &str) -> anyhow::Error {
    let advised = error.chain().any(|cause| cause.is::<Hinted>());
    if advised || is_broken_pipe(&error) { error } else { hinted(format!("{error:#}"), hint) }
}

/// The advice of an error, if it has some.
pub fn hint(error: &anyhow::Error) -> Option<&str> {
    let hinted: &Hinted = error.chain().find_map(|cause| cause.downcast_ref())?;
    Some(&hinted.hint)
}

/// Prints `gardenia: FILE: reason`, and the hint if there is one.
pub fn complain(error: &anyhow::Error) {
    say(&format!("gardenia: {}", without_number(&format!("{error:#}"))));
    if let Some(hint) = hint(error) {
        say(&format!("hint: {hint}"));
    }
}

/// Prints one line on stderr.
///
/// File names may hold line ends and terminal codes: those are shown, not obeyed, so a line stays a
/// line. A stderr that is closed is nobody's reason to fail.
pub fn say(text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line.push('\n');
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The operating system's messages end in ` (os error 2)`, which helps nobody.
fn without_number(message: &str) -> &str {
    match message.rfind(" (os error ") {
        Some(at) if message.ends_with(')') => &message[..at],
        _ => message,
    }
}

/// Whether output failed because its reader went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// What is wrong with the command line, in one line: clap writes a paragraph with that, then tips
/// and usage.
pub fn problem(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let problem: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let problem = problem.join(" ");
    problem.strip_prefix("error: ").unwrap_or(&problem).to_owned()
}

/// Prints help, version, or what is wrong with the command line, in the form of all other errors.
pub fn usage(error: &clap::Error) -> ExitCode {
    usage_as(error, str::to_owned)
}

/// As [`usage`], with help that is printed as `printed` makes it.
pub fn usage_as(error: &clap::Error, printed: impl Fn(&str) -> String) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let text = if crate::colour() { text.ansi().to_string() } else { text.to_string() };
            let mut stdout = io::stdout().lock();
            return match stdout.write_all(printed(&text).as_bytes()).and_then(|()| stdout.flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    complain(&anyhow::Error::from(error).context("stdout"));
                    ExitCode::from(2)
                }
                _ => ExitCode::SUCCESS,
            };
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = error.render();
            let colour = crate::colour() && io::stderr().is_terminal();
            let text = if colour { text.ansi().to_string() } else { text.to_string() };
            let _ = io::stderr().write_all(printed(&text).as_bytes());
            return ExitCode::from(2);
        }
        _ => {}
    }
    say(&format!("gardenia: {}", problem(error)));
    let text = error.render().to_string();
    // Of clap's tips those about similar names help; how to pass an option's name as a value is not the question.
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    match (tip.filter(|tip| tip.contains("similar")), error.get(ContextKind::Usage)) {
        (Some(tip), _) => say(&format!("hint: {tip}")),
        (None, Some(usage)) => {
            // Its first line, without the word "Usage:".
            let usage = usage.to_string();
            let words: Vec<&str> =
                usage.trim_start().lines().next().unwrap_or_default().split_whitespace().skip(1).collect();
            say(&format!("hint: {}", words.join(" ")));
        }
        (None, None) => {}
    }
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn only_the_number_at_the_end_of_a_message_goes() {
        assert_eq!(without_number("a: No such file (os error 2)"), "a: No such file");
        assert_eq!(without_number("a (os error 2): corrupted"), "a (os error 2): corrupted");
    }

    #[test]
    fn a_hint_is_found_behind_its_file_name() {
        let error = Err::<(), _>(hinted("exists", "--force")).context("x.gdn").unwrap_err();
        assert_eq!(format!("{error:#}"), "x.gdn: exists");
        assert!(error.chain().any(|cause| cause.is::<Hinted>()));
    }
}
