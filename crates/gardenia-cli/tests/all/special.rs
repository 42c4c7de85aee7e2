//! Kinds that are more, or less, than a set of lines: maps, filters that lose lines on purpose,
//! points.

use crate::common::{Shell, numbers};

#[test]
fn a_map_gives_the_number_of_a_line() {
    let shell = Shell::new();
    let pairs: String = (0..5000).map(|n| format!("key {n}\t{}\n", n * 7 % 1000)).collect();
    shell.write("pairs.tsv", &pairs);
    let run = shell.run(&["build", "--kind", "bloomier", "--check", "20", "-o", "map.gdn", "pairs.tsv"]);
    assert!(run.code == Some(0) && run.err.contains("5,000 keys read"), "{}", run.err);
    let input: String = (0..10_000).map(|n| format!("key {n}\n")).collect();
    let run = shell.pipe(input.as_bytes(), &["get", "map.gdn"]);
    let expected: String = (0..5000).map(|n| format!("{}\tkey {n}\n", n * 7 % 1000)).collect();
    assert!(run.code == Some(0) && run.text() == expected, "{}", run.err);
    assert_eq!(shell.pipe(input.as_bytes(), &["query", "-c", "map.gdn"]).text(), "5000\n");
    let run = shell.pipe(b"none\n", &["get", "map.gdn"]);
    assert_eq!((run.code, run.text()), (Some(1), ""));
    let info = String::from_utf8(shell.ok(&["info", "map.gdn"])).unwrap();
    assert!(info.contains("10 bits per value, 20 check bits"), "{info}");
}

#[test]
fn a_map_takes_its_numbers_from_any_part_of_a_record() {
    let shell = Shell::new();
    shell.write("a.csv", "age,name\n33,\"Rose, A.\"\n44,Iris\n");
    shell.ok(&[
        "build", "--kind", "bloomier", "--csv", "-f", "name", "--value", "age", "-o", "a.gdn", "a.csv",
    ]);
    assert_eq!(shell.pipe(b"Rose, A.\nIris\n", &["get", "a.gdn"]).text(), "33\tRose, A.\n44\tIris\n");
    shell.write("b.jsonl", "{\"n\":{\"v\":5},\"id\":\"x\"}\n{\"n\":{\"v\":6},\"id\":\"y\"}\n");
    shell.ok(&[
        "build",
        "--kind",
        "bloomier",
        "--json-key",
        "id",
        "--value",
        "n.v",
        "-o",
        "b.gdn",
        "b.jsonl",
    ]);
    assert_eq!(shell.pipe(b"y\nx\n", &["get", "b.gdn"]).text(), "6\ty\n5\tx\n");
    shell.write("c.txt", "7:rose\n");
    shell.ok(&[
        "build",
        "--kind",
        "bloomier",
        "-f2",
        "--value",
        "1",
        "--delimiter",
        ":",
        "-o",
        "c.gdn",
        "c.txt",
    ]);
    assert_eq!(shell.pipe(b"rose\n", &["get", "c.gdn"]).text(), "7\trose\n");
    for (text, said) in [
        ("rose\t1\nrose\t2\n", "a key was given two values, 1 and 2"),
        ("rose\tmany\n", "\"many\" is not a whole number"),
        ("rose\n", "\"rose\" has no value"),
        ("rose\t4294967296\n", "is not a whole number"),
    ] {
        shell.write("bad.tsv", text);
        let run = shell.run(&["build", "--kind", "bloomier", "-o", "bad.gdn", "bad.tsv"]);
        assert!(run.complaint().contains(said), "{}", run.err);
        assert!(!shell.path("bad.gdn").exists());
    }
    // Some number for every key of a map without check bits; and none that a key came with twice, the same.
    shell.write("same.tsv", "rose\t3\nrose\t3\n");
    shell.ok(&["build", "--kind", "bloomier", "--check", "0", "-o", "same.gdn", "same.tsv"]);
    assert_eq!(shell.pipe(b"rose\n", &["get", "same.gdn"]).text(), "3\trose\n");
    shell.write("lines", "rose\n");
    shell.ok(&["build", "-o", "f.gdn", "lines"]);
    let run = shell.run(&["get", "f.gdn", "lines"]);
    assert!(
        run.complaint().contains("f.gdn: a filter of kind blocked has no numbers for its keys"),
        "{}",
        run.err
    );
    assert!(
        shell.run(&["build", "--kind", "bloomier", "--fpp", "1%", "lines"]).complaint().contains("no --fpp")
    );
}

#[test]
fn spared_lines_are_never_found() {
    let shell = Shell::new();
    shell.write("bad", numbers(0..20_000));
    shell.write("good", numbers(20_000..40_000));
    let build = ["build", "--force", "--kind", "retouched", "--fpp", "5%", "-o", "f.gdn"];
    let mut lost = Vec::new();
    for how in ["ratio", "random", "fewest-elements", "most-troublesome"] {
        let run = shell.run(&[&build[..], &["--spare", "good", "--clearing", how, "bad"]].concat());
        assert!(run.code == Some(0) && run.err.contains("bits cleared; "), "{}", run.err);
        let good = shell.run(&["query", "-c", "f.gdn", "good"]);
        assert_eq!((good.code, good.text()), (Some(1), "0\n"), "{how}");
        let found: u64 =
            String::from_utf8(shell.ok(&["query", "-c", "f.gdn", "bad"])).unwrap().trim().parse().unwrap();
        // What it says it lost is what it lost.
        let said = run.err.split("cleared; ").nth(1).and_then(|text| text.split(' ').next()).unwrap();
        assert_eq!(said.replace(',', "").parse(), Ok(20_000 - found), "{}", run.err);
        lost.push(20_000 - found);
    }
    assert!(lost[0] > 0 && lost[0] < lost[1], "ratio loses fewer than chance: {lost:?}");
    let run = shell.run(&["build", "--kind", "retouched", "-o", "g.gdn", "bad"]);
    assert!(run.complaint().contains("needs the lines that must not be found"), "{}", run.err);
}

#[test]
fn lines_that_share_their_words_are_near() {
    let shell = Shell::new();
    let title = |n: u32| (0..30).map(|word| format!("w{}", n * 100 + word)).collect::<Vec<_>>();
    let text = |words: &[String]| words.join(" ") + "\n";
    let all: String = (0..200).map(|n| text(&title(n))).collect();
    shell.write("titles", &all);
    shell.ok(&["build", "--kind", "distance", "--near", "10%", "--far", "80%", "-o", "f.gdn", "titles"]);
    // In another order, one word of thirty changed.
    let like: String = (0..200)
        .map(|n| {
            let mut words = title(n);
            words.reverse();
            words[7] = format!("other{n}");
            text(&words)
        })
        .collect();
    let far: String = (1000..1200).map(|n| text(&title(n))).collect();
    let count = |input: &str| -> u64 {
        shell.pipe(input.as_bytes(), &["query", "-c", "f.gdn"]).text().trim().parse().unwrap()
    };
    assert!(count(&all) >= 195 && count(&like) >= 190, "{} {}", count(&all), count(&like));
    assert!(count(&far) <= 10, "{}", count(&far));
    assert_eq!(
        shell.pipe(far.as_bytes(), &["query", "-v", "-c", "f.gdn"]).text().trim().parse::<u64>().unwrap(),
        200 - count(&far)
    );
}

#[test]
fn bits_that_differ_little_are_near() {
    let shell = Shell::new();
    let hash = |n: u64| -> String {
        (1..=16).map(|word| format!("{:016x}", gardenia::Digest(n).word(word))).collect::<String>() + "\n"
    };
    let all: String = (0..100).map(hash).collect();
    shell.write("hashes", &all);
    let build = ["build", "--kind", "distance", "--space", "hamming", "--near", "2%", "--far", "40%"];
    shell.ok(&[&build[..], &["-o", "f.gdn", "hashes"]].concat());
    // One digit of 256 differs in one bit.
    let like: String = (0..100).map(|n| hash(n).replacen('e', "f", 1)).collect();
    let far: String = (1000..1100).map(hash).collect();
    let count = |input: &str| -> u64 {
        shell.pipe(input.as_bytes(), &["query", "-c", "f.gdn"]).text().trim().parse().unwrap()
    };
    assert!(count(&like) >= 95, "{}", count(&like));
    assert!(count(&far) <= 6, "{}", count(&far));
    let run = shell.pipe(b"0102\n", &["query", "f.gdn"]);
    assert!(run.complaint().contains("the point has 2 bytes, and 1024 bits are needed"), "{}", run.err);
    let run = shell.pipe(b"rose\n", &["query", "f.gdn"]);
    assert!(run.complaint().contains("is not bits in hexadecimal digits"), "{}", run.err);
    let run = shell.pipe(all.as_bytes(), &[&build[..], &["-o", "g.gdn"]].concat());
    assert!(run.complaint().contains("cannot be counted up front"), "{}", run.err);
    let run =
        shell.run(&["build", "--kind", "distance", "--near", "50%", "--far", "40%", "-o", "g.gdn", "hashes"]);
    assert!(run.complaint().contains("--near 0.5 and --far 0.4"), "{}", run.err);
}
