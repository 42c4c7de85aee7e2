//! Every kind of the table at the shell: built, asked, changed and described by what the table says
//! it can do.

use crate::common::{Shell, numbers};
use gardenia::{Ability, Kind, Spec};

/// Kinds that hold keys, by every name, with what `build` needs beside the lines.
fn kinds() -> Vec<(&'static str, Spec, Vec<&'static str>)> {
    let named = Spec::names().filter_map(|(name, _)| Some((name, Spec::named(name)?)));
    let with = |(name, spec): (&'static str, Spec)| {
        let more = if spec.kind() == Kind::Retouched { vec!["--spare", "spare"] } else { Vec::new() };
        (name, spec, more)
    };
    named.filter(|(_, spec)| spec.kind().holds_keys()).map(with).collect()
}

/// Lines, half of them with a number for maps, which all others take for a part of the line.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..2_000));
    shell.write("few", numbers(0..100));
    shell.write("more", numbers(5_000..5_050));
    shell.write("absent", numbers(100_000..110_000));
    shell.write("spare", numbers(200_000..200_010));
    shell.write("pairs", (0..2_000).map(|key| format!("{key}\t{}\n", key % 7)).collect::<String>());
    shell
}

fn counted(shell: &Shell, filter: &str, keys: &str) -> u64 {
    let run = shell.run(&["query", "-c", filter, keys]);
    assert!(run.code == Some(0) || run.code == Some(1), "{}", run.err);
    run.text().trim().parse().unwrap()
}

#[test]
fn every_kind_is_built_asked_and_described() {
    let shell = shell();
    for (name, spec, more) in kinds() {
        let kind = spec.kind();
        let input = if kind.can(Ability::Map) { "pairs" } else { "keys" };
        shell.ok(&[&["build", "--force", "-o", "f.gdn", "--kind", name, input], &more[..]].concat());
        let found = counted(&shell, "f.gdn", "keys");
        assert!(found == 2_000 || kind.can(Ability::Forget) && found > 1_000, "{name}: {found}");
        let wrong = counted(&shell, "f.gdn", "absent");
        assert!(wrong < 400, "{name}: {wrong} of 10,000 absent lines");
        let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
        assert!(
            info.lines().any(|line| line.trim_start().starts_with("kind ") && line.contains(kind.name())),
            "{name}: {info}"
        );
        shell.ok(&["info", "--verify", "f.gdn"]);
    }
}

#[test]
fn every_kind_is_changed_as_the_table_says() {
    let shell = shell();
    for (name, spec, more) in kinds() {
        let kind = spec.kind();
        let sized = if spec.needs_items() { vec!["--items", "3000"] } else { Vec::new() };
        let input = if kind.can(Ability::Map) { "pairs" } else { "keys" };
        let build = |file: &str, from: &str| {
            let words = ["build", "--force", "-q", "-o", file, "--kind", name, from];
            shell.ok(&[&words[..], &sized, &more].concat());
        };
        build("f.gdn", input);
        let can = |ability| shell.filter("f.gdn").can(ability);
        let done = |args: &[&str]| shell.run(args).code == Some(0);
        assert_eq!(done(&["add", "f.gdn", "more"]), can(Ability::Insert), "{name}");
        if can(Ability::Insert) {
            assert_eq!(counted(&shell, "f.gdn", "more"), 50, "{name}");
        }
        assert_eq!(done(&["count", "f.gdn", "few"]), can(Ability::Count), "{name}");
        assert_eq!(done(&["get", "f.gdn", "few"]), can(Ability::Map), "{name}");
        if !kind.can(Ability::Fixed) {
            build("a.gdn", "few");
            build("b.gdn", "more");
            let merged = done(&["merge", "--force", "-o", "both.gdn", "a.gdn", "b.gdn"]);
            assert_eq!(merged, can(Ability::Merge), "{name}");
            if merged {
                let found = (counted(&shell, "both.gdn", "few"), counted(&shell, "both.gdn", "more"));
                assert_eq!(found, (100, 50), "{name}");
            }
        }
        assert_eq!(done(&["remove", "f.gdn", "more"]), can(Ability::Remove), "{name}");
    }
}

#[test]
fn help_names_the_kinds_that_a_command_is_for() {
    let shell = shell();
    let help = |command| String::from_utf8(shell.ok(&[command, "--help"])).unwrap().replace('\n', " ");
    let after = |command, mark: &str| help(command).split_once(mark).unwrap().1.to_owned();
    let [remove, merge, diff] =
        [after("remove", "Kinds that can: "), after("merge", "Kinds that can: "), after("diff", "seed: ")];
    let words = |text: &str| -> Vec<String> {
        text.split([',', ' ', '.']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let listed = |text: &str, name: &str, kind: Kind| {
        let list = words(text.split(". ").next().unwrap());
        let (list, but) = list.split_at(list.iter().position(|word| word == "but").unwrap_or(list.len()));
        let has = |list: &[String], name: &str| list.iter().any(|word| word == name);
        (has(list, name) || has(list, kind.name())) && !has(but, name)
    };
    for (name, spec, more) in kinds() {
        let kind = spec.kind();
        let input = if kind.can(Ability::Map) { "pairs" } else { "few" };
        let sized = if spec.needs_items() { vec!["--items", "3000"] } else { Vec::new() };
        let words = ["build", "--force", "-q", "-o", "f.gdn", "--kind", name, input];
        shell.ok(&[&words[..], &sized, &more].concat());
        let filter = shell.filter("f.gdn");
        let removes = kind == Kind::Split || filter.can(Ability::Remove);
        assert_eq!(listed(&remove, name, kind), removes, "remove: {name}");
        assert_eq!(
            listed(&merge, name, kind),
            filter.can(Ability::Merge) && kind != Kind::Split,
            "merge: {name}"
        );
        if kind != Kind::Split {
            let told = shell.run(&["diff", "f.gdn", "f.gdn"]).code == Some(0);
            assert_eq!(listed(&diff, name, kind) || name == "spectral", told, "diff: {name}");
        }
    }
    assert!(merge.contains("choice only with --effort online"), "{merge}");
}
