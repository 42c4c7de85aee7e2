//! What a run remembers on disk, so that it goes on after it was killed, at the file that was not
//! finished.
//!
//! A directory holds
//!
//! * `options.json`: what is done, with which a run must agree that goes on;
//! * `target.json`: where it is written, with the same rule: files that were finished elsewhere
//!   would be missing;
//! * `SET-G.gdn` (or `.digests`): a set as it was when generation G began;
//! * `SET-G.journal`: the digests that came since, eight bytes each;
//! * `top-N.gdn`: the most repeated texts after N files;
//! * `files.jsonl`: one line for each finished file. **The line is what makes a file finished**: it
//!   is written when all else is on disk, and says how long the journals were. What is behind that
//!   length, or a last line without an end, is of a run that was killed. A complete output gets its
//!   name after that: if the run is killed between the two, the next one does it.
//!
//! When the journals are longer than the sets take, a new generation begins. So a file costs what
//! is new in it, and not what was seen before.

use crate::options::{Options, Set};
use crate::output::{FULL, Target};
use crate::report::Tally;
use crate::seen::{DAMAGED, Store};
use crate::sizing;
use anyhow::Context;
use gardenia::{Digest, Top};
use gardenia_terminal::{human, message::hinted};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A finished file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// Its name.
    pub file: String,
    /// Its length, by which a changed file is noticed.
    pub bytes: u64,
    /// The length of its output.
    pub written: u64,
    /// What happened in it.
    pub tally: Tally,
    /// The sets when it was finished.
    pub sets: Vec<SetState>,
    /// The generation of their files.
    pub generation: u64,
}

/// A set when a file was finished.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetState {
    /// Which.
    pub set: Set,
    /// Units in it.
    pub items: u64,
    /// Expected number of units removed by mistake.
    pub lost: f64,
    /// Bytes of its journal.
    pub journal: u64,
    /// Its rate when it was last looked at, and the units at which it is looked at again: a run
    /// that goes on counts mistakes as one that was not stopped.
    #[serde(default)]
    pub looked: Option<(f64, u64)>,
}

/// A state that is written to.
pub struct State {
    directory: PathBuf,
    exact: bool,
    /// What is finished.
    pub finished: Vec<Finished>,
    /// The generation of the sets' files.
    pub generation: u64,
    files: File,
    journals: Vec<(Set, File, u64)>,
    /// Held while the run goes on, so that no other one begins.
    _lock: File,
}

/// A set as it was stored.
pub struct Loaded {
    /// Which.
    pub set: Set,
    /// What holds it.
    pub store: Store,
    /// What its journal adds.
    pub journal: Vec<Digest>,
    /// Its numbers.
    pub state: SetState,
}

impl State {
    /// Opens a directory, or makes it; gives what it holds.
    pub fn open(
        directory: &Path,
        options: &Options,
        target: &Target,
    ) -> anyhow::Result<(Self, Vec<Loaded>, Option<Top>)> {
        let name = || directory.display().to_string();
        std::fs::create_dir_all(directory).with_context(name)?;
        let lock =
            OpenOptions::new().create(true).append(true).open(directory.join("lock")).with_context(name)?;
        if lock.try_lock().is_err() {
            return Err(hinted(
                format!("{}: another run uses this state", name()),
                "wait for it, or give another --state",
            ));
        }
        let path = directory.join("options.json");
        if path.exists() {
            let before = read_options(directory)?;
            if before != *options {
                let reason = format!(
                    "{}: this state was begun with other options: {}",
                    name(),
                    difference(&before, options)
                );
                return Err(hinted(reason, "give the same options, or another --state"));
            }
        } else {
            replace(&path, &serde_json::to_vec_pretty(options)?)?;
        }
        let (finished, length) = read_finished(directory)?;
        check_target(directory, target, finished.first())?;
        let files = OpenOptions::new()
            .create(true)
            .append(true)
            .open(directory.join("files.jsonl"))
            .with_context(name)?;
        files.set_len(length).with_context(name)?;
        let loaded = load_sets(directory, options.exact, finished.last())?;
        let generation = finished.last().map_or(0, |last| last.generation);
        let mut state = Self {
            directory: directory.to_owned(),
            exact: options.exact,
            finished,
            generation,
            files,
            journals: Vec::new(),
            _lock: lock,
        };
        state.journals = options
            .sets()
            .into_iter()
            .map(|set| {
                let length =
                    loaded.iter().find(|loaded| loaded.set == set).map_or(0, |loaded| loaded.state.journal);
                state.journal(set, generation, length).map(|file| (set, file, length))
            })
            .collect::<anyhow::Result<_>>()?;
        let top = match state.finished.len() {
            0 => None,
            files => Some(
                Top::load(state.top_path(files))
                    .with_context(|| state.top_path(files).display().to_string())?,
            ),
        };
        Ok((state, loaded, top))
    }

    fn journal(&self, set: Set, generation: u64, length: u64) -> anyhow::Result<File> {
        let path = journal_path(&self.directory, set, generation);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        file.set_len(length).with_context(|| path.display().to_string())?;
        Ok(file)
    }

    fn top_path(&self, files: usize) -> PathBuf {
        self.directory.join(format!("top-{files}.gdn"))
    }

    /// Writes a set of the next generation, which holds from the commit on that names it.
    pub fn snapshot(
        directory: &Path,
        set: Set,
        generation: u64,
        exact: bool,
        store: &Store,
    ) -> anyhow::Result<()> {
        let path = directory.join(Store::file_name(set, generation, exact));
        store.save(&path).map_err(|error| full(error, &path))
    }

    /// Makes a file finished. `fresh` is what it added to each set, unless the sets were written as
    /// a whole.
    pub fn commit(
        &mut self,
        mut file: Finished,
        fresh: &[(Set, Vec<Digest>)],
        top: &Top,
    ) -> anyhow::Result<()> {
        let old = self.generation;
        if file.generation != old {
            self.generation = file.generation;
            let sets: Vec<Set> = self.journals.iter().map(|(set, ..)| *set).collect();
            self.journals.clear();
            for set in sets {
                let journal = self.journal(set, self.generation, 0)?;
                self.journals.push((set, journal, 0));
            }
        } else {
            for (set, digests) in fresh {
                let Some((_, journal, length)) = self.journals.iter_mut().find(|(of, ..)| of == set) else {
                    continue;
                };
                let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.0.to_le_bytes()).collect();
                let written = journal.write_all(&bytes).and_then(|()| journal.sync_data());
                written.map_err(|error| full(error, &self.directory))?;
                *length += bytes.len() as u64;
            }
        }
        for state in &mut file.sets {
            state.journal =
                self.journals.iter().find(|(set, ..)| *set == state.set).map_or(0, |(_, _, length)| *length);
        }
        let top_path = self.top_path(self.finished.len() + 1);
        top.save(&top_path).map_err(|error| full(error, &top_path))?;
        let mut line = serde_json::to_vec(&file)?;
        line.push(b'\n');
        let written = self.files.write_all(&line).and_then(|()| self.files.sync_data());
        written.map_err(|error| full(error, &self.directory))?;
        self.finished.push(file);
        // What nobody needs any more; a killed run may leave some behind.
        let _ = std::fs::remove_file(self.top_path(self.finished.len() - 1));
        if self.generation != old {
            for set in Set::ALL {
                let _ = std::fs::remove_file(journal_path(&self.directory, set, old));
                let _ = std::fs::remove_file(self.directory.join(Store::file_name(set, old, self.exact)));
            }
        }
        Ok(())
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

fn journal_path(directory: &Path, set: Set, generation: u64) -> PathBuf {
    directory.join(format!("{}-{generation}.journal", set.name()))
}

fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    gardenia::format::replace_file::<std::io::Error>(path, |file| file.write_all(bytes))
        .map_err(|error| full(error, path))
}

/// What could not be written: a full disk is likely, because the directory could be made.
fn full(error: impl Into<anyhow::Error>, path: &Path) -> anyhow::Error {
    hinted(format!("{}: {:#}", path.display(), error.into()), FULL)
}

/// An error if the finished files of a state were written to another place; a state without any is
/// given this one.
fn check_target(directory: &Path, target: &Target, first: Option<&Finished>) -> anyhow::Result<()> {
    let (path, target) = (directory.join("target.json"), target.resolved()?);
    let Some(first) = first else { return replace(&path, &serde_json::to_vec(&target)?) };
    if first.file == TEXTS || first.file == MERGED {
        let reason = format!("{}: the state of a run without files, or a merged one", directory.display());
        return Err(hinted(reason, "name it with --after, and give another --state"));
    }
    let before: Target = std::fs::read(&path)
        .map_err(anyhow::Error::from)
        .and_then(|text| Ok(serde_json::from_slice(&text)?))
        .with_context(|| path.display().to_string())?;
    if before == target {
        return Ok(());
    }
    let reason = format!("{}: this state was begun with {before}, now it is {target}", directory.display());
    Err(hinted(
        reason,
        match before {
            Target::Nothing => "give another --state; the state of a dry run is for --after and merge",
            _ => "give the same directory, or another --state",
        },
    ))
}

/// The options that a state was begun with.
pub fn read_options(directory: &Path) -> anyhow::Result<Options> {
    let path = directory.join("options.json");
    let text = std::fs::read(&path).map_err(|error| {
        hinted(format!("{}: {error}", path.display()), "name a directory that --state of an earlier run made")
    })?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

/// The finished files, and the length of the lines that say so.
fn read_finished(directory: &Path) -> anyhow::Result<(Vec<Finished>, u64)> {
    let path = directory.join("files.jsonl");
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let (mut finished, mut length) = (Vec::new(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let number = finished.len() + 1;
        finished.push(
            serde_json::from_slice(line).with_context(|| format!("{}, line {number}", path.display()))?,
        );
        length += line.len() as u64;
    }
    Ok((finished, length))
}

fn load_sets(directory: &Path, exact: bool, last: Option<&Finished>) -> anyhow::Result<Vec<Loaded>> {
    let Some(last) = last else { return Ok(Vec::new()) };
    let mut loaded = Vec::new();
    for state in &last.sets {
        let path = journal_path(directory, state.set, last.generation);
        let mut bytes = Vec::new();
        if state.journal > 0 {
            File::open(&path)
                .and_then(|file| file.take(state.journal).read_to_end(&mut bytes))
                .with_context(|| path.display().to_string())?;
        }
        if bytes.len() as u64 != state.journal {
            let reason = format!(
                "{}: truncated: {} bytes, where {} were written",
                path.display(),
                bytes.len(),
                state.journal
            );
            return Err(hinted(reason, DAMAGED));
        }
        let journal =
            bytes.as_chunks::<8>().0.iter().map(|digest| Digest(u64::from_le_bytes(*digest))).collect();
        let path = directory.join(Store::file_name(state.set, last.generation, exact));
        loaded.push(Loaded { set: state.set, store: Store::load(&path)?, journal, state: state.clone() });
    }
    Ok(loaded)
}

/// The sets of a state that another run made, to be asked.
pub fn load(directory: &Path) -> anyhow::Result<(Options, Vec<Loaded>)> {
    let options = read_options(directory)?;
    let (finished, _) = read_finished(directory)?;
    if finished.is_empty() {
        return Err(hinted(
            format!("{}: no file was finished with this state", directory.display()),
            "let that run end first",
        ));
    }
    let loaded = load_sets(directory, options.exact, finished.last())?;
    Ok((options, loaded))
}

/// Sets of other runs.
type Earlier = Vec<(Set, Store)>;

/// The sets of other runs, and what they leave of the memory.
pub(crate) fn earlier(
    directories: &[PathBuf],
    options: &Options,
    memory: Option<u64>,
) -> anyhow::Result<(Earlier, Option<u64>)> {
    let (mut all, mut left) = (Vec::new(), memory);
    for directory in directories {
        for (set, store) in earlier_one(directory, options)? {
            if let Some(left) = &mut left {
                let bytes = store.memory_bytes();
                let Some(rest) = left.checked_sub(bytes) else {
                    let reason = format!(
                        "{}: its {} take {}, and {} are left of --memory",
                        directory.display(),
                        set.name(),
                        human::bytes(bytes),
                        human::bytes(*left)
                    );
                    return Err(hinted(reason, "raise --memory, or merge the states that --after names"));
                };
                *left = rest;
            }
            all.push((set, store));
        }
    }
    Ok((all, left))
}

/// The sets of another run, which must have compared the same things.
fn earlier_one(directory: &Path, options: &Options) -> anyhow::Result<Earlier> {
    let (theirs, loaded) = load(directory)?;
    let same = |options: &Options| {
        let Options { key, split, normalise, normalise_words, words, ngrams, near, .. } = options.clone();
        (key, split, normalise, normalise_words, words, ngrams.map(|ngrams| ngrams.n), near)
    };
    if same(&theirs) != same(options) {
        let reason = format!("{}: this state compared other things", directory.display());
        return Err(hinted(reason, "give the same keys, units and normalisation"));
    }
    let mut all = Vec::new();
    for Loaded { set, mut store, journal, state } in loaded {
        store.extend(&journal)?;
        // Nothing is inserted here, so that this is the only place that looks.
        let name = format!("filter of {} in {}", set.name(), directory.display());
        let hint = "build it again with a larger --items, or name the states that were merged";
        store.check_room(&name, state.items, sizing::rate(set, &theirs), hint)?;
        all.push((set, store));
    }
    if let Some(missing) = options.sets().into_iter().find(|set| all.iter().all(|(of, _)| of != set)) {
        let reason = format!("{}: this state holds no {}", directory.display(), missing.name());
        return Err(hinted(reason, "make it with the same options"));
    }
    Ok(all)
}

/// Writes a state that holds the units of all of these.
pub fn merge(directories: &[PathBuf], output: &Path) -> anyhow::Result<()> {
    let name = |directory: &Path| directory.display().to_string();
    if output.join("options.json").exists() {
        return Err(hinted(format!("{}: a state is there already", name(output)), "give another --output"));
    }
    let mut merged = None;
    for directory in directories {
        let (options, loaded) = load(directory)?;
        let options = Options { after: Vec::new(), ..options }; // what others saw is not in these sets
        let mut sets = Vec::new();
        for Loaded { set, mut store, journal, state } in loaded {
            store.extend(&journal)?;
            sets.push((set, store, state.lost));
        }
        let Some((first, ours)) = &mut merged else {
            merged = Some((options, sets));
            continue;
        };
        if *first != options {
            let reason = format!(
                "{}: other options than {}: {}",
                name(directory),
                name(&directories[0]),
                difference(first, &options)
            );
            return Err(hinted(reason, "run all machines with the same options"));
        }
        for ((set, ours, lost), (_, theirs, more)) in ours.iter_mut().zip(sets) {
            ours.merge(theirs).with_context(|| name(directory))?;
            // Each was within its rate by itself: all of them together need not be.
            let filter = format!("merged filter of {}", set.name());
            let hint = "give --items for the units of all machines together";
            ours.check_room(&filter, ours.items(), sizing::rate(*set, &options), hint)?;
            *lost += more;
        }
    }
    let (options, sets) = merged.context("no states to merge")?;
    let mut stored = Vec::new();
    for (set, store, lost) in &sets {
        stored.push((
            store,
            SetState { set: *set, items: store.items(), lost: *lost, journal: 0, looked: None },
        ));
    }
    write(output, MERGED, &options, &stored, Tally::default(), None)
}

/// What stands for the files of a state that was merged, and of one that has no files.
const MERGED: &str = "(merged)";
const TEXTS: &str = "(texts)";

/// Writes sets as a state, or in place of those that `write` wrote there before.
fn write(
    directory: &Path,
    name: &str,
    options: &Options,
    sets: &[(&Store, SetState)],
    tally: Tally,
    top: Option<&Top>,
) -> anyhow::Result<()> {
    let place = || directory.display().to_string();
    std::fs::create_dir_all(directory).with_context(place)?;
    let (before, _) = read_finished(directory)?;
    let generation = before.last().map_or(0, |last| last.generation + 1);
    for (store, state) in sets {
        State::snapshot(directory, state.set, generation, options.exact, store)?;
    }
    let top_path = |generation: u64| directory.join(format!("top-{generation}.gdn"));
    if let Some(top) = top {
        top.save(top_path(generation)).with_context(|| top_path(generation).display().to_string())?;
    }
    let sets = sets.iter().map(|(_, state)| state.clone()).collect();
    let mut line =
        serde_json::to_vec(&Finished { file: name.into(), bytes: 0, written: 0, tally, sets, generation })?;
    line.push(b'\n');
    // The line is last: until it is there, the state is what it was before.
    for (file, bytes) in [("options.json", serde_json::to_vec_pretty(options)?), ("files.jsonl", line)] {
        replace(&directory.join(file), &bytes)?;
    }
    if let Some(last) = before.last() {
        for set in Set::ALL {
            let _ =
                std::fs::remove_file(directory.join(Store::file_name(set, last.generation, options.exact)));
        }
        let _ = std::fs::remove_file(top_path(last.generation));
    }
    Ok(())
}

/// Writes the state of a run without files; a second time it replaces the first.
pub(crate) fn save_texts(
    directory: &Path,
    options: &Options,
    sets: &[(&Store, SetState)],
    tally: Tally,
    top: &Top,
) -> anyhow::Result<()> {
    if directory.join("options.json").exists() {
        let place = directory.display();
        let (before, (finished, _)) = (read_options(directory)?, read_finished(directory)?);
        if finished.iter().any(|finished| finished.file != TEXTS) {
            return Err(hinted(format!("{place}: the state of a run over files"), "give another directory"));
        }
        if before != *options {
            let reason = format!("{place}: this state has other options: {}", difference(&before, options));
            return Err(hinted(reason, "give another directory"));
        }
    }
    write(directory, TEXTS, options, sets, tally, Some(top))
}

/// What a run without files saved.
pub(crate) fn load_texts(directory: &Path) -> anyhow::Result<(Options, Vec<Loaded>, Tally, Top)> {
    let (options, loaded) = load(directory)?;
    let place = || directory.display().to_string();
    match read_finished(directory)?.0.pop() {
        Some(last) if last.file == TEXTS => {
            let top = directory.join(format!("top-{}.gdn", last.generation));
            let top = Top::load(&top).with_context(|| top.display().to_string())?;
            Ok((options, loaded, last.tally, top))
        }
        _ => Err(hinted(format!("{}: not the state of a run without files", place()), "name it with after=")),
    }
}

/// The first option that differs, by name.
fn difference(before: &Options, now: &Options) -> String {
    let (Ok(serde_json::Value::Object(before)), Ok(serde_json::Value::Object(now))) =
        (serde_json::to_value(before), serde_json::to_value(now))
    else {
        return String::new();
    };
    let differs = now.iter().find(|(name, value)| before.get(*name) != Some(value));
    differs.map_or_else(String::new, |(name, value)| {
        format!("{name} was {}, now {value}", before.get(name).unwrap_or(&serde_json::Value::Null))
    })
}
