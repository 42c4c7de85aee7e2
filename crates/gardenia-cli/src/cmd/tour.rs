//! `gardenia tour`: what filters do, on built-in examples, with what it cost.
//!
//! A tour is a list of [`STEPS`]; a later part of the family adds its own line there. Every input
//! is fixed, so that only the times differ from one machine to the next.

use crate::args::TourArgs;
use crate::human::{bytes, count, seconds, share};
use crate::keys::random;
use crate::verbs::Verbs;
use crate::{Outcome, message};
use anyhow::{Context, bail};
use gardenia::cells::CellKind;
use gardenia::filter::{Clearing, Effort, MinimumIncrease, Update};
use gardenia::index::AnyScheme;
use gardenia::theory::blocked;
use gardenia::{
    A2Bloom, Ability, AnyFilter, BinaryFuse, BlockedBloom, Bloom, Bloomier, ChoiceBloom, CountMin, Cuckoo,
    Digest, DistanceSensitiveBloom, Filter, GolombSet, RetouchedBloom, Ribbon, ScalableBloom, SpectralBloom,
    Top,
};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, StdoutLock, Write};
use std::time::Instant;
use tempfile::TempDir;

/// Names of garden flowers, one per line.
const FLOWERS: &str = include_str!("../../samples/flowers.txt");

/// What each step is called, and what it does.
const STEPS: [(&str, Step); 8] = [
    ("Two filters of flowers", flowers),
    ("The same answers from files", file),
    ("A stream without its repeats", deduplicate),
    ("Filters that count, remove and forget", garden),
    ("The same bits, better chosen", choices),
    ("A stream that does not fit", sketches),
    ("The other kinds", relatives),
    ("Time per key", speed),
];

type Step = fn(&mut Tour) -> anyhow::Result<()>;

pub(crate) fn run(_: &TourArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let mut tour = Tour::new();
    tour.line(
        "Gardenia stores sets of keys in one or two bytes per key. It finds every key that was added,",
    )?;
    tour.line(
        "and reports a small share of other keys as present: the false-positive rate, which you choose.",
    )?;
    for (number, (title, step)) in STEPS.iter().enumerate() {
        tour.heading(number + 1, title)?;
        step(&mut tour)?;
    }
    tour.line("")?;
    tour.line(format!("That was all, in {}. Your turn:", seconds(start.elapsed().as_secs_f64())))?;
    tour.line("  gardenia build -o mine.gdn FILE      a filter of the lines of a file")?;
    tour.line("  gardenia query mine.gdn OTHER        the lines of another that may be in it")?;
    tour.line("  gardenia help                        everything else")?;
    Ok(Outcome::Done)
}

/// Where the tour prints.
struct Tour {
    stdout: StdoutLock<'static>,
    colour: bool,
}

impl Tour {
    fn new() -> Self {
        let stdout = io::stdout().lock();
        let colour = gardenia_terminal::colour();
        Self { stdout, colour }
    }

    fn line(&mut self, text: impl Display) -> anyhow::Result<()> {
        writeln!(self.stdout, "{text}").context("stdout")
    }

    fn heading(&mut self, number: usize, title: &str) -> anyhow::Result<()> {
        let (on, off) = if self.colour { ("\x1b[1;32m", "\x1b[0m") } else { ("", "") };
        self.line("")?;
        self.line(format!("{on}{number}. {title}{off}"))
    }
}

/// The bundled flowers.
fn names() -> Vec<&'static str> {
    FLOWERS.lines().collect()
}

/// A filter of the bundled flowers, at 1 %.
fn of_flowers<F: Verbs>() -> anyhow::Result<F> {
    let mut filter = F::new(names().len() as u64, 0.01)?;
    filter.insert_many(&names());
    Ok(filter)
}

/// Words to ask for: two that are in, two that are not.
const WORDS: [&str; 4] = ["gardenia", "forget-me-not", "carburettor", "umbrella"];

/// Step 1: build from a list, ask, and count the mistakes.
fn flowers(tour: &mut Tour) -> anyhow::Result<()> {
    tour.line(format!(
        "{} names of flowers, {} of text, in two kinds of filter at 1% false positives.",
        count(names().len() as u64),
        bytes(FLOWERS.len() as u64)
    ))?;
    tour.line(
        "A Bloom filter sets the bits of a name anywhere, a blocked one in one cache line: faster, and",
    )?;
    tour.line("a little larger.")?;
    tour.line("")?;
    tour.line(row("", Bloom::KIND, BlockedBloom::KIND))?;
    let (bloom, blocked) = (facts(&of_flowers::<Bloom>()?), facts(&of_flowers::<BlockedBloom>()?));
    for ((what, bloom), (_, blocked)) in bloom.iter().zip(&blocked) {
        tour.line(row(what, bloom, blocked))?;
    }
    tour.line("")?;
    tour.line("\"Maybe\" is a name that was added, or a false positive; \"certainly not\" is never wrong.")
}

/// A line of step 1.
fn row(what: &str, bloom: &str, blocked: &str) -> String {
    format!("  {what:<38}{bloom:<20}{blocked}").trim_end().to_owned()
}

/// What step 1 tells of one filter.
fn facts(filter: &impl Verbs) -> Vec<(String, String)> {
    let names = names();
    let mut facts = vec![
        ("memory".to_owned(), bytes(filter.memory_bytes())),
        ("bits per name".to_owned(), format!("{:.1}", filter.bits() as f64 / names.len() as f64)),
        ("bits that a name sets".to_owned(), filter.hashes().to_string()),
    ];
    for (word, found) in WORDS.iter().zip(filter.contains_many(&WORDS)) {
        facts.push((format!("{word}?"), if found { "maybe" } else { "certainly not" }.to_owned()));
    }
    let found = |answers: Vec<bool>| answers.into_iter().filter(|&found| found).count() as u64;
    let numbers: Vec<u64> = (0..100_000).collect();
    let wrong = found(filter.contains_many(&numbers));
    facts.extend([
        ("names found".to_owned(), format!("{} of {}", found(filter.contains_many(&names)), names.len())),
        (format!("false positives in {} numbers", count(numbers.len() as u64)), count(wrong)),
        ("their rate".to_owned(), share(wrong as f64 / numbers.len() as f64)),
        ("expected of such filters".to_owned(), share(filter.fpp())),
    ]);
    facts
}

/// Step 2: save, open by memory map, and read; all three answer alike.
fn file(tour: &mut Tour) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("a directory for temporary files")?;
    let (bloom, answers) = save_and_ask(&of_flowers::<Bloom>()?, &directory)?;
    let (blocked, _) = save_and_ask(&of_flowers::<BlockedBloom>()?, &directory)?;
    tour.line(format!("Saved as {bloom}, and {blocked}; every byte is verified by checksums."))?;
    let answers = count(answers);
    tour.line(format!(
        "Each gives the same {answers} answers in memory, memory-mapped, and read back by a program"
    ))?;
    tour.line("that learns its kind from the file.")
}

/// The name and size of the file, and how many answers were the same.
fn save_and_ask<F: Verbs>(filter: &F, directory: &TempDir) -> anyhow::Result<(String, u64)> {
    let name = format!("{}.gdn", F::KIND);
    let path = directory.path().join(&name);
    filter.save(&path).map_err(message::encode).with_context(|| path.display().to_string())?;
    let open = || {
        // SAFETY: the directory is the tour's own.
        #[allow(unsafe_code, reason = "see above")]
        let mapped = unsafe { AnyFilter::open_mapped(&path) }?;
        let read = AnyFilter::read_from(File::open(&path)?)?;
        gardenia::format::verify_file(&path)?;
        Ok::<_, gardenia::DecodeError>((mapped, read))
    };
    let (mapped, read) = open().map_err(message::decode).with_context(|| path.display().to_string())?;
    let keys: Vec<String> =
        FLOWERS.lines().map(str::to_owned).chain((0..50_000).map(|i| format!("weed {i}"))).collect();
    let answers = |filter: &dyn Filter| -> Vec<bool> {
        let digests: Vec<Digest> = keys.iter().map(|key| filter.hasher().digest(key.as_bytes())).collect();
        let mut answers = vec![false; digests.len()];
        filter.contains_digests(&digests, &mut answers);
        answers
    };
    let expected = answers(filter);
    if answers(&mapped) != expected || answers(&read) != expected {
        bail!("{name} answers differently from the filter it was built from: please report this");
    }
    Ok((format!("{name}, {}", bytes(path.metadata()?.len())), expected.len() as u64))
}

/// Lines of the stream, half of them repeats.
const LINES: u64 = 1_000_000;

/// Lines looked up at a time.
const BATCH: usize = 4096;

/// Step 3: pass on each line of a stream once, and compare with a set that makes no mistakes.
fn deduplicate(tour: &mut Tour) -> anyhow::Result<()> {
    let new = LINES / 2;
    let fpp = 0.001;
    let mut seen = BlockedBloom::new(new, fpp)?;
    let mut exact: HashSet<Vec<u8>> = HashSet::new();
    let (mut filter_time, mut exact_time) = (0.0, 0.0);
    let (mut passed, mut lost, mut doubled, mut length) = (0_u64, 0_u64, 0_u64, 0);
    let mut batch: Vec<Vec<u8>> = Vec::with_capacity(BATCH);
    let mut answers = vec![false; BATCH];
    let mut at = 0;
    while at < LINES {
        batch.clear();
        batch.extend((at..LINES.min(at + BATCH as u64)).map(stream_line));
        at += batch.len() as u64;
        let answers = &mut answers[..batch.len()];

        let start = Instant::now();
        let digests: Vec<Digest> = batch.iter().map(|line| seen.hasher().digest(line)).collect();
        seen.insert_digests(&digests, answers);
        filter_time += start.elapsed().as_secs_f64();

        let start = Instant::now();
        for (line, &certainly_new) in batch.drain(..).zip(answers.iter()) {
            length += line.len() as u64;
            let really_new = exact.insert(line);
            passed += u64::from(certainly_new);
            lost += u64::from(really_new && !certainly_new);
            doubled += u64::from(!really_new && certainly_new);
        }
        exact_time += start.elapsed().as_secs_f64();
    }

    tour.line(format!("{} log lines, {}, half of them repeats.", count(LINES), bytes(length)))?;
    tour.line(
        "A line is passed on if `insert` says that it is certainly new. Beside it a set of all lines:",
    )?;
    let per_key = |time: f64| seconds(time / LINES as f64);
    // A hash table of the standard library has 8/7 of its capacity as slots, with a byte of control each.
    let slots = exact.capacity() as u64 / 7 * 8 * (size_of::<Vec<u8>>() as u64 + 1);
    let exact_memory = slots + exact.iter().map(|line| line.capacity() as u64).sum::<u64>();
    let row = |name: &str, memory: u64, time: f64| {
        format!("  {name:<18}{:>10}  {:>10} per line", bytes(memory), per_key(time))
    };
    tour.line(row("blocked filter", seen.memory_bytes() as u64, filter_time))?;
    tour.line(row("exact set", exact_memory, exact_time))?;
    tour.line(format!(
        "Passed on: {} of {} distinct lines; {} were passed on twice.",
        count(passed - doubled),
        count(new),
        if doubled == 0 { "none".to_owned() } else { count(doubled) }
    ))?;
    let expected = expected_mistakes(&seen, new);
    tour.line(format!(
        "Lost, because the filter took them for repeats: {} ({}). Theory: {} ± {}.",
        count(lost),
        share(lost as f64 / new as f64),
        count(expected.round() as u64),
        count(expected.sqrt().round() as u64)
    ))?;
    tour.line(format!(
        "({} is the rate at full load, {} keys, which only the last line sees.)",
        share(fpp),
        count(new)
    ))
}

/// New keys taken for old ones while `items` go in: the sum of the rates that each of them meets.
fn expected_mistakes(filter: &BlockedBloom, items: u64) -> f64 {
    let steps = 200; // the rate is smooth: more steps change less than a thousandth
    let at = |step: u64| (2 * step + 1) * items / (2 * steps);
    let rates = (0..steps).map(|step| blocked::fpp(filter.blocks(), at(step), filter.hashes()));
    rates.sum::<f64>() * items as f64 / steps as f64
}

/// Line `at` of the stream: even ones are new, odd ones repeat one of those before.
fn stream_line(at: u64) -> Vec<u8> {
    let newest = at / 2;
    let id = if at.is_multiple_of(2) { newest } else { random(at) % (newest + 1) };
    let noise = random(id ^ 0x5eed);
    let (hour, minute, second) = (id / 3600 / 50 % 24, id / 60 / 50 % 60, id / 50 % 60);
    let (host, status) = (noise % 40, [200, 200, 200, 304, 404][(noise >> 8) as usize % 5]);
    let size = noise >> 50;
    format!(
        "2026-05-01T{hour:02}:{minute:02}:{second:02}Z host-{host:02} GET /bed/{id:08x}.html {status} {size}"
    )
    .into_bytes()
}

/// Step 4: counts, removal, and a window over an endless stream.
fn garden(tour: &mut Tour) -> anyhow::Result<()> {
    // Flower number r comes about 1/r as often as the first.
    let names = names();
    let stream: Vec<&str> = (0..200_000u64)
        .map(|at| {
            let share = random(at ^ 0x6172_6465_6e21) as f64 / u64::MAX as f64;
            names[((names.len() as f64).powf(share) as usize - 1).min(names.len() - 1)]
        })
        .collect();
    let mut exact: HashMap<&str, u64> = HashMap::new();
    stream.iter().for_each(|name| *exact.entry(*name).or_default() += 1);
    tour.line(format!(
        "A stream of {} flowers, {} of them distinct. How often does each occur? (10 cells of 16 bits per flower)",
        count(stream.len() as u64),
        exact.len()
    ))?;
    tour.line("")?;
    let cells = 10 * exact.len() as u64;
    let builder = || SpectralBloom::builder().cells(cells).hashes(7);
    let mut by_selection = builder().build()?;
    let mut by_increase = builder().policy(MinimumIncrease).build()?;
    by_selection.insert_many(&stream);
    by_increase.insert_many(&stream);
    tour.line(format!("  {:<20}{:>10}{:>20}{:>20}", "", "exact", "minimum selection", "minimum increase"))?;
    for name in [names[0], names[9], names[99], "umbrella"] {
        let truth = exact.get(name).copied().unwrap_or(0);
        let (selected, increased) = (by_selection.count(name), by_increase.count(name));
        tour.line(format!(
            "  {name:<20}{:>10}{:>20}{:>20}",
            count(truth),
            count(selected),
            count(increased)
        ))?;
    }
    let wrong =
        |counted: &dyn Fn(&str) -> u64| exact.iter().filter(|(name, truth)| counted(name) != **truth).count();
    tour.line(format!(
        "  {:<20}{:>10}{:>20}{:>20}",
        "wrong counts",
        0,
        wrong(&|name| by_selection.count(name)),
        wrong(&|name| by_increase.count(name))
    ))?;
    tour.line("")?;
    let rose = names[0];
    let before = by_selection.count(rose);
    (0..1000).try_for_each(|_| by_selection.remove(rose))?;
    tour.line(format!(
        "Minimum selection removes keys: {rose} 1,000 times, and {} of {} are left.",
        count(by_selection.count(rose)),
        count(before)
    ))?;
    tour.line("Minimum increase cannot remove keys, so its type has no `remove` method.")?;
    let mut last = A2Bloom::new(10_000, 0.01)?;
    last.extend(0..1_000_000u64);
    let found = |range: std::ops::Range<u64>| range.filter(|key| last.contains(*key)).count();
    tour.line("")?;
    tour.line(format!(
        "An A² filter saw a million numbers and has {}. Of the last 10,000 it finds {}, of the first 10,000 {}.",
        bytes(last.memory_bytes() as u64),
        count(found(990_000..1_000_000) as u64),
        count(found(0..10_000) as u64)
    ))
}

/// Step 5: what Lumetta and Mitzenmacher's choices, and partitions, save.
fn choices(tour: &mut Tour) -> anyhow::Result<()> {
    let keys: Vec<u64> = (0..20_000).map(random).collect();
    let absent: Vec<u64> = (20_000..1_020_000).map(random).collect();
    tour.line("20,000 keys in 160,000 bits, 8 for each. A key may use one of several groups of bits, and uses the one")?;
    tour.line("with the most bits set already. False positives in a million absent keys:")?;
    tour.line("")?;
    let wrong = |found: Vec<bool>| found.into_iter().filter(|&found| found).count() as u64;
    let mut row = |name: &str, time: f64, found: u64| {
        let rate = share(found as f64 / absent.len() as f64);
        tour.line(format!("  {name:<34}{:>8}  {rate:>7}{:>12} per key", count(found), seconds(time)))
    };
    let (mut plain, bits) = (Bloom::builder().bits(160_000).items(20_000).build()?, 160_000);
    let time = per_key(&keys, |keys| plain.insert_many(keys));
    row("one group: a Bloom filter", time, wrong(plain.contains_many(&absent)))?;
    for (name, choices, effort) in [
        ("two groups, keys as they come", Some(2), Effort::Online),
        ("three groups, rounds of choosing", Some(3), Effort::Rounds),
        ("partitions, one of 256 sets each", None, Effort::Partitioned),
    ] {
        let mut builder = ChoiceBloom::builder().bits(bits).effort(effort);
        if let Some(choices) = choices {
            builder = builder.choices(choices);
        }
        let start = Instant::now();
        let filter = builder.build_from(&keys)?;
        let time = start.elapsed().as_secs_f64() / keys.len() as f64;
        row(name, time, wrong(filter.contains_many(&absent)))?;
    }
    tour.line("")?;
    tour.line(format!(
        "No filter of 8 bits per key makes fewer than {}.",
        count((absent.len() as f64 / 256.0) as u64)
    ))
}

/// Step 6: how often, and what most often, of a stream.
fn sketches(tour: &mut Tour) -> anyhow::Result<()> {
    let (lines, universe) = (2_000_000u64, 300_000f64);
    // Visitor r comes about 1/r as often as the first.
    let stream: Vec<u64> = (0..lines)
        .map(|at| universe.powf(random(at ^ 0x736b_6574_6368) as f64 / u64::MAX as f64) as u64)
        .collect();
    let mut exact: HashMap<u64, u64> = HashMap::new();
    stream.iter().for_each(|key| *exact.entry(*key).or_default() += 1);
    let size = 64 << 10;
    tour.line(format!(
        "{} visits by {} visitors. How often did each come? A table of them would take megabytes; in {}",
        count(lines),
        count(exact.len() as u64),
        bytes(size)
    ))?;
    tour.line("a Count-Min sketch counts each too high, by this much on average:")?;
    tour.line("")?;
    for (what, update, cells) in [
        ("cells of 32 bits", Update::Plain, CellKind::Fixed32),
        ("only the least cells are raised", Update::Conservative, CellKind::Fixed32),
        ("and cells of 4 bits that merge", Update::Conservative, CellKind::Merging4),
    ] {
        let mut sketch = CountMin::builder().bytes(size).rows(3).update(update).cells(cells).build()?;
        sketch.insert_many(&stream);
        let errors = exact.iter().map(|(key, truth)| sketch.count(*key).saturating_sub(*truth)).sum::<u64>();
        tour.line(format!("  {what:<40}{:>8.1}", errors as f64 / exact.len() as f64))?;
    }
    tour.line("")?;
    let mut top = Top::new(5)?;
    top.update_many(&stream);
    let first = top.top(5);
    let names: Vec<String> = first
        .iter()
        .map(|hitter| <[u8; 8]>::try_from(&hitter.key[..]).map_or(0, u64::from_le_bytes).to_string())
        .collect();
    let narrow = first.iter().filter(|hitter| hitter.is_exact()).count();
    tour.line(format!(
        "The five most frequent, by `gardenia top`: {}; {narrow} of their counts are exact, and any visitor",
        names.join(", ")
    ))?;
    tour.line(format!("with more than {} visits would be in its list.", count(top.floor())))
}

/// Step 7: what the relatives take at the same rate, and what they can do.
fn relatives(tour: &mut Tour) -> anyhow::Result<()> {
    let keys: Vec<u64> = (0..100_000).map(random).collect();
    let absent: Vec<u64> = (100_000..600_000).map(random).collect();
    tour.line("100,000 keys at 1 in 256. The static ones, built from all keys at once, are the smallest:")?;
    tour.line("")?;
    let fpp = 1.0 / 256.0;
    let mut cuckoo = Cuckoo::new(100_000, fpp)?;
    cuckoo.insert_many(&keys)?;
    let mut scalable = ScalableBloom::new(fpp)?;
    scalable.insert_many(&keys)?;
    let mut bloom = Bloom::builder()
        .items(100_000)
        .fpp(fpp)
        .scheme(move |k| AnyScheme::new(Default::default(), k))
        .build()?;
    bloom.insert_many(&keys);
    let filters: [(&str, AnyFilter); 6] = [
        ("ribbon", Ribbon::builder().fingerprint(8).build_from(&keys)?.into()),
        ("fuse", BinaryFuse::new(&keys, 0.004)?.into()),
        ("golomb", GolombSet::builder().fpp(fpp).build_from(&keys)?.into()),
        ("bloom", bloom.into()),
        ("cuckoo", cuckoo.into()),
        ("scalable", scalable.into()),
    ];
    tour.line(format!("  {:<12}{:>14}{:>20}", "", "bits per key", "FPs in 1,000"))?;
    for (name, filter) in &filters {
        let digests: Vec<Digest> = absent.iter().map(|key| filter.hasher().digest_key(key)).collect();
        let mut found = vec![false; digests.len()];
        filter.contains_digests(&digests, &mut found);
        let mistakes = found.iter().filter(|found| **found).count() as f64 / 500.0;
        let can = match (filter.can(Ability::Insert), filter.can(Ability::Remove)) {
            (false, _) => "static",
            (true, true) => "removes keys",
            (true, false) if *name == "scalable" => "grows with its keys",
            (true, false) => "accepts more keys",
        };
        let bits = filter.memory_bytes() as f64 * 8.0 / keys.len() as f64;
        tour.line(format!("  {name:<12}{bits:>14.2}{mistakes:>20.2}   {can}"))?;
    }
    tour.line("")?;
    let pairs: Vec<(u64, u32)> = keys.iter().map(|&key| (key, (key % 16) as u32)).collect();
    let map = Bloomier::builder().build_from(&pairs)?;
    let right = pairs.iter().filter(|(key, value)| map.get(*key) == Some(*value)).count() as u64;
    let bits = map.memory_bytes() as f64 * 8.0 / keys.len() as f64;
    tour.line(format!(
        "A map from keys to numbers below 16 takes {bits:.2} bits per key; {} are right.",
        count(right)
    ))?;
    let mut filter = Bloom::new(100_000, fpp)?;
    filter.insert_many(&keys);
    let trouble: Vec<u64> = absent.iter().copied().filter(|key| filter.contains(key)).collect();
    let (met, spared) =
        (trouble.len() as u64, RetouchedBloom::selective(filter, &keys, &trouble, Clearing::Ratio, 1)?);
    tour.line(format!(
        "After retouching, a Bloom filter no longer reports {} known false positives, at the cost of {} real keys.",
        count(met),
        count(spared.lost())
    ))?;
    let mut near = DistanceSensitiveBloom::jaccard().items(100).near(0.2).far(0.8).build()?;
    let words = "the quick brown fox jumps over the lazy dog while nobody looks at him"
        .split(' ')
        .collect::<Vec<_>>();
    near.insert_tokens(&words)?;
    let like = words.iter().map(|&word| if word == "quick" { "slow" } else { word }).collect::<Vec<_>>();
    let other =
        "a filter answers in a few nanoseconds whether a key may be in it".split(' ').collect::<Vec<_>>();
    tour.line(format!(
        "One for distances finds a line with a word changed ({}), and another line not ({}).",
        if near.is_near_tokens(&like)? { "near" } else { "far" },
        if near.is_near_tokens(&other)? { "near" } else { "far" }
    ))?;
    Ok(())
}

/// Step 8: time per key, one at a time and many at a time, in small and in large filters.
fn speed(tour: &mut Tour) -> anyhow::Result<()> {
    tour.line("Numbers as keys, filters at 1%; ns per key, one call each or one call for all:")?;
    tour.line("")?;
    let calls = format!("{:>8}{:>8}", "single", "batch").repeat(3);
    tour.line(format!("{:32}{:>16}{:>16}{:>16}", "", "insert", "found", "not found"))?;
    tour.line(format!("{:>12}  {:<8}{:>9} {calls}", "keys", "kind", "memory"))?;
    for items in [100_000, 10_000_000] {
        tour.line(speed_of::<Bloom>(items)?)?;
        tour.line(speed_of::<BlockedBloom>(items)?)?;
    }
    tour.line("")?;
    tour.line(
        "A filter larger than the caches waits for memory: the Bloom filter several times per key, the",
    )?;
    tour.line(
        "blocked one once. A batch waits for many keys at once. `gardenia bench` measures more of this.",
    )
}

/// A row of step 6.
fn speed_of<F: Verbs>(items: u64) -> anyhow::Result<String> {
    let mut filter = F::new(items, 0.01)?;
    filter.clear(); // so that the memory is there before the clock runs
    let keys: Vec<u64> = (0..items).map(random).collect();
    let (single, batch) = keys.split_at(keys.len() / 2);
    let present = &keys[..keys.len().min(1_000_000)];
    let absent: Vec<u64> = (items..items + present.len() as u64).map(random).collect();
    let times = [
        per_key(single, |keys| keys.iter().filter(|&&key| filter.insert(key)).count()),
        per_key(batch, |keys| filter.insert_many(keys)),
        per_key(present, |keys| keys.iter().filter(|&&key| filter.contains(key)).count()),
        per_key(present, |keys| filter.contains_many(keys)),
        per_key(&absent, |keys| keys.iter().filter(|&&key| filter.contains(key)).count()),
        per_key(&absent, |keys| filter.contains_many(keys)),
    ];
    let times = times.map(|time| format!("{:>8.1}", time * 1e9)).concat();
    let (keys, memory) = (count(items), bytes(filter.memory_bytes()));
    Ok(format!("{keys:>12}  {:<8}{memory:>9} {times}", F::KIND))
}

/// Parts of the keys that are timed one by one.
const PARTS: usize = 5;

/// Seconds per key of `work`: the median of the parts, as another program may have one of them
/// wait. Its answer is used, so that the work is done.
fn per_key<T>(keys: &[u64], mut work: impl FnMut(&[u64]) -> T) -> f64 {
    let mut times: Vec<f64> = keys
        .chunks(keys.len().div_ceil(PARTS).max(1))
        .map(|keys| {
            let start = Instant::now();
            std::hint::black_box(work(keys));
            start.elapsed().as_secs_f64() / keys.len() as f64
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flower_is_named_twice_and_the_absent_words_are_absent() {
        let names: HashSet<&str> = FLOWERS.lines().collect();
        assert!(names.len() == FLOWERS.lines().count() && names.len() >= 400);
        assert_eq!(WORDS.map(|word| names.contains(word)), [true, true, false, false]);
    }

    #[test]
    fn a_part_that_has_to_wait_does_not_count() {
        let keys: Vec<u64> = (0..50).collect();
        let mut seen = Vec::new();
        let time = per_key(&keys, |keys| {
            seen.extend_from_slice(keys);
            if keys.contains(&17) {
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        });
        assert!(seen == keys && time < 0.2 / 10.0, "{time}");
    }

    #[test]
    fn half_of_the_stream_repeats() {
        let lines: HashSet<Vec<u8>> = (0..10_000).map(stream_line).collect();
        assert_eq!(lines.len(), 5_000);
    }
}
