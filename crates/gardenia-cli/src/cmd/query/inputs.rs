//! Which files are searched: those that are named and, with `-r`, those in directories, in the
//! order of `grep`.

use super::args::QueryArgs;
use crate::input::Source;
use crate::message;
use crate::open::is_dash;
use anyhow::Context;
use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file to search.
pub(crate) struct Input {
    pub(crate) source: Source,
    /// Whether its name stands before its lines, unless an option says otherwise.
    pub(crate) named: bool,
    /// A directory that was complained about. As by grep it is counted all the same, as a file
    /// without lines.
    pub(crate) directory: bool,
}

impl Input {
    /// Its name, as it is printed.
    pub(crate) fn name(&self) -> &[u8] {
        match &self.source {
            Source::Stdin => b"(standard input)",
            Source::File(path) => path.as_os_str().as_encoded_bytes(),
        }
    }
}

/// The files to search.
pub(crate) struct Inputs<'a> {
    args: &'a QueryArgs,
    operands: &'a [PathBuf],
    /// Filters and indexes in use: a directory is not searched for lines in them.
    in_use: Vec<PathBuf>,
    /// Whether a directory or a file could not be read.
    pub(crate) trouble: bool,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(args: &'a QueryArgs, operands: &'a [PathBuf], in_use: Vec<PathBuf>) -> Self {
        let in_use = in_use.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        Self { args, operands, in_use, trouble: false }
    }

    /// Hands each file to `search`, until that breaks.
    pub(crate) fn each(
        &mut self,
        search: &mut dyn FnMut(&Input) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let here = [PathBuf::from(".")];
        let (operands, omit_dot) = match self.operands {
            [] if self.args.recursive => (&here[..], true),
            [] => {
                return search(&Input { source: Source::Stdin, named: false, directory: false }).map(|_| ());
            }
            operands => (operands, false),
        };
        for path in operands {
            let named = operands.len() > 1;
            let flow = match self.args.recursive && path.is_dir() {
                // A directory that is named is searched, whatever it is called: `.` has no name.
                true if self.is_skipped_directory(path) => ControlFlow::Continue(()),
                true => self.directory(if omit_dot { Path::new("") } else { path }, search)?,
                false if is_dash(path) => search(&Input { source: Source::Stdin, named, directory: false })?,
                false => self.file(path.clone(), named, search)?,
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Searches a file that can be opened, or complains.
    fn file(
        &mut self,
        path: PathBuf,
        named: bool,
        search: &mut dyn FnMut(&Input) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        // As grep: a directory that is skipped is none to complain about, and a file that is missing is.
        let directory = path.is_dir();
        if directory && self.is_skipped_directory(&path) {
            return Ok(ControlFlow::Continue(()));
        }
        let input = Input { source: Source::File(path), named, directory };
        match input.source.check() {
            Ok(()) if !self.is_wanted(&input.source) => Ok(ControlFlow::Continue(())),
            Ok(()) => search(&input),
            Err(error) if directory => self.complain(error).and_then(|_| search(&input)),
            Err(error) => self.complain(error),
        }
    }

    /// Searches the files in a directory and below, in the order in which the system lists them.
    /// Links are not followed, and pipes and devices are not opened.
    fn directory(
        &mut self,
        path: &Path,
        search: &mut dyn FnMut(&Input) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        let listed = if path == Path::new("") { Path::new(".") } else { path };
        let entries = match fs::read_dir(listed).with_context(|| listed.display().to_string()) {
            Ok(entries) => entries,
            Err(error) => return self.complain(error),
        };
        for entry in entries {
            let found = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
            let flow = match found.with_context(|| listed.display().to_string()) {
                Err(error) => self.complain(error)?,
                Ok((found, kind)) => {
                    let found = path.join(found.file_name().unwrap_or_default());
                    if kind.is_dir() && !self.is_skipped_directory(&found) {
                        self.directory(&found, search)?
                    } else if kind.is_file() && !self.is_in_use(&found) {
                        self.file(found, true, search)?
                    } else {
                        ControlFlow::Continue(())
                    }
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn complain(&mut self, error: anyhow::Error) -> anyhow::Result<ControlFlow<()>> {
        if self.args.matched.iter().chain(&self.args.unmatched).any(|path| !is_dash(path)) {
            return Err(error);
        }
        if !self.args.no_messages {
            message::complain(&error);
        }
        self.trouble = true;
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the name of a file is not ruled out.
    fn is_wanted(&self, source: &Source) -> bool {
        let Source::File(path) = source else { return true };
        let (args, name) = (self.args, path.file_name().unwrap_or(path.as_os_str()));
        (args.include.is_empty() || any(&args.include, name)) && !any(&args.exclude, name)
    }

    fn is_skipped_directory(&self, path: &Path) -> bool {
        any(&self.args.exclude_dir, path.file_name().unwrap_or(path.as_os_str()))
    }

    fn is_in_use(&self, path: &Path) -> bool {
        !self.in_use.is_empty() && fs::canonicalize(path).is_ok_and(|path| self.in_use.contains(&path))
    }
}

fn any(globs: &[String], name: &OsStr) -> bool {
    globs.iter().any(|glob| matches(glob.as_bytes(), name.as_encoded_bytes()))
}

/// Whether a name matches a pattern of the shell: `*` is any bytes, `?` one byte, `[a-z]` one of
/// these, `[!a-z]` one of the others, and a backslash takes its meaning from what follows.
fn matches(glob: &[u8], name: &[u8]) -> bool {
    let (mut g, mut n) = (0, 0);
    // Where the last star was, and what it has passed: to be tried again with one byte more.
    let mut star = None;
    loop {
        let step = match glob.get(g) {
            Some(b'*') => {
                star = Some((g + 1, n));
                g += 1;
                continue;
            }
            Some(_) if n < name.len() => one(&glob[g..], name[n]),
            None if n == name.len() => return true,
            _ => None,
        };
        match (step, star) {
            (Some(len), _) => (g, n) = (g + len, n + 1),
            (None, Some((after, passed))) if passed < name.len() => {
                (g, n) = (after, passed + 1);
                star = Some((after, passed + 1));
            }
            (None, _) => return false,
        }
    }
}

/// If a byte matches what a pattern begins with, how long that is.
fn one(glob: &[u8], byte: u8) -> Option<usize> {
    match glob {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', set @ ..] => {
            let negated = matches!(set.first(), Some(b'!' | b'^'));
            let set = &set[usize::from(negated)..];
            // A bracket that comes first stands for itself; a set that is not closed does, too.
            let Some(end) = set.iter().skip(1).position(|&byte| byte == b']').map(|at| at + 1) else {
                return (byte == b'[').then_some(1);
            };
            let (mut at, mut found) = (0, false);
            while at < end {
                found |= match &set[at..end] {
                    [low, b'-', high, ..] => {
                        at += 2;
                        (*low..=*high).contains(&byte)
                    }
                    rest => rest[0] == byte,
                };
                at += 1;
            }
            (found != negated).then_some(1 + usize::from(negated) + end + 1)
        }
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

#[test]
fn names_match_patterns_as_in_the_shell() {
    let yes = [
        ("*.log", "a.log"),
        ("*", ""),
        ("a*b*c", "axxbyyc"),
        ("a*b*c", "abcbc"),
        ("?.txt", "x.txt"),
        ("[a-c]x", "bx"),
        ("[!a-c]x", "dx"),
        ("[]]", "]"),
        ("[a-]", "-"),
        ("\\*", "*"),
        ("[", "["),
        ("x[", "x["),
        ("**a", "aa"),
        ("*[0-9]", "a7"),
    ];
    let no = [
        ("*.log", "a.log2"),
        ("", "a"),
        ("a", ""),
        ("a*b", "ac"),
        ("?", ""),
        ("?", "ab"),
        ("[a-c]x", "dx"),
        ("[!a-c]x", "bx"),
        ("\\*", "x"),
        ("\\", "x"),
    ];
    assert!(yes.iter().all(|(glob, name)| matches(glob.as_bytes(), name.as_bytes())), "{yes:?}");
    for (glob, name) in no {
        assert!(!matches(glob.as_bytes(), name.as_bytes()), "{glob} {name}");
    }
}
