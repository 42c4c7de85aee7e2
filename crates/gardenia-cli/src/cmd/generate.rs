//! `gardenia completions` and `gardenia man`: what packages install beside the command, made from
//! its own arguments.

use crate::Outcome;
use crate::args::Cli;
use crate::message::hinted;
use crate::output::Output;
use anyhow::Context;
use clap::CommandFactory;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia completions bash > /etc/bash_completion.d/gardenia
  gardenia completions zsh > ~/.zfunc/_gardenia
  gardenia completions fish > ~/.config/fish/completions/gardenia.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the man pages
///
/// One page for the command and one for each subcommand, in the format of man. Without DIR the
/// command's own page is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia man | man -l -                          read it
  gardenia man ~/.local/share/man/man1             gardenia.1, gardenia-build.1 and so on")]
pub(crate) struct ManArgs {
    /// The directory to write pages into, which is made if need be
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Replace pages that exist
    #[arg(long, requires = "directory")]
    pub(crate) force: bool,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new(); // clap panics if it cannot write, and a vector takes all
    clap_complete::generate(args.shell, &mut Cli::command(), "gardenia", &mut script);
    io::stdout().lock().write_all(&script).context("stdout")?;
    Ok(Outcome::Done)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Outcome> {
    let pages = pages()?;
    let Some(directory) = &args.directory else {
        let page = pages.first().map_or(&[][..], |(_, page)| page);
        io::stdout().lock().write_all(page).context("stdout")?;
        return Ok(Outcome::Done);
    };
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let paths: Vec<PathBuf> = pages.iter().map(|(name, _)| directory.join(name)).collect();
    if let Some(path) = paths.iter().find(|path| !args.force && path.exists()) {
        return Err(hinted(format!("{}: already exists", path.display()), "--force replaces it"));
    }
    for ((_, page), path) in pages.iter().zip(&paths) {
        let output = Output { path, force: args.force, inputs: &[] };
        output.fill(|out| out.write_all(page).with_context(|| output.name()))?;
    }
    Ok(Outcome::Done)
}

/// The pages with their file names, the command's own first.
fn pages() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build(); // so that subcommands know their full names
    let mut pages = Vec::new();
    add_pages(&command, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page).context("a man page")?;
    pages.push((man.get_filename(), with_examples(&String::from_utf8_lossy(&page)).into_bytes()));
    command.get_subcommands().try_for_each(|command| add_pages(command, pages))
}

/// The page with the examples in a section of their own, whose lines stay lines.
fn with_examples(page: &str) -> String {
    let Some((before, rest)) = page.split_once("\n.SH EXTRA\nExamples:\n") else { return page.to_owned() };
    let (examples, after) = rest.split_once("\n.SH ").unwrap_or((rest, ""));
    let after = if after.is_empty() { String::new() } else { format!(".SH {after}") };
    format!("{before}\n.SH EXAMPLES\n.nf\n{}\n.fi\n{after}", examples.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, Parser};

    /// All subcommands, however deep, that people can give.
    fn subcommands(command: &Command) -> Vec<Command> {
        let below = command.get_subcommands().filter(|command| command.get_name() != "help");
        below.flat_map(|command| [vec![command.clone()], subcommands(command)].concat()).collect()
    }

    /// The examples of a subcommand: lines after `Examples:`, up to an empty one.
    fn examples(command: &Command) -> Vec<String> {
        let help = command.clone().render_long_help().to_string();
        let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        lines.take_while(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    }

    /// The simple commands of a line as a shell would see them, without redirections and the words
    /// of `if`. What follows two spaces is a remark.
    fn commands(line: &str) -> Vec<Vec<String>> {
        let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
        let (mut quote, mut redirected) = (None, false);
        let mut chars = line.trim().chars().peekable();
        while let Some(c) = chars.next() {
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (Some(_), c) => word.get_or_insert_default().push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, ' ' | '|' | ';' | '&' | '>' | '<') => {
                    if let Some(word) = word.take().filter(|_| !std::mem::take(&mut redirected)) {
                        words.push(word);
                    }
                    match c {
                        ' ' if chars.peek() == Some(&' ') && !words.is_empty() => break,
                        '|' | ';' | '&' => commands.push(std::mem::take(&mut words)),
                        '>' | '<' => redirected = true,
                        _ => {}
                    }
                }
                (None, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word.filter(|_| !redirected));
        commands.push(words);
        let shell = ["if", "then", "else", "while", "do"];
        for words in &mut commands {
            let from = words.iter().position(|word| !shell.contains(&word.as_str())).unwrap_or(words.len());
            words.drain(..from);
        }
        commands.retain(|words| !words.is_empty());
        commands
    }

    #[test]
    fn lines_are_taken_apart_as_a_shell_does() {
        let line =
            "  if echo \"a b\" | gardenia query -q x.gdn > out 2; then echo 'it''s'; fi   seen; or not";
        let expected: [&[&str]; 4] =
            [&["echo", "a b"], &["gardenia", "query", "-q", "x.gdn", "2"], &["echo", "its"], &["fi"]];
        assert_eq!(commands(line), expected);
    }

    #[test]
    fn every_help_ends_in_examples_that_the_command_understands() {
        let mut root = Cli::command();
        root.build();
        let all = [vec![root.clone()], subcommands(&root)].concat();
        assert!(all.len() > 15);
        for command in all {
            let name = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
            let lines = examples(&command);
            let found: Vec<_> = lines.iter().flat_map(|line| commands(line)).collect();
            let ours: Vec<_> = found.iter().filter(|words| words[0] == "gardenia").collect();
            let own = ours.iter().any(|words| (words.join(" ") + " ").starts_with(&format!("{name} ")));
            assert!(own, "{name} --help has no example of its own: {lines:#?}");
            for words in ours {
                // Shells replace these before the command sees them.
                let words = words.iter().map(|word| word.replace('*', "x"));
                if let Err(error) = Cli::try_parse_from(words.clone()) {
                    panic!("{name} --help: {}: {error}", words.collect::<Vec<_>>().join(" "));
                }
            }
        }
    }

    #[test]
    fn every_subcommand_has_a_page_with_all_its_options_and_examples() {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let pages = pages().unwrap();
        let all = [vec![root.clone()], subcommands(&root)].concat();
        assert_eq!(pages.len(), all.len());
        for command in all {
            let file = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
            let page = &pages.iter().find(|(name, _)| *name == file).unwrap().1;
            let page = String::from_utf8(page.clone()).unwrap().replace("\\-", "-");
            for option in
                command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long())
            {
                assert!(page.contains(&format!("--{option}")), "{file}: --{option}");
            }
            let examples_in =
                page.split_once("\n.SH EXAMPLES\n.nf\n").and_then(|(_, rest)| rest.split_once("\n.fi\n"));
            let examples_in = examples_in.unwrap_or_else(|| panic!("{file} has no examples")).0;
            let example = examples(&command)[0].trim().split("  ").next().unwrap_or_default().to_owned();
            assert!(examples_in.replace("\\*(Aq", "'").contains(&example), "{file}: {example}");
        }
    }
}
