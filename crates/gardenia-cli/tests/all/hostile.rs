//! Filter files from strangers: small ones that would take much memory or time are refused, and
//! stay as they are.

use crate::common::{Shell, numbers, without_notes};
use gardenia::theory::distance::DistanceShape;
use gardenia::{CompressedBloom, Digest, DistanceSensitiveBloom, KeyHasher, ScalableBloom};
use std::fs;

const HINT: &str = "hint: if you trust the file, raise the limit with --max-memory SIZE\n";

#[test]
fn a_compressed_file_is_decoded_within_the_limit() {
    let shell = Shell::new();
    // 16 MiB of nothing, in some 300 bytes.
    let empty = CompressedBloom::builder().bits(1 << 27).hashes(2).build().unwrap();
    empty.save(shell.path("empty.gdn")).unwrap();
    let open = [
        vec!["info", "empty.gdn"],
        vec!["query", "-c", "empty.gdn", "words"],
        vec!["add", "-o", "out.gdn", "empty.gdn", "words"],
        vec!["diff", "empty.gdn", "empty.gdn"],
        vec!["merge", "-o", "out.gdn", "empty.gdn", "empty.gdn"],
        vec!["convert", "--to", "bloom", "-o", "out.gdn", "empty.gdn"],
        vec!["eval", "empty.gdn", "truth"],
    ];
    shell.write("words", "rose\n");
    shell.write("truth", "0 rose\n");
    for arguments in open {
        let limited = [&arguments[..], &["--max-memory", "16MiB"]].concat();
        let run = shell.run(&limited);
        assert!(run.complaint().contains("over the limit of 16.8 MB"), "{limited:?}: {}", run.err);
        assert!(run.err.ends_with(HINT), "{}", run.err);
        let run = shell.run(&arguments);
        assert!(run.code != Some(2), "{arguments:?}: {}", run.err);
        let _ = fs::remove_file(shell.path("out.gdn"));
    }
    let run = shell.pipe(&fs::read(shell.path("empty.gdn")).unwrap(), &["info", "--max-memory", "1M", "-"]);
    assert!(run.complaint().contains("over the limit"), "{}", run.err);
    // The limit is no limit for files that are as large as what they hold.
    shell.write("many", numbers(0..100_000));
    shell.ok(&["build", "-q", "--kind", "compressed", "-o", "honest.gdn", "many"]);
    let run = shell.run(&["query", "-c", "--max-memory", "0", "honest.gdn", "many"]);
    assert_eq!(run.text(), "100000\n", "{}", run.err);
    let help = String::from_utf8(shell.ok(&["help", "add"])).unwrap();
    assert!(help.contains("--max-memory <SIZE>") && help.contains("[default: 256MiB]"), "{help}");
}

#[test]
fn a_file_does_not_grow_to_gigabytes_by_one_line() {
    let shell = Shell::new();
    let mut filter = ScalableBloom::builder().fpp(0.01).items(16_384).growth(32_768).build().unwrap();
    let mut keys = 0..;
    while filter.items() < 16_384 {
        filter.insert_digest(Digest(Digest(keys.next().unwrap()).word(1))).unwrap();
    }
    filter.save(shell.path("s.gdn")).unwrap();
    let before = fs::read(shell.path("s.gdn")).unwrap();
    assert!(before.len() < 40_000);
    let run = shell.pipe(b"hello\nworld\nagain\n", &["add", "s.gdn"]);
    assert!(run.complaint().contains("over the limit of 268 MB"), "{}", run.err);
    assert!(run.err.ends_with(HINT), "{}", run.err);
    assert_eq!(fs::read(shell.path("s.gdn")).unwrap(), before);
    // What grows by its lines is not held up.
    shell.write("few", numbers(0..10));
    shell.write("many", numbers(0..50_000));
    for kind in ["scalable", "dynamic"] {
        shell.ok(&["build", "-q", "--kind", kind, "-n", "100", "-o", kind, "few"]);
        shell.ok(&["add", "-q", "--max-memory", "0", kind, "many"]);
        assert_eq!(shell.run(&["query", "-c", kind, "many"]).text(), "50000\n");
    }
}

#[test]
fn a_line_does_not_take_half_a_minute() {
    let shell = Shell::new();
    let shape = DistanceShape { functions: 255, samples: 65_536, bits: 64, threshold: 255 };
    let filter = DistanceSensitiveBloom::jaccard().shape(shape).build().unwrap();
    filter.save(shell.path("d.gdn")).unwrap();
    let run = shell.pipe("word ".repeat(200).as_bytes(), &["query", "d.gdn"]);
    assert!(run.complaint().contains("16,711,680 samples, over the limit of 1,048,576"), "{}", run.err);
    // What is in the header is told all the same.
    shell.ok(&["info", "--verify", "d.gdn"]);
}

#[test]
fn a_slice_with_more_keys_than_bits_is_no_intact_file() {
    let shell = Shell::new();
    let mut bytes = ScalableBloom::new(0.01).unwrap().to_bytes().unwrap();
    // The first slice claims a key, and has no bit set.
    for at in [72, 104 + 32 + 16] {
        bytes[at] = 1;
    }
    let end = 104 + u32::from_le_bytes(bytes[80..84].try_into().unwrap()) as usize;
    let sum = KeyHasher::xxh3(0).digest(&bytes[..end]).0;
    bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    fs::write(shell.path("s.gdn"), &bytes).unwrap();
    for arguments in [&["info", "--verify", "s.gdn"][..], &["add", "s.gdn"]] {
        let run = shell.pipe(b"rose\n", arguments);
        assert!(run.complaint().contains("a slice claims more keys than it has bits set"), "{}", run.err);
    }
    assert_eq!(fs::read(shell.path("s.gdn")).unwrap(), bytes);
}

#[test]
fn keyed_points_are_sampled_by_the_secret() {
    let shell = Shell::new();
    let line = |byte: u8| format!("{}\n", format!("{byte:02x}").repeat(64));
    shell.write("points", line(0x5a));
    shell.write("key", "07".repeat(16));
    let build = ["build", "-q", "--kind", "distance", "--space", "hamming", "-o", "p.gdn", "points"];
    shell.ok(&[&build[..], &["--secret-file", "key"]].concat());
    // All that an owner of the file can do without the secret.
    shell.ok(&["info", "--verify", "p.gdn"]);
    assert!(shell.run(&["query", "p.gdn", "points"]).complaint().contains("its secret"));
    assert_eq!(shell.run(&["query", "-c", "--secret-file", "key", "p.gdn", "points"]).text(), "1\n");
    // A file as it was written before, sampled by the secret's id.
    let mut bytes = without_notes(&fs::read(shell.path("p.gdn")).unwrap());
    assert_eq!((bytes[16], bytes[104]), (2, 3));
    bytes[104] = 1;
    let sum = KeyHasher::xxh3(0).digest(&bytes[..152]).0;
    bytes[152..160].copy_from_slice(&sum.to_le_bytes());
    fs::write(shell.path("old.gdn"), &bytes).unwrap();
    let run = shell.run(&["query", "--secret-file", "key", "old.gdn", "points"]);
    assert!(run.complaint().contains("build it again"), "{}", run.err);
}
