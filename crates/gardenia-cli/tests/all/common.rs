//! What the tests share: running the command as a shell would.
#![allow(dead_code)] // each test file uses its own part

use gardenia::cells::Held;
use gardenia::spec::Param;
use gardenia::{Ability, AnyFilter, Filter, Kind, Spec};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The names of kinds at the shell that hold keys, can do `ability`, and accept all of these
/// options.
pub(crate) fn kinds_with(ability: Ability, params: &[Param]) -> Vec<&'static str> {
    let fits = |kind: Kind| {
        kind.holds_keys() && kind.can(ability) && params.iter().all(|param| kind.params().contains(param))
    };
    let names = Spec::names().map(|(name, _)| name);
    names.filter(|name| Spec::named(name).is_some_and(|spec| fits(spec.kind()))).collect()
}

/// Kinds of filter that are sized by items or bits, and as large in a file as in memory.
pub(crate) fn kinds() -> Vec<&'static str> {
    let sized = kinds_with(Ability::Insert, &[Param::Items, Param::Fpp, Param::Bits]);
    let packed = kinds_with(Ability::Send, &[]);
    sized.into_iter().filter(|name| !packed.contains(name)).collect()
}

/// Those of them that forget nothing of what they were planned for.
pub(crate) fn keeping() -> Vec<&'static str> {
    kinds().into_iter().filter(|name| *name != Kind::Stable.name()).collect()
}

/// Those of them that fill up, and then can no longer tell how many keys came; one with choices
/// counts them.
pub(crate) const FILLING: [&str; 5] = ["bloom", "blocked", "counting", "spectral-ms", "spectral-rm"];

/// The kind in a file: one for all spectral filters.
pub(crate) fn kind_in_file(kind: &str) -> &str {
    kind.split('-').next().unwrap_or(kind)
}

/// How a command ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Run {
    /// The output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("output is UTF-8")
    }

    /// Asserts success without a word on stderr, and gives the output.
    pub(crate) fn quietly(self) -> Vec<u8> {
        assert_eq!((self.code, &*self.err), (Some(0), ""));
        self.out
    }

    /// Asserts exit code 2, nothing on stdout, and one line `gardenia: …` with at most one hint
    /// after it; gives that line.
    pub(crate) fn complaint(&self) -> &str {
        let lines: Vec<&str> = self.err.lines().collect();
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert!(self.out.is_empty(), "{:?}", String::from_utf8_lossy(&self.out));
        assert!(lines[0].starts_with("gardenia: ") && lines[0].len() > 15, "{}", self.err);
        assert!(lines.len() == 1 || (lines.len() == 2 && lines[1].starts_with("hint: ")), "{}", self.err);
        lines[0]
    }
}

/// The program that is tested: the lab's tests share this file.
const PROGRAM: &str = match (option_env!("CARGO_BIN_EXE_gardenia"), option_env!("CARGO_BIN_EXE_gardenia-lab"))
{
    (Some(program), _) | (None, Some(program)) => program,
    (None, None) => panic!("cargo names the program that it built"),
};

/// A folder of its own for each test, in which commands run.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
}

impl Shell {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("a file can be written");
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file can be read")
    }

    /// The filter in a file, of any kind.
    pub(crate) fn filter(&self, name: &str) -> AnyFilter {
        AnyFilter::load(self.path(name)).expect("a filter can be read")
    }

    /// `gardenia` with these arguments, to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `gardenia` with these arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        finish(self.command(args).spawn().expect("gardenia starts"))
    }

    /// Runs `gardenia` with these arguments and this input.
    pub(crate) fn pipe(&self, input: &[u8], args: &[&str]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("gardenia starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            scope.spawn(move || _ = stdin.write_all(input)); // it may stop reading
            finish(child)
        })
    }

    /// Runs `gardenia`, which is to succeed; what it says on stderr is dropped.
    pub(crate) fn ok(&self, args: &[&str]) -> Vec<u8> {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.err);
        run.out
    }
}

/// Waits for a command that is to end though its input stays open, and for no longer than a while.
pub(crate) fn finish_by_itself(mut child: Child) -> Run {
    let stdin = child.stdin.take();
    let start = Instant::now();
    while child.try_wait().expect("a child can be asked").is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().expect("a child can be killed");
            panic!("it waits for the rest of its input");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(stdin);
    finish(child)
}

fn finish(child: Child) -> Run {
    let output = child.wait_with_output().expect("gardenia ends");
    let err = String::from_utf8(output.stderr).expect("messages are UTF-8");
    Run { code: output.status.code(), out: output.stdout, err }
}

/// The library's answers for these keys.
pub(crate) fn answers<K: AsRef<[u8]>>(filter: &AnyFilter<impl Held>, keys: &[K]) -> Vec<bool> {
    keys.iter().map(|key| filter.contains_digest(filter.hasher().digest(key.as_ref()))).collect()
}

/// Lines `start`, `start + 1`, … as numbers.
pub(crate) fn numbers(range: std::ops::Range<u64>) -> Vec<u8> {
    let mut text = Vec::new();
    range.for_each(|number| writeln!(text, "{number}").expect("a vector takes all"));
    text
}

/// A filter file as a program writes it: without the notes that `build` leaves in its header.
pub(crate) fn without_notes(file: &[u8]) -> Vec<u8> {
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| file[at + i])) as usize;
    let (notes, header) = (number(44), number(12));
    let mut bytes = file[..header - 8 - notes].to_vec();
    bytes[12..16].copy_from_slice(&((header - notes) as u32).to_le_bytes());
    bytes[44..48].fill(0);
    let sum = gardenia::KeyHasher::xxh3(0).digest(&bytes).0;
    bytes.extend(sum.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes.extend(&file[header.next_multiple_of(64)..]);
    bytes
}

/// Whether this system has a device or a program.
pub(crate) fn has(path: &str) -> bool {
    Path::new(path).exists()
}
