//! How many units a corpus has, from a sample: asked before a run, so that it does not end for want
//! of memory.

use crate::analyse::Analyser;
use crate::input::{Reader, Source};
use crate::options::{Options, Set};
use crate::seen::bytes_for;
use gardenia::Digest;
use gardenia_terminal::{human, message::hinted};
use std::collections::HashSet;
use std::sync::Arc;

/// Files that are looked into, and bytes of each.
const FILES: usize = 12;
const BYTES: usize = 128 << 10;
/// Bytes of each over which it is measured how well it is compressed.
const SPAN: usize = 1 << 20;

/// What is expected of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Which.
    pub set: Set,
    /// Units of the corpus: no more can be distinct.
    pub units: u64,
    /// The share of them that was distinct in the sample.
    pub distinct: f64,
    /// Bytes of memory if all are distinct.
    pub bytes: u64,
}

/// What is expected of each set that the options need.
pub fn expect(sources: &[Source], options: &Options) -> anyhow::Result<Vec<Expected>> {
    let step = sources.len().div_ceil(FILES).max(1);
    let mut analyser = Analyser::new(options);
    let (mut sampled, mut units) = (0.0, [0u64; 4]);
    let mut distinct: [HashSet<Digest>; 4] = Default::default();
    for source in sources.iter().step_by(step) {
        let mut reader = Reader::open(source, options.max_line as usize, Arc::default())?;
        // What is wrong with a file is reported when it is read as a whole.
        let Ok(Some(mut chunk)) = reader.chunk() else { continue };
        // A decoder reads ahead: over several chunks that matters little.
        let mut whole = chunk.bytes.len();
        while whole < SPAN {
            let Ok(Some(more)) = reader.chunk() else { break };
            whole += more.bytes.len();
        }
        if let Some(end) = chunk.bytes.get(BYTES..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            chunk.bytes.truncate(BYTES + end + 1);
        }
        let analysed = analyser.analyse(&chunk);
        let all = [&analysed.keys, &analysed.bands, &analysed.marks, &analysed.grams];
        for ((units, distinct), digests) in units.iter_mut().zip(&mut distinct).zip(all) {
            *units += digests.len() as u64;
            distinct.extend(digests.iter().copied());
        }
        // The part of what was read from disk that these lines are.
        sampled += reader.read() as f64 * chunk.bytes.len() as f64 / whole as f64;
    }
    let bytes: u64 = sources.iter().map(|source| source.bytes).sum();
    let scale = bytes as f64 / f64::max(sampled, 1.0);
    let expected =
        Set::ALL.into_iter().enumerate().filter(|(_, set)| options.sets().contains(set)).map(|(at, set)| {
            let total = (units[at] as f64 * scale).ceil() as u64;
            let share = distinct[at].len() as f64 / units[at].max(1) as f64;
            let bytes = bytes_for(total, rate(set, options), options.items, options.exact)?;
            Ok(Expected { set, units: total, distinct: share, bytes })
        });
    expected.collect()
}

/// The rate that a set's filter is made for: that of a document is shared among its bands.
pub fn rate(set: Set, options: &Options) -> f64 {
    match (&options.near, set) {
        (Some(near), Set::Bands) => options.fpp / near.bands.bands as f64,
        _ => options.fpp,
    }
}

/// Bytes that each set may take; an error if the sets are likely to need more than there is.
pub fn limits(expected: &[Expected], memory: Option<u64>) -> anyhow::Result<Vec<u64>> {
    let needed: u64 = expected.iter().map(|set| (set.bytes as f64 * set.distinct) as u64).sum();
    let Some(memory) = memory.or_else(available) else { return Ok(vec![u64::MAX; expected.len()]) };
    if needed > memory {
        let sets: Vec<String> =
            expected.iter().map(|set| format!("{} {}", human::count(set.units), set.set.name())).collect();
        let reason = format!(
            "about {} need {} of memory at this --fpp, and {} may be used",
            sets.join(", "),
            human::bytes(needed),
            human::bytes(memory)
        );
        return Err(hinted(reason, "raise --memory or --fpp, or split the corpus and use --after"));
    }
    // What is left is shared by size, so that an estimate that is too low does not end the run.
    let all: u64 = expected.iter().map(|set| set.bytes.max(1)).sum();
    let share = |set: &Expected| memory as f64 * set.bytes.max(1) as f64 / all.max(1) as f64;
    Ok(expected.iter().map(|set| share(set) as u64).collect())
}

/// Bytes that can be had without swapping, where the system tells (Linux): of the machine, or of
/// the container.
pub(crate) fn available() -> Option<u64> {
    let machine = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let container = || {
        let number = |name: &str| -> Option<u64> {
            std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse().ok()
        };
        Some(number("max")?.saturating_sub(number("current")?))
    };
    machine().into_iter().chain(container()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Recipe, generate};
    use crate::input::{Packing, find};

    /// The estimate of a generated corpus is within a tenth of the truth, however it is packed:
    /// files are alike.
    #[test]
    fn a_sample_tells_how_many_units_there_are() {
        for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
            let directory = tempfile::tempdir().unwrap();
            let recipe = Recipe {
                documents: 6_000,
                files: 3,
                seed: 1,
                exact: 0.0,
                near: 0.0,
                paragraph: 0.0,
                similarity: (0.5, 0.5),
                words: 60,
                paragraphs: 5,
                packing,
                once: false,
            };
            generate(&recipe, directory.path()).unwrap();
            let sources = find(&[directory.path().join("corpus").display().to_string()]).unwrap();
            let options = Options { documents: true, paragraphs: true, ..Options::default() };
            let expected = expect(&sources, &options).unwrap();
            let units: Vec<f64> = expected.iter().map(|set| set.units as f64).collect();
            assert!(
                (units[0] / 6_000.0 - 1.0).abs() < 0.1 && (units[1] / 30_000.0 - 1.0).abs() < 0.1,
                "{units:?}"
            );
            assert!(limits(&expected, Some(1_000)).is_err());
        }
    }
}
