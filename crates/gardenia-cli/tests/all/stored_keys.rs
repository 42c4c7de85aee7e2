//! How keys were made is stored in a filter: whoever uses it makes them alike, or is told that he
//! does not.

use crate::common::{Shell, numbers};

/// A generator that is the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        gardenia::Digest(self.0).word(1)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// Where a record has its key: the options, and a record of a key.
type Layout = (&'static [&'static str], fn(&str) -> String);

const LAYOUTS: [Layout; 8] = [
    (&[], |key| key.to_owned()),
    (&["-f", "0"], |key| key.to_owned()),
    (&["-f", "2"], |key| format!("a\t{key}\tc")),
    (&["-f", "1", "--delimiter", ":"], |key| format!("{key}:17")),
    (&["--csv", "-f", "name"], |key| format!("1,\"{key}\",x")),
    (&["--csv", "--no-header", "-f", "2"], |key| format!("1,{key}")),
    (&["--json-key", "user.id"], |key| format!("{{\"user\": {{\"id\": \"{key}\"}}}}")),
    (&["-0"], |key| key.to_owned()),
];

/// A file of keys in a layout.
fn file(layout: usize, keys: &[String], crlf: bool) -> Vec<u8> {
    let end = match (LAYOUTS[layout].0, crlf) {
        (["-0"], _) => "\0",
        (_, true) => "\r\n",
        (_, false) => "\n",
    };
    let header = if LAYOUTS[layout].0.contains(&"name") { format!("id,name,y{end}") } else { String::new() };
    let records = keys.iter().map(|key| LAYOUTS[layout].1(key) + end);
    (header + &records.collect::<String>()).into_bytes()
}

/// Options that make keys of what was found.
fn how(random: &mut Random, int: bool) -> Vec<&'static str> {
    let mut options = Vec::new();
    if int {
        return vec!["--int"];
    }
    if random.one_in(3) {
        options.push("-i");
    }
    if random.one_in(3) {
        options.push("--trim");
    }
    if random.one_in(4) {
        options.extend(["--hash", ["md5", "sha1", "sha256", "sha512", "ntlm"][random.below(5) as usize]]);
        if random.one_in(2) {
            options.push("--upper");
        }
    }
    options
}

#[test]
fn keys_are_found_or_the_command_is_refused_whatever_options_are_given() {
    let (shell, mut random) = (Shell::new(), Random(22));
    let (mut found, mut refused) = (0, 0);
    for round in 0..250 {
        let int = random.one_in(6);
        let keys: Vec<String> = (0..12)
            .map(|_| match int {
                true => random.below(1 << 40).to_string(),
                false => format!(
                    "{}Key {:x}{}",
                    [" ", ""][random.below(2) as usize],
                    random.next(),
                    ["", " "][random.below(2) as usize]
                ),
            })
            .collect();
        let layout = random.below(LAYOUTS.len() as u64) as usize;
        let crlf = random.one_in(3) && layout != 7;
        let built =
            [LAYOUTS[layout].0, &how(&mut random, int)[..], if crlf { &["--crlf"] } else { &[] }].concat();
        shell.write("list", file(layout, &keys, crlf));
        let kind = ["blocked", "bloom", "ribbon", "cuckoo"][random.below(4) as usize];
        let run = shell.run(
            &[&["build", "-q", "--force", "-k", kind, "-p", "1e-6", "-o", "f.gdn"], &built[..], &["list"]]
                .concat(),
        );
        assert_eq!(run.code, Some(0), "{built:?}: {}", run.err);

        // The options it was built with, none at all, and others with a file of their own layout.
        let other = random.below(LAYOUTS.len() as u64) as usize;
        let dos = random.one_in(4) && other != 7;
        let stranger = random.one_in(6);
        let mut others = how(&mut random, stranger);
        if !built.contains(&"--hash") {
            // What is looked up is hashed, and hashes are compared with the list: another question.
            others.retain(|option| ["-i", "--trim", "--int"].contains(option));
        }
        let others = [LAYOUTS[other].0, &others[..], if dos { &["--crlf"] } else { &[] }].concat();
        shell.write("log", file(other, &keys, dos));
        for (options, name) in [(&built[..], "list"), (&[], "list"), (&others, "log")] {
            let run = shell.run(&[&["query", "-c"], options, &["f.gdn", name]].concat());
            match run.code {
                Some(2) => {
                    assert_eq!(name, "log", "{built:?} is refused for {options:?}: {}", run.err);
                    assert!(run.err.contains("hint: "), "{}", run.err);
                    refused += 1;
                }
                code => {
                    assert_eq!(
                        (code, run.text()),
                        (Some(0), "12\n"),
                        "round {round}: {built:?}, {options:?}: {}",
                        run.err
                    );
                    found += 1;
                }
            }
        }
    }
    assert!(found > 500 && refused > 40, "{found} {refused}");
}

#[test]
fn every_command_makes_keys_as_the_filter_says() {
    let shell = Shell::new();
    shell.write("list.csv", "id,name\n1,Rose\n2,TULIP\n3,rose\n");
    shell.ok(&[
        "build", "-q", "-k", "counting", "--csv", "-f", "name", "-i", "-n", "100", "-o", "f.gdn", "list.csv",
    ]);
    shell.write("more.csv", "id,name\n4,Lily\n5,LILY\n");
    shell.ok(&["add", "-q", "f.gdn", "more.csv"]);
    shell.write("names", "ROSE\ntulip\nLily\nIris\n");
    // Where keys are is said anew, and what they are is not.
    let counted = shell.run(&["count", "-f", "0", "f.gdn", "names"]);
    assert_eq!(counted.text(), "2\tROSE\n1\ttulip\n2\tLily\n0\tIris\n");
    assert_eq!(shell.run(&["query", "-f", "0", "f.gdn", "names"]).text(), "ROSE\ntulip\nLily\n");
    shell.ok(&["remove", "-q", "f.gdn", "more.csv"]);
    assert_eq!(shell.run(&["query", "-c", "-f", "0", "f.gdn", "names"]).text(), "2\n");
    shell.write("truth", "2 ROSE\n1 tulip\n0 lily\n");
    let report = shell.ok(&["eval", "--json", "-f", "0", "f.gdn", "truth"]);
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!((&report["true_positives"], &report["false_negatives"]), (&2.into(), &0.into()), "{report}");
    assert!(
        shell.run(&["info", "f.gdn"]).text().contains("keys made by    --field name --csv --ignore-case")
    );

    // Lines that have no such field are not silently absent.
    let lost = shell.run(&["query", "f.gdn", "names"]);
    assert!(lost.complaint().contains("no field called \"name\""), "{}", lost.err);
    shell.write("plain", "rose\n");
    shell.ok(&["build", "-q", "-f", "2", "-o", "two.gdn", "list.csv", "--delimiter", ","]);
    let lost = shell.run(&["query", "two.gdn", "plain"]);
    assert!(lost.complaint().contains("no record has a key (no field 2)"), "{}", lost.err);
}

#[test]
fn what_contradicts_the_filter_is_refused_unless_it_is_meant() {
    let shell = Shell::new();
    shell.write("list", "Rose\nTulip\n");
    shell.ok(&["build", "-q", "-o", "plain.gdn", "list"]);
    shell.ok(&["build", "-q", "-i", "-o", "small.gdn", "list"]);
    for command in ["query", "add", "eval"] {
        let run = shell.run(&[command, "-i", "plain.gdn", "list"]);
        let complaint = run.complaint();
        assert!(
            complaint.contains("plain.gdn: the filter was built with whole lines: with --ignore-case"),
            "{complaint}"
        );
        assert!(run.err.contains("--keys-as-given"), "{}", run.err);
    }
    assert_eq!(shell.run(&["query", "-c", "-i", "--keys-as-given", "plain.gdn", "list"]).text(), "0\n");
    assert_eq!(shell.run(&["query", "-c", "small.gdn", "list"]).text(), "2\n");
    // Several filters must agree, and so must filters that are merged.
    let both = shell.run(&["query", "-F", "plain.gdn", "-F", "small.gdn", "list"]);
    assert!(
        both.complaint().contains("built with whole lines, and small.gdn with --ignore-case"),
        "{}",
        both.err
    );
    let merged = shell.run(&["merge", "-o", "m.gdn", "plain.gdn", "small.gdn"]);
    assert!(merged.complaint().contains("small.gdn: was built with --ignore-case"), "{}", merged.err);
    // A list of hashes, asked for what they are of.
    shell.write("hashes", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8\n8846F7EAEE8FB117AD06BDD830B7586C\n");
    shell.ok(&["build", "-q", "-o", "hashes.gdn", "hashes"]);
    for hash in ["sha1", "ntlm"] {
        let run = shell.pipe(b"password\n", &["query", "--hash", hash, "--upper", "hashes.gdn"]);
        assert_eq!(run.text(), "password\n", "{hash}");
    }
}

/// The cells are those of a program that inserts the same keys: only the header tells how they were
/// made.
#[test]
fn notes_change_nothing_but_the_header() {
    let shell = Shell::new();
    shell.write("list", numbers(0..1_000));
    shell.ok(&["build", "-q", "-i", "-n", "1000", "-o", "f.gdn", "list"]);
    let mut program = gardenia::BlockedBloom::new(1_000, 0.01).unwrap();
    (0..1_000).for_each(|key: u32| _ = program.insert(&*key.to_string()));
    let mut built = shell.filter("f.gdn");
    assert_eq!(built.about().key_note(), Some(&br#"{"ignore_case":true}"#[..]));
    built.about_mut().set_key_note(None).unwrap();
    assert_eq!(built.to_bytes().unwrap(), program.to_bytes().unwrap());
}

#[test]
fn lines_that_end_in_cr_lf_are_noticed() {
    let shell = Shell::new();
    shell.write("dos", "rose\r\ntulip\r\n");
    let run = shell.run(&["build", "-q", "-o", "dos.gdn", "dos"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.contains("warning: dos.gdn: some lines end in CR LF, and the CR is part of their keys"),
        "{}",
        run.err
    );
    let run = shell.run(&["query", "--crlf", "dos.gdn", "dos"]);
    assert!(run.complaint().contains("with --crlf its keys would not be found"), "{}", run.err);
    assert_eq!(shell.run(&["build", "-q", "--crlf", "-o", "unix.gdn", "dos"]).quietly(), b"");
    shell.write("unix", "rose\nlily\n");
    assert_eq!(shell.run(&["query", "unix.gdn", "unix"]).quietly(), b"rose\n");
    shell.ok(&["build", "-q", "-o", "list.gdn", "unix"]);
    assert_eq!(shell.run(&["query", "-c", "--crlf", "list.gdn", "dos"]).quietly(), b"1\n");
}

/// A carriage return is seen by nobody, and keeps keys from being found.
#[test]
fn lines_that_are_not_found_for_their_cr_are_noticed_on_either_side() {
    let shell = Shell::new();
    shell.write("dos", "rose\r\ntulip\r\n");
    shell.write("unix", "rose\ntulip\n");
    for list in ["dos", "unix"] {
        shell.run(&["build", "-q", "-k", "counting", "-n", "100", "-o", &format!("{list}.gdn"), list]);
    }
    let input = "gardenia: warning: dos: some lines end in CR LF, and the CR is part of their keys\n\
                 hint: --crlf leaves it out\n";
    for command in [
        &["query", "unix.gdn", "dos"][..],
        &["query", "-j3", "unix.gdn", "dos"],
        &["query", "--confirm", "unix", "dos"],
        &["query", "-F", "unix.gdn", "--confirm", "unix", "dos"],
        &["count", "unix.gdn", "dos"],
        &["add", "-q", "-o", "-", "unix.gdn", "dos"],
    ] {
        assert_eq!(shell.run(command).err, input, "{command:?}");
    }
    let fields = shell.pipe(b"1\trose\r\n", &["query", "-f2", "unix.gdn"]);
    assert_eq!((fields.code, fields.err.contains("CR LF")), (Some(1), true), "{}", fields.err);
    // Keys that have it, looked up in lines that have not.
    for (command, hint) in [
        (&["query", "dos.gdn", "unix"][..], "hint: build the filter again with --crlf\n"),
        (&["query", "--tokens", "dos.gdn", "unix"], "hint: build the filter again with --crlf\n"),
    ] {
        let warning =
            "gardenia: warning: dos.gdn: some keys end in CR, and no line that was looked up does\n";
        assert_eq!(shell.run(command).err, [warning, hint].concat(), "{command:?}");
    }
    let list = "gardenia: warning: dos: some keys end in CR, and no line that was looked up does\n\
                hint: --crlf leaves the CR out\n";
    for command in
        [&["query", "--confirm", "dos", "unix"][..], &["query", "-F", "unix.gdn", "--confirm", "dos", "unix"]]
    {
        assert_eq!(shell.run(command).err, list, "{command:?}");
    }
    // What a program inserted is not known: only where nothing is found.
    let mut program = gardenia::BlockedBloom::new(100, 0.001).unwrap();
    ["rose", "tulip", "iris\r"].into_iter().for_each(|key| _ = program.insert(key));
    program.save(shell.path("program.gdn")).unwrap();
    let run = shell.run(&["query", "program.gdn", "dos"]);
    let warning = "gardenia: warning: program.gdn: nothing was found, and some lines end in CR LF";
    assert!(run.code == Some(1) && run.err.starts_with(warning), "{}", run.err);
    assert_eq!(shell.pipe(b"iris\r\nrose\r\n", &["query", "program.gdn"]).quietly(), b"iris\r\n");
    // Alike on both sides, or left out: nothing is missed, and nothing is said.
    for command in [
        &["query", "-c", "dos.gdn", "dos"][..],
        &["query", "-c", "--confirm", "dos", "dos"],
        &["query", "-c", "--crlf", "unix.gdn", "dos"],
        &["query", "-c", "--crlf", "--confirm", "dos", "unix"],
        &["query", "-c", "--tokens", "--confirm", "dos", "unix"],
        &["query", "-c", "--tokens", "--confirm", "dos", "dos"],
    ] {
        assert_eq!(shell.run(command).quietly(), b"2\n", "{command:?}");
    }
}

#[test]
fn a_byte_order_mark_in_the_first_key_is_noticed() {
    let shell = Shell::new();
    shell.write("marked", "\u{feff}rose\ntulip\n");
    shell.write("plain", "rose\ntulip\n");
    shell.ok(&["build", "-q", "-o", "plain.gdn", "plain"]);
    for command in [
        &["build", "-q", "-o", "marked.gdn", "marked"][..],
        &["query", "plain.gdn", "marked"],
        &["query", "--tokens", "plain.gdn", "marked"],
        &["query", "--confirm", "marked", "plain"],
        &["query", "--tokens", "--confirm", "marked", "plain"],
    ] {
        let run = shell.run(command);
        assert_eq!(run.code, Some(0), "{command:?}: {}", run.err);
        let warning =
            "gardenia: warning: marked: begins with a byte order mark, which is part of its first key\n";
        assert!(run.err.starts_with(warning), "{command:?}: {}", run.err);
        assert!(run.err.contains("hint: remove it: sed"), "{command:?}: {}", run.err);
    }
    // The names of columns are read without it.
    shell.write("marked.csv", "\u{feff}name\nrose\n");
    assert_eq!(
        shell.run(&["query", "--csv", "-f", "name", "-c", "plain.gdn", "marked.csv"]).quietly(),
        b"1\n"
    );
}
