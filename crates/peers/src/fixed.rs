//! `peers static`: static filters, and those that remove or grow, beside other crates'.
//!
//! A row is an [`Entry`]: a name, and how to make the filter of keys. All get the same random
//! numbers. `xorf` takes numbers for hash values and only mixes them; Gardenia hashes them first
//! (`u64`), or is given what it would make of them (`digests`), which is the like of what `xorf`
//! does.

mod filters;
mod goals;

use crate::clock::Stopwatch;
use crate::host;
use crate::keys::random;
use clap::Args;
use filters::{BATCH, Build, Entry, Rate, entries};
use gardenia::{Digest, KeyHasher};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

/// Compares static filters, and those that remove or grow.
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

    /// At most `count` of them, evenly taken.
    fn some(&self, count: usize) -> Self {
        let step = self.numbers.len().div_ceil(count);
        Self {
            numbers: self.numbers.iter().step_by(step).copied().collect(),
            digests: self.digests.iter().step_by(step).copied().collect(),
        }
    }
}

/// Keys that are asked, at most.
const ASKED: usize = 2_000_000;

/// What was measured of one row: nanoseconds per key, the best, and what does not vary.
#[derive(Clone, Copy)]
struct Sample {
    /// As in [`TITLES`].
    times: [f64; 5],
    per_key: f64,
    /// Bits per key by the least that any filter of the rate takes.
    over_limit: f64,
    measured: f64,
    lost: usize,
}

/// Columns of times: build by one thread, by two (wall time), hit, miss, batch miss.
const BUILD: usize = 0;
const HIT: usize = 2;
const MISS: usize = 3;
const BATCH_MISS: usize = 4;
const TITLES: [&str; 5] = ["build", "build x2", "hit", "miss", "b.miss"];

pub(crate) fn run(args: &StaticArgs) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{}", host::describe())?;
    writeln!(
        out,
        "\nNanoseconds of processor time per key, best of {}; with two threads, and where a crate builds in threads of its\n\
         own, of wall time. b. = by batches of {BATCH}. In brackets how many times as fast as the row that it is compared\n\
         with, which shows (1.00); a batch against that one's single calls. limit: bits per key by the least that any\n\
         filter of the rate takes, of the rate that it is made for if it is made for one, else of the measured one.\n",
        args.repeat
    )?;
    for &items in &args.sizes {
        let (present, absent) = (Keys::draw(0, items as usize), Keys::draw(1, ASKED));
        let entries: Vec<Entry> =
            entries().into_iter().filter(|entry| entry.name.contains(&args.only)).collect();
        let mut best: Vec<Option<Sample>> = entries.iter().map(|_| None).collect();
        // The repeats are the outer loop, so that a disturbance falls on all rows.
        for repeat in 1..=args.repeat {
            for (entry, best) in entries.iter().zip(&mut best) {
                let _ = writeln!(std::io::stderr(), "{items} keys, repeat {repeat}: {}", entry.name);
                let sample = measure(entry, &present, &absent)?;
                *best = Some(match *best {
                    None => sample,
                    Some(old) => {
                        Sample { times: std::array::from_fn(|i| old.times[i].min(sample.times[i])), ..sample }
                    }
                });
            }
        }
        let rows: Vec<(&Entry, Sample)> =
            entries.iter().zip(best).filter_map(|(entry, best)| best.map(|best| (entry, best))).collect();
        let titles = TITLES.map(|title| format!("{title:>15}")).concat();
        let line = format!("{items} keys");
        writeln!(out, "{line:<20}{titles}{:>10}{:>8}{:>10}", "bits/key", "limit", "FPR %")?;
        for (entry, sample) in &rows {
            let peer =
                rows.iter().find(|(other, _)| other.name == entry.peer).map(|(_, sample)| sample.times);
            writeln!(out, "{}", row(entry, sample, peer))?;
        }
        writeln!(out, "\n{}", goals::text(&rows))?;
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
    let took = watch.stop();
    let took = if entry.build == Build::OwnThreads { took.end - took.start } else { took.time };
    let build = took.as_secs_f64() * 1e9 / items as f64;
    let mut build_two = f64::NAN;
    if entry.build != Build::Caller {
        let start = Instant::now();
        drop(black_box((entry.make)(present, 2)?));
        build_two = start.elapsed().as_secs_f64() * 1e9 / items as f64;
    }
    let present = present.some(ASKED);
    let (hit, hits) = time(present.numbers.len(), &mut || filter.ask(&present));
    let (miss, found) = time(asked, &mut || filter.ask(absent));
    let mut by_batch = f64::NAN;
    if filter.ask_many(&Keys::draw(2, 1)).is_some() {
        let (ns, same) = time(asked, &mut || filter.ask_many(absent).unwrap_or(0));
        anyhow::ensure!(same == found, "{}: batches answer otherwise than single calls", entry.name);
        by_batch = ns;
    }
    let measured = found as f64 / asked as f64;
    let rate = match entry.rate {
        Rate::Is(rate) => rate,
        Rate::AtMost(_) => measured,
    };
    let per_key = filter.bytes() as f64 * 8.0 / items as f64;
    Ok(Sample {
        times: [build, build_two, hit, miss, by_batch],
        per_key,
        over_limit: per_key / -rate.log2(),
        measured,
        lost: present.numbers.len() - hits,
    })
}

fn row(entry: &Entry, sample: &Sample, peer: Option<[f64; 5]>) -> String {
    // What of the other row a column is compared with.
    const AGAINST: [usize; 5] = [BUILD, BUILD, HIT, MISS, MISS];
    let times = (0..5).map(|i| match (sample.times[i], peer) {
        (ns, _) if ns.is_nan() => format!("{:>15}", "-"),
        (ns, Some(peer)) => format!("{:>15}", format!("{ns:.1} ({:.2})", peer[AGAINST[i]] / ns)),
        (ns, None) => format!("{ns:>15.1}"),
    });
    let Sample { per_key, over_limit, measured, lost, .. } = sample;
    let mut fault = if *lost > 0 { format!("  FAULT: {lost} keys lost") } else { String::new() };
    let (Rate::Is(most) | Rate::AtMost(most)) = entry.rate;
    if *measured > most + 5.0 * (most / ASKED as f64).sqrt() {
        fault.push_str("  more than it should");
    }
    format!(
        "{:<20}{}{per_key:>10.3}{over_limit:>8.3}{:>10.4}{fault}",
        entry.name,
        times.collect::<String>(),
        measured * 100.0
    )
}

#[test]
fn every_static_filter_is_measured_and_loses_no_key() {
    let (present, absent) = (Keys::draw(0, 50_000), Keys::draw(1, 200_000));
    for entry in entries() {
        let sample = measure(&entry, &present, &absent).unwrap();
        assert_eq!(sample.lost, 0, "{}", entry.name);
        let deviation = |rate: f64| 5.0 * (rate / 200_000.0).sqrt() + 1.0 / 200_000.0;
        let fits = match entry.rate {
            Rate::Is(rate) => (sample.measured - rate).abs() < deviation(rate),
            // This one does not keep the rate that it is asked for, and the table says so.
            Rate::AtMost(_) if entry.name == filters::GROWABLE => true,
            Rate::AtMost(rate) => sample.measured < rate + deviation(rate),
        };
        assert!(fits, "{}: {}", entry.name, sample.measured);
        assert!(sample.over_limit > 1.0 && sample.over_limit < 5.0, "{}: {}", entry.name, sample.over_limit);
    }
}
