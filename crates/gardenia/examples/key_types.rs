//! Filters of keys of every type, and answers to twice as many: what other languages compare theirs
//! with.
//!
//! `key_types DIRECTORY COUNT` writes `TYPE.gdn` and `TYPE.answers`, a byte for each key. The tests
//! of the Python module run it.

use gardenia::{BlockedBloom, Key};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A number for each key.
fn word(at: u64) -> u64 {
    at.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn write<K: Key>(
    to: &Path,
    name: &str,
    count: u64,
    key: impl Fn(u64, u64) -> K,
) -> Result<(), Box<dyn std::error::Error>> {
    let keys: Vec<K> = (0..2 * count).map(|at| key(at, word(at))).collect();
    let mut filter = BlockedBloom::new(count, 0.01)?;
    filter.insert_many(&keys[..count as usize]);
    filter.save(to.join(format!("{name}.gdn")))?;
    let answers: Vec<u8> = filter.contains_many(&keys).into_iter().map(u8::from).collect();
    Ok(std::fs::write(to.join(format!("{name}.answers")), answers)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(to), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: key_types DIRECTORY COUNT".into());
    };
    let (to, count): (PathBuf, u64) = (to.into(), count.parse()?);
    let twice = |w: u64| u128::from(w) << 64 | u128::from(w);
    let length = |w: u64| Duration::from_secs(w >> 32) + Duration::from_micros(w % 1_000_000);
    write(&to, "text", count, |_, w| format!("key {w:x} ä"))?;
    write(&to, "bytes", count, |at, w| [&w.to_be_bytes()[..((at % 9) as usize).min(8)], &[255]].concat())?;
    write(&to, "bool", count, |_, w| w >> 63 == 1)?;
    write(&to, "u64", count, |_, w| w)?;
    write(&to, "i64", count, |_, w| w as i64)?;
    write(&to, "i128", count, |_, w| i128::from(w) + i128::MIN)?;
    write(&to, "f64", count, |_, w| w as f64 / 2f64.powi(32) - 1e6)?;
    write(&to, "f32", count, |_, w| (w >> 40) as f32 / 3.0)?;
    write(&to, "ipv4", count, |_, w| Ipv4Addr::from_bits((w >> 32) as u32))?;
    write(&to, "ipv6", count, |_, w| Ipv6Addr::from_bits(twice(w)))?;
    write(&to, "uuid", count, |_, w| uuid::Uuid::from_u128(twice(w)))?;
    write(&to, "time", count, |_, w| UNIX_EPOCH + length(w) - Duration::from_secs(1 << 31))?;
    write(&to, "duration", count, |_, w| length(w))?;
    write(&to, "tuple", count, |at, w| (format!("{w:x}"), at))?;
    write(&to, "nested", count, |at, w| ((w & 1 == 1, None::<u8>), (w % 7) as f64 / 2.0, (at.to_string(),)))?;
    write(&to, "path", count, |_, w| PathBuf::from(format!("/tmp/{w:x}")))?;
    Ok(())
}
