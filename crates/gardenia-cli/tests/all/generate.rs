//! `gardenia completions` and `gardenia man`. That pages hold all options and examples is a test of
//! the command itself.

use crate::common::{Shell, has};
use std::process::Command;

const SUBCOMMANDS: [&str; 24] = [
    "build",
    "query",
    "add",
    "remove",
    "recover",
    "count",
    "get",
    "dedup",
    "top",
    "eval",
    "info",
    "tour",
    "bench",
    "lab",
    "corpus",
    "explore",
    "merge",
    "diff",
    "convert",
    "improve",
    "completions",
    "man",
    "plan",
    "kinds",
];

#[test]
fn completions_know_all_subcommands_and_shells_accept_them() {
    let shell = Shell::new();
    for (name, checker) in [("bash", "/bin/bash"), ("zsh", "/bin/zsh"), ("fish", "/usr/bin/fish")] {
        let script = shell.run(&["completions", name]).quietly();
        let text = String::from_utf8(script.clone()).unwrap();
        for subcommand in SUBCOMMANDS {
            assert!(text.contains(subcommand), "{name}: {subcommand}");
        }
        assert!(text.contains("intersect") && text.contains("memory-per-key"), "{name}");
        if has(checker) {
            shell.write("script", script);
            let checked =
                Command::new(checker).arg("-n").arg(shell.path("script")).output().expect("it starts");
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    for name in ["elvish", "powershell"] {
        assert!(!shell.run(&["completions", name]).quietly().is_empty());
    }
    assert!(shell.run(&["completions", "csh"]).complaint().contains("invalid value 'csh'"));
}

#[test]
fn bash_completes_subcommands_and_options() {
    if !has("/bin/bash") {
        return;
    }
    let shell = Shell::new();
    shell.write("script", shell.run(&["completions", "bash"]).quietly());
    let complete = |words: &str, at: &str| {
        let program = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD={at}; _gardenia gardenia \"${{COMP_WORDS[$COMP_CWORD]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("/bin/bash")
            .args(["-c", &program])
            .current_dir(shell.path(""))
            .output()
            .expect("bash starts");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("gardenia mer", "1"), "merge");
    assert_eq!(complete("gardenia merge --inter", "2"), "--intersect");
}

#[test]
fn man_pages_are_written_one_for_each_subcommand() {
    let shell = Shell::new();
    let page = shell.run(&["man"]).quietly();
    let text = String::from_utf8(page.clone()).unwrap();
    assert!(text.contains(".TH gardenia 1") && text.contains(".SH SYNOPSIS"), "{text}");
    shell.run(&["man", "pages/man1"]).quietly();
    assert_eq!(shell.read("pages/man1/gardenia.1"), page);
    for subcommand in SUBCOMMANDS {
        let page = String::from_utf8(shell.read(&format!("pages/man1/gardenia-{subcommand}.1"))).unwrap();
        assert!(
            page.contains("\n.SH EXAMPLES\n.nf\n") && page.contains(&format!("gardenia {subcommand}")),
            "{subcommand}"
        );
    }
    let files = std::fs::read_dir(shell.path("pages/man1")).unwrap().count();
    assert_eq!(files, SUBCOMMANDS.len() + 1); // and the command's own
}

#[test]
fn pages_that_exist_are_replaced_only_by_force() {
    let shell = Shell::new();
    shell.ok(&["man", "pages"]);
    shell.write("pages/gardenia-query.1", "mine");
    let refused = shell.run(&["man", "pages"]);
    assert!(refused.complaint().contains("already exists") && refused.err.contains("--force"));
    assert_eq!(shell.read("pages/gardenia-query.1"), b"mine");
    shell.ok(&["man", "--force", "pages"]);
    assert_ne!(shell.read("pages/gardenia-query.1"), b"mine");
    shell.write("file", "");
    assert!(shell.run(&["man", "file"]).complaint().starts_with("gardenia: file: "));
}
