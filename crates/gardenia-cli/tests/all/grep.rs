//! `gardenia query --confirm LIST` beside GNU `grep -xFf LIST`: the same lines, in the same order,
//! with the same exit code.

use crate::common::Shell;
use std::process::{Command, Stdio};

/// A fixed sequence of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }
}

/// Lines that lists and files are drawn from: text, carriage returns, bytes that are no text,
/// blanks, nothing.
const LINES: [&[u8]; 16] = [
    b"rose",
    b"tulip",
    b"rose tulip",
    b" rose",
    b"",
    b"rose\r",
    b"tulip\r",
    b"\r",
    b"Rose",
    b"ros",
    b"\0",
    b"a\0b",
    b"\xff\xfe\0\x01",
    b"x\x80y",
    b"7",
    b"77",
];

/// Some of the lines, or records that end in NUL, the last perhaps without an end.
fn text(random: &mut Random, most: usize) -> Vec<u8> {
    let count = random.below(most + 1);
    let end = if random.one_in(6) { 0 } else { b'\n' };
    let mut text = Vec::new();
    for _ in 0..count {
        text.extend_from_slice(LINES[random.below(LINES.len())]);
        text.push(end);
    }
    if random.one_in(3) {
        text.pop();
    }
    text
}

/// A folder of lists, files and folders.
fn scene(random: &mut Random) -> Shell {
    let shell = Shell::new();
    for folder in ["d", "d/e", "d/empty"] {
        std::fs::create_dir(shell.path(folder)).unwrap();
    }
    for list in ["list1", "list2", "list3"] {
        shell.write(list, text(random, 8));
    }
    for file in FILES {
        shell.write(file, text(random, 30));
    }
    shell.write("empty", "");
    // A line that is many blocks long, and many lines.
    shell.write("d/long", [&b"x".repeat(600_000)[..], b"\nrose\n"].concat());
    shell.write("many", b"rose\nlily\n7\n".repeat(30_000));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("b.log", shell.path("d/link")).unwrap();
        std::os::unix::fs::symlink("d", shell.path("folder-link")).unwrap();
    }
    shell
}

const FILES: [&str; 7] = ["a.txt", "b.log", "c", "d/a.txt", "d/z.log", "d/e/deep.txt", "d/e/b.log"];
const OPERANDS: [&str; 13] = [
    "a.txt",
    "b.log",
    "c",
    "d/a.txt",
    "d/e/deep.txt",
    "empty",
    "missing",
    "d",
    "d/e",
    "many",
    "d/long",
    "-",
    "folder-link",
];
const OPTIONS: [&[&str]; 19] = [
    &["-v"],
    &["-c"],
    &["-l"],
    &["-L"],
    &["-m", "0"],
    &["-m", "1"],
    &["-m", "3"],
    &["-n"],
    &["-o"],
    &["-q"],
    &["-H"],
    &["-r"],
    &["-r"],
    &["-s"],
    &["--no-filename"],
    &["--color=always"],
    &["--include=*.txt"],
    &["--exclude-dir=e"],
    &["-z"],
];

/// How `grep` or `gardenia` ended.
fn run(mut command: Command, shell: &Shell, args: &[&str]) -> (Option<i32>, Vec<u8>) {
    let stdin = std::fs::File::open(shell.path("c")).unwrap();
    command.args(args).current_dir(shell.path("")).env("LC_ALL", "C").env_remove("GREP_COLORS");
    let output = command.stdin(stdin).stderr(Stdio::null()).output().unwrap();
    (output.status.code(), output.stdout)
}

fn compare(seed: u64, combinations: usize) {
    let mut random = Random(seed);
    let mut shell = scene(&mut random);
    for number in 0..combinations {
        if number % 25 == 24 {
            shell = scene(&mut random);
        }
        let list = ["list1", "list2", "list3"][random.below(3)];
        let mut args = Vec::new();
        for _ in 0..random.below(5) {
            args.extend_from_slice(OPTIONS[random.below(OPTIONS.len())]);
        }
        for _ in 0..random.below(5) {
            // Standard input once: grep puts it back behind the last line of `-m`, and reads on from there the next time.
            let operand = OPERANDS[random.below(OPERANDS.len())];
            if operand != "-" || !args.contains(&operand) {
                args.push(operand);
            }
        }
        // To grep -z a pattern that has NUL bytes matches several records, which are no line of the list.
        if shell.read(list).contains(&0) {
            args.retain(|option| *option != "-z");
        }
        // `-a`: to grep a file with a NUL byte is binary, and its lines are not printed.
        let grep = run(Command::new("grep"), &shell, &[&["-a", "-xFf", list], &args[..]].concat());
        // Ours has another letter for it.
        args.iter_mut().filter(|option| **option == "-z").for_each(|option| *option = "-0");
        let (confirm, threads) = (["query", "--confirm", list], ["-j", ["1", "3"][random.below(2)]]);
        let ours = run(shell.command(&[]), &shell, &[&confirm[..], &threads, &args].concat());
        let text = |name: &str| shell.read(name)[..].escape_ascii().to_string();
        let show = |run: &(Option<i32>, Vec<u8>)| {
            format!("{:?} {}", run.0, run.1[..run.1.len().min(2000)].escape_ascii())
        };
        assert!(
            ours == grep,
            "seed {seed}, number {number}: {list} {args:?}\n{}\ngrep {}\nours {}",
            text(list),
            show(&grep),
            show(&ours)
        );
    }
}

/// Without grep the test would say nothing, and of another one it would be about something else.
fn demand_gnu_grep() {
    let version = Command::new("grep").arg("--version").output().expect("grep is installed");
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(text.starts_with("grep (GNU grep) 3."), "GNU grep 3 is needed, not {text}");
}

#[test]
fn a_thousand_searches_print_what_grep_prints() {
    demand_gnu_grep();
    std::thread::scope(|scope| {
        (1..5).for_each(|seed| _ = scope.spawn(move || compare(seed, 250)));
    });
}

#[test]
#[ignore = "a long sweep of random searches"]
fn many_more_searches_print_what_grep_prints() {
    demand_gnu_grep();
    (100..120).for_each(|seed| compare(seed, 1000));
}
