//! The `gardenia build` that makes a design.

use gardenia::plan::{Design, Parameters};
use gardenia::{Effort, PolicyId, Update};

/// The options of `gardenia build` that make exactly this design; `None` if only programs can make it.
pub(crate) fn options(design: &Design) -> Option<String> {
    let items = design.items;
    Some(match design.parameters {
        Parameters::Blocked { bits, hashes } => format!("--kind blocked --bits {bits} --hashes {hashes}"),
        Parameters::Bloom { bits, hashes } => format!("--kind bloom --bits {bits} --hashes {hashes}"),
        Parameters::Choice { bits, hashes, effort: Effort::Online } => {
            format!("--kind choice --bits {bits} --hashes {hashes}")
        }
        Parameters::Choice { bits, hashes, effort } => {
            let effort = effort.level();
            format!("--kind choice --effort {effort} --items {items} --bits {bits} --hashes {hashes}")
        }
        Parameters::Counting { cells, hashes, width } => {
            format!("--kind counting --cells {cells} --hashes {hashes} --width {width}")
        }
        Parameters::Spectral { cells, hashes, width, policy } => {
            let kind = if policy == PolicyId::MinimumIncrease { "spectral-mi" } else { "spectral-ms" };
            format!("--kind {kind} --cells {cells} --hashes {hashes} --width {width}")
        }
        Parameters::CountMin { columns, rows, update } => {
            let update = if update == Update::Plain { "plain" } else { "conservative" };
            format!("--kind count-min --columns {columns} --rows {rows} --width 32 --update {update}")
        }
        Parameters::Cuckoo { cells, width } => format!("--kind cuckoo --cells {cells} --width {width}"),
        Parameters::Scalable { first, fpp } => format!("--kind scalable --items {first} --fpp {fpp:e}"),
        Parameters::Dynamic { layer, fpp, width } => {
            format!("--kind dynamic --items {layer} --fpp {fpp:e} --width {width}")
        }
        Parameters::Stable { cells, hashes, width, decrements } => {
            format!(
                "--kind stable --cells {cells} --hashes {hashes} --width {width} --decrements {decrements}"
            )
        }
        Parameters::A2 { bits, hashes, window } => {
            format!("--kind a2 --items {window} --bits {bits} --hashes {hashes}")
        }
        Parameters::Fuse { fingerprint, arity } => {
            format!("--kind fuse --fingerprint {fingerprint} --arity {arity}")
        }
        Parameters::Ribbon { fpp } => format!("--kind ribbon --fpp {fpp:e}"),
        Parameters::Golomb { fpp } => format!("--kind golomb --fpp {fpp:e}"),
        Parameters::Compressed { fpp, memory, .. } => {
            format!("--kind compressed --items {items} --fpp {fpp:e} --memory-per-key {memory}")
        }
        // The second field of a record has its value, unless --value names another.
        Parameters::Bloomier { value_bits, check_bits, arity } => {
            format!("--kind bloomier --value 2 --width {value_bits} --check {check_bits} --arity {arity}")
        }
        _ => return None,
    })
}

/// The whole command, with the files that are known.
pub(crate) fn line(design: &Design, files: &[String]) -> Option<String> {
    let keys = match files {
        [] => "KEYS".to_owned(),
        files => files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" "),
    };
    Some(format!("gardenia build {} -o OUT.gdn {keys}", options(design)?))
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
