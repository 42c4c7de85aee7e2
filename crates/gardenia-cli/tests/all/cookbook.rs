//! Every command of docs/cookbook.md and docs/getting-started.md, and those of the README's section
//! on the shell, run as they stand there.

use std::path::Path;
use std::process::Command;

/// A block of commands, and what it is to print.
struct Block {
    line: usize,
    commands: String,
    prints: Option<String>,
}

/// The sections of a page, each with its blocks.
fn sections(page: &str) -> Vec<(String, Vec<Block>)> {
    let mut sections: Vec<(String, Vec<Block>)> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title.to_owned(), Vec::new()));
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let text: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        let Some((_, blocks)) = sections.last_mut() else { continue };
        match language {
            "sh" => blocks.push(Block { line: number + 1, commands: text, prints: None }),
            "text" => blocks.last_mut().expect("output follows commands").prints = Some(text),
            _ => {} // not for a shell
        }
    }
    sections
}

fn read(page: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    std::fs::read_to_string(page).expect("a page of the documentation")
}

/// Runs the blocks of a section, one after the other in one folder.
fn run(title: &str, blocks: Vec<Block>) {
    let programs = Path::new(env!("CARGO_BIN_EXE_gardenia")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    for Block { line, commands, prints } in blocks {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &commands]).current_dir(folder.path()).env("PATH", &path);
        let output = command.env("LC_ALL", "C").output().expect("bash runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{title}, line {line}: {err}");
        assert_eq!(out, prints.unwrap_or_default(), "{title}, line {line}: {err}");
        assert_eq!(err, "", "{title}, line {line}");
    }
}

#[test]
fn every_recipe_does_what_it_says() {
    let sections = sections(&read("docs/cookbook.md"));
    assert!(sections.len() >= 7 && sections.iter().all(|(_, blocks)| !blocks.is_empty()));
    sections.into_iter().for_each(|(title, blocks)| run(&title, blocks));
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let mut shell = sections(&read("README.md")).into_iter().filter(|(title, _)| title == "At the shell");
    let (title, mut blocks) = shell.next().expect("the section on the shell");
    blocks.retain(|block| !block.commands.starts_with("cargo install"));
    assert!(blocks.len() >= 3 && blocks.iter().all(|block| block.prints.is_some()));
    run(&title, blocks);
}

#[test]
fn getting_started_shows_what_its_commands_print() {
    let mut sections = sections(&read("docs/getting-started.md"));
    sections.retain(|(_, blocks)| !blocks.is_empty());
    assert_eq!(sections.len(), 3);
    sections.into_iter().for_each(|(title, blocks)| run(&title, blocks));
}
