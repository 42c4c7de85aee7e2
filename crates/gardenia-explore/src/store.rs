//! The files that are inspected: those named on the command line, and those dropped on the page.

use gardenia::cells::Bytes;
use gardenia::explain::CellTable;
use gardenia::format::orc::uncompressed;
use gardenia::format::{Foreign, Format, KeyError, KeyType, Mapped, OrcFile, ParquetFile};
use gardenia::{AnyFilter, DecodeError, OpenFilter, ReadOptions};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Larger files are mapped, and read where they are looked at.
const MAPPED: u64 = 64 << 20;
/// Larger files of other programs are not read: they cannot be mapped.
const MAX_FOREIGN: u64 = 1 << 30;
/// Uploads that are held; the oldest goes first.
const MOST: usize = 16;

/// A filter that was opened.
pub(crate) enum Opened {
    Native(Box<OpenFilter>),
    Foreign(Box<dyn Foreign>),
}

/// A file, with its name.
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) len: u64,
    pub(crate) opened: Result<Opened, String>,
}

/// The cells of a filter, wherever they are.
pub(crate) enum Cells<'a> {
    Owned(&'a AnyFilter),
    Mapped(&'a AnyFilter<Bytes<Mapped>>),
    Foreign(&'a dyn Foreign),
}

macro_rules! either {
    ($cells:expr, $filter:ident => $work:expr) => {
        match $cells {
            Cells::Owned($filter) => $work,
            Cells::Mapped($filter) => $work,
            Cells::Foreign($filter) => $work,
        }
    };
}

impl Cells<'_> {
    pub(crate) fn tables(&self) -> Vec<CellTable> {
        either!(self, filter => filter.tables())
    }
    pub(crate) fn fill_of(
        &self,
        table: usize,
        cells: std::ops::Range<u64>,
        parts: usize,
        samples: usize,
    ) -> Vec<f32> {
        either!(self, filter => filter.fill_of(table, cells, parts, samples))
    }
    pub(crate) fn cells(&self, table: usize, cells: std::ops::Range<u64>) -> Vec<u64> {
        match self {
            Self::Owned(filter) => filter.cells(table, cells),
            Self::Mapped(filter) => filter.cells(table, cells),
            Self::Foreign(filter) => cells.map(|at| filter.cell(table, at)).collect(),
        }
    }
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(_))
    }
}

impl Opened {
    pub(crate) fn cells(&self) -> Cells<'_> {
        match self {
            Self::Native(filter) => match (filter.as_owned(), filter.as_mapped()) {
                (Some(filter), _) => Cells::Owned(filter),
                (None, Some(filter)) => Cells::Mapped(filter),
                (None, None) => unreachable!("a filter is owned or mapped"),
            },
            Self::Foreign(filter) => Cells::Foreign(&**filter),
        }
    }
    /// What a query of a key tells: whether it may be present, and its count.
    pub(crate) fn ask(&self, key: &str, key_type: Option<KeyType>) -> Result<(bool, Option<u64>), KeyError> {
        match self {
            Self::Native(filter) => {
                let digest = filter.hasher().digest_key(key);
                Ok((filter.contains(key), filter.as_count().map(|counts| counts.count_digest(digest))))
            }
            Self::Foreign(filter) => {
                let mut scratch = Vec::new();
                let key = filter.parse(key.as_bytes(), key_type, &mut scratch)?;
                Ok((filter.contains(key)?, filter.count(key)?))
            }
        }
    }
}

/// All files.
pub(crate) struct Store {
    entries: Mutex<Vec<Arc<Entry>>>,
    max: u64,
}

impl Store {
    pub(crate) fn new(files: Vec<PathBuf>, max: u64) -> Self {
        let mut entries = Vec::new();
        for path in files {
            let len = std::fs::metadata(&path).map_or(0, |file| file.len());
            let (name, read) = (name_of(&path), read(&path, len));
            add(&mut entries, &name, Some(&path), len, read);
        }
        Self { entries: Mutex::new(entries), max }
    }

    /// Opens the bytes of an upload: the first of its filters, or why there is none.
    pub(crate) fn upload(&self, name: &str, bytes: &[u8]) -> Result<Arc<Entry>, String> {
        let name: String = name.chars().take(200).collect();
        let found = decode(bytes, self.max)?;
        let mut entries = self.lock();
        let first = add(&mut entries, &name, None, bytes.len() as u64, Ok(found));
        let uploads = |entries: &[Arc<Entry>]| entries.iter().filter(|entry| entry.path.is_none()).count();
        while uploads(&entries) > MOST {
            let oldest = entries.iter().position(|entry| entry.path.is_none() && entry.id != first.id);
            let Some(oldest) = oldest else { break };
            entries.remove(oldest);
        }
        Ok(first)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().clone()
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Entry>> {
        self.lock().iter().find(|entry| entry.id == id).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The filters of a file, each with what it is called there: a column, or nothing.
type Found = Vec<(Option<String>, Opened)>;

/// Adds the filters of a file, or why there are none; the first of them.
fn add(
    entries: &mut Vec<Arc<Entry>>,
    name: &str,
    path: Option<&Path>,
    len: u64,
    found: Result<Found, String>,
) -> Arc<Entry> {
    let first = entries.iter().map(|entry| entry.id).max().unwrap_or(0) + 1;
    let all = match found {
        Ok(found) => found.into_iter().map(|(part, opened)| (part, Ok(opened))).collect(),
        Err(error) => vec![(None, Err(error))],
    };
    for (id, (part, opened)) in (first..).zip(all) {
        let name = part.map_or_else(|| name.to_owned(), |part| format!("{name}: {part}"));
        entries.push(Arc::new(Entry { id, name, path: path.map(Path::to_owned), len, opened }));
    }
    entries.iter().find(|entry| entry.id == first).cloned().unwrap_or_else(|| unreachable!("it was added"))
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Opens a file that was named on the command line.
#[allow(unsafe_code, reason = "files of many gigabytes are mapped")]
fn read(path: &Path, len: u64) -> Result<Found, String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let native = if len > MAPPED {
        // SAFETY: as with `gardenia query`, the file is the user's own, named on the command line. Before each look at it
        // `is_unchanged` is asked. docs/explorer.md says that it must not be cut short meanwhile.
        unsafe { OpenFilter::map(path) }
    } else {
        OpenFilter::open(path)
    };
    match native {
        Ok(filter) => Ok(vec![(None, Opened::Native(Box::new(filter)))]),
        Err(error) if len > MAX_FOREIGN => Err(fail(&error)),
        Err(error) => match std::fs::read(path) {
            Ok(bytes) => {
                foreign(&bytes, len).unwrap_or_else(|| Err(error.to_string())).map_err(|error| fail(&error))
            }
            Err(error) => Err(fail(&error)),
        },
    }
}

/// The filters in some bytes that nobody vouches for.
fn decode(bytes: &[u8], max: u64) -> Result<Found, String> {
    let options = ReadOptions::new().max_bytes(max.saturating_mul(2));
    match AnyFilter::from_bytes_with(bytes, &options) {
        Ok(filter) => Ok(vec![(None, Opened::Native(Box::new(filter.into())))]),
        Err(error) => foreign(bytes, max).unwrap_or_else(|| Err(error.to_string())),
    }
}

/// The filters of another program, if the bytes look like that.
fn foreign(bytes: &[u8], max: u64) -> Option<Result<Found, String>> {
    let options = ReadOptions::new().max_bytes(max.saturating_mul(2).max(1 << 20));
    let mut failed = None;
    for format in Format::recognise(bytes) {
        let found = match format {
            Format::ParquetFile => parquet(bytes, &options),
            Format::Orc => orc(bytes, &options),
            _ => format.read(bytes, &options).map(|filter| vec![(None, Opened::Foreign(filter))]),
        };
        match found {
            Ok(found) if found.is_empty() => {
                failed = failed.or(Some(Err(format!("{}: it has no filters", format.title()))));
            }
            Ok(found) => return Some(Ok(found)),
            Err(error) => failed = failed.or(Some(Err(format!("{}: {error}", format.title())))),
        }
    }
    failed
}

/// The filters of a Parquet file, by column.
fn parquet(bytes: &[u8], options: &ReadOptions) -> Result<Found, DecodeError> {
    let mut file = ParquetFile::open(Cursor::new(bytes), options)?;
    let columns: Vec<usize> = (0..file.columns().len())
        .filter(|at| file.filters().iter().any(|place| place.column == *at))
        .collect();
    let mut found = Vec::new();
    for column in columns {
        let filters = file.column(column, None, options)?;
        found.push((Some(filters.name().to_owned()), Opened::Foreign(Box::new(filters))));
    }
    Ok(found)
}

/// The filters of an ORC file, by column.
fn orc(bytes: &[u8], options: &ReadOptions) -> Result<Found, DecodeError> {
    let mut file = OrcFile::open(Cursor::new(bytes), options, &uncompressed)?;
    let names: Vec<String> = file.columns().iter().map(|column| column.name.clone()).collect();
    let mut found = Vec::new();
    for (column, name) in names.into_iter().enumerate() {
        let filters = file.column(column, options, &uncompressed)?;
        if !filters.filters().is_empty() {
            found.push((Some(name), Opened::Foreign(Box::new(filters))));
        }
    }
    Ok(found)
}
