//! Documents that list what the table of kinds lists.

use gardenia::Kind;
use gardenia::spec::Param;

const CHOOSING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/choosing.md");

/// Between these lines.
const START: &str = "<!-- kinds: written by UPDATE_DOCS=1 cargo test -p gardenia --test all documents -->\n";
const END: &str = "<!-- end of kinds -->";

fn table() -> String {
    let mut table = "| no. | kind | what it is | can | options |\n|---|---|---|---|---|\n".to_owned();
    for kind in Kind::ALL {
        let can: Vec<&str> = kind.abilities().iter().map(|ability| ability.name()).collect();
        let own = |param: &&Param| ![Param::Seed, Param::Memory, Param::PlannedFpp].contains(param);
        let options: Vec<&str> = kind.params().iter().filter(own).map(|param| param.word()).collect();
        let (number, name, summary) = (kind.number(), kind.name(), kind.summary());
        table +=
            &format!("| {number} | `{name}` | {summary} | {} | {} |\n", can.join(", "), options.join(", "));
    }
    table
}

#[test]
fn the_list_of_kinds_is_that_of_the_table() {
    let text = std::fs::read_to_string(CHOOSING).unwrap();
    let (before, rest) = text.split_once(START).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(CHOOSING, format!("{before}{START}{}{END}{after}", table())).unwrap();
    } else {
        assert!(
            listed == table(),
            "docs/choosing.md: run UPDATE_DOCS=1 cargo test -p gardenia --test all documents"
        );
    }
}
