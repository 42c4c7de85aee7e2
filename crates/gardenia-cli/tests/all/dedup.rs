//! `gardenia dedup` as users meet it: against exact sets, with files, pipes, states, signals and
//! full disks.

use crate::common::{Run, Shell, has, numbers};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Lines of any bytes, of which many are equal; the last may lack its end.
    fn lines(&mut self, count: u64, different: u64) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..count {
            let mut line = Random(self.below(different));
            let length = [0, 1, 2, 7, 40, 200, 3000][line.below(7) as usize];
            let bytes = (0..length).map(|_| line.next() as u8).map(|b| if b == b'\n' { b'\r' } else { b });
            text.extend(bytes);
            text.push(b'\n');
        }
        if self.below(2) == 0 {
            text.pop();
        }
        text
    }
}

/// The lines of a text, without their ends.
fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

fn join<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| [line, b"\n"]).flatten().copied().collect()
}

/// What `awk '!seen[$0]++'` prints.
fn once(text: &[u8]) -> Vec<u8> {
    let mut seen = HashSet::new();
    join(split(text).into_iter().filter(|line| seen.insert(*line)))
}

/// Waits for a command whose output was taken; its exit code and what it said.
fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("gardenia ends");
    (output.status.code(), String::from_utf8(output.stderr).expect("messages are UTF-8"))
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
}

fn complaint(run: &Run) -> String {
    run.complaint().to_owned()
}

#[test]
fn prints_what_an_exact_set_would_print() {
    let shell = Shell::new();
    for seed in 0..30 {
        let mut random = Random(seed);
        let (count, different) = (1 + random.below(3_000), 1 + random.below(2_000));
        let text = random.lines(count, different);
        shell.write("in", &text);
        let truth = once(&text);
        assert_eq!(shell.run(&["dedup", "in"]).quietly(), truth, "file, seed {seed}");
        assert_eq!(shell.pipe(&text, &["dedup"]).quietly(), truth, "pipe, seed {seed}");
        let file = File::open(shell.path("in")).unwrap();
        let output = shell.command(&["dedup", "-", "--line-buffered"]).stdin(file).output().unwrap();
        assert_eq!(output.stdout, truth, "redirected, seed {seed}");
        assert_eq!(shell.run(&["dedup", "--exact", "in"]).quietly(), truth, "exact, seed {seed}");
        let coarse = shell.run(&["dedup", "--exact", "--fpp", "0.5", "in"]).quietly();
        assert_eq!(coarse, truth, "exact with a bad filter, seed {seed}");
        for size in [["--items", "10k"], ["--memory", "64kB"], ["--window", "2000"]] {
            assert_eq!(
                shell.run(&["dedup", size[0], size[1], "in"]).quietly(),
                truth,
                "{size:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn lines_are_bytes_and_every_printed_one_has_an_end() {
    let shell = Shell::new();
    for (input, output) in [
        (&b""[..], &b""[..]),
        (b"\n", b"\n"),
        (b"\n\n\n", b"\n"),
        (b"rose", b"rose\n"),
        (b"rose\nrose", b"rose\n"),
        (b"rose\ntulip\nrose", b"rose\ntulip\n"),
        (b"rose\r\nrose\nrose\r\n", b"rose\r\nrose\n"),
        (b"a\0b\na\0\na\0b\na", b"a\0b\na\0\na\n"),
        (b"\xff\xfe\n\xff\n\xff\xfe", b"\xff\xfe\n\xff\n"),
    ] {
        assert_eq!(shell.pipe(input, &["dedup"]).quietly(), output, "{input:?}");
        shell.write("in", input);
        assert_eq!(shell.run(&["dedup", "in"]).quietly(), output, "{input:?}");
        assert_eq!(shell.run(&["dedup", "--exact", "in"]).quietly(), output, "{input:?}");
    }
    // A line that ends with one input does not go on in the next.
    shell.write("one", "rose\ntulip");
    shell.write("two", "rose\ntulip\nlily");
    assert_eq!(shell.run(&["dedup", "one", "two"]).quietly(), b"rose\ntulip\nlily\n");
    assert_eq!(shell.run(&["dedup", "--exact", "one", "two"]).quietly(), b"rose\ntulip\nlily\n");
}

#[test]
fn lines_may_be_longer_than_any_buffer() {
    let shell = Shell::new();
    let long = vec![b'x'; 100 << 20];
    let mut text = b"rose\n".to_vec();
    for _ in 0..2 {
        text.extend_from_slice(&long);
        text.push(b'\n');
    }
    text.extend_from_slice(b"rose\ntulip\n");
    shell.write("in", &text);
    let out = shell.run(&["dedup", "--max-line", "100MiB", "in"]).quietly();
    assert!(out.len() == long.len() + 12 && out.starts_with(b"rose\nxxx") && out.ends_with(b"xxx\ntulip\n"));
}

#[test]
fn a_growing_chain_of_a_long_pipe_prints_what_a_file_does() {
    let shell = Shell::new();
    let mut random = Random(1);
    let mut text = Vec::new();
    (0..2_500_000).for_each(|_| writeln!(text, "{:x}", random.below(1_700_000)).unwrap());
    shell.write("in", &text);
    let truth = once(&text);
    for out in [shell.pipe(&text, &["dedup", "--fpp", "1e-7"]), shell.run(&["dedup", "--fpp", "1e-7", "in"])]
    {
        assert!(out.quietly() == truth);
    }
    // So low a rate that no chain has it.
    assert!(shell.run(&["dedup", "--fpp", "1e-9", "in"]).quietly() == truth);
}

#[test]
fn what_a_read_gave_is_answered_at_once() {
    let shell = Shell::new();
    for extra in [&[][..], &["--line-buffered"], &["--state", "s.gdn"], &["--window", "10"]] {
        let args = [&["dedup"], extra].concat();
        let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        for line in ["rose\n", "tulip\n", "lily\n"] {
            stdin.write_all(format!("{line}rose\n").as_bytes()).unwrap();
            let mut answer = String::new();
            stdout.read_line(&mut answer).unwrap(); // waits for ever if nothing is answered
            assert_eq!(answer, line, "{extra:?}");
        }
        drop(stdin);
        assert_eq!(end(child), (Some(0), String::new()));
    }
}

#[test]
fn a_state_goes_on_where_it_ended() {
    let shell = Shell::new();
    let mut random = Random(7);
    let days: Vec<Vec<u8>> = (0..5).map(|_| random.lines(2_000, 3_000)).collect();
    for options in
        [&[][..], &["--items", "10k"], &["--items", "10k", "--fpp", "1e-4"], &["--memory", "100kB"]]
    {
        let (mut all, mut seen, state) =
            (Vec::new(), HashSet::new(), format!("state{}.gdn", options.join("")));
        for (number, day) in days.iter().enumerate() {
            shell.write("day", day);
            // Options that a state was begun with need not be said again.
            let said = if number < 3 { options } else { &[] };
            let out = shell.run(&[&["dedup", "--state", &state, "day"], said].concat()).quietly();
            let truth = join(split(day).into_iter().filter(|line| seen.insert(line.to_vec())));
            assert_eq!(out, truth, "{options:?}, day {number}");
            all.extend(out);
        }
        // It is a filter file like any other, and nothing else is left behind.
        shell.ok(&["info", "--verify", &state]);
        let found = shell.pipe(&all, &["query", "-c", &state]).quietly();
        assert_eq!(found, format!("{}\n", seen.len()).into_bytes());
    }
}

#[test]
fn a_filter_that_was_built_elsewhere_can_be_a_state() {
    let shell = Shell::new();
    shell.write("old", numbers(0..1_000));
    for kind in ["bloom", "blocked", "scalable"] {
        shell.ok(&["build", "--force", "--kind", kind, "--fpp", "1e-6", "-o", "seen.gdn", "old"]);
        let out = shell.pipe(&numbers(500..1_100), &["dedup", "--state", "seen.gdn"]);
        assert_eq!(out.out, numbers(1_000..1_100), "{kind}: {}", out.err);
        let again = shell.pipe(&numbers(500..1_101), &["dedup", "--quiet", "--state", "seen.gdn"]).quietly();
        assert_eq!(again, numbers(1_100..1_101), "{kind}");
    }
}

/// Starts a run that goes on from `s.gdn`, feeds it, and ends it by a signal as soon as `lines`
/// came out of it.
fn interrupted(shell: &Shell, input: &[u8], extra: &[&str], signal: &str, lines: usize) -> Vec<u8> {
    let args = [&["dedup", "--state", "s.gdn"], extra].concat();
    let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let number = [("-HUP", 1), ("-INT", 2), ("-TERM", 15)].into_iter().find(|(name, _)| *name == signal);
    let (input, number) = (input.to_vec(), number.expect("a signal").1);
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(&input); // it may stop reading
        stdin // kept open: that must not keep it from ending
    });
    let mut out = Vec::new();
    (0..lines).for_each(|_| assert!(stdout.read_until(b'\n', &mut out).unwrap() > 0));
    kill(&child, signal);
    stdout.read_to_end(&mut out).unwrap();
    let stdin = feeder.join().unwrap();
    assert_eq!(end(child), (Some(128 + number), String::new()));
    drop(stdin);
    out
}

/// Whether a program that is started here hears of hangups: not under `nohup`, whose wish it keeps.
fn hangups_arrive() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 0)
}

#[test]
fn after_a_signal_no_line_is_lost_and_none_is_printed_twice() {
    let signals =
        ["-INT", "-TERM", "-HUP"].into_iter().filter(|signal| *signal != "-HUP" || hangups_arrive());
    for (signal, waits) in signals.flat_map(|signal| [(signal, false), (signal, true)]) {
        let shell = Shell::new();
        let input = numbers(0..400_000);
        // Either it waits for more input when the signal comes, or it is in the middle of it.
        let fed = if waits { numbers(0..1_000) } else { input.clone() };
        let first = interrupted(&shell, &fed, &[], signal, 1_000);
        let second = interrupted(&shell, &input, &["--quiet"], signal, 2_000);
        let rest = shell.pipe(&input, &["dedup", "--state", "s.gdn"]).quietly();
        assert!(first.len() >= 3_890 && first.ends_with(b"\n") && second.ends_with(b"\n"));
        assert!([first, second, rest].concat() == input, "{signal}, waits {waits}");
    }
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let shell = Shell::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" dedup --state s.gdn", env!("CARGO_BIN_EXE_gardenia")]);
    command.current_dir(shell.path("")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    for name in ["rose\n", "tulip\n"] {
        stdin.write_all(name.as_bytes()).unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap(); // so it is past its start
        assert_eq!(line, name);
        kill(&child, "-HUP");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(stdin);
    assert_eq!(end(child), (Some(0), String::new()));
    assert_eq!(shell.pipe(b"rose\ntulip\nlily\n", &["dedup", "--state", "s.gdn"]).quietly(), b"lily\n");
}

#[test]
fn a_second_signal_ends_a_run_whose_output_nobody_takes() {
    let shell = Shell::new();
    let input = numbers(0..200_000);
    shell.write("in", &input);
    let mut child = shell.command(&["dedup", "--state", "s.gdn", "in"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut out = vec![0; 1];
    stdout.read_exact(&mut out).unwrap(); // it prints, and soon the pipe is full
    kill(&child, "-INT");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none()); // it waits until it can print the rest of the block
    kill(&child, "-INT");
    assert_eq!(end(child), (Some(130), String::new()));
    stdout.read_to_end(&mut out).unwrap();
    let rest = shell.run(&["dedup", "--state", "s.gdn", "in"]).quietly();
    let printed: HashSet<&[u8]> = split(&out).into_iter().chain(split(&rest)).collect();
    assert!(split(&input).into_iter().all(|line| printed.contains(line)));
}

#[test]
fn a_signal_ends_a_run_that_was_asked_for_statistics_with_them() {
    let shell = Shell::new();
    let mut child =
        shell.command(&["dedup", "--state", "s.gdn", "--json"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    stdin.write_all(b"rose\nrose\n").unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    kill(&child, "-TERM");
    let (code, said) = end(child);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &json["read"], &json["printed"]), (Some(143), &2.into(), &1.into()));
}

#[test]
fn when_the_reader_goes_away_no_line_is_lost() {
    for options in [&["--fpp", "1e-6"][..], &["--items", "1M"], &["--window", "1M"], &["--decay"]] {
        let shell = Shell::new();
        let input = numbers(0..300_000);
        shell.write("in", &input);
        let args = [&["dedup", "--quiet", "--state", "s.gdn", "in"], options].concat();
        let mut child = shell.command(&args).spawn().unwrap();
        let mut read = vec![0; 100_000];
        child.stdout.take().unwrap().read_exact(&mut read).unwrap(); // and then it is closed
        let (code, said) = end(child);
        assert_eq!(code, Some(0), "{said}");
        let rest = shell.run(&["dedup", "--quiet", "--state", "s.gdn", "in"]).out;
        let printed: HashSet<&[u8]> = split(&read).into_iter().chain(split(&rest)).collect();
        let lost = split(&input).into_iter().filter(|line| !printed.contains(line)).count();
        assert_eq!(lost, 0, "{options:?}");
        // What was written is not printed again, but for the block in which it happened.
        let twice = read.len() + rest.len() - input.len();
        assert!(options[0] != "--items" || twice <= 600_000, "{twice}");
    }
}

#[test]
fn what_could_not_be_printed_is_not_in_the_state() {
    if !has("/dev/full") {
        return;
    }
    let shell = Shell::new();
    shell.ok(&["dedup", "--state", "s.gdn", "/dev/null"]);
    let full = || File::options().write(true).open("/dev/full").unwrap();
    shell.write("in", "rose\ntulip\n");
    let output = shell.command(&["dedup", "--state", "s.gdn", "in"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("gardenia: stdout: "));
    assert_eq!(shell.run(&["dedup", "--state", "s.gdn", "in"]).quietly(), b"rose\ntulip\n");
    // A filter that forgets is not saved then, and leaves no empty file.
    let window = ["dedup", "--window", "9", "--state", "t.gdn", "in"];
    assert_eq!(shell.command(&window).stdout(full()).output().unwrap().status.code(), Some(2));
    assert!(!shell.path("t.gdn").exists());
}

#[test]
fn a_full_disk_leaves_the_old_state_whole() {
    let shell = Shell::new();
    shell.write("old", numbers(0..1_000));
    shell.ok(&["dedup", "--items", "1M", "--state", "s.gdn", "old"]);
    let before = shell.read("s.gdn");
    shell.write("new", numbers(0..2_000));
    // The limit is in blocks of 512 or 1024 bytes, and the state has 3.6 MB. Its signal ends a process that does not
    // ignore it.
    for (trap, code) in [("trap '' XFSZ;", Some(2)), ("", None)] {
        let script = format!("{trap} ulimit -c 0; ulimit -f 500; exec \"$0\" dedup --state s.gdn new");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_gardenia")]).current_dir(shell.path("."));
        let output = command.output().unwrap();
        assert_eq!(output.stdout, numbers(1_000..2_000));
        assert_eq!(output.status.code(), code, "{trap}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(code.is_none() || said.starts_with("gardenia: s.gdn: the state is not saved: "), "{said}");
        assert!(shell.read("s.gdn") == before);
    }
    // A state that did not exist before is not there afterwards, not even as an empty file.
    for options in ["", "--window 1M"] {
        let script =
            format!("trap '' XFSZ; ulimit -f 500; exec \"$0\" dedup --items 1M --state t.gdn {options} new");
        let script = if options.is_empty() { script } else { script.replace("--items 1M", "") };
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_gardenia")]).current_dir(shell.path("."));
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), shell.path("t.gdn").exists()), (Some(2), false), "{options}");
    }
    // Printed again, since it is not in the state, and the lock of the dead process does not hold.
    assert_eq!(shell.run(&["dedup", "--state", "s.gdn", "new"]).quietly(), numbers(1_000..2_000));
}

#[test]
fn inputs_that_cannot_be_read_do_not_stop_the_others() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("folder")).unwrap();
    shell.write("a", "rose\ntulip\n");
    shell.write("b", "tulip\nlily\n");
    shell.write("closed", "secret\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(shell.path("closed"), PermissionsExt::from_mode(0o000)).unwrap();
    }
    for options in [&[][..], &["--exact"], &["--state", "s.gdn"], &["--count"]] {
        let run = shell.run(&[&["dedup", "a", "missing", "folder", "b"], options].concat());
        let lines =
            if options == ["--count"] { "1\trose\n2\ttulip\n1\tlily\n" } else { "rose\ntulip\nlily\n" };
        assert_eq!((run.code, run.text()), (Some(2), lines), "{options:?}");
        let said: Vec<&str> = run.err.lines().collect();
        assert_eq!(
            said,
            ["gardenia: missing: No such file or directory", "gardenia: folder: Is a directory"]
        );
    }
    // Who may read everything is not refused.
    if File::open(shell.path("closed")).is_err() {
        let run = shell.run(&["dedup", "closed", "a"]);
        assert_eq!((run.code, run.text()), (Some(2), "rose\ntulip\n"));
        assert_eq!(run.err, "gardenia: closed: Permission denied\n");
    }
    // What was read is in the state, though something was missing.
    assert_eq!(shell.run(&["dedup", "--state", "s.gdn", "a", "b"]).quietly(), b"");
}

#[test]
fn a_state_that_cannot_be_one_is_refused_before_anything_is_read() {
    let shell = Shell::new();
    shell.write("in", numbers(0..100));
    std::fs::create_dir(shell.path("folder")).unwrap();
    shell.write(
        "text",
        "this is no filter, and long enough to have a header of 64 bytes and more\n".repeat(9),
    );
    for kind in ["counting", "cuckoo", "fuse", "count-min"] {
        shell.ok(&["build", "--kind", kind, "-o", kind, "in"]);
        let said = complaint(&shell.run(&["dedup", "--state", kind, "in"]));
        assert!(said.contains("cannot be the state of dedup") && said.contains(kind), "{said}");
    }
    shell.ok(&["dedup", "--state", "s.gdn", "in"]);
    let whole = shell.read("s.gdn");
    shell.write("cut", &whole[..whole.len() / 2]);
    let mut turned = whole.clone();
    turned[whole.len() / 2] ^= 1;
    shell.write("turned", &turned);
    for (state, reason) in [
        ("-", "pipe"),
        ("folder", "folder: Is a directory"),
        ("text", "text: not a Gardenia filter"),
        ("cut", "cut: "),
        ("turned", "turned: "),
        ("in", "in: is one of the inputs"),
        ("missing/s.gdn", "missing/s.gdn: No such file or directory"),
    ] {
        let run = shell.run(&["dedup", "--state", state, "in"]);
        assert!(complaint(&run).contains(reason), "{state}: {}", run.err);
    }
    assert!(shell.read("cut") == whole[..whole.len() / 2] && shell.read("text").starts_with(b"this"));
}

#[test]
fn a_state_remembers_what_it_was_made_for() {
    let shell = Shell::new();
    shell.ok(&["dedup", "--state", "grows", "--fpp", "1e-4", "/dev/null"]);
    shell.ok(&["dedup", "--state", "sized", "--items", "1000", "/dev/null"]);
    shell.ok(&["dedup", "--state", "capped", "--memory", "10kB", "/dev/null"]);
    shell.ok(&["dedup", "--state", "window", "--window", "100", "/dev/null"]);
    shell.ok(&["dedup", "--state", "decay", "--decay", "--memory", "10kB", "--fpp", "1%", "/dev/null"]);
    shell.ok(&["dedup", "--state", "int", "--int", "/dev/null"]);
    for (args, reason) in [
        (&["grows", "--fpp", "1e-5"][..], "created with --fpp 0.0001; this run asks for --fpp 0.00001"),
        (&["grows", "--items", "10"], "created with no fixed size; this run asks for --items 10"),
        (&["sized", "--items", "2000"], "created with --items 1000; this run asks for --items 2000"),
        (&["capped", "--memory", "20kB"], "created with --memory 10000; this run asks for --memory 20000"),
        (&["window", "--window", "200"], "created with --window 100; this run asks for --window 200"),
        (&["window", "--decay"], "created with --window 100; this run asks for --decay"),
        (
            &["decay", "--window", "100"],
            "created with --decay --memory 10000; this run asks for --window 100",
        ),
        (&["decay", "--fpp", "2%"], "created with --fpp 0.01; this run asks for --fpp 0.02"),
        (&["grows", "--int"], "created for whole lines; this run compares --int"),
        (&["int"], "created for --int; this run compares whole lines"),
    ] {
        let before = shell.read(args[0]);
        let run = shell.run(&[&["dedup", "/dev/null", "--state"], args].concat());
        assert!(complaint(&run).contains(reason), "{args:?}: {}", run.err);
        assert!(run.err.contains("\nhint: ") && shell.read(args[0]) == before);
    }
    for args in [
        &["grows", "--fpp", "1/10000"][..],
        &["sized", "--items", "1k", "--fpp", "1e-6"],
        &["capped", "--memory", "10kB"],
        &["window"],
        &["decay", "--decay", "--memory", "10kB"],
        &["int", "--int"],
    ] {
        shell.run(&[&["dedup", "/dev/null", "--state"], args].concat()).quietly();
    }
}

#[test]
fn two_processes_do_not_work_with_one_state() {
    let shell = Shell::new();
    let mut first = shell.command(&["dedup", "--state", "s.gdn"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (first.stdin.take().unwrap(), BufReader::new(first.stdout.take().unwrap()));
    stdin.write_all(b"rose\n").unwrap();
    stdout.read_line(&mut String::new()).unwrap(); // now it certainly has the lock
    let said = complaint(&shell.pipe(b"rose\n", &["dedup", "--state", "s.gdn"]));
    assert_eq!(said, "gardenia: s.gdn: another process is using it");
    kill(&first, "-KILL");
    end(first);
    // It died without a word: its lock is given back, and what it printed is not in the state.
    assert_eq!(shell.pipe(b"rose\n", &["dedup", "--state", "s.gdn"]).quietly(), b"rose\n");
    assert_eq!(shell.pipe(b"rose\n", &["dedup", "--state", "s.gdn"]).quietly(), b"");
}

#[test]
fn a_window_forgets_what_is_older_than_two_of_it_and_nothing_younger_than_one() {
    let shell = Shell::new();
    // A line comes after `before` others, and again after `gap` more.
    let again = |before: u64, gap: u64| {
        let others = numbers(1_000_000..1_000_000 + before);
        let text = [others, b"rose\n".to_vec(), numbers(0..gap), b"rose\n".to_vec()].concat();
        let out = shell.pipe(&text, &["dedup", "--window", "100"]).quietly();
        out.ends_with(b"rose\n") && gap > 0
    };
    for before in [0, 1, 49, 50, 98, 99, 100, 150] {
        assert!([0, 1, 50, 99].into_iter().all(|gap| !again(before, gap)), "{before}");
        assert!([200, 201, 1_000].into_iter().all(|gap| again(before, gap)), "{before}");
    }
    // The window goes on with its state.
    let run = |text: &[u8]| shell.pipe(text, &["dedup", "--window", "100", "--state", "w.gdn"]).quietly();
    run(b"rose\n");
    assert_eq!(run(&numbers(0..99)), numbers(0..99));
    assert_eq!(run(b"rose\n"), b"");
    run(&numbers(1_000..2_000));
    assert_eq!(run(b"rose\n"), b"rose\n");
}

#[test]
fn a_decaying_filter_knows_the_young_and_forgets_the_old() {
    let shell = Shell::new();
    let args = &["dedup", "--decay", "--memory", "64kB", "--fpp", "1%", "--json"];
    // Each line three times in a row, for much longer than 131,072 cells remember.
    let text: Vec<u8> =
        split(&numbers(0..300_000)).into_iter().flat_map(|line| join([line, line, line])).collect();
    let run = shell.pipe(&[text, numbers(0..1_000)].concat(), args);
    let json: serde_json::Value = serde_json::from_str(&run.err).unwrap();
    let printed = split(&run.out).len() as f64;
    let old = split(&run.out[run.out.len() - 8_000..]).into_iter().filter(|line| line.len() < 4).count();
    assert!(old > 900, "{old} of 1,000 lines that are long gone are printed again");
    // Of 301,000 new lines as many are lost as it says.
    let (lost, told) = (301_000.0 - printed, json["lost"].as_f64().unwrap());
    assert!((lost - told).abs() < 5.0 * told.sqrt() + 0.01 * told, "lost {lost}, told {told}");
    assert_eq!(json["memory_bytes"], 64_000);
}

#[test]
fn repeated_lines_are_printed_when_they_come_for_the_second_time() {
    let shell = Shell::new();
    let mut random = Random(3);
    for _ in 0..10 {
        let text = random.lines(3_000, 1_500);
        let (mut counts, mut truth) = (HashMap::new(), Vec::new());
        for line in split(&text) {
            let count = counts.entry(line).or_insert(0);
            *count += 1;
            if *count == 2 {
                truth.push(line);
            }
        }
        assert_eq!(shell.pipe(&text, &["dedup", "-d"]).quietly(), join(truth));
    }
}

#[test]
fn counts_stand_before_the_lines_in_the_order_of_their_first_coming() {
    let shell = Shell::new();
    let text = Random(5).lines(5_000, 2_000);
    shell.write("in", &text);
    let (mut counts, mut order) = (HashMap::new(), Vec::new());
    for line in split(&text) {
        *counts.entry(line).or_insert_with(|| {
            order.push(line);
            0u64
        }) += 1;
    }
    let out = shell.run(&["dedup", "-c", "in"]).quietly();
    let told: Vec<(u64, &[u8])> = split(&out)
        .into_iter()
        .map(|line| {
            let tab = line.iter().position(|&byte| byte == b'\t').unwrap();
            (std::str::from_utf8(&line[..tab]).unwrap().parse().unwrap(), &line[tab + 1..])
        })
        .collect();
    assert_eq!(told.iter().map(|(_, line)| *line).collect::<Vec<_>>(), order);
    assert!(told.iter().all(|(count, line)| *count >= counts[line])); // never too small
    let right = told.iter().filter(|(count, line)| *count == counts[line]).count();
    assert!(right as f64 > 0.99 * order.len() as f64, "{right} of {}", order.len());
}

#[test]
fn two_passes_need_files() {
    let shell = Shell::new();
    for option in ["--exact", "-c"] {
        let run = shell.pipe(b"rose\n", &["dedup", option]);
        assert!(complaint(&run).contains("(stdin): "), "{}", run.err);
        assert!(run.err.ends_with("hint: write it to a file first\n"));
    }
    shell.write("in", "7\n007\n");
    assert!(complaint(&shell.run(&["dedup", "--exact", "--int", "in"])).contains("as they are written"));
    assert_eq!(shell.run(&["dedup", "--int", "in"]).quietly(), b"7\n");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let shell = Shell::new();
    for args in [
        &["--items", "5", "--memory", "1kB"][..],
        &["--window", "5", "--decay"],
        &["--window", "5", "--items", "5"],
        &["--exact", "--state", "s.gdn"],
        &["--exact", "-c"],
        &["-d", "-c"],
        &["-d", "--state", "s.gdn"],
        &["--fpp", "0"],
        &["--fpp", "1"],
        &["--fpp", "2", "--exact", "in"],
        &["--window", "0"],
        &["--items", "0"],
        &["--memory", "0"],
        &["--memory", "1000T"],
        &["--items", "1000T"],
        &["--state", "s.gdn", "--items", "1000T"],
    ] {
        shell.write("in", "rose\n");
        complaint(&shell.run(&[&["dedup"], args].concat()));
        assert!(!shell.path("s.gdn").exists(), "{args:?}");
    }
}

#[test]
fn statistics_tell_how_many_lines_were_lost() {
    let shell = Shell::new();
    let text = [numbers(0..200_000), numbers(0..50_000)].concat();
    shell.write("in", &text);
    for options in [
        &["--fpp", "1%"][..],
        &["--fpp", "1%", "--items", "200k"],
        &["--fpp", "1%", "--memory", "240kB"],
        &["--fpp", "1%", "--memory", "100kB"],
        &["--fpp", "1%", "--state", "grows"],
        &["--fpp", "1%", "--state", "sized", "--items", "100k"],
        &["--fpp", "1%", "--window", "50k"],
    ] {
        let run = shell.run(&[&["dedup", "--quiet", "--json", "in"], options].concat());
        assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{options:?}: {}", run.err);
        let json: serde_json::Value = serde_json::from_str(&run.err).unwrap();
        let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = vec![
            "read",
            "printed",
            "dropped",
            "lost",
            "lost_low",
            "lost_high",
            "wrong",
            "fpp",
            "memory_bytes",
            "mode",
        ];
        known.sort_unstable();
        assert_eq!(fields, known);
        let number = |field: &str| json[field].as_f64().unwrap();
        let printed = split(&run.out).len() as f64;
        assert_eq!((number("read"), number("printed")), (250_000.0, printed), "{options:?}");
        assert_eq!(number("dropped"), 250_000.0 - printed);
        let new = if options.contains(&"--window") { 250_000.0 } else { 200_000.0 };
        let (lost, told) = (new - printed, number("lost"));
        // Chance, and what a few measurements leave out.
        assert!(
            (lost - told).abs() < 5.0 * told.sqrt() + 0.03 * told,
            "{options:?}: lost {lost}, told {told}"
        );
        assert!(
            number("lost_low") <= told && told <= number("lost_high") && told > 0.0,
            "{options:?}: {json}"
        );
        assert!(number("memory_bytes") > 90_000.0 && number("wrong") == 0.0);
    }
    // None of these came twice: -d prints those that the filter takes for known.
    let run = shell.pipe(&numbers(0..200_000), &["dedup", "-d", "--fpp", "1%", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.err).unwrap();
    let (printed, wrong) = (split(&run.out).len() as f64, json["wrong"].as_f64().unwrap());
    assert!((printed - wrong).abs() < 5.0 * wrong.sqrt() + 0.03 * wrong, "printed {printed}, told {wrong}");
    let exact: serde_json::Value =
        serde_json::from_str(&shell.run(&["dedup", "--exact", "--json", "in"]).err).unwrap();
    assert_eq!(
        (&exact["printed"], &exact["lost"], &exact["mode"]),
        (&200_000.into(), &0.0.into(), &"exact".into())
    );
    let said = shell.run(&["dedup", "--stats", "in"]).err;
    assert!(said.starts_with("250,000 lines read, 200,000 printed, 50,000 dropped, probably 0."), "{said}");
}

#[test]
fn a_filter_that_is_full_says_so() {
    let shell = Shell::new();
    let text = numbers(0..100_000);
    let run = shell.pipe(&text, &["dedup", "--memory", "10kB"]);
    let said: Vec<&str> = run.err.lines().collect();
    assert_eq!((run.code, said.len()), (Some(0), 3), "{}", run.err);
    assert!(
        said[0].starts_with("gardenia: the filter is full: after ")
            && said[1].starts_with("hint: raise --memory")
    );
    assert!(said[2].starts_with("100,000 lines read, ") && said[2].contains("lost"));
    assert_eq!(shell.pipe(&text, &["dedup", "--memory", "10kB", "--quiet"]).err, "");
    assert_eq!(shell.pipe(&text, &["dedup", "--memory", "1MB"]).quietly(), text);
}

#[test]
fn records_are_compared_by_their_keys_and_printed_whole() {
    let shell = Shell::new();
    shell.write("in.csv", "id,name\n1,rose\n2,tulip\n1,iris\n");
    shell.write("more.csv", "name,id\nlily,2\nlotus,3\n");
    shell.write("in.jsonl", "{\"id\":1}\n{\"x\":1}\n{\"id\": 1, \"x\": 2}\n{\"x\":1}\n");
    for exact in [&[][..], &["--exact"]] {
        let run = |args: &[&str]| shell.run(&[&["dedup"], exact, args].concat());
        let out = run(&["--csv", "-f", "id", "in.csv", "more.csv"]).quietly();
        assert_eq!(String::from_utf8(out).unwrap(), "id,name\n1,rose\n2,tulip\nlotus,3\n", "{exact:?}");
        // Records without a key are nobody's repeat.
        let json = run(&["--json-key", "id", "in.jsonl"]);
        assert_eq!(json.text(), "{\"id\":1}\n{\"x\":1}\n{\"x\":1}\n", "{exact:?}");
        assert!(json.err.contains("2 records have no JSON value at id"), "{}", json.err);
    }
    let repeated = shell.run(&["dedup", "-d", "--csv", "-f", "id", "in.csv", "more.csv"]).quietly();
    assert_eq!(repeated, b"id,name\n1,iris\nlily,2\n");
    let counted = shell.run(&["dedup", "-c", "--csv", "-f", "id", "in.csv", "more.csv"]).quietly();
    assert_eq!(counted, b"2\t1,rose\n2\t2,tulip\n1\tlotus,3\n");
    assert_eq!(shell.pipe(b"a\0b\0a\0", &["dedup", "-0"]).quietly(), b"a\0b\0");
}

#[test]
fn threads_print_the_same_lines() {
    let shell = Shell::new();
    let text: Vec<u8> =
        (0..300_000u64).flat_map(|at| format!("{}\n", at * at % 100_003).into_bytes()).collect();
    shell.write("in", &text);
    let one = shell.run(&["dedup", "in"]).quietly();
    for threads in ["2", "4"] {
        assert_eq!(shell.run(&["dedup", "-j", threads, "in"]).quietly(), one);
        assert_eq!(shell.pipe(&text, &["dedup", "-j", threads]).quietly(), one);
        assert_eq!(shell.run(&["dedup", "--exact", "-j", threads, "in"]).quietly(), one);
    }
}

#[test]
fn a_state_that_was_only_begun_is_none() {
    let shell = Shell::new();
    // What a process leaves that was killed before it saved its first state.
    shell.write("s.gdn", "");
    assert_eq!(shell.pipe(b"rose\n", &["dedup", "--state", "s.gdn"]).quietly(), b"rose\n");
    assert_eq!(shell.pipe(b"rose\n", &["dedup", "--state", "s.gdn"]).quietly(), b"");
}
