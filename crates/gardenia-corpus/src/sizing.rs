//! How many units a corpus has, from a sample: asked before a run, so that it does not end for want
//! of memory.

use crate::analyse::Analyser;
use crate::input::{Reader, Source};
use crate::options::{Options, Set};
use crate::seen::bytes_for;
use gardenia::Digest;
use gardenia_terminal::{human, message::hinted};
use std::collections::HashMap;
use std::sync::Arc;

/// Pieces that are looked at, and bytes of each.
const PIECES: usize = 12;
const BYTES: usize = 128 << 10;
/// Bytes of each file over which it is measured how well it is compressed.
const SPAN: usize = 1 << 20;

/// What is expected of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Which.
    pub set: Set,
    /// Units of the corpus that are likely to be distinct: rather too many than too few.
    pub units: u64,
    /// Bytes of memory that it is likely to need.
    pub bytes: u64,
}

/// The units of a set in the pieces of a sample.
#[derive(Default)]
struct Sampled {
    /// The piece that each was in; none if there were several.
    found: HashMap<Digest, Option<usize>>,
}

impl Sampled {
    fn add(&mut self, piece: usize, digests: &[Digest]) {
        for digest in digests {
            let found = self.found.entry(*digest).or_insert(Some(piece));
            *found = found.filter(|other| *other == piece);
        }
    }

    /// Distinct units of a corpus that is `scale` times as long. What was in several pieces is
    /// everywhere, and counts once; what was in one piece goes on at the same pace. A unit that is
    /// in c pieces of the corpus is in one of the sample with probability c·p·(1 − p)^(c − 1),
    /// where p = 1/scale, and in several with the rest: it is expected to count for 1 at least, and
    /// for c at most, so that the sum is no underestimate, if the pieces are like the rest.
    fn distinct(&self, scale: f64) -> f64 {
        let single = self.found.values().filter(|piece| piece.is_some()).count();
        (self.found.len() - single) as f64 + single as f64 * scale.max(1.0)
    }
}

/// What is expected of each set that the options need.
pub fn expect(sources: &[Source], options: &Options) -> anyhow::Result<Vec<Expected>> {
    let step = sources.len().div_ceil(PIECES).max(1);
    let each = PIECES.div_ceil(sources.len().div_ceil(step).max(1));
    let mut analyser = Analyser::new(options);
    let (mut read, mut pieces) = (0.0, 0);
    let mut sampled: [Sampled; 4] = Default::default();
    for source in sources.iter().step_by(step) {
        let mut reader = Reader::open(source, options.max_line as usize, Arc::default())?;
        // A decoder reads ahead: over several chunks that matters little.
        let (mut whole, mut used, mut own) = (0, 0, 0);
        while whole < SPAN || own < each {
            // What is wrong with a file is reported when it is read as a whole.
            let Ok(Some(mut chunk)) = reader.chunk() else { break };
            whole += chunk.bytes.len();
            if own == each {
                continue;
            }
            if let Some(end) = chunk.bytes.get(BYTES..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                chunk.bytes.truncate(BYTES + end + 1);
            }
            let analysed = analyser.analyse(&chunk);
            let all = [&analysed.keys, &analysed.bands, &analysed.marks, &analysed.grams];
            sampled.iter_mut().zip(all).for_each(|(sampled, digests)| sampled.add(pieces, digests));
            (used, own, pieces) = (used + chunk.bytes.len(), own + 1, pieces + 1);
        }
        // The part of what was read from disk that these lines are.
        read += reader.read() as f64 * used as f64 / whole.max(1) as f64;
    }
    let bytes: u64 = sources.iter().map(|source| source.bytes).sum();
    let scale = bytes as f64 / f64::max(read, 1.0);
    let expected = Set::ALL.into_iter().zip(&sampled).filter(|(set, _)| options.sets().contains(set));
    expected
        .map(|(set, sampled)| {
            let units = sampled.distinct(scale).ceil() as u64;
            let bytes = bytes_for(units, rate(set, options), options.items, options.exact)?;
            Ok(Expected { set, units, bytes })
        })
        .collect()
}

/// The rate that a set's filter is made for: that of a document is shared among its bands.
pub fn rate(set: Set, options: &Options) -> f64 {
    match (&options.near, set) {
        (Some(near), Set::Bands) => options.fpp / near.bands.bands as f64,
        _ => options.fpp,
    }
}

/// Bytes that each set may take; an error if the sets are likely to need more than there is.
/// `memory` is what is left of `--memory`.
pub fn limits(expected: &[Expected], memory: Option<u64>) -> anyhow::Result<Vec<u64>> {
    let needed: u64 = expected.iter().map(|set| set.bytes).sum();
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
    use std::collections::HashSet;
    use std::path::Path;

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

    /// Lines that are drawn from `common`, with the share `own` of lines that occur once; what is
    /// common is common to the whole corpus, or to a tenth of a file.
    fn corpus(directory: &Path, files: u64, own: u64, common: u64, local: bool) -> HashSet<String> {
        let mut all = HashSet::new();
        for file in 0..files {
            let mut text = String::new();
            for document in 0..20_000 {
                let number = file * 20_000 + document;
                text += "{\"text\": \"";
                for line in 0..5 {
                    let random = Digest(number * 5 + line).word(1);
                    let place = if local { number / 2_000 } else { 0 };
                    let line = match random % 100 < own {
                        true => format!("a line of document {number} and of no other one, number {line}"),
                        false => format!("boilerplate {} of {place}, which repeats", (random >> 32) % common),
                    };
                    text += &line;
                    text += "\\n";
                    all.insert(line);
                }
                text += "\"}\n";
            }
            std::fs::write(directory.join(format!("{file}.jsonl")), text).unwrap();
        }
        all
    }

    /// With many and few duplicates, everywhere or near each other, in one file or several: never
    /// much less than the truth, and never as many as there are units if most of them repeat.
    #[test]
    fn duplicates_are_estimated_and_not_underestimated() {
        for (files, own, common, local) in [
            (4, 95, 1_000, false),
            (4, 10, 200, false),
            (1, 10, 200, false),
            (4, 10, 200, true),
            (4, 0, 50, false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let truth = corpus(directory.path(), files, own, common, local).len() as f64;
            let sources = find(&[directory.path().display().to_string()]).unwrap();
            let options = Options { paragraphs: true, ..Options::default() };
            let found = expect(&sources, &options).unwrap()[0].units as f64;
            let units = (files * 100_000) as f64;
            let about =
                format!("{found} where there are {truth} of {units}: {files} files, {own} %, {local}");
            // A tenth for the length of lines, which differs between the pieces and the rest.
            assert!(found > 0.9 * truth, "{about}");
            assert!(found < if local { 3.0 } else { 1.5 } * truth, "{about}");
        }
    }

    #[test]
    fn a_filter_of_a_fixed_size_needs_all_of_it() {
        let directory = tempfile::tempdir().unwrap();
        corpus(directory.path(), 1, 0, 50, false);
        let sources = find(&[directory.path().display().to_string()]).unwrap();
        let options = Options { paragraphs: true, items: Some(1_000_000), ..Options::default() };
        let expected = expect(&sources, &options).unwrap();
        assert_eq!(expected[0].bytes, bytes_for(0, 1e-6, Some(1_000_000), false).unwrap());
        assert!(limits(&expected, Some(expected[0].bytes - 1)).is_err());
        assert_eq!(limits(&expected, Some(expected[0].bytes)).unwrap(), [expected[0].bytes]);
    }
}
