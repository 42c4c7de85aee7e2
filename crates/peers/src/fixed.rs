//! `peers static`: filters that are built of all keys at once, beside other crates'.
//!
//! A row is an [`Entry`]: a name, and how to make the filter of keys. All get the same random numbers. `xorf` takes numbers
//! for hash values and only mixes them; Gardenia hashes them first (`u64`), or is given what it would make of them
//! (`digests`), which is the like of what `xorf` does.

use crate::clock::Stopwatch;
use crate::host;
use crate::keys::random;
use clap::Args;
use gardenia::{BinaryFuse, Digest, KeyHasher};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;
use xorf::Filter as _;

/// Static filters, built of all keys at once.
#[derive(Debug, Args)]
pub(crate) struct StaticArgs {
    /// Numbers of keys
    #[arg(long, value_delimiter = ',', default_value = "1000000,10000000", value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    sizes: Vec<u64>,

    /// Repeats, of which the best is shown
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,

    /// Measure the rows whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// A built filter as this benchmark sees it. Its loops are inside, so that calls are inlined as a caller's would be.
trait Fixed {
    /// Asks one by one; how many were found.
    fn ask(&self, keys: &Keys) -> usize;
    /// Asks by batches, if it can.
    fn ask_many(&self, _: &Keys) -> Option<usize> {
        None
    }
    fn bytes(&self) -> usize;
}

/// Keys in both forms.
struct Keys {
    numbers: Vec<u64>,
    digests: Vec<Digest>,
}

impl Keys {
    fn draw(stream: u64, count: usize) -> Self {
        let numbers: Vec<u64> = (0..count).map(|at| random(stream, at)).collect();
        let digests = numbers.iter().map(|number| KeyHasher::default().digest_key(number)).collect();
        Self { numbers, digests }
    }
}

/// Keys per batch call.
const BATCH: usize = 8192;

/// One answer, which the compiler can neither leave out nor make together with others.
#[inline]
fn counted(found: bool) -> usize {
    usize::from(black_box(found))
}

/// Gardenia's, asked with keys.
struct OfKeys(BinaryFuse);

impl Fixed for OfKeys {
    fn ask(&self, keys: &Keys) -> usize {
        keys.numbers.iter().map(|key| counted(self.0.contains(key))).sum()
    }
    fn ask_many(&self, keys: &Keys) -> Option<usize> {
        let found = |keys: &[u64]| self.0.contains_many(keys).iter().filter(|found| **found).count();
        Some(keys.numbers.chunks(BATCH).map(found).sum())
    }
    fn bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

/// Gardenia's, asked with digests.
struct OfDigests(BinaryFuse);

impl Fixed for OfDigests {
    fn ask(&self, keys: &Keys) -> usize {
        keys.digests.iter().map(|digest| counted(self.0.contains_digest(*digest))).sum()
    }
    fn ask_many(&self, keys: &Keys) -> Option<usize> {
        let mut room = vec![false; BATCH];
        let mut found = |digests: &[Digest]| {
            let answers = &mut room[..digests.len()];
            self.0.contains_digests(digests, answers);
            answers.iter().filter(|found| **found).count()
        };
        Some(keys.digests.chunks(BATCH).map(&mut found).sum())
    }
    fn bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

impl Fixed for xorf::BinaryFuse8 {
    fn ask(&self, keys: &Keys) -> usize {
        keys.numbers.iter().map(|key| counted(self.contains(key))).sum()
    }
    fn bytes(&self) -> usize {
        self.fingerprints.len()
    }
}

impl Fixed for xorf::BinaryFuse16 {
    fn ask(&self, keys: &Keys) -> usize {
        keys.numbers.iter().map(|key| counted(self.contains(key))).sum()
    }
    fn bytes(&self) -> usize {
        self.fingerprints.len() * 2
    }
}

/// A row.
struct Entry {
    name: &'static str,
    /// Bits of a fingerprint: no filter of that rate takes less per key.
    bits: u32,
    /// Whether more threads than one can build it.
    threads: bool,
    make: fn(&Keys, usize) -> anyhow::Result<Box<dyn Fixed>>,
}

/// The rows. Ratios are those to the first.
fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: "xorf BinaryFuse8",
            bits: 8,
            threads: false,
            make: |keys, _| {
                Ok(Box::new(xorf::BinaryFuse8::try_from(&keys.numbers[..]).map_err(anyhow::Error::msg)?))
            },
        },
        Entry {
            name: "fuse 8, u64",
            bits: 8,
            threads: true,
            make: |keys, threads| {
                Ok(Box::new(OfKeys(BinaryFuse::builder().threads(threads).build_from(&keys.numbers)?)))
            },
        },
        Entry {
            name: "fuse 8, digests",
            bits: 8,
            threads: true,
            make: |keys, threads| {
                let builder = BinaryFuse::builder().threads(threads);
                Ok(Box::new(OfDigests(builder.build_from_digests(&keys.digests)?)))
            },
        },
        Entry {
            name: "fuse 8, four cells",
            bits: 8,
            threads: true,
            make: |keys, threads| {
                let builder = BinaryFuse::builder().arity(4).threads(threads);
                Ok(Box::new(OfKeys(builder.build_from(&keys.numbers)?)))
            },
        },
        Entry {
            name: "xorf BinaryFuse16",
            bits: 16,
            threads: false,
            make: |keys, _| {
                Ok(Box::new(xorf::BinaryFuse16::try_from(&keys.numbers[..]).map_err(anyhow::Error::msg)?))
            },
        },
        Entry {
            name: "fuse 16, u64",
            bits: 16,
            threads: true,
            make: |keys, threads| {
                let builder = BinaryFuse::builder().fingerprint(16).threads(threads);
                Ok(Box::new(OfKeys(builder.build_from(&keys.numbers)?)))
            },
        },
    ]
}

/// What was measured of one row: nanoseconds per key, the best, and what does not vary.
#[derive(Clone, Copy)]
struct Sample {
    /// Build with one thread, with two (wall time), hit, miss, batch miss.
    times: [f64; 5],
    bytes: usize,
    found: usize,
    lost: usize,
}

const TITLES: [&str; 5] = ["build", "build x2", "hit", "miss", "b.miss"];

pub(crate) fn run(args: &StaticArgs) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let host = host::describe();
    writeln!(out, "{}, {} cores; {}; {}", host.processor, host.cores, host.date, host.rustc)?;
    writeln!(
        out,
        "\nNanoseconds of processor time per key, best of {}, with two threads of wall time; b. = by batches of {BATCH}. In\n\
         brackets how many times as fast as the first row, a batch against its single calls. limit: bits per key by the\n\
         fingerprint's bits, which no filter of the rate can do without. FPR: measured, by 2^-bits.\n",
        args.repeat
    )?;
    for &items in &args.sizes {
        let (present, absent) = (Keys::draw(0, items as usize), Keys::draw(1, items.min(2_000_000) as usize));
        let titles = TITLES.map(|title| format!("{title:>15}")).concat();
        let line = format!("{items} keys");
        writeln!(out, "{line:<20}{titles}{:>10}{:>8}{:>8}", "bits/key", "limit", "FPR")?;
        let entries: Vec<Entry> =
            entries().into_iter().filter(|entry| entry.name.contains(&args.only)).collect();
        let mut best: Vec<Option<Sample>> = entries.iter().map(|_| None).collect();
        // The repeats are the outer loop, so that a disturbance falls on all rows.
        for _ in 0..args.repeat {
            for (entry, best) in entries.iter().zip(&mut best) {
                let sample = measure(entry, &present, &absent)?;
                *best = Some(match *best {
                    None => sample,
                    Some(old) => {
                        Sample { times: std::array::from_fn(|i| old.times[i].min(sample.times[i])), ..sample }
                    }
                });
            }
        }
        let samples: Vec<(&Entry, Sample)> =
            entries.iter().zip(best).filter_map(|(entry, best)| best.map(|best| (entry, best))).collect();
        let first = samples.first().map(|(_, sample)| sample.times);
        for (entry, sample) in &samples {
            writeln!(out, "{}", row(entry, sample, first, items, absent.numbers.len()))?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}

fn measure(entry: &Entry, present: &Keys, absent: &Keys) -> anyhow::Result<Sample> {
    let time = |keys: usize, work: &mut dyn FnMut() -> usize| {
        let watch = Stopwatch::start();
        let found = black_box(work());
        (watch.stop().time.as_secs_f64() * 1e9 / keys as f64, found)
    };
    let (items, asked) = (present.numbers.len(), absent.numbers.len());
    let watch = Stopwatch::start();
    let filter = (entry.make)(present, 1)?;
    let build = watch.stop().time.as_secs_f64() * 1e9 / items as f64;
    let mut build_two = f64::NAN;
    if entry.threads {
        let start = Instant::now();
        drop(black_box((entry.make)(present, 2)?));
        build_two = start.elapsed().as_secs_f64() * 1e9 / items as f64;
    }
    let (hit, hits) = time(items, &mut || filter.ask(present));
    let (miss, found) = time(asked, &mut || filter.ask(absent));
    let mut by_batch = f64::NAN;
    if filter.ask_many(&Keys::draw(2, 1)).is_some() {
        let (ns, same) = time(asked, &mut || filter.ask_many(absent).unwrap_or(0));
        anyhow::ensure!(same == found, "{}: batches answer otherwise than single calls", entry.name);
        by_batch = ns;
    }
    Ok(Sample {
        times: [build, build_two, hit, miss, by_batch],
        bytes: filter.bytes(),
        found,
        lost: items - hits,
    })
}

fn row(entry: &Entry, sample: &Sample, first: Option<[f64; 5]>, items: u64, asked: usize) -> String {
    // What of the first row a column is compared with.
    const AGAINST: [usize; 5] = [0, 0, 2, 3, 3];
    let times = (0..5).map(|i| match (sample.times[i], first) {
        (ns, _) if ns.is_nan() => format!("{:>15}", "-"),
        (ns, Some(first)) => format!("{:>15}", format!("{ns:.1} ({:.2})", first[AGAINST[i]] / ns)),
        (ns, None) => format!("{ns:>15.1}"),
    });
    let per_key = sample.bytes as f64 * 8.0 / items as f64;
    let rate = sample.found as f64 / asked as f64 * f64::from(entry.bits).exp2();
    let lost = if sample.lost > 0 { format!("  {} keys lost!", sample.lost) } else { String::new() };
    format!(
        "{:<20}{}{per_key:>10.3}{:>8.3}{rate:>8.3}{lost}",
        entry.name,
        times.collect::<String>(),
        per_key / f64::from(entry.bits)
    )
}

#[test]
fn every_static_filter_is_measured_and_loses_no_key() {
    let (present, absent) = (Keys::draw(0, 50_000), Keys::draw(1, 200_000));
    for entry in entries() {
        let sample = measure(&entry, &present, &absent).unwrap();
        assert_eq!(sample.lost, 0, "{}", entry.name);
        let expected = 200_000.0 * (-f64::from(entry.bits)).exp2();
        assert!(
            (sample.found as f64 - expected).abs() < 5.0 * expected.sqrt() + 1.0,
            "{}: {}",
            entry.name,
            sample.found
        );
    }
}
