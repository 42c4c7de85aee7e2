//! Documents that list what the tables of kinds and of formats list.

use gardenia::Kind;
use gardenia::format::{Format, FormatAbility, Shown};
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

const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
const FORMATS_START: &str =
    "<!-- formats: written by UPDATE_DOCS=1 cargo test -p gardenia --test all documents -->\n";
const FORMATS_END: &str = "<!-- end of formats -->";

fn formats() -> String {
    let mut table = "| format | name | recognised by | info | query | build | merge | convert | bytes identical to the program's | read back by the program |\n|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for format in Format::ALL {
        let all = [
            FormatAbility::Read,
            FormatAbility::Query,
            FormatAbility::Write,
            FormatAbility::Merge,
            FormatAbility::Convert,
        ];
        let can: Vec<&str> =
            all.iter().map(|ability| if format.can(*ability) { "yes" } else { "" }).collect();
        let shown = match format.shown() {
            Shown::Identical => "yes".to_owned(),
            Shown::Read => "no: its files are read, with its answers".to_owned(),
            Shown::Neither(why) => format!("no: {why}"),
            _ => String::new(),
        };
        let (title, name, by) = (format.title(), format.name(), format.recognised_by());
        let program = format.read_back_by().unwrap_or("no");
        table += &format!("| {title} | `{name}` | {by} | {} | {shown} | {program} |\n", can.join(" | "));
    }
    table
}

/// Compares a table with that of a document, or writes it there.
fn check(path: &str, start: &str, end: &str, table: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(start).unwrap();
    let (listed, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{start}{table}{end}{after}")).unwrap();
    } else {
        assert!(listed == table, "{path}: run UPDATE_DOCS=1 cargo test -p gardenia --test all documents");
    }
}

#[test]
fn the_list_of_kinds_is_that_of_the_table() {
    check(CHOOSING, START, END, &table());
}

#[test]
fn the_list_of_formats_is_that_of_the_table() {
    check(FORMATS, FORMATS_START, FORMATS_END, &formats());
}
