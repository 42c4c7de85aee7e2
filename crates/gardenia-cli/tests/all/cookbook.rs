//! Every command of docs/cookbook.md, run as it stands there.

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
        let blocks = &mut sections.last_mut().expect("a block is in a section").1;
        match language {
            "sh" => blocks.push(Block { line: number + 1, commands: text, prints: None }),
            "text" => blocks.last_mut().expect("output follows commands").prints = Some(text),
            other => panic!("line {}: what is {other:?}?", number + 1),
        }
    }
    sections
}

#[test]
fn every_recipe_does_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook.md");
    let page = std::fs::read_to_string(page).expect("the cookbook");
    let sections = sections(&page);
    assert!(sections.len() >= 7 && sections.iter().all(|(_, blocks)| !blocks.is_empty()));
    let programs = Path::new(env!("CARGO_BIN_EXE_gardenia")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    for (title, blocks) in sections {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for Block { line, commands, prints } in blocks {
            let mut command = Command::new("bash");
            command.args(["-euo", "pipefail", "-c", &commands]).current_dir(folder.path()).env("PATH", &path);
            let output = command.env("LC_ALL", "C").output().expect("bash runs");
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{title}, line {line}: {err}");
            assert_eq!(out, prints.unwrap_or_default(), "{title}, line {line}: {err}");
            assert_eq!(err, "", "{title}, line {line}");
        }
    }
}
