//! What the command says on stderr: one line per problem, and how to solve it.

use crate::{Outcome, human};
use clap::error::{ContextKind, ErrorKind};
use gardenia::{
    AnyFilter, Bloom, Cuckoo, DecodeError, EncodeError, InsertError, Kind, MAX_HASHES, SizeError,
};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// An error with advice: printed as a line of its own, `hint: …`.
#[derive(Debug)]
pub(crate) struct Hinted {
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
pub(crate) fn hinted(reason: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Hinted { reason: reason.to_string(), hint: hint.to_string() })
}

/// The same error with advice, unless it has some.
pub(crate) fn with_hint(error: anyhow::Error, hint: &str) -> anyhow::Error {
    let advised = error.chain().any(|cause| cause.is::<Hinted>());
    if advised || is_broken_pipe(&error) { error } else { hinted(format!("{error:#}"), hint) }
}

/// Prints `gardenia: FILE: reason`, and the hint if there is one.
pub(crate) fn complain(error: &anyhow::Error) {
    say(&format!("gardenia: {}", without_number(&format!("{error:#}"))));
    if let Some(Hinted { hint, .. }) = error.chain().find_map(|cause| cause.downcast_ref()) {
        say(&format!("hint: {hint}"));
    }
}

/// Prints one line on stderr.
///
/// File names may hold line ends and terminal codes: those are shown, not obeyed, so a line stays a line.
/// A stderr that is closed is nobody's reason to fail.
pub(crate) fn say(text: &str) {
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
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// Prints help, version, or what is wrong with the command line, in the form of all other errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return match error.print().and_then(|()| io::stdout().flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    complain(&anyhow::Error::from(error).context("stdout"));
                    ExitCode::from(2)
                }
                _ => ExitCode::SUCCESS,
            };
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(2);
        }
        _ => {}
    }
    // clap writes a paragraph with the problem, then tips and usage.
    let text = error.render().to_string();
    let problem: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let problem = problem.join(" ");
    say(&format!("gardenia: {}", problem.strip_prefix("error: ").unwrap_or(&problem)));
    // Of clap's tips those about similar names help; how to pass an option's name as a value is not the question.
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    match (tip.filter(|tip| tip.contains("similar")), error.get(ContextKind::Usage)) {
        (Some(tip), _) => say(&format!("hint: {tip}")),
        (None, Some(usage)) => {
            // On one line, and without the word "Usage:".
            let usage = usage.to_string();
            let words: Vec<&str> = usage.split_whitespace().skip(1).collect();
            say(&format!("hint: {}", words.join(" ")));
        }
        (None, None) => {}
    }
    ExitCode::from(2)
}

/// Says a decoding error in the words of the command line, where the library speaks of its own calls.
pub(crate) fn decode(error: DecodeError) -> anyhow::Error {
    match error {
        DecodeError::Io(error) => error.into(),
        DecodeError::Magic { found: [0x1f, 0x8b, ..], .. } => {
            hinted("a compressed file (gzip), not a filter", "unpack it first: zcat FILE | gardenia … -")
        }
        DecodeError::Magic { .. } => {
            hinted("not a Gardenia filter", "`gardenia build` makes one from lines of text")
        }
        DecodeError::SecretMissing { id } => hinted(
            format!("the filter is keyed, and its secret (id {id:016x}) was not given"),
            "give it by --secret-file FILE or --secret HEX",
        ),
        DecodeError::SecretWrong { .. } => {
            hinted(error, "give the secret it was built with: --secret-file FILE")
        }
        DecodeError::TooLarge { needed, max } => hinted(
            format!(
                "the filter takes {}, but {} of memory is available",
                human::bytes(needed),
                human::bytes(max)
            ),
            "give it as a file: that is memory-mapped, and need not fit",
        ),
        DecodeError::Expansion { stored, needed, max } => hinted(
            format!(
                "the filter has {} in the file and would take {} of memory, over the limit of {}",
                human::bytes(stored),
                human::bytes(needed),
                human::bytes(max)
            ),
            "if you trust the file, raise the limit with --max-memory SIZE",
        ),
        DecodeError::Work { samples, max } => hinted(
            format!(
                "a line would take {} samples, over the limit of {}",
                human::count(samples),
                human::count(max)
            ),
            "build it again with --near 0.1% or more",
        ),
        DecodeError::Truncated { .. } | DecodeError::Trailing { .. } | DecodeError::Checksum { .. } => {
            hinted(error, "the file is damaged: copy or build it again")
        }
        error => error.into(),
    }
}

/// The share of places that a cuckoo filter fills, at least, if no line has many copies.
const FULL: f64 = 0.75;

/// Says why keys cannot be put in.
pub(crate) fn insert(error: InsertError, filter: &AnyFilter) -> anyhow::Error {
    match error {
        InsertError::Fixed => {
            let hint = "build it again with all lines, or take a kind that grows, such as --kind blocked";
            hinted(error, hint)
        }
        InsertError::Full(_) if filter.kind() == Kind::Cuckoo && filter.fill() < FULL => {
            let full = human::percent(filter.fill());
            let reason =
                format!("a line has no room in a cuckoo filter that is {full} full: repeated lines block it");
            hinted(reason, "give each line once (sort -u), or use --kind counting")
        }
        InsertError::Full(_) if filter.kind() == Kind::Cuckoo => {
            hinted(error, "build it again with more --items; every copy of a line takes room")
        }
        InsertError::Full(_) => hinted(error, "build it again with more --items"),
        InsertError::Growth { needed, max } => hinted(
            format!(
                "the filter would grow to {}, over the limit of {}",
                human::bytes(needed),
                human::bytes(max)
            ),
            "if you trust the file, raise the limit with --max-memory SIZE",
        ),
        error => error.into(),
    }
}

/// Copies of lines that a filter holds as often as it can.
pub(crate) fn copies(lines: u64) -> anyhow::Error {
    let (lines, most) = (human::plural(lines, "line"), Cuckoo::MAX_COPIES);
    hinted(
        format!("{lines} left out: a cuckoo filter holds {most} copies of a line and no more"),
        "give each line once (sort -u), or use --kind counting; every line is found, but the copies that were left \
         out cannot be removed",
    )
}

/// How a command ends that left out so many copies of lines, and wrote the filter.
pub(crate) fn left_out(lines: u64, name: &str) -> anyhow::Result<Outcome> {
    if lines == 0 {
        return Ok(Outcome::Done);
    }
    complain(&copies(lines).context(name.to_owned()));
    Ok(Outcome::Trouble)
}

/// Says an encoding error; what the system says of a write stays recognisable as such.
pub(crate) fn encode(error: EncodeError) -> anyhow::Error {
    match error {
        EncodeError::Io(error) => error.into(),
        error => error.into(),
    }
}

/// Says which option to change.
pub(crate) fn size(error: SizeError) -> anyhow::Error {
    let hint = match &error {
        SizeError::Fpp(_) => "--fpp takes a probability such as 1%, 0.01 or 1/100",
        SizeError::FppBelowFloor { .. } => "raise --fpp, or lower --items",
        SizeError::ZeroItems => "--items is the number of keys to make room for",
        SizeError::ZeroCells => "--bits is the size of the filter, such as 8M or 1MiB",
        SizeError::Width { .. } => "--width is the number of bits per cell; 4 suit sets, 16 suit counts",
        SizeError::TooManyCells { .. } => "lower --items or --bits, or raise --fpp",
        SizeError::Hashes { hashes, max } if hashes > max && *max < MAX_HASHES => {
            "--kind bloom takes more of them; 5 or 6 suit 1%"
        }
        SizeError::Hashes { .. } => "--hashes is the number of bits that a key sets; 5 to 7 suit 1%",
        SizeError::Memory { .. } => "lower --items or --bits, or raise --fpp",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// As [`size`], for a sketch.
pub(crate) fn sketch_size(error: SizeError) -> anyhow::Error {
    let hint = match &error {
        SizeError::Epsilon(_) => "--epsilon is a share of all lines, such as 0.1% or 1/1000",
        SizeError::Delta(_) => "--delta is a probability, such as 1%",
        SizeError::Hashes { .. } => {
            "--rows is the number of cells that a line raises; 3 to 5 suit most streams"
        }
        SizeError::ZeroCells => "--columns is the number of cells in each row, such as 64k",
        SizeError::TooManyCells { .. } | SizeError::Memory { .. } => {
            "raise --epsilon, or lower --columns or --bits"
        }
        SizeError::Conflict(_) => "raise --bits, or lower --rows",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// As [`size`], for a blocked filter planned for `items` and `fpp`: another kind may do what it cannot.
pub(crate) fn blocked_size(error: SizeError, items: u64, fpp: f64) -> anyhow::Error {
    match error {
        SizeError::TooManyCells { .. } if Bloom::builder().items(items).fpp(fpp).shape().is_ok() => hinted(
            format!("a blocked filter cannot have a false-positive probability as low as {fpp:e}"),
            "--kind bloom can; or raise --fpp",
        ),
        error => size(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn only_the_number_at_the_end_of_a_message_goes() {
        assert_eq!(without_number("a: No such file (os error 2)"), "a: No such file");
        assert_eq!(without_number("a (os error 2): damaged"), "a (os error 2): damaged");
    }

    #[test]
    fn a_hint_is_found_behind_its_file_name() {
        let error = Err::<(), _>(hinted("exists", "--force")).context("x.gdn").unwrap_err();
        assert_eq!(format!("{error:#}"), "x.gdn: exists");
        assert!(error.chain().any(|cause| cause.is::<Hinted>()));
    }
}
