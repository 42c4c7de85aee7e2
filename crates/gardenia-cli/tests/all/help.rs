//! The help of every subcommand at two widths, as it was when somebody last read it.
//!
//! `UPDATE_HELP=1 cargo test -p gardenia-cli --test all help` writes the files anew: read the
//! difference.

use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/help");

fn help(args: &[&str], columns: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gardenia"));
    let output = command.args(args).env("COLUMNS", columns).env("NO_COLOR", "1").output().expect("it runs");
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The names that the help lists, but for programs of their own, which have a help of their own.
fn subcommands() -> Vec<String> {
    let help = help(&["--help"], "80");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !["corpus", "explore", "help", "lab"].contains(name)).map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_subcommand_is_the_one_that_was_read() {
    let names = subcommands();
    assert!(names.len() >= 20, "{names:?}");
    let (mut expected, mut differ) = (Vec::new(), Vec::new());
    for columns in ["80", "120"] {
        for name in std::iter::once("gardenia").chain(names.iter().map(String::as_str)) {
            let args = if name == "gardenia" { vec!["--help"] } else { vec![name, "--help"] };
            let path = PathBuf::from(HELP).join(columns).join(format!("{name}.txt"));
            let text = help(&args, columns);
            if std::env::var_os("UPDATE_HELP").is_some() {
                std::fs::create_dir_all(path.parent().expect("a directory")).expect("can be created");
                std::fs::write(&path, &text).expect("can be written");
            }
            if std::fs::read_to_string(&path).unwrap_or_default() != text {
                differ.push(format!("{columns}/{name}.txt"));
            }
            expected.push(path);
        }
    }
    assert!(differ.is_empty(), "{differ:?} differ; see the first lines of tests/all/help.rs");
    // No file of a subcommand that is gone.
    let files = ["80", "120"].map(|columns| std::fs::read_dir(Path::new(HELP).join(columns)).expect("files"));
    let left = files.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let left: Vec<PathBuf> = left.filter(|path| !expected.contains(path)).collect();
    assert!(left.is_empty(), "{left:?}");
}
