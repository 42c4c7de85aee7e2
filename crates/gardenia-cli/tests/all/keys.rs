//! Keys out of records: fields, CSV, JSON, NUL, compressed input, and that threads change nothing.

use crate::common::{Shell, numbers};
use std::io::Write;

/// The lines that `gardenia query` finds in a filter of `keys`.
fn found(shell: &Shell, keys: &str, input: impl AsRef<[u8]>, options: &[&str]) -> String {
    shell.write("keys.txt", keys);
    shell.ok(&["build", "--force", "--fpp", "1e-9", "-o", "f.gdn", "keys.txt"]);
    let run = shell.pipe(input.as_ref(), &[&["query", "--keys-as-given", "f.gdn"], options].concat());
    assert!(run.code == Some(0) || run.code == Some(1), "{}", run.err);
    String::from_utf8(run.out).unwrap()
}

#[test]
fn fields_are_asked_and_whole_lines_printed() {
    let shell = Shell::new();
    let log = "10.0.0.1 GET /a\n10.0.0.2 GET /b\n10.0.0.3\n\n";
    let options = ["-f", "1", "--delimiter", " "];
    assert_eq!(found(&shell, "10.0.0.2\n10.0.0.3\n", log, &options), "10.0.0.2 GET /b\n10.0.0.3\n");
    let options = ["-f", "3", "--delimiter", " "];
    assert_eq!(found(&shell, "/a\n", log, &options), "10.0.0.1 GET /a\n");
    assert_eq!(found(&shell, "b\n", "a\tb\nb\ta\n", &["-f2"]), "a\tb\n");
}

#[test]
fn records_without_a_key_are_in_no_filter_and_said() {
    let shell = Shell::new();
    shell.write("keys.txt", "b\n");
    shell.ok(&["build", "-o", "f.gdn", "keys.txt"]);
    let input = b"a:b\na\nc:d\n";
    let run = shell.pipe(input, &["query", "-f2", "--delimiter", ":", "f.gdn"]);
    assert_eq!((run.code, run.text()), (Some(0), "a:b\n"));
    assert_eq!(run.err, "gardenia: warning: (stdin): 1 record has no field 2, in line 2\n");
    let run = shell.pipe(input, &["query", "-v", "-n", "-f2", "--delimiter", ":", "f.gdn"]);
    assert_eq!((run.code, run.text()), (Some(0), "2:a\n3:c:d\n"));
    // They go into none either.
    let run = shell.pipe(input, &["build", "-f2", "--delimiter", ":", "-o", "g.gdn"]);
    assert!(run.err.contains("1 record has no field 2") && run.err.contains("2 keys read"), "{}", run.err);
}

#[test]
fn csv_is_asked_by_the_name_of_a_column() {
    let shell = Shell::new();
    let csv =
        "\u{feff}id,\"e-mail\"\r\n1,rose@example.org\r\n2,\"tu\"\"lip\nx@example.org\"\r\n3,iris@example.org";
    let keys = "rose@example.org\niris@example.org\n";
    let options = ["--csv", "-f", "e-mail"];
    let expected = "\u{feff}id,\"e-mail\"\r\n1,rose@example.org\r\n3,iris@example.org\n";
    assert_eq!(found(&shell, keys, csv, &options), expected);
    let rest = "\u{feff}id,\"e-mail\"\r\n2,\"tu\"\"lip\nx@example.org\"\r\n";
    assert_eq!(found(&shell, keys, csv, &["--csv", "-f", "e-mail", "-v"]), rest);
    assert_eq!(found(&shell, keys, csv, &["--csv", "-f", "e-mail", "-c"]), "2\n");
    assert_eq!(found(&shell, "1\nid\n", "id,x\n1,2\n", &["--csv", "-f", "1", "--no-header"]), "id,x\n1,2\n");
    assert_eq!(found(&shell, "2\n", "a;b\n1;2\n", &["--csv", "-f", "b", "--delimiter", ";"]), "a;b\n1;2\n");
    let run = shell.pipe(csv.as_bytes(), &["query", "--csv", "-f", "mail", "f.gdn"]);
    assert_eq!(run.complaint(), "gardenia: (stdin): the first record has no field called \"mail\"");
    assert!(run.err.contains("it has id, e-mail"), "{}", run.err);
    // Each input has a first record of its own.
    shell.write("a.csv", "id,name\n1,rose\n");
    shell.write("b.csv", "name,id\nrose,2\ntulip,1\n");
    shell.write("keys.txt", "rose\n");
    shell.ok(&["build", "--force", "-o", "f.gdn", "keys.txt"]);
    let out = shell.ok(&["query", "--csv", "-f", "name", "f.gdn", "a.csv", "b.csv"]);
    assert_eq!(out, b"id,name\n1,rose\nname,id\nrose,2\n");
}

#[test]
fn json_lines_are_asked_by_a_path() {
    let shell = Shell::new();
    let lines = "{\"user\":{\"id\":7}}\n{\"user\":{\"id\":\"8\"}}\nnot json\n{}\n";
    let run = found(&shell, "7\n8\n", lines, &["--json-key", "user.id"]);
    assert_eq!(run, "{\"user\":{\"id\":7}}\n{\"user\":{\"id\":\"8\"}}\n");
    let run = shell.pipe(lines.as_bytes(), &["query", "--json-key", "user.id", "f.gdn"]);
    assert_eq!(
        run.err,
        "gardenia: warning: (stdin): 2 records have no JSON value at user.id, the first in line 3\n"
    );
}

#[test]
fn records_may_end_in_nul() {
    let shell = Shell::new();
    shell.write("keys", "a\nb\0c\0");
    shell.ok(&["build", "-0", "-o", "f.gdn", "keys"]);
    let run = shell.pipe(b"c\0a\nb\0d\0c", &["query", "-0", "f.gdn"]);
    assert_eq!(run.out, b"c\0a\nb\0c\0");
}

#[test]
fn keys_are_made_alike_before_they_are_hashed() {
    let shell = Shell::new();
    assert_eq!(found(&shell, "rose\n", "Rose\nROSE\ntulip\n", &["-i"]), "Rose\nROSE\n");
    assert_eq!(found(&shell, "rose\n", " rose\t\nrose\n", &["--trim"]), " rose\t\nrose\n");
    assert_eq!(found(&shell, "rose\n", "rose\r\nrose\n", &["--crlf"]), "rose\r\nrose\n");
    assert_eq!(found(&shell, "rose\n", "rose\r\nrose\n", &[]), "rose\n");
    assert_eq!(found(&shell, "\nrose\n", "\nrose\n\n", &["--skip-empty"]), "rose\n");
    assert_eq!(found(&shell, "rose\n", "\nrose\n\n\n", &["--skip-empty", "-v", "-c"]), "0\n");
    let sha1 = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8\n";
    assert_eq!(found(&shell, sha1, "password\nother\n", &["--hash", "sha1", "--upper"]), "password\n");
    for (options, said) in [
        (&["--upper"][..], "--hash"),
        (&["-f", "x"], "there is no field \"x\""),
        (&["--csv", "--delimiter", "ab", "-f1"], "one byte"),
        (&["--delimiter", ","], "--delimiter needs a field"),
        (&["--json-key", "a..b"], "not a valid JSON path"),
        (&["--json-key", "a", "--csv"], "cannot be used with"),
        (&["--no-header"], "--csv"),
    ] {
        let run = shell.pipe(b"", &[&["query", "f.gdn"], options].concat());
        assert!(run.complaint().contains(said), "{options:?}: {}", run.err);
    }
}

/// A file of many lines, packed: several members or frames, one after the other.
fn packed(shell: &Shell, lines: &[u8]) {
    let (first, second) = lines.split_at(lines.len() / 3);
    let mut gz = Vec::new();
    for part in [first, second] {
        let mut packer = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
        packer.write_all(part).unwrap();
        gz = packer.finish().unwrap();
    }
    shell.write("lines.gz", gz);
    let zst = [first, second].map(|part| zstd::encode_all(part, 1).unwrap()).concat();
    shell.write("lines.zst", zst);
    let bz2 = [first, second].map(|part| {
        let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packer.write_all(part).unwrap();
        packer.finish().unwrap()
    });
    shell.write("lines.bz2", bz2.concat());
    let xz = [first, second].map(|part| {
        let mut packer =
            lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        packer.write_all(part).unwrap();
        packer.finish().unwrap()
    });
    shell.write("lines.xz", xz.concat());
    let lz4 = [first, second].map(|part| {
        let mut packer = lz4_flex::frame::FrameEncoder::with_frame_info(
            lz4_flex::frame::FrameInfo::new().content_checksum(true), // as the program writes them
            Vec::new(),
        );
        packer.write_all(part).unwrap();
        packer.finish().unwrap()
    });
    shell.write("lines.lz4", lz4.concat());
    let legacy = lz4_flex::frame::FrameInfo::new().legacy_frame(true);
    let mut packer = lz4_flex::frame::FrameEncoder::with_frame_info(legacy, Vec::new());
    packer.write_all(lines).unwrap();
    shell.write("legacy.lz4", packer.finish().unwrap());
    // A frame to be skipped, and others behind it.
    let skipped = b"\x5a\x2a\x4d\x18\x04\0\0\0skip".to_vec();
    let zst =
        [skipped.clone(), zstd::encode_all(first, 1).unwrap(), skipped, zstd::encode_all(second, 1).unwrap()];
    shell.write("skipped.zst", zst.concat());
    // Twice, as by mistake.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&shell.read("lines.zst")).unwrap();
    shell.write("lines.zst.gz", packer.finish().unwrap());
}

/// All forms that are unpacked.
const PACKED: [&str; 7] =
    ["lines.gz", "lines.zst", "lines.bz2", "lines.xz", "lines.lz4", "skipped.zst", "lines.zst.gz"];

#[test]
fn compressed_input_is_unpacked_whatever_it_is_called() {
    let shell = Shell::new();
    let lines = numbers(0..100_000);
    shell.write("lines", &lines);
    packed(&shell, &lines);
    // This one has no checksum: what is damaged cannot be told.
    for name in ["lines", "legacy.lz4"].into_iter().chain(PACKED) {
        shell.ok(&["build", "--force", "--fpp", "0.1%", "-o", "f.gdn", name]);
        assert_eq!(shell.read("f.gdn"), {
            shell.ok(&["build", "--force", "--fpp", "0.1%", "-o", "g.gdn", "lines"]);
            shell.read("g.gdn")
        });
        // By a pipe, and under another name.
        let bytes = shell.read(name);
        assert_eq!(shell.pipe(&bytes, &["query", "f.gdn"]).quietly(), lines);
        shell.write("other.txt", &bytes);
        assert_eq!(shell.run(&["query", "f.gdn", "other.txt"]).quietly(), lines);
    }
    for name in PACKED {
        let bytes = shell.read(name);
        shell.write("short", &bytes[..bytes.len() / 2]);
        let run = shell.run(&["build", "-o", "none.gdn", "short"]);
        assert!(run.complaint().starts_with("gardenia: short: the compressed input"), "{}", run.err);
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0x55);
        shell.write("damaged", damaged);
        let run = shell.run(&["build", "-o", "none.gdn", "damaged"]);
        assert!(
            run.complaint().starts_with("gardenia: damaged: the compressed input is corrupted"),
            "{}",
            run.err
        );
        assert!(!shell.path("none.gdn").exists());
    }
    let bytes = shell.read("legacy.lz4");
    shell.write("short", &bytes[..bytes.len() / 2]);
    let run = shell.run(&["build", "-o", "none.gdn", "short"]);
    assert!(run.complaint().starts_with("gardenia: short: the compressed input"), "{}", run.err);
    // Lines that begin like one, and are none.
    for text in [&b"\x1f\n\x1f\x8c\n"[..], b"\x28\n", b"\x28\xb5\x2f", b"\x1f"] {
        let found = shell.pipe(text, &["query", "-v", "f.gdn"]);
        let expected = if text.ends_with(b"\n") { text.to_vec() } else { [text, b"\n"].concat() };
        assert_eq!(found.quietly(), expected);
    }
}

#[test]
fn threads_change_nothing() {
    let shell = Shell::new();
    let lines = numbers(0..300_000);
    shell.write("lines", &lines);
    packed(&shell, &lines);
    shell.write("odd", numbers(0..150_000));
    for threads in ["1", "2", "5", "0"] {
        let filter = format!("{threads}.gdn");
        shell.ok(&["build", "-j", threads, "--fpp", "0.1%", "-o", &filter, "odd"]);
        assert_eq!(shell.read(&filter), shell.read("1.gdn"));
        let one = shell.ok(&["query", "-n", "1.gdn", "lines"]);
        for file in ["lines", "lines.gz", "lines.zst"] {
            assert_eq!(shell.ok(&["query", "-n", "-j", threads, "1.gdn", file]), one, "{threads} {file}");
        }
        assert_eq!(shell.pipe(&lines, &["query", "-n", "-j", threads, "1.gdn"]).quietly(), one);
        let first = shell.ok(&["query", "-m", "70000", "-j", threads, "1.gdn", "lines"]);
        assert_eq!(first, numbers(0..70_000));
        // An input that fails in the middle has its first part printed, and is complained about.
        let bytes = shell.read("lines.gz");
        shell.write("short.gz", &bytes[..bytes.len() * 3 / 4]);
        let run = shell.run(&["query", "-v", "-j", threads, "1.gdn", "short.gz", "odd"]);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains("short.gz: the compressed input is truncated"), "{}", run.err);
        let alone = shell.run(&["query", "-v", "1.gdn", "short.gz", "odd"]);
        assert!(!run.out.is_empty() && run.out == alone.out);
    }
}

#[test]
fn a_question_is_answered_while_the_pipe_stays_open() {
    let shell = Shell::new();
    shell.write("keys", "rose\n");
    shell.ok(&["build", "-o", "f.gdn", "keys"]);
    for threads in ["1", "3"] {
        let mut command = shell.command(&["query", "-q", "-j", threads, "f.gdn"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"tulip\nrose\n").unwrap();
        assert_eq!(crate::common::finish_by_itself(child).code, Some(0), "{threads} threads");
    }
}

#[test]
fn a_line_of_a_gigabyte_is_a_line() {
    let shell = Shell::new();
    // Written by a thread of the test, a piece at a time.
    let give = |args: &[&str]| {
        let mut child = shell.command(args).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let piece = vec![b'x'; 1 << 20];
                (0..1024).for_each(|_| stdin.write_all(&piece).unwrap());
                stdin.write_all(b"\nrose\n").unwrap();
            });
            child.wait_with_output().unwrap()
        })
    };
    assert!(give(&["build", "--max-line", "1GiB", "--items", "10", "-o", "long.gdn"]).status.success());
    let count = give(&["query", "--max-line", "1GiB", "-c", "long.gdn"]);
    assert_eq!((count.status.code(), &*count.stdout), (Some(0), &b"2\n"[..]));
    let short = shell.pipe(&vec![b'x'; (1 << 20) - 1], &["query", "-c", "long.gdn"]);
    assert_eq!(short.out, b"0\n");
}

/// A tar archive of one file.
fn tar(text: &[u8]) -> Vec<u8> {
    let mut archive = vec![0; 1024];
    archive[..5].copy_from_slice(b"lines");
    archive[257..262].copy_from_slice(b"ustar");
    archive[512..512 + text.len()].copy_from_slice(text);
    archive
}

/// Text in UTF-16, with its mark.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    ['\u{feff}'].into_iter().chain(text.chars()).collect::<String>().encode_utf16().flat_map(bytes).collect()
}

#[test]
fn input_that_is_no_text_is_refused_and_the_rest_is_read() {
    let shell = Shell::new();
    shell.write("lines", "rose\ntulip\n");
    shell.ok(&["build", "-o", "f.gdn", "lines"]);
    for (bytes, what, hint) in [
        (&b"PK\x03\x04\x14\x00"[..], "a ZIP archive", "unzip -p"),
        (b"PAR1\x15\x04\x15", "a Parquet file", "as text or CSV"),
        (b"7z\xbc\xaf\x27\x1c\x00", "a 7z archive", "7z x -so"),
        (b"\xff\xfer\0o\0s\0e\0\n\0", "text in UTF-16", "iconv"),
        (b"\xfe\xff\0r\0o\0s\0e\0\n", "text in UTF-16", "iconv"),
        (b"\x1f\x9d\x90r", "a file of compress", "zcat"),
        (b"Obj\x01\x04", "an Avro file", "as text or CSV"),
        (b"SQLite format 3\0\x10", "an SQLite database", "sqlite3"),
        (b"ElfFile\0\0", "a Windows event log", "export it"),
        (&shell.read("f.gdn"), "a Gardenia filter", "-F"),
        (&tar(b"rose\n"), "a tar archive", "tar -xOf"),
        (b"PK\x05\x06\0\0\0\0", "an empty ZIP archive", "another file"),
        (b"Rar!\x1a\x07\x01\0", "a RAR archive", "unrar p"),
        (b"ARROW1\0\0\xff\xff", "an Arrow file", "as text or CSV"),
        (b"ORC\x0a\x06\x0a\x04\x08\x01\x50\0", "an ORC file", "as text or CSV"),
        (&utf16("привет\n", u16::to_le_bytes), "text in UTF-16", "iconv"),
        (&utf16("上海\r\n海\r\n", u16::to_le_bytes), "text in UTF-16", "iconv"),
        (&utf16("привет\n", u16::to_be_bytes), "text in UTF-16", "iconv"),
        (&utf16("上海上海上海\r\n", u16::to_le_bytes), "text in UTF-16", "iconv"),
        (&utf16("привет", u16::to_le_bytes), "text in UTF-16", "iconv"),
        (&utf16("東京 😀", u16::to_be_bytes), "text in UTF-16", "iconv"),
        (&utf16("Ābols\nābele\n", u16::to_le_bytes), "text in UTF-16", "iconv"),
    ] {
        // As it is, and within what is unpacked.
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        shell.write("odd.gz", packed.finish().unwrap());
        for args in [&["query", "f.gdn", "odd.gz"][..], &["query", "--confirm", "odd.gz", "lines"]] {
            let run = shell.run(args);
            assert!(run.complaint().contains(what), "{args:?} {what}: {}", run.err);
        }
        shell.write("odd", bytes);
        let run = shell.run(&["query", "--no-filename", "f.gdn", "odd", "lines"]);
        assert_eq!((run.code, &run.out[..]), (Some(2), &b"rose\ntulip\n"[..]), "{what}: {}", run.err);
        assert!(run.err.contains("odd: ") && run.err.contains(what) && run.err.contains(hint), "{}", run.err);
        assert!(shell.run(&["build", "-o", "none.gdn", "odd"]).complaint().contains(what));
        assert!(!shell.path("none.gdn").exists());
    }
    // Packed archives, and lists, are none either.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&tar(b"rose\n")).unwrap();
    shell.write("odd.tgz", packed.finish().unwrap());
    shell.write("odd", tar(b"rose\n"));
    for args in [
        &["query", "f.gdn", "odd.tgz"][..],
        &["query", "--confirm", "odd.tgz", "lines"],
        &["query", "--confirm", "odd", "lines"],
    ] {
        let run = shell.run(args);
        assert!(run.complaint().contains("a tar archive"), "{args:?}: {}", run.err);
    }
    // What only begins like that is text.
    for text in [
        "Obj\n",
        "SQLite format 3\n",
        "ElfFile\n",
        "PK",
        "PAR1\n",
        "PAR1A\n",
        "BZh9\n",
        "BZh91AY&SX\n",
        "7z\n",
        "\u{1f}\n",
    ] {
        let text = text.as_bytes();
        shell.pipe(text, &["build", "-q", "--force", "--fpp", "1e-9", "-o", "g.gdn"]).quietly();
        let out = shell.pipe(text, &["query", "g.gdn"]).quietly();
        assert_eq!(out.trim_ascii_end(), text.trim_ascii_end());
    }
    for binary in [
        &b"\xff\xfe not UTF-8 \xc3\n"[..],
        b"\xff\xfe\0\x01\n",
        b"\xff\xfe\0\x01\n\0\n",
        b"\xff\xfe\0\x01\nrose\n\0\n",
        b"\xff\xfeab\n\0\xd8\ncd\n",
        b"\xff\xfe\x41\xd8\x41\xd8\n",
        b"ORCA\0ORCHID\0\n",
    ] {
        shell.pipe(binary, &["build", "-q", "--force", "-o", "g.gdn"]).quietly();
        assert_eq!(shell.pipe(binary, &["query", "g.gdn"]).quietly(), binary);
    }
    // A line alone, without its end.
    let line = b"\xff\xfe not UTF-8 \xc3";
    shell.pipe(line, &["build", "-q", "--force", "-o", "g.gdn"]).quietly();
    assert_eq!(shell.pipe(line, &["query", "-c", "g.gdn"]).quietly(), b"1\n");
    // Packed without end.
    let mut layers = b"rose\n".to_vec();
    for _ in 0..6 {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&layers).unwrap();
        layers = packer.finish().unwrap();
    }
    shell.write("layers", layers);
    let run = shell.run(&["query", "f.gdn", "layers"]);
    assert!(run.complaint().contains("layers: compressed over and over again"), "{}", run.err);
}
