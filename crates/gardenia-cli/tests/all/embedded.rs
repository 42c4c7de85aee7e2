//! The program of the cookbook that carries a filter in itself.

use gardenia::BinaryFuse;

static RESERVED: &[u8] = include_bytes!("reserved.gdn");

fn may_be_reserved(name: &str) -> bool {
    BinaryFuse::view(RESERVED).expect("a filter that was built with the program").contains(name)
}

#[test]
fn the_program_of_the_cookbook_answers_as_the_shell_does() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook.md");
    let page = std::fs::read_to_string(page).expect("the cookbook");
    let (_, program) = page.split_once("```rust\n").expect("a program");
    let (program, _) = program.split_once("```").expect("its end");
    assert!(include_str!("embedded.rs").contains(program), "the page has another program:\n{program}");
    assert!(["admin", "root", "postmaster"].into_iter().all(may_be_reserved));
    let others = (0..1_000).filter(|number| may_be_reserved(&format!("user-{number}"))).count();
    assert!(others < 30, "{others} of 1,000"); // 1 in 256
    let shell = crate::common::Shell::new();
    shell.write("reserved.txt", "admin\nroot\npostmaster\n");
    shell.ok(&["build", "-q", "--kind", "fuse", "--fpp", "1/256", "-o", "reserved.gdn", "reserved.txt"]);
    assert_eq!(shell.read("reserved.gdn"), RESERVED);
}
