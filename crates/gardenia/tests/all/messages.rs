//! What the compiler says to a newcomer whose value is not a key: it must name what to write
//! instead, and that must compile.

use std::process::Command;

/// Whether a program compiles against the library, and what the compiler says.
fn compile(program: &str) -> (bool, String) {
    let directory = tempfile::tempdir().unwrap();
    let manifest = format!(
        "[package]\nname = \"newcomer\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         gardenia = {{ path = {:?}, features = [\"derive\"] }}\n",
        env!("CARGO_MANIFEST_DIR")
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
    (cargo.status.success(), String::from_utf8_lossy(&cargo.stderr).into_owned())
}

/// Each mistake, what the message about it must name, and what it tells to write instead.
const MISTAKES: [(&str, &str, &[&str], &str); 5] = [
    (
        "own_struct",
        "filter.insert(Visit)",
        &["`Visit` is not a key", "derive(gardenia::Key)", "Hashed(&value)"],
        "#[derive(gardenia::Key)] struct Visit; filter.insert(Visit)",
    ),
    (
        "hashed",
        "filter.insert(Named(String::new()))",
        &["`Named` is not a key", "Hashed(&value)"],
        "let value = Named(String::new()); filter.insert(gardenia::Hashed(&value))",
    ),
    (
        "slice_of_texts",
        "filter.insert(&[\"a\", \"b\"][..])",
        &["`[&str]` is not a key", "List(&keys)", "insert_many", "extend"],
        "let keys = &[\"a\", \"b\"][..]; filter.insert(gardenia::List(&keys)); filter.insert_many(&keys); filter.extend(keys)",
    ),
    (
        "vector_of_numbers",
        "filter.insert(vec![1u32, 2])",
        &["`Vec<u32>` is not a key", "List(&keys)"],
        "let keys = vec![1u32, 2]; filter.insert(gardenia::List(&keys)); filter.insert_many(&keys); filter.extend(keys)",
    ),
    (
        "map",
        "filter.insert(HashMap::<u8, u8>::new())",
        &["`HashMap<u8, u8>` is not a key", MAP],
        "let map = HashMap::<u8, u8>::new(); MAP filter.insert(gardenia::List(&entries))",
    ),
];

const MAP: &str = "let mut entries: Vec<_> = map.iter().collect(); entries.sort();";

const HEAD: &str =
    "#![allow(dead_code)]\nuse gardenia::Bloom;\nuse std::collections::HashMap;\nfn main() {}\n";

#[test]
fn what_is_not_a_key_is_told_what_to_do() {
    let functions = MISTAKES.map(|(name, call, ..)| format!("fn {name}(filter: &mut Bloom) {{ {call}; }}\n"));
    let types = "struct Visit;\n#[derive(Hash)]\nstruct Named(String);\n";
    let (compiled, said) = compile(&[HEAD, types, &functions.concat()].concat());
    assert!(!compiled, "{said}");
    for (name, call, words, _) in MISTAKES {
        let about = said.split("\nerror").find(|error| error.contains(&format!("fn {name}(")));
        let about = about.unwrap_or_else(|| panic!("nothing is said of {call}: {said}"));
        assert!(words.iter().all(|word| about.contains(word)), "{call}: {about}");
    }
    let remedies = MISTAKES.map(|(name, _, _, remedy)| {
        format!("fn {name}(filter: &mut Bloom) {{ {}; }}\n", remedy.replace("MAP", MAP))
    });
    let (compiled, said) =
        compile(&[HEAD, "#[derive(Hash)]\nstruct Named(String);\n", &remedies.concat()].concat());
    assert!(compiled, "{said}");
}

#[test]
fn keys_that_contain_each_other_do_not_compile() {
    let program = "fn main() { gardenia::Bloom::new(1, 0.1).unwrap().insert(A { b: None }); }
        #[derive(gardenia::Key)] struct A { b: Option<Box<B>> }
        #[derive(gardenia::Key)] struct B { a: Option<Box<A>> }\n";
    let (compiled, said) = compile(program);
    assert!(!compiled && said.contains("E0391") && said.contains("PORTABLE"), "{said}");
}
