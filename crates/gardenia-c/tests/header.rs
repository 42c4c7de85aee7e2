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
fn every_function_says_who_may_call_it_and_what_belongs_to_whom() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/gardenia.h");
    let (mut comment, mut functions) = (String::new(), 0);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if let Some(text) = line.strip_prefix("//") {
            comment += text;
            continue;
        }
        let name = line.split('(').next().unwrap_or_default().rsplit([' ', '*']).next().unwrap_or_default();
        if name.starts_with("gardenia_") && line.contains(&format!("{name}(")) {
            functions += 1;
            for needed in ["Thread safety:", "Ownership:"] {
                assert!(comment.contains(needed), "the comment of {name} has no word of {needed}");
            }
        }
        comment.clear();
    }
    assert!(functions > 40, "{functions}");
}
