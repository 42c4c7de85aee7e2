//! Settings: what a filter is made for when a command does not say, and how large one object may
//! be.
//!
//! They are set by arguments of `loadmodule` (`INITIAL_SIZE 1000 ERROR_RATE 0.001`), by the
//! engine's configuration file, or by `CONFIG SET bf.initial-size 1000`. A replica gets the values
//! that a filter was made with, and needs no settings.

use super::ffi::{Loading, Setting};
use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};

/// The largest capacity of one filter, as in RedisBloom.
pub const MAX_CAPACITY: i64 = 1 << 30;
/// The fastest growth, as in RedisBloom.
pub const MAX_EXPANSION: i64 = 1 << 15;

/// A whole number, its name, its range and its first value.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $key:literal, $least:expr, $most:expr, $first:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl $name {
            fn cell() -> &'static AtomicI64 {
                static VALUE: AtomicI64 = AtomicI64::new($first);
                &VALUE
            }
        }

        impl Setting<i64> for $name {
            const NAME: &'static CStr = $key;
            const RANGE: (i64, i64) = ($least, $most);
            fn get() -> i64 {
                Self::cell().load(Relaxed)
            }
            fn set(value: i64) -> bool {
                let fits = ($least..=$most).contains(&value);
                if fits {
                    Self::cell().store(value, Relaxed);
                }
                fits
            }
        }
    };
}

number!(
    /// Capacity of filters that are made by adding to them.
    InitialSize, c"initial-size", 1, MAX_CAPACITY, 100
);
number!(
    /// Growth of filters; 0 for none.
    ExpansionFactor, c"expansion-factor", 0, MAX_EXPANSION, 2
);
number!(
    /// Capacity of cuckoo filters that are made by adding to them.
    CuckooSize, c"cf-initial-size", 2, MAX_CAPACITY, 1024
);
number!(
    /// Their bucket size.
    CuckooBucketSize, c"cf-bucket-size", 1, 255, 2
);
number!(
    /// Their iterations.
    CuckooIterations, c"cf-max-iterations", 1, 65_535, 20
);
number!(
    /// Their growth; 0 for none.
    CuckooExpansion, c"cf-expansion-factor", 0, MAX_EXPANSION, 1
);
number!(
    /// The most filters that one of them grows to.
    CuckooFilters, c"cf-max-expansions", 1, 65_535, 32
);
number!(
    /// The most bytes of one object.
    MemoryLimit, c"memory-limit", 0, i64::MAX, 128 << 20
);

/// Error rate of filters that are made by adding to them.
pub struct ErrorRate;

static ERROR_RATE: AtomicU64 = AtomicU64::new(0.01f64.to_bits());

impl Setting<f64> for ErrorRate {
    const NAME: &'static CStr = c"error-rate";
    const RANGE: (f64, f64) = (0.0, 1.0);
    fn get() -> f64 {
        f64::from_bits(ERROR_RATE.load(Relaxed))
    }
    fn set(value: f64) -> bool {
        let fits = value > Self::RANGE.0 && value < Self::RANGE.1;
        if fits {
            ERROR_RATE.store(value.to_bits(), Relaxed);
        }
        fits
    }
}

/// The most bytes of one object.
#[must_use]
pub fn memory_limit() -> u64 {
    MemoryLimit::get().unsigned_abs()
}

/// A number of bytes as engines read it: `128mb` is 128 × 2²⁰, and `128m` is 128 × 10⁶.
fn bytes(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

/// Takes the arguments of `loadmodule`, pairs of a name and a value.
pub fn take_arguments(args: &[impl AsRef<[u8]>]) -> Result<(), &'static str> {
    let (pairs, rest) = args.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("arguments are pairs of a name and a value");
    }
    for [name, value] in pairs {
        let value = str::from_utf8(value.as_ref()).map_err(|_| "an argument's value is no number")?;
        let whole = value.parse::<i64>().ok();
        let taken = match name.as_ref().to_ascii_uppercase().as_slice() {
            b"INITIAL_SIZE" => whole.is_some_and(InitialSize::set),
            b"EXPANSION" | b"EXPANSION_FACTOR" => whole.is_some_and(ExpansionFactor::set),
            b"MEMORY_LIMIT" => bytes(value).is_some_and(MemoryLimit::set),
            b"ERROR_RATE" => value.parse().ok().is_some_and(ErrorRate::set),
            b"CF_INITIAL_SIZE" => whole.is_some_and(CuckooSize::set),
            b"CF_BUCKET_SIZE" => whole.is_some_and(CuckooBucketSize::set),
            b"CF_MAX_ITERATIONS" => whole.is_some_and(CuckooIterations::set),
            b"CF_EXPANSION_FACTOR" => whole.is_some_and(CuckooExpansion::set),
            b"CF_MAX_EXPANSIONS" => whole.is_some_and(CuckooFilters::set),
            _ => {
                return Err(
                    "an argument is unknown: INITIAL_SIZE, ERROR_RATE, EXPANSION, MEMORY_LIMIT, CF_INITIAL_SIZE, \
                     CF_BUCKET_SIZE, CF_MAX_ITERATIONS, CF_EXPANSION_FACTOR and CF_MAX_EXPANSIONS are known",
                );
            }
        };
        if !taken {
            return Err("an argument's value is out of range");
        }
    }
    Ok(())
}

/// Registers the settings, with their values as defaults.
pub fn register(loading: &Loading<'_>) -> Result<(), &'static str> {
    loading.add_number::<InitialSize>(false)?;
    loading.add_number::<ExpansionFactor>(false)?;
    loading.add_number::<CuckooSize>(false)?;
    loading.add_number::<CuckooBucketSize>(false)?;
    loading.add_number::<CuckooIterations>(false)?;
    loading.add_number::<CuckooExpansion>(false)?;
    loading.add_number::<CuckooFilters>(false)?;
    loading.add_number::<MemoryLimit>(true)?;
    let rate = std::ffi::CString::new(ErrorRate::get().to_string()).unwrap_or_default();
    loading.add_rate::<ErrorRate>(&rate)?;
    loading.load_settings()
}

#[test]
fn arguments_are_checked() {
    assert!(take_arguments(&["INITIAL_SIZE"]).is_err());
    assert!(take_arguments(&["INITIAL_SIZE", "0"]).is_err());
    assert!(take_arguments(&["ERROR_RATE", "1"]).is_err());
    assert!(take_arguments(&["ERROR_RATE", "0"]).is_err());
    assert!(take_arguments(&["ERROR_RATE", "NaN"]).is_err());
    assert!(take_arguments(&["ROSES", "1"]).is_err());
    assert!(take_arguments(&["CF_BUCKET_SIZE", "256"]).is_err());
    assert!(take_arguments(&["CF_MAX_EXPANSIONS", "0"]).is_err());
    assert!(take_arguments(&["CF_MAX_EXPANSIONS", "32"]).is_ok());
    assert!(take_arguments(&["cf_initial_size", "1024", "CF_BUCKET_SIZE", "2"]).is_ok());
    assert!(take_arguments(&["initial_size", "100", "ERROR_RATE", "0.01"]).is_ok());
    assert_eq!((InitialSize::get(), ErrorRate::get()), (100, 0.01));
}

#[test]
fn bytes_are_read_as_engines_read_them() {
    for (text, number) in
        [("0", 0), ("1000", 1000), ("7b", 7), ("1k", 1000), ("1Kb", 1024), ("2m", 2_000_000)]
    {
        assert_eq!(bytes(text), Some(number), "{text}");
    }
    assert_eq!([bytes("128mb"), bytes("2G"), bytes("2GB")], [1 << 27, 2_000_000_000, 1 << 31].map(Some));
    for wrong in ["", "mb", "1.5mb", "1tb", "1 mb", "rose", "9223372036854775807kb"] {
        assert_eq!(bytes(wrong), None, "{wrong}");
    }
}
