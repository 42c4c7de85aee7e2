//! Lines are stored as often as they occur, so that removing some never loses others.

use crate::common::{Shell, numbers};
use gardenia::{AnyFilter, Digest};
use std::collections::HashMap;
use std::fmt::Write;

/// The kinds that remove, asked of a filter of every kind that `build` makes.
fn removing() -> Vec<String> {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10));
    let run = shell.run(&["build", "--kind", "?"]);
    let values = run.complaint().split_once("[possible values: ").expect("clap lists the kinds").1;
    let kinds = values.trim_end_matches(']').split(", ").map(str::to_owned);
    let removes = |kind: &String| {
        let run = shell.run(&["build", "--force", "--kind", kind, "-o", "f.gdn", "keys"]);
        // These need more than lines, and what they hold never changes.
        let needs_more = ["bloomier", "retouched"].contains(&kind.as_str());
        assert!(run.code == Some(0) || needs_more, "{kind}: {}", run.err);
        run.code == Some(0)
            && AnyFilter::load(shell.path("f.gdn")).is_ok_and(|filter| filter.can(gardenia::Ability::Remove))
    };
    let kinds: Vec<String> = kinds.filter(removes).collect();
    assert!(kinds.len() >= 5, "{kinds:?}");
    kinds
}

/// Runs a test on every kind that removes, and names all that failed.
fn each_kind(test: impl Fn(&str) + Sync) {
    let (kinds, test) = (removing(), &test);
    let failed: Vec<&String> = std::thread::scope(|scope| {
        let runs: Vec<_> = kinds.iter().map(|kind| (kind, scope.spawn(move || test(kind)))).collect();
        runs.into_iter().filter_map(|(kind, run)| run.join().is_err().then_some(kind)).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

/// Random numbers below `limit`, the same in every run.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 += 1;
        (Digest(Digest(0x5eed).word(self.0)).0 % limit as u64) as usize
    }

    fn shuffle(&mut self, lines: &mut [u32]) {
        (1..lines.len()).for_each(|at| lines.swap(at, self.below(at + 1)));
    }
}

fn text(lines: &[u32]) -> String {
    let mut text = String::new();
    lines.iter().for_each(|line| writeln!(text, "{line}").expect("a string takes all"));
    text
}

/// The law of removal: whatever was inserted more often than removed is found. At 5 % one line in
/// twenty resembles others, and a filter that passes over such a line loses it when the others go.
#[test]
fn what_was_added_more_often_than_removed_is_found() {
    each_kind(|kind| {
        for seed in 0..3u32 {
            let (shell, mut random) = (Shell::new(), Random(seed << 20));
            let mut counts: HashMap<u32, u64> = HashMap::new();
            for round in 0..4 {
                // Some lines repeat; none so often that its copies would block a cuckoo filter.
                let mut lines: Vec<u32> = (0..400).map(|_| random.below(1_500) as u32).collect();
                random.shuffle(&mut lines);
                shell.write("more", text(&lines));
                match round {
                    // Layers of 300, or room for what all rounds add.
                    0 => {
                        let items = if kind == "dynamic" { "300" } else { "1600" };
                        let build = ["build", "-q", "--kind", kind, "--fpp", "5%", "--items", items];
                        shell.ok(&[&build[..], &["-o", "f.gdn", "more"]].concat())
                    }
                    _ => shell.ok(&["add", "-q", "f.gdn", "more"]),
                };
                lines.iter().for_each(|line| *counts.entry(*line).or_default() += 1);
                // Each of half of the lines, as often as chance wants, and never more often than it is in.
                let mut gone: Vec<u32> = Vec::new();
                for (line, count) in counts.iter_mut().filter(|(line, _)| **line % 2 == round % 2) {
                    let times = random.below(*count as usize + 1);
                    gone.extend(std::iter::repeat_n(*line, times));
                    *count -= times as u64;
                }
                random.shuffle(&mut gone);
                shell.write("gone", text(&gone));
                let run = shell.run(&["remove", "f.gdn", "gone"]);
                assert_eq!(run.code, Some(0), "{kind}: {}", run.err);
                assert!(!run.err.contains("not in"), "{kind}: {}", run.err);
                let here: Vec<u32> =
                    counts.iter().filter(|(_, count)| **count > 0).map(|(line, _)| *line).collect();
                shell.write("here", text(&here));
                let lost = shell.run(&["query", "-v", "f.gdn", "here"]);
                assert_eq!(lost.text(), "", "{kind}, seed {seed}, round {round}: these are lost");
            }
        }
    });
}

/// Distinct lines, of which half are removed, in both orders: the others are all there.
#[test]
fn removing_half_of_the_lines_leaves_the_other_half() {
    each_kind(|kind| {
        let shell = Shell::new();
        let lines = |odd: u32| text(&(0..10_000).map(|line| 2 * line + odd).collect::<Vec<u32>>());
        shell.write("even", lines(0));
        shell.write("odd", lines(1));
        for order in [["even", "odd"], ["odd", "even"]] {
            shell.ok(&["build", "-q", "--force", "--kind", kind, "-o", "f.gdn", order[0], order[1]]);
            shell.ok(&["remove", "-q", "f.gdn", "odd"]);
            assert_eq!(shell.run(&["query", "-v", "-c", "f.gdn", "even"]).text(), "0\n", "{kind}");
        }
    });
}

#[test]
fn few_lines_at_a_high_rate_come_out_and_leave_the_others() {
    each_kind(|kind| {
        let shell = Shell::new();
        shell.write("first", numbers(1..151));
        shell.write("last", numbers(151..301));
        shell.ok(&["build", "-q", "--kind", kind, "-p", "5%", "-o", "f.gdn", "first", "last"]);
        let run = shell.run(&["remove", "f.gdn", "first"]);
        assert!(run.err.contains("150 keys read, 150 removed;"), "{kind}: {}", run.err);
        assert_eq!(shell.run(&["query", "-v", "f.gdn", "last"]).text(), "", "{kind}");
    });
}

#[test]
fn a_ninth_copy_is_reported_and_the_rest_is_stored() {
    let shell = Shell::new();
    shell.write("keys", [numbers(0..1_000), b"rose\n".repeat(20), numbers(1_000..2_000)].concat());
    let run = shell.run(&["build", "--kind", "cuckoo", "-o", "f.gdn", "keys"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines[0].starts_with("f.gdn: 2,020 keys read, 1,9"), "{}", run.err);
    let reason = "gardenia: f.gdn: 12 lines left out: a cuckoo filter holds 8 copies of a line and no more";
    assert_eq!(lines[1], reason, "{}", run.err);
    assert!(
        lines[2].starts_with("hint: give each line once (sort -u), or use --kind counting"),
        "{}",
        run.err
    );
    assert_eq!(lines.len(), 3, "{}", run.err);
    assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"2020\n");
    assert_eq!(shell.pipe(b"rose\n", &["count", "f.gdn"]).text(), "≥8\trose\n");

    // What is stored comes out again, and no more than that.
    let roses = b"rose\n".repeat(9);
    let run = shell.pipe(&roses, &["remove", "f.gdn"]);
    assert!(
        run.code == Some(0) && run.err.contains("9 keys read, 8 removed, 1 not in the filter;"),
        "{}",
        run.err
    );
    assert_eq!(shell.pipe(b"rose\n", &["query", "f.gdn"]).text(), "");

    // The same when lines are added.
    let run = shell.pipe(&[&roses[..], b"tulip\n"].concat(), &["add", "f.gdn"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("gardenia: f.gdn: 1 line left out: a cuckoo filter holds 8"), "{}", run.err);
    assert_eq!(shell.pipe(b"rose\ntulip\n", &["count", "f.gdn"]).text(), "≥8\trose\n1\ttulip\n");

    // Whoever wants all or nothing gets nothing.
    let before = shell.read("f.gdn");
    let run = shell.pipe(b"tulip\nrose\n", &["add", "--on-full", "error", "f.gdn"]);
    assert!(run.complaint().starts_with("gardenia: f.gdn: 1 line left out: "), "{}", run.err);
    assert_eq!(shell.read("f.gdn"), before);
    let run = shell.run(&["build", "--kind", "cuckoo", "--on-full", "error", "-o", "g.gdn", "keys"]);
    assert!(run.complaint().contains("12 lines left out") && !shell.path("g.gdn").exists(), "{}", run.err);

    // Other kinds hold any number of copies.
    for kind in removing().iter().filter(|kind| *kind != "cuckoo") {
        let run = shell.run(&["build", "--force", "--kind", kind, "-o", "f.gdn", "keys"]);
        assert!(run.code == Some(0) && !run.err.contains("left out"), "{kind}: {}", run.err);
    }
}

#[test]
fn copies_that_a_growing_filter_cannot_hold_are_reported_and_the_rest_is_stored() {
    let shell = Shell::new();
    shell.write("keys", [numbers(0..1_000), b"rose\n".repeat(70_000), numbers(1_000..2_000)].concat());
    let run = shell.run(&["build", "--kind", "infini", "-o", "f.gdn", "keys"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    let reason = "lines left out: a filter of kind infini holds about 57,000 copies of a line and no more";
    assert!(run.err.contains(reason) && run.err.contains("hint: give each line once"), "{}", run.err);
    assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"72000\n");
    let run = shell.pipe(b"rose\ntulip\n", &["add", "f.gdn"]);
    assert!(run.code == Some(2) && run.err.contains("1 line left out: "), "{}", run.err);
    assert_eq!(shell.pipe(b"tulip\n", &["query", "-c", "f.gdn"]).text(), "1\n");
}

#[test]
fn a_filter_has_room_for_every_copy_of_a_line() {
    let shell = Shell::new();
    for times in 2..=3 {
        let keys = numbers(0..3_000).repeat(times);
        shell.write("keys", &keys);
        shell.ok(&["build", "-q", "--force", "--kind", "cuckoo", "-o", "f.gdn", "keys"]);
        shell.pipe(&keys, &["build", "-q", "--force", "--kind", "cuckoo", "-o", "g.gdn"]).quietly();
        assert_eq!(shell.read("f.gdn"), shell.read("g.gdn"));
        let AnyFilter::Cuckoo(filter) = shell.filter("f.gdn") else { panic!("another kind") };
        assert_eq!(filter.items(), 3_000 * times as u64);
        let cells = filter.cells() as f64 / filter.items() as f64;
        assert!(cells < 2.5, "{times} times: {cells} places per line");
        // Once less than they are in: all of them are still there.
        shell.write("gone", numbers(0..3_000).repeat(times - 1));
        assert!(shell.run(&["remove", "f.gdn", "gone"]).err.contains(" removed;"));
        assert_eq!(shell.run(&["query", "-v", "f.gdn", "keys"]).text(), "");
    }
    // Copies that no larger filter has room for; the remedies are named.
    shell.write("keys", numbers(0..3_000).repeat(8));
    let run = shell.run(&["build", "--kind", "cuckoo", "-o", "h.gdn", "keys"]);
    assert!(run.complaint().ends_with("% full: repeated lines block it"), "{}", run.err);
    assert!(run.err.contains("hint: give each line once (sort -u), or use --kind counting"), "{}", run.err);
    assert!(!shell.path("h.gdn").exists());
    // Of a given size each copy counts, too.
    let run = shell.pipe(
        &numbers(0..100).repeat(2),
        &["build", "--kind", "cuckoo", "--items", "190", "--on-full", "error", "-o", "h.gdn"],
    );
    assert_eq!(run.complaint(), "gardenia: more than 190 lines were added, and 190 were planned");
}
