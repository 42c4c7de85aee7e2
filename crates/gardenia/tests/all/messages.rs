//! What the compiler says to a newcomer whose value is not a key: it must name what to write
//! instead.

use std::process::Command;

/// Four mistakes, and what the message about each must name.
const MISTAKES: [(&str, &str, &[&str]); 4] = [
    (
        "own_struct",
        "filter.insert(Visit)",
        &["`Visit` is not a key", "derive(gardenia::Key)", "Hashed(&value)"],
    ),
    (
        "slice_of_texts",
        "filter.insert(&[\"a\", \"b\"][..])",
        &["`[&str]` is not a key", "List(&keys)", "insert_many"],
    ),
    ("vector_of_numbers", "filter.insert(vec![1u32, 2])", &["`Vec<u32>` is not a key", "List(&keys)"]),
    ("map", "filter.insert(HashMap::<u8, u8>::new())", &["`HashMap<u8, u8>` is not a key", "Hashed(&value)"]),
];

#[test]
fn what_is_not_a_key_is_told_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = format!(
        "[package]\nname = \"newcomer\"\nedition = \"2024\"\n[workspace]\n[dependencies]\ngardenia = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let functions = MISTAKES.map(|(name, call, _)| format!("fn {name}(filter: &mut Bloom) {{ {call}; }}\n"));
    let program = format!(
        "use gardenia::Bloom;\nuse std::collections::HashMap;\nstruct Visit;\nfn main() {{}}\n{}",
        functions.concat()
    );
    std::fs::create_dir(directory.path().join("src")).unwrap();
    std::fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(directory.path().join("src/main.rs"), program).unwrap();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"),
        directory.path().join("Cargo.lock"),
    )
    .unwrap();
    let cargo = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--color", "never", "--target-dir"])
        .arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/newcomer"))
        .current_dir(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&cargo.stderr);
    assert!(!cargo.status.success(), "{said}");
    for (name, call, words) in MISTAKES {
        let about = said.split("\nerror").find(|error| error.contains(&format!("fn {name}(")));
        let about = about.unwrap_or_else(|| panic!("nothing is said of {call}: {said}"));
        assert!(words.iter().all(|word| about.contains(word)), "{call}: {about}");
    }
}
