//! `gardenia top` and sketches at the shell, against exact counts.

use crate::common::Shell;
use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;

/// SplitMix64 (Steele, Lea and Flood 2014).
fn random(at: u64) -> u64 {
    let mut z = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Lines of a Zipf stream over `universe` different ones, and how often each comes.
fn zipf(lines: u64, universe: usize, exponent: f64) -> (Vec<u8>, HashMap<Vec<u8>, u64>) {
    let mut sum = 0.0;
    let below: Vec<f64> = (1..=universe)
        .map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        })
        .collect();
    let (mut text, mut counts) = (Vec::new(), vec![0u64; universe]);
    for i in 0..lines {
        let draw = random(i) as f64 / 2f64.powi(64) * sum;
        let rank = below.partition_point(|below| *below <= draw).min(universe - 1);
        counts[rank] += 1;
        writeln!(text, "/page/{rank}").unwrap();
    }
    let named = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    (text, named.map(|(rank, count)| (format!("/page/{rank}").into_bytes(), count)).collect())
}

/// Lines of the output: at least, at most, line.
fn parsed(out: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let field = |text: &[u8]| std::str::from_utf8(text).unwrap().parse().unwrap();
    let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut rows = Vec::new();
    for line in lines {
        let mut fields = line.splitn(3, |byte| *byte == b'\t');
        let (lower, upper) = (field(fields.next().unwrap()), field(fields.next().unwrap()));
        rows.push((lower, upper, fields.next().unwrap().to_vec()));
    }
    rows
}

#[test]
fn the_top_twenty_of_ten_million_lines_are_the_true_ones_in_bounded_memory() {
    let (text, counts) = zipf(10_000_000, 2_000_000, 1.1);
    assert!(counts.len() > 400_000, "{}", counts.len());
    let shell = Shell::new();
    // An exact table of these lines would not fit: 64 MB of address space, with the program itself in it.
    let program = env!("CARGO_BIN_EXE_gardenia");
    let mut child = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 64000 && exec \"$0\" top -n 20", program])
        .current_dir(shell.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(&text).unwrap());
        child.wait_with_output().unwrap()
    });
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let mut exact: Vec<(&Vec<u8>, u64)> = counts.iter().map(|(line, count)| (line, *count)).collect();
    exact.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows = parsed(&output.stdout);
    assert_eq!(rows.len(), 20);
    let mut found: Vec<&Vec<u8>> = rows.iter().map(|row| &row.2).collect();
    let mut wanted: Vec<&Vec<u8>> = exact[..20].iter().map(|(line, _)| *line).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    for (lower, upper, line) in &rows {
        assert!((lower..=upper).contains(&&counts[line]), "{lower} to {upper}, but {}", counts[line]);
    }
    assert_eq!(
        error,
        "10,000,000 lines read; all of the 20 printed are guaranteed to be in the true top 20\n"
    );
}

#[test]
fn bounds_hold_and_doubts_are_told_when_memory_is_short() {
    // Nearly flat: 5,000 lines of about the same frequency, and room for 1,024 of them.
    let (text, counts) = zipf(200_000, 5_000, 0.3);
    let shell = Shell::new();
    let run = shell.pipe(&text, &["top", "-n", "50", "--memory", "2k"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rows = parsed(&run.out);
    assert_eq!(rows.len(), 50);
    for (lower, upper, line) in &rows {
        assert!((lower..=upper).contains(&&counts[line]), "{lower} to {upper}, but {}", counts[line]);
    }
    assert!(!run.err.contains("all of"), "{}", run.err);
    // More memory, no doubts.
    let run = shell.pipe(&text, &["top", "-n", "2000", "--memory", "4MiB"]);
    assert_eq!(run.err, "200,000 lines read; all counts are exact\n");
    assert!(parsed(&run.out).iter().all(|(lower, upper, line)| lower == upper && counts[line] == *lower));
}

#[test]
fn every_line_of_a_given_share_is_printed() {
    let (text, counts) = zipf(100_000, 3_000, 1.0);
    let shell = Shell::new();
    shell.write("log.txt", &text);
    let run = shell.run(&["top", "--min", "1%", "log.txt"]);
    let listed: Vec<Vec<u8>> = parsed(&run.out).into_iter().map(|row| row.2).collect();
    for (line, count) in &counts {
        assert!(*count < 1_000 || listed.contains(line), "{}", String::from_utf8_lossy(line));
    }
    assert!(!listed.is_empty() && listed.len() <= 100);
    assert!(run.err.contains("are guaranteed to be at least 1% of the input"), "{}", run.err);
}

#[test]
fn any_bytes_are_lines_and_json_tells_them() {
    let shell = Shell::new();
    let text = b"a\tb\n\xff\xfe\n\xff\xfe\n\n\x1b[31mred\n\xff\xfe";
    let run = shell.pipe(text, &["top", "-q"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""));
    let rows = parsed(&run.out);
    assert_eq!(rows[0], (3, 3, b"\xff\xfe".to_vec()));
    assert!(rows.contains(&(1, 1, b"a\tb".to_vec())) && rows.contains(&(1, 1, Vec::new())));
    let json = shell.pipe(text, &["top", "-q", "--json", "-n", "1"]).quietly();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["read"], 6);
    assert_eq!(json["lines"][0]["line_hex"], "fffe");
    assert_eq!((&json["lines"][0]["at_least"], &json["lines"][0]["at_most"]), (&3.into(), &3.into()));
    assert_eq!(json["lines"][0]["certain"], true);
}

#[test]
fn nothing_to_count_and_wrong_wishes_are_said() {
    let shell = Shell::new();
    let run = shell.pipe(b"", &["top"]);
    assert_eq!((run.code, &*run.err), (Some(1), "0 lines read; all counts are exact\n"));
    shell.write("log.txt", "rose\n");
    assert!(shell.run(&["top", "-n", "0", "log.txt"]).complaint().contains("0 lines"));
    assert!(shell.run(&["top", "-n", "-3", "log.txt"]).complaint().contains("-3"));
    assert!(shell.run(&["top", "-n", "1e12", "log.txt"]).complaint().contains("100,000,000"));
    for min in ["0", "2", "-1", "x"] {
        shell.run(&["top", "--min", min, "log.txt"]).complaint();
    }
    assert!(shell.run(&["top", "--memory", "9", "log.txt"]).complaint().contains("cannot count"));
    assert!(shell.run(&["top", "--memory", "1e15", "log.txt"]).complaint().contains("memory"));
    let run = shell.run(&["top", "absent.txt", "log.txt"]);
    assert_eq!((run.code, &run.out[..]), (Some(2), &b"1\t1\trose\n"[..]));
    assert!(run.err.starts_with("gardenia: absent.txt: No such file"), "{}", run.err);
}

#[test]
fn counts_are_saved_printed_merged_and_counted_on() {
    let (text, counts) = zipf(60_000, 5_000, 0.8);
    let shell = Shell::new();
    let half = text.len() / 2 + text[text.len() / 2..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    shell.write("mon.log", &text[..half]);
    shell.write("tue.log", &text[half..]);
    let quietly = |args: &[&str]| shell.run(args).quietly();
    let (monday, both) = (quietly(&["top", "-q", "mon.log"]), quietly(&["top", "-q", "mon.log", "tue.log"]));
    assert_eq!(quietly(&["top", "-q", "-o", "mon.gdn", "mon.log"]), monday);
    assert_eq!(quietly(&["top", "-q", "mon.gdn"]), monday);
    // Saved counts go on as if they had not been saved.
    assert_eq!(quietly(&["top", "-q", "mon.gdn", "tue.log"]), both);
    assert_eq!(quietly(&["top", "-q", "--state", "all.gdn", "mon.log"]), monday);
    assert_eq!(quietly(&["top", "-q", "--state", "all.gdn", "tue.log"]), both);
    assert_eq!(quietly(&["top", "-q", "all.gdn"]), both);
    let piped = quietly(&["top", "-q", "-o", "-", "tue.log"]);
    shell.write("tue.gdn", &piped);
    let run = shell.run(&["merge", "-o", "week.gdn", "mon.gdn", "tue.gdn"]);
    assert_eq!((run.code, &*run.err), (Some(0), "week.gdn: 2 files of counts merged, of 60,000 lines\n"));
    let rows = parsed(&quietly(&["top", "-q", "-n", "50", "week.gdn"]));
    assert_eq!(rows.len(), 50);
    for (lower, upper, line) in &rows {
        assert!((lower..=upper).contains(&&counts[line]), "{lower} to {upper}, but {}", counts[line]);
    }
    let info = String::from_utf8(quietly(&["info", "--verify", "week.gdn"])).unwrap();
    assert!(info.contains("60,000 lines counted; 1,024 of 1,024 slots hold a line"), "{info}");
}

#[test]
fn counts_that_cannot_be_saved_or_merged_are_refused() {
    let shell = Shell::new();
    shell.write("log.txt", "a rose is a rose\n");
    shell.run(&["top", "-q", "-o", "a.gdn", "log.txt"]).quietly();
    shell.run(&["top", "-q", "-o", "b.gdn", "--memory", "2MiB", "log.txt"]).quietly();
    let refused = |args: &[&str], reason: &str| {
        let run = shell.run(args);
        run.complaint();
        assert!(run.err.contains(reason), "{}", run.err);
    };
    refused(&["top", "-o", "a.gdn", "log.txt"], "--force");
    refused(&["top", "-o", "a.gdn", "--force", "a.gdn"], "is one of the inputs");
    refused(&["top", "--state", "a.gdn", "--memory", "1MiB", "log.txt"], "leave out --memory");
    refused(&["top", "a.gdn", "b.gdn"], "b.gdn and a.gdn have different numbers of cells");
    refused(&["merge", "-o", "c.gdn", "a.gdn", "b.gdn"], "one --memory");
    refused(&["merge", "--intersect", "-o", "c.gdn", "a.gdn", "a.gdn"], "intersect");
    refused(&["top", "-o", "c.gdn", "absent.txt", "log.txt"], "absent.txt");
    refused(&["top", "--state", "c.gdn", "absent.txt", "log.txt"], "absent.txt");
    refused(&["top", "--state", "-", "log.txt"], "pipe");
    refused(&["top", "--state", "log.txt", "log.txt"], "not a Gardenia filter");
    assert!(!shell.path("c.gdn").exists());
    assert_eq!(
        shell.run(&["top", "-q", "-o", "a.gdn", "--force", "log.txt"]).quietly(),
        b"1\t1\ta rose is a rose\n"
    );
}

#[test]
fn a_sketch_counts_at_the_shell_as_in_the_library() {
    let (text, counts) = zipf(300_000, 20_000, 1.0);
    let shell = Shell::new();
    shell.write("log.txt", &text);
    for options in [
        &["--bits", "256KiB"][..],
        &["--epsilon", "0.1%", "--delta", "1/1000", "--width", "32", "--update", "plain"],
        &["--columns", "30k", "--rows", "3", "--form", "modified", "--width", "4"],
    ] {
        let build =
            [&["build", "--kind", "count-min", "--force", "-o", "log.gdn", "log.txt"], options].concat();
        let run = shell.run(&build);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.starts_with("log.gdn: 300,000 lines counted in "), "{}", run.err);
        let gardenia::AnyFilter::CountMin(sketch) = shell.filter("log.gdn") else { panic!("another kind") };
        assert_eq!(sketch.total(), 300_000);
        let vocabulary: Vec<Vec<u8>> = counts.keys().cloned().collect();
        let out = shell.pipe(&vocabulary.join(&b'\n'), &["count", "log.gdn"]).quietly();
        let mut asked = 0;
        for (line, row) in vocabulary.iter().zip(out.split(|byte| *byte == b'\n')) {
            let wanted = sketch.count(line);
            assert_eq!(row, [format!("{wanted}\t").as_bytes(), line].concat());
            assert!(wanted >= counts[line]);
            asked += 1;
        }
        assert_eq!(asked, counts.len());
        let info = String::from_utf8(shell.ok(&["info", "log.gdn"])).unwrap();
        assert!(info.contains("300,000 counted: a count is never too small"), "{info}");
        // More lines into the same file.
        shell.write("more.txt", "/page/0\n/page/0\n");
        shell.ok(&["add", "log.gdn", "more.txt"]);
        let gardenia::AnyFilter::CountMin(more) = shell.filter("log.gdn") else { panic!("another kind") };
        assert_eq!((more.total(), more.count("/page/0")), (300_002, sketch.count("/page/0") + 2));
        assert!(shell.run(&["remove", "log.gdn", "more.txt"]).complaint().contains("count-min"));
    }
}

#[test]
fn options_that_a_sketch_has_not_are_said() {
    let shell = Shell::new();
    shell.write("log.txt", "rose\n");
    let build = |options: &[&str]| {
        let run = shell.run(&[&["build", "-o", "log.gdn", "log.txt"], options].concat());
        assert!(!shell.path("log.gdn").exists());
        run.complaint().to_owned()
    };
    for option in
        [["--items", "5"], ["--fpp", "1%"], ["--scheme", "double"], ["--cells", "9"], ["--digit", "2"]]
    {
        let said = build(&[&["--kind", "count-min"], &option[..]].concat());
        assert_eq!(said, format!("gardenia: a filter of kind count-min has no {}", option[0]));
    }
    assert!(build(&["--rows", "3"]).contains("a filter of kind blocked has no --rows"));
    let sketch = |options: &[&str]| build(&[&["--kind", "count-min"], options].concat());
    assert!(sketch(&["--epsilon", "0"]).contains("--epsilon is \"0\""));
    assert!(sketch(&["--delta", "1"]).contains("--delta is \"1\""));
    assert!(sketch(&["--width", "5"]).contains("4, 8, 32 or 64 bits"));
    assert!(sketch(&["--rows", "3"]).contains("--rows is given alone"));
    assert!(sketch(&["--rows", "300", "--bits", "1MiB"]).contains("--rows is \"300\""));
    assert!(sketch(&["--columns", "1e15"]).contains("more than a filter can have"));
    assert!(sketch(&["--epsilon", "1%", "--bits", "1k"]).contains("--bits and --epsilon are both given"));
}

#[test]
fn counts_are_not_taken_for_a_filter() {
    let shell = Shell::new();
    shell.write("lines", "a\nb\n");
    shell.ok(&["top", "-q", "-o", "t.gdn", "lines"]);
    for command in ["query", "add", "count"] {
        let run = shell.run(&[command, "t.gdn", "lines"]);
        assert!(run.complaint().contains("t.gdn: the file holds counts of frequent lines"), "{}", run.err);
        assert!(run.err.contains("hint: `gardenia top FILE` prints them"), "{}", run.err);
    }
}
