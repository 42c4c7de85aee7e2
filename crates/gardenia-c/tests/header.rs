//! The committed header is the one that cbindgen makes.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources = ["status", "handle", "keys", "make", "verbs", "whole"];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(root.join("src").join(source).with_extension("rs"));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/gardenia.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "include/gardenia.h is not what the functions say: run this test with UPDATE_HEADER=1"
    );
}

#[test]
fn programs_in_c_call_every_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let programs = read("tests/c/functions.c") + &read("tests/c/vectors.c");
    let header = read("include/gardenia.h");
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let mut functions = 0;
    for line in code {
        let name = line.split('(').next().unwrap_or_default();
        let name = name.rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("gardenia_") && line.contains(&format!("{name}(")) {
            functions += 1;
            assert!(programs.contains(&format!("{name}(")), "no program calls {name}");
        }
    }
    assert!(functions > 40, "{functions}");
}
