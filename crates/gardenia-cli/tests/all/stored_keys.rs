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
        let (int, word) = (random.one_in(6), random.one_in(2));
        let keys: Vec<String> = (0..12)
            .map(|_| match (int, word) {
                (true, _) => random.below(1 << 40).to_string(),
                (false, true) => format!("Key-{:x}", random.next()),
                (false, false) => format!(
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
        let make = match random.one_in(4) {
            true => {
                _ = std::fs::remove_file(shell.path("f.gdn"));
                vec!["dedup", "--state", "f.gdn"]
            }
            false => vec!["build", "-q", "--force", "-k", kind, "-p", "1e-6", "-o", "f.gdn"],
        };
        let run = shell.run(&[&make, &built[..], &["list"]].concat());
        assert_eq!(run.code, Some(0), "{built:?}: {}", run.err);

        // The options it was built with, less one of them, none at all, and others with a file of their own layout.
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
        // Keys anywhere in a line.
        let lines = keys.iter().map(|key| format!("at <{key}> in x\n"));
        shell.write("text", lines.collect::<String>());
        let mut ask = |options: &[&str], name: &str, may_refuse: bool| {
            let run = shell.run(&[&["query", "-c", "-F", "f.gdn"], options, &[name]].concat());
            match run.code {
                Some(2) => {
                    assert!(may_refuse, "{built:?} is refused for {options:?}: {}", run.err);
                    assert!(run.err.contains("hint: "), "{}", run.err);
                    refused += 1;
                }
                code => {
                    assert_eq!(
                        (code, run.text()),
                        (Some(0), "12\n"),
                        "round {round}: {make:?} {built:?}, {options:?} {name}: {}",
                        run.err
                    );
                    found += 1;
                }
            }
        };
        ask(&built, "list", false);
        ask(&[], "list", false);
        ask(&others, "log", true);
        for (at, option) in built.iter().enumerate().filter(|(_, option)| option.starts_with('-')) {
            let value = built.get(at + 1).is_some_and(|next| !next.starts_with('-'));
            let rest = [&built[..at], &built[at + 1 + usize::from(value)..]].concat();
            // Capital digits of no hash.
            ask(&rest, "list", *option == "--hash" && rest.contains(&"--upper"));
        }
        if int || word {
            ask(&["--tokens"], "text", false);
        }
        ask(&["--extract", "<([^>]+)>"], "text", false);
        let csv = built.contains(&"--csv");
        ask(&["--confirm", "list"], "list", csv);
        ask(&["--extract", "<([^>]+)>", "--confirm", "list"], "text", csv);
    }
    assert!(found > 1500 && refused > 40, "{found} {refused}");
}

#[test]
fn an_option_that_says_where_keys_are_leaves_the_others_as_stored() {
    let shell = Shell::new();
    shell.write("users", "rose:1\ntulip:2\n");
    shell.ok(&["build", "-q", "-f", "1", "--delimiter", ":", "-o", "f.gdn", "users"]);
    assert_eq!(shell.run(&["query", "-c", "-f", "1", "f.gdn", "users"]).quietly(), b"2\n");
    assert_eq!(shell.run(&["query", "-c", "--delimiter", ":", "f.gdn", "users"]).quietly(), b"2\n");
    // Where it is not so, it is said.
    shell.write("tabs", "rose\t1\ntulip\t2\n");
    let run = shell.run(&["query", "-f", "1", "f.gdn", "tabs"]);
    let warning = "tabs: the filter was built with --delimiter :, which is not in the first records here";
    assert!(run.err.contains(warning) && run.err.contains("hint: give the --delimiter"), "{}", run.err);
    assert_eq!(shell.run(&["query", "-c", "-f1", "--delimiter", "\\t", "f.gdn", "tabs"]).quietly(), b"2\n");
    shell.write("users.csv", "email,n\n\"rose\",1\n");
    shell.ok(&["build", "-q", "--csv", "-f", "email", "-o", "csv.gdn", "users.csv"]);
    for options in [&["-f", "1"][..], &["-f", "email"], &["--csv"], &["--delimiter", ","]] {
        let run = shell.run(&[&["query", "-c"], options, &["csv.gdn", "users.csv"]].concat());
        assert_eq!(run.quietly(), b"1\n", "{options:?}");
    }
    // Fields of lines: the first is no header.
    shell.write("log", "rose GET\nlily GET\n");
    let run = shell.run(&["query", "-c", "-f1", "--delimiter", " ", "csv.gdn", "log"]);
    assert_eq!(run.quietly(), b"1\n");
    let run = shell.run(&["query", "--no-header", "f.gdn", "users"]);
    assert!(run.complaint().contains("--no-header needs --csv"), "{}", run.err);
}

#[test]
fn what_is_anywhere_in_a_line_is_made_a_key_as_the_filter_says() {
    let shell = Shell::new();
    shell.write("numbers", "7\n4711\n");
    shell.write("names", "rose\ntulip\n");
    shell.write("log", "id=4711 x by rose\nid=12 by nobody\n");
    shell.ok(&["build", "-q", "--int", "-p", "1e-9", "-o", "int.gdn", "numbers"]);
    shell.ok(&["build", "-q", "--hash", "sha256", "-p", "1e-9", "-o", "hash.gdn", "names"]);
    for (filter, list, token) in [("int.gdn", "numbers", "4711\n"), ("hash.gdn", "names", "rose\n")] {
        for options in [&["--tokens"][..], &["--extract", "(?:id=|by )(\\w+)"]] {
            let ask = |more: &[&str]| {
                let run = shell.run(&[&["query", "-o", "-F", filter], options, more, &["log"]].concat());
                String::from_utf8(run.quietly()).unwrap()
            };
            assert_eq!(ask(&[]), token, "{filter} {options:?}");
            assert_eq!(ask(&["--confirm", list]), token, "{filter} {options:?}");
        }
    }
}

/// `dedup --state` leaves the same note as `build`; before it did, it described its options in the
/// metadata.
#[test]
fn a_state_of_dedup_says_how_its_keys_were_made() {
    let shell = Shell::new();
    shell.write("names", "Rose\nTulip\n");
    shell.write("asked", "ROSE\nlily\n");
    shell.ok(&["dedup", "-i", "--state", "new.gdn", "names"]);
    let mut old = shell.filter("new.gdn");
    assert_eq!(old.about().key_note(), Some(&br#"{"ignore_case":true}"#[..]));
    old.about_mut().set_key_note(None).unwrap();
    old.save(shell.path("old.gdn")).unwrap();
    for state in ["new.gdn", "old.gdn"] {
        assert_eq!(shell.run(&["query", state, "asked"]).quietly(), b"ROSE\n", "{state}");
        assert!(shell.run(&["info", state]).text().contains("keys made by    --ignore-case"));
        shell.pipe(b"LILY\n", &["add", "-q", state]).quietly();
        assert_eq!(shell.run(&["query", "-c", state, "asked"]).quietly(), b"2\n", "{state}");
        shell.ok(&["dedup", "-i", "--state", state, "asked"]);
    }
    // What cannot be read is refused, and not taken for whole lines.
    old.about_mut().set_metadata(br#"{"dedup":"growing","fpp":1e-6,"keys":"--stemmed"}"#).unwrap();
    old.save(shell.path("strange.gdn")).unwrap();
    let run = shell.run(&["query", "strange.gdn", "asked"]);
    assert!(run.complaint().contains("this program cannot read it"), "{}", run.err);
    assert_eq!(shell.run(&["query", "--keys-as-given", "-c", "strange.gdn", "asked"]).text(), "0\n");
    // Carriage returns are noted once they are seen.
    shell.write("dos", "rose\r\n");
    shell.ok(&["dedup", "--state", "dos.gdn", "names"]);
    shell.ok(&["dedup", "--state", "dos.gdn", "dos"]);
    assert_eq!(shell.filter("dos.gdn").about().key_note(), Some(&br#"{"cr":true}"#[..]));
}

#[test]
fn hashes_in_digits_of_another_case_are_refused() {
    let shell = Shell::new();
    let (upper, lower) =
        ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8", "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8");
    shell.write("upper", format!("{upper}:7\n"));
    shell.write("lower", format!("{lower}:7\n"));
    for list in ["upper", "lower"] {
        let filter = format!("{list}.gdn");
        shell.ok(&["build", "-q", "-f", "1", "--delimiter", ":", "-o", &filter, list]);
        for digits in ["upper", "lower"] {
            let options = ["query", "-c", "--hash", "sha1", "-F", &filter];
            let options = [&options[..], if digits == "upper" { &["--upper"] } else { &[] }].concat();
            let run = shell.pipe(b"password\n", &options);
            if digits == list {
                assert_eq!(run.quietly(), b"1\n");
            } else {
                let reason = format!("was built from hashes in {list}-case digits");
                assert!(run.complaint().contains(&reason), "{}", run.err);
                let run = shell.pipe(b"password\n", &[&options[..], &["--keys-as-given"]].concat());
                assert_eq!(run.text(), "0\n");
            }
        }
    }
    // A list that is looked up itself may have either.
    let list = ["query", "-c", "--hash", "sha1", "--list-field", "1", "--list-delimiter", ":", "--confirm"];
    for name in ["upper", "lower"] {
        assert_eq!(shell.pipe(b"password\n", &[&list[..], &[name]].concat()).quietly(), b"1\n");
    }
    // A colon in a password divides nothing, though it did in the list.
    shell.write("hash", "DCEA6D9CCD3D20BA1549F6D9B5DDE60742158882:3\n"); // of a:b
    shell.ok(&["build", "-q", "-f", "1", "--delimiter", ":", "-o", "colon.gdn", "hash"]);
    let run = shell.pipe(b"a:b\n", &["query", "-c", "--hash", "sha1", "--upper", "colon.gdn"]);
    assert_eq!(run.quietly(), b"1\n");
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
    shell.ok(&["build", "-q", "-k", "counting", "-o", "counts.gdn", "list"]);
    let run = shell.run(&["count", "-i", "counts.gdn", "list"]);
    let reason = "counts.gdn: the filter was built with whole lines: with --ignore-case";
    assert!(run.complaint().contains(reason) && run.err.contains("--keys-as-given"), "{}", run.err);
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
