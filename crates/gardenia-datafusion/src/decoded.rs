//! Filters that arrive as bytes or by path: decoded once, and shared by all tasks of the process.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use gardenia::{AnyFilter, ReadOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Filters that are held, at most; those that were not used for longest go first.
const MOST_FILTERS: usize = 64;
/// Bytes that are held, at most, of filters that no query uses.
const MOST_BYTES: usize = 256 << 20;
/// For how long after a batch its query may ask for the filter of the next: it is not decoded
/// again for each.
const IN_USE: Duration = Duration::from_secs(30);

static DECODES: AtomicU64 = AtomicU64::new(0);

/// How many filters this process has decoded: a filter that is a constant of a query counts once,
/// not once per batch.
#[must_use]
pub fn decodes() -> u64 {
    DECODES.load(Ordering::Relaxed)
}

/// Where a filter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source<'a> {
    /// The bytes of a `.gdn` file.
    Bytes(&'a [u8]),
    /// The path of one.
    Path(&'a str),
}

impl<'a> Source<'a> {
    /// That of a constant; `None` if it is NULL.
    pub(crate) fn of(value: &'a ScalarValue) -> Result<Option<Self>, String> {
        match value {
            ScalarValue::Null => Ok(None),
            ScalarValue::Binary(bytes)
            | ScalarValue::LargeBinary(bytes)
            | ScalarValue::BinaryView(bytes)
            | ScalarValue::FixedSizeBinary(_, bytes) => Ok(bytes.as_deref().map(Self::Bytes)),
            ScalarValue::Utf8(path) | ScalarValue::LargeUtf8(path) | ScalarValue::Utf8View(path) => {
                Ok(path.as_deref().map(Self::Path))
            }
            other => Err(no_filter(&other.data_type())),
        }
    }

    /// That of a row; `None` if it is NULL.
    pub(crate) fn at(column: &'a dyn Array, row: usize) -> Result<Option<Self>, String> {
        if column.is_null(row) {
            return Ok(None);
        }
        Ok(Some(match column.data_type() {
            DataType::Null => return Ok(None),
            DataType::Binary => Self::Bytes(column.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Self::Bytes(column.as_binary::<i64>().value(row)),
            DataType::BinaryView => Self::Bytes(column.as_binary_view().value(row)),
            DataType::FixedSizeBinary(_) => Self::Bytes(column.as_fixed_size_binary().value(row)),
            DataType::Utf8 => Self::Path(column.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Self::Path(column.as_string::<i64>().value(row)),
            DataType::Utf8View => Self::Path(column.as_string_view().value(row)),
            other => return Err(no_filter(other)),
        }))
    }

    /// Whether both are the same filter. Rows that share their bytes in memory are compared without
    /// reading them.
    pub(crate) fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Bytes(ours), Self::Bytes(theirs)) => {
                std::ptr::eq(ours, theirs) || ours.len() == theirs.len() && ours == theirs
            }
            _ => self == other,
        }
    }

    /// The filter, decoded now.
    pub(crate) fn decode(self) -> Result<AnyFilter, String> {
        self.decode_with(&ReadOptions::new())
    }

    /// As [`decode`](Self::decode), within other limits.
    pub(crate) fn decode_with(self, options: &ReadOptions) -> Result<AnyFilter, String> {
        DECODES.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::Bytes(bytes) => AnyFilter::from_bytes_with(bytes, options)
                .map_err(|error| format!("the bytes are no filter: {error}")),
            Self::Path(path) => {
                AnyFilter::load_with(path, options).map_err(|error| format!("{path}: {error}"))
            }
        }
    }

    /// The filter, decoded now or before.
    pub(crate) fn shared(self) -> Result<Arc<AnyFilter>, String> {
        static HELD: Mutex<Vec<Arc<Held>>> = Mutex::new(Vec::new());
        let state = match self {
            Self::Bytes(_) => None,
            Self::Path(path) => Some(State::of(path)?),
        };
        let held = || HELD.lock().unwrap_or_else(|broken| broken.into_inner());
        // Bytes are compared without the lock: many tasks ask at once.
        let alike: Vec<Arc<Held>> = held().iter().filter(|held| held.may_be(self, state)).cloned().collect();
        let found = alike.into_iter().find(|held| held.is(self));
        let found = {
            let mut held = held();
            let found = match found
                .or_else(|| held.iter().find(|held| held.may_be(self, state) && held.is(self)).cloned())
            {
                Some(found) => found,
                None => Arc::new(Held::new(self, state)),
            };
            found.used();
            // The newest last; what is left of an older state of the file goes.
            held.retain(|other| !Arc::ptr_eq(other, &found) && !other.is_other_state(self, state));
            held.push(found.clone());
            found
        };
        let filter = found.filter.get_or_init(|| self.decode().map(Arc::new)).clone();
        let mut held = held();
        if filter.is_err() {
            // What was wrong, such as a file that could not be read, may be right the next time.
            held.retain(|other| !Arc::ptr_eq(other, &found));
        }
        shrink(&mut held, MOST_BYTES, Instant::now());
        filter
    }
}

/// Lets go of the filters that were not used for longest, if there is too much of them.
fn shrink(held: &mut Vec<Arc<Held>>, most_bytes: usize, now: Instant) {
    let mut bytes: usize = held.iter().map(|held| held.bytes()).sum();
    while held.len() > MOST_FILTERS
        || bytes > most_bytes && held.first().is_some_and(|first| first.is_idle(now))
    {
        bytes -= held.remove(0).bytes();
    }
}

/// An error if values of this type are no filters.
pub(crate) fn check(data_type: &DataType) -> Result<(), String> {
    match data_type {
        DataType::Null
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Ok(()),
        other => Err(no_filter(other)),
    }
}

fn no_filter(data_type: &DataType) -> String {
    format!(
        "a value of type {data_type} is no filter. hint: use the bytes of a filter, as filter_agg returns them, or the path of a .gdn file"
    )
}

/// A filter that is held, and what it is known by.
struct Held {
    key: Name,
    /// Of a path: the file as it was.
    state: Option<State>,
    filter: OnceLock<Result<Arc<AnyFilter>, String>>,
    /// When it was asked for last.
    used: Mutex<Instant>,
}

enum Name {
    Bytes(Box<[u8]>),
    Path(Box<str>),
}

impl Name {
    fn of(source: Source<'_>) -> Self {
        match source {
            Source::Bytes(bytes) => Self::Bytes(bytes.into()),
            Source::Path(path) => Self::Path(path.into()),
        }
    }
}

impl Held {
    fn new(source: Source<'_>, state: Option<State>) -> Self {
        let used = Mutex::new(Instant::now());
        Self { key: Name::of(source), state, filter: OnceLock::new(), used }
    }

    fn used(&self) {
        *self.used.lock().unwrap_or_else(|broken| broken.into_inner()) = Instant::now();
    }

    fn is_idle(&self, now: Instant) -> bool {
        let used = *self.used.lock().unwrap_or_else(|broken| broken.into_inner());
        now.saturating_duration_since(used) > IN_USE
    }

    /// Bytes of memory: what it is known by, and the filter once it is decoded.
    fn bytes(&self) -> usize {
        let key = match &self.key {
            Name::Bytes(bytes) => bytes.len(),
            Name::Path(path) => path.len(),
        };
        let filter = self.filter.get().and_then(|filter| filter.as_ref().ok());
        key + filter.map_or(0, |filter| filter.memory_bytes())
    }

    /// Whether it is this filter, as far as that is known without reading it.
    fn may_be(&self, source: Source<'_>, state: Option<State>) -> bool {
        match (&self.key, source) {
            (Name::Bytes(ours), Source::Bytes(theirs)) => {
                let end = |bytes: &[u8]| bytes.len().saturating_sub(64);
                ours.len() == theirs.len() && ours[end(ours)..] == theirs[end(theirs)..]
            }
            (Name::Path(ours), Source::Path(theirs)) => **ours == *theirs && self.state == state,
            _ => false,
        }
    }

    fn is(&self, source: Source<'_>) -> bool {
        match (&self.key, source) {
            (Name::Bytes(ours), Source::Bytes(theirs)) => **ours == *theirs,
            (Name::Path(ours), Source::Path(theirs)) => **ours == *theirs,
            _ => false,
        }
    }

    fn is_other_state(&self, source: Source<'_>, state: Option<State>) -> bool {
        matches!((&self.key, source), (Name::Path(ours), Source::Path(theirs)) if **ours == *theirs)
            && self.state != state
    }
}

/// What tells a file from another that took its place.
#[derive(Clone, Copy, PartialEq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
}

impl State {
    fn of(path: &str) -> Result<Self, String> {
        let about = std::fs::metadata(path).map_err(|error| {
            format!(
                "{path}: {error}. hint: the path must lead to the filter on every machine that runs the query"
            )
        })?;
        Ok(Self {
            len: about.len(),
            modified: about.modified().ok(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&about),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(path: &str, bytes: usize) -> Arc<Held> {
        let held = Held::new(Source::Path(path), None);
        let filter = format!("bloom bits={} hashes=1", 8 * bytes).parse::<gardenia::Spec>().unwrap().build();
        assert!(held.filter.set(Ok(Arc::new(filter.unwrap()))).is_ok());
        Arc::new(held)
    }

    #[test]
    fn filters_of_paths_are_let_go_once_no_query_uses_them() {
        let mut all: Vec<_> = (0..4).map(|at| held(&at.to_string(), 1000)).collect();
        let paths = |all: &[Arc<Held>]| -> Vec<String> {
            let path = |held: &Arc<Held>| match &held.key {
                Name::Path(path) => path.to_string(),
                Name::Bytes(_) => String::new(),
            };
            all.iter().map(path).collect()
        };
        let now = Instant::now();
        shrink(&mut all, 2100, now);
        assert_eq!(paths(&all), ["0", "1", "2", "3"]); // all of them are in use
        shrink(&mut all, 2100, now + IN_USE + Duration::from_secs(9));
        assert_eq!(paths(&all), ["2", "3"]);
        all.extend((0..MOST_FILTERS).map(|_| held("x", 10)));
        shrink(&mut all, usize::MAX, now);
        assert_eq!(all.len(), MOST_FILTERS);
    }

    #[test]
    fn an_error_is_not_held() {
        let there = tempfile::tempdir().unwrap();
        let path = there.path().join("f.gdn");
        let bytes = gardenia::Bloom::new(100, 0.01).unwrap().to_bytes().unwrap();
        let mut wrong = bytes.clone();
        wrong[100] ^= 1;
        let modified = SystemTime::now();
        let write = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        };
        let source = Source::Path(path.to_str().unwrap());
        write(&wrong);
        assert!(source.shared().is_err());
        write(&bytes); // in place: of the same size, time and inode
        assert!(source.shared().is_ok());
    }
}
