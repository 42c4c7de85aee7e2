//! The `gardenia build` that makes a design.

use crate::spec::spell;
use gardenia::plan::Design;
use gardenia::spec::{Param, Value};

/// The options of `gardenia build` that make exactly this design.
pub(crate) fn options(design: &Design) -> String {
    let spec = &design.spec;
    let option = |param: Param| match spec.get(param) {
        Some(Value::Given) | None => format!(" {}", spell(param)),
        Some(value) => format!(" {} {value}", spell(param)),
    };
    format!("--kind {}{}", spec.kind().name(), spec.given().map(option).collect::<String>())
}

/// The whole command, with the files that are known.
pub(crate) fn line(design: &Design, files: &[String]) -> String {
    let keys = match files {
        [] => "KEYS".to_owned(),
        files => files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" "),
    };
    format!("gardenia build {} -o OUT.gdn {keys}", options(design))
}

/// A name as a shell takes it for one word.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:=@%".contains(c);
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[test]
fn names_are_one_word_for_a_shell() {
    assert_eq!(
        ["a/b.txt", "a b", "it's", "", "$x"].map(quoted),
        ["a/b.txt", "'a b'", r"'it'\''s'", "''", "'$x'"]
    );
}
