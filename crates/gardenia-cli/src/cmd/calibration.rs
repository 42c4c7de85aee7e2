//! What queries cost on this machine, as `gardenia bench --calibrate` stores it and `gardenia plan`
//! reads it.

use anyhow::Context;
use gardenia::Kind;
use gardenia::format::replace_file;
use gardenia::plan::{Calibration, Cost};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The file, as JSON: fields are added, never renamed or removed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// 1; a file of another version is not read.
    pub(crate) version: u32,
    pub(crate) processor: String,
    /// Tables up to this size cost `near`, tables from `far_bytes` on `far`.
    pub(crate) near_bytes: u64,
    pub(crate) far_bytes: u64,
    /// ns per cache line of a query, by kind of filter.
    pub(crate) kinds: BTreeMap<String, StoredCost>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct StoredCost {
    pub(crate) near: f64,
    pub(crate) far: f64,
}

const VERSION: u32 = 1;

impl Stored {
    pub(crate) fn new(processor: String, calibration: &Calibration) -> Self {
        let kinds = calibration.kinds().map(|(kind, Cost { near, far, .. })| {
            (kind.name().to_owned(), StoredCost { near: rounded(near), far: rounded(far) })
        });
        let Calibration { near_bytes, far_bytes, .. } = *calibration;
        Self { version: VERSION, processor, near_bytes, far_bytes, kinds: kinds.collect() }
    }

    /// The figures; kinds that are not in the file have the library's own.
    fn calibration(&self) -> Calibration {
        let mut found = Calibration::default();
        (found.near_bytes, found.far_bytes) = (self.near_bytes, self.far_bytes);
        for kind in Kind::ALL {
            if let Some(StoredCost { near, far }) = self.kinds.get(kind.name()).copied() {
                found.set(kind, Cost::new(near, far));
            }
        }
        found
    }

    /// Replaces the file, whole or not at all.
    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        }
        let text = serde_json::to_string_pretty(self)?;
        let written: io::Result<()> = replace_file(path, |file| writeln!(file, "{text}"));
        written.with_context(|| path.display().to_string())
    }
}

/// Three digits are more than such a measurement has.
fn rounded(ns: f64) -> f64 {
    let scale = 10f64.powi(2 - ns.abs().max(1e-3).log10().floor() as i32);
    (ns * scale).round() / scale
}

/// Where the file is: in the user's directory for data. `None` if there is no such directory.
pub(crate) fn path() -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data =
        directory("XDG_DATA_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("gardenia/calibration.json"))
}

/// The figures of this machine, or the library's; a path if they are from a file, and what is wrong
/// with it.
pub(crate) fn load() -> (Calibration, Option<PathBuf>, Option<String>) {
    let text = path().and_then(|path| Some((std::fs::read_to_string(&path).ok()?, path)));
    let Some((text, path)) = text else { return (Calibration::default(), None, None) };
    match serde_json::from_str::<Stored>(&text) {
        Ok(stored) if stored.version == VERSION => (stored.calibration(), Some(path), None),
        Ok(stored) => {
            let trouble = format!("{}: version {} is not known here", path.display(), stored.version);
            (Calibration::default(), None, Some(trouble))
        }
        Err(error) => (Calibration::default(), None, Some(format!("{}: {error}", path.display()))),
    }
}
