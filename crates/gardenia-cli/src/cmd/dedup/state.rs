//! What `--state` keeps from one day to the next: an ordinary filter file, and in its metadata what
//! it was made for.

use super::DedupArgs;
use crate::lock::{Claim, claim};
use crate::message::hinted;
use crate::{human, input, message, open};
use anyhow::{Context, bail};
use gardenia::AnyFilter;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What lines are remembered by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// As many as come.
    Growing,
    /// This many, at the rate.
    Items(u64),
    /// As many as fit this many bytes, at the rate.
    Memory(u64),
    /// The last distinct ones, this many.
    Window(u64),
    /// The latest, in this many bytes.
    Decay(u64),
}

impl Mode {
    /// As it is asked for.
    fn option(self) -> String {
        match self {
            Self::Growing => "no fixed size".to_owned(),
            Self::Items(items) => format!("--items {items}"),
            Self::Memory(bytes) => format!("--memory {bytes}"),
            Self::Window(lines) => format!("--window {lines}"),
            Self::Decay(bytes) => format!("--decay --memory {bytes}"),
        }
    }

    /// Whether old lines are forgotten.
    pub(crate) fn forgets(self) -> bool {
        matches!(self, Self::Window(_) | Self::Decay(_))
    }
}

/// What a state was made for. Fields are added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) dedup: Mode,
    pub(crate) fpp: f64,
    /// What of a line is its key; `None` in a filter that a program built.
    pub(crate) keys: Option<String>,
}

impl Note {
    /// What a filter tells by itself, if `dedup` can work with it.
    fn of(filter: &AnyFilter) -> Option<Self> {
        let (items, planned) = (filter.about().planned_items(), filter.about().planned_fpp());
        let (dedup, fpp) = match filter {
            AnyFilter::Scalable(filter) => (Mode::Growing, filter.target()),
            AnyFilter::Infini(filter) => (Mode::Growing, filter.target()),
            AnyFilter::ScalableBlocked(filter) => (Mode::Growing, filter.target()),
            AnyFilter::Bloom(_) | AnyFilter::Blocked(_) => (Mode::Items(items), planned),
            AnyFilter::A2(filter) => (Mode::Window(filter.window()), planned),
            AnyFilter::Stable(stable) => (Mode::Decay(filter.memory_bytes() as u64), stable.stable_fpp()),
            _ => return None,
        };
        let written = serde_json::from_slice(filter.about().metadata()).ok();
        let keys = input::described(filter.about());
        Some(written.unwrap_or(Self { dedup, fpp: if fpp > 0.0 { fpp } else { super::FPP }, keys }))
    }

    /// An error if the command line asks for something else.
    fn check(&self, args: &DedupArgs) -> anyhow::Result<()> {
        let differs = |made: String, asked: String, option: &str| {
            let hint = format!("leave out {option}, or start another state");
            Err(hinted(format!("the state was created with {made}; this run asks for {asked}"), hint))
        };
        match args.mode() {
            Some(mode) if mode != self.dedup => {
                let asked = mode.option();
                let option = asked.split(' ').next().unwrap_or_default();
                return differs(self.dedup.option(), asked.clone(), option);
            }
            _ => {}
        }
        match args.fpp {
            Some(fpp) if (fpp / self.fpp - 1.0).abs() > 1e-9 => {
                return differs(format!("--fpp {}", self.fpp), format!("--fpp {fpp}"), "--fpp");
            }
            _ => {}
        }
        match &self.keys {
            Some(keys) if *keys != args.key.describe() => {
                let hint = "give the same options for keys, or start another state";
                Err(hinted(
                    format!("the state was created for {keys}; this run compares {}", args.key.describe()),
                    hint,
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The file that a run goes on from and leaves behind.
pub(crate) struct State {
    path: PathBuf,
    claim: Claim,
}

impl State {
    /// Takes the file for this process, and what is in it, if it is there.
    pub(crate) fn open(path: &Path, args: &DedupArgs) -> anyhow::Result<(Self, Option<(AnyFilter, Note)>)> {
        let name = || input::name(path);
        check(path, args).with_context(name)?;
        open::refuse_split(path)?;
        let state = Self { path: path.to_owned(), claim: claim(path)? };
        // Another process may have made it in the meantime.
        check(path, args).with_context(name)?;
        if fs::metadata(path).is_ok_and(|file| file.len() == 0) {
            return Ok((state, None)); // made to be locked, by us or by one that was killed
        }
        let filter = open::load(path, &args.opening.options(args.secret.read()?))?;
        let Some(note) = Note::of(&filter) else {
            let reason = format!("a filter of kind {} cannot be the state of dedup", filter.kind().name());
            let hint =
                "leave it to dedup to make one, or build one of kind bloom, blocked, scalable, a2 or stable";
            return Err(hinted(reason, hint)).with_context(name);
        };
        note.check(args).with_context(name)?;
        Ok((state, Some((filter, note))))
    }

    /// As [`save`](Self::save), of a state that is worked with further: the new file is taken, too.
    pub(crate) fn save_and_go_on(&mut self, filter: &AnyFilter) -> anyhow::Result<()> {
        self.save(filter)?;
        self.claim = claim(&self.path)?;
        Ok(())
    }

    /// Replaces the file, whole or not at all.
    pub(crate) fn save(&self, filter: &AnyFilter) -> anyhow::Result<()> {
        let saved = filter.save(&self.path).map_err(message::encode);
        saved.with_context(|| format!("{}: the state is not saved", self.path.display()))
    }
}

/// What is wrong with the path, if anything.
fn check(path: &Path, args: &DedupArgs) -> anyhow::Result<()> {
    if open::is_dash(path) {
        return Err(hinted("the state cannot come from a pipe", "give a regular file"));
    }
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if metadata.is_dir() {
        bail!("Is a directory");
    }
    if !metadata.is_file() {
        return Err(hinted("is a pipe or a device", "give a file that the state can be saved to"));
    }
    let real = |path: &Path| fs::canonicalize(path).ok();
    if args.inputs.iter().any(|input| real(input) == real(path)) {
        return Err(hinted("is one of the inputs, and would be lost", "change --state"));
    }
    let free = crate::memory::available().unwrap_or(u64::MAX);
    if metadata.len() > free {
        let reason = format!(
            "takes {} of memory, and {} is available",
            human::bytes(metadata.len()),
            human::bytes(free)
        );
        return Err(hinted(reason, "begin another state with less --memory"));
    }
    Ok(())
}
