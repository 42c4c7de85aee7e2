//! `gardenia bench`: what a key costs on this machine, at the sizes that matter to its user.
//!
//! Repeats are the outer loop and kinds the inner one, so that whatever disturbs the machine hits
//! all kinds alike. All sizes are checked before the first is measured: nobody should wait for a
//! run that must fail.

mod calibrate;
mod measure;
mod table;

use crate::args::{BenchArgs, KeyKind, Kinds};
use crate::host::Host;
use crate::keys::{Numbers, TEXT, Texts};
use crate::message::{self, hinted, say};
use crate::progress::Progress;
use crate::verbs::Verbs;
use crate::{Outcome, human, memory};
use anyhow::Context;
use gardenia::{BlockedBloom, Bloom, Key};
use measure::{Lines, Work, measure, measure_threads};
use serde::Serialize;
use std::io::{self, Write};
use table::{Report, Row};

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Outcome> {
    if args.kind == Kinds::Bloom && args.threads > 1 {
        return Err(hinted("--threads is for the kind blocked", "leave out --threads or --kind bloom"));
    }
    args.items.iter().try_for_each(|&items| check(args, items))?;
    if cfg!(debug_assertions) {
        say("gardenia: warning: this is a debug build: its times are too long");
        say("hint: cargo run --release -p gardenia-cli -- bench");
    }
    if args.calibrate {
        return calibrate::run(args);
    }
    let (host, mut stdout) = (Host::here(), io::stdout().lock());
    if args.json {
        let sizes = args.items.iter().map(|&items| measure_size(args, items));
        let rows = sizes.collect::<anyhow::Result<Vec<_>>>()?.concat();
        let rows = rows.iter().map(|row| row.report(args.fpp)).collect();
        let run = Run { host, keys: args.keys.name(), fpp: args.fpp, repeat: args.repeat, rows };
        writeln!(stdout, "{}", serde_json::to_string(&run)?).context("stdout")?;
        return Ok(Outcome::Done);
    }
    writeln!(stdout, "{}", heading(args, &host)).context("stdout")?;
    for &items in &args.items {
        let rows = measure_size(args, items)?;
        writeln!(stdout, "\n{}", table::section(items, args.fpp, &rows)).context("stdout")?;
    }
    writeln!(stdout, "\n{FOOT}").context("stdout")?;
    Ok(Outcome::Done)
}

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Serialize)]
struct Run {
    #[serde(flatten)]
    host: Host,
    keys: &'static str,
    fpp: f64,
    repeat: u32,
    rows: Vec<Report>,
}

fn heading(args: &BenchArgs, host: &Host) -> String {
    let keys = match args.keys {
        KeyKind::U64 => "numbers of 64 bits".to_owned(),
        KeyKind::Text => format!("texts of {TEXT} bytes"),
    };
    format!(
        "{}, {} code, {}\nKeys are {keys}. Times are ns per key, best/median of {}.",
        host.processor,
        host.instructions,
        human::plural(host.cores as u64, "core"),
        human::plural(args.repeat.into(), "repeat"),
    )
}

const FOOT: &str = "\
memory alone: per key a random cache line of a table as large is read (insert: changed). A filter that needs a
line per key cannot be faster. A median far above the best says that the machine had other work.";

/// An error if a size cannot be: its filters, or the memory for them and for the keys.
fn check(args: &BenchArgs, items: u64) -> anyhow::Result<()> {
    let per_key = match args.keys {
        KeyKind::U64 => 8,
        KeyKind::Text => 8 + TEXT + size_of::<&str>(),
    };
    let keys = Work::keys(items).saturating_mul(per_key as u64);
    let what = format!("measuring {}", human::plural(items, "key"));
    memory::require(keys, &what, "lower --items")?;
    let mut bits = 0;
    if args.kind.bloom() {
        bits += <Bloom as Verbs>::shape(items, args.fpp).map_err(message::size)?.cells;
    }
    if args.kind.blocked() {
        let shape = <BlockedBloom as Verbs>::shape(items, args.fpp);
        bits += shape.map_err(|error| message::blocked_size(error, items, args.fpp))?.cells;
    }
    // Each once more, for memory alone and for threads, which take some 100 MiB while they insert.
    let inserting = if args.threads > 1 { 100 << 20 } else { 0 };
    let filters = 2 * (bits / 8) + inserting;
    memory::require(keys.saturating_add(filters), &what, "lower --items, or raise --fpp")
}

/// What is measured.
enum Contender {
    Memory(Lines),
    Bloom(Bloom),
    Blocked(BlockedBloom),
    Threads(BlockedBloom, usize),
}

impl Contender {
    /// All that the arguments ask for, at one size.
    fn all(args: &BenchArgs, items: u64) -> anyhow::Result<Vec<Self>> {
        let blocked = || <BlockedBloom as Verbs>::new(items, args.fpp).map_err(message::size);
        let mut contenders = Vec::new();
        let mut bits = 0;
        if args.kind.bloom() {
            let filter = <Bloom as Verbs>::new(items, args.fpp).map_err(message::size)?;
            bits = filter.bits();
            contenders.push(Self::Bloom(filter));
        }
        if args.kind.blocked() {
            let filter = blocked()?;
            bits = filter.bits();
            contenders.push(Self::Blocked(filter));
        }
        if args.threads > 1 {
            contenders.push(Self::Threads(blocked()?, args.threads as usize));
        }
        contenders.insert(0, Self::Memory(Lines::new(bits).map_err(message::size)?));
        Ok(contenders)
    }

    fn row(&self, items: u64) -> Row {
        match self {
            Self::Memory(_) => Row::new("memory", 1, items, None),
            Self::Bloom(filter) => Row::new(Bloom::KIND, 1, items, Some(filter.bits())),
            Self::Blocked(filter) => Row::new(BlockedBloom::KIND, 1, items, Some(filter.bits())),
            Self::Threads(filter, threads) => {
                Row::new(BlockedBloom::KIND, *threads, items, Some(filter.bits()))
            }
        }
    }

    /// Memory alone has nothing to hash: its places come from the `numbers` that the keys come
    /// of.
    fn measure<K: Key + Sync>(
        &mut self,
        numbers: &Work<Vec<u64>>,
        work: &Work<Vec<K>>,
        row: &mut Row,
    ) -> anyhow::Result<()> {
        match self {
            Self::Memory(lines) => measure(lines, numbers, row),
            Self::Bloom(filter) => measure(filter, work, row),
            Self::Blocked(filter) => measure(filter, work, row),
            Self::Threads(filter, threads) => measure_threads(filter, *threads, work, row),
        }
    }
}

/// The rows of one size.
fn measure_size(args: &BenchArgs, items: u64) -> anyhow::Result<Vec<Row>> {
    let mut contenders = Contender::all(args, items)?;
    let mut rows: Vec<Row> = contenders.iter().map(|contender| contender.row(items)).collect();
    let mut progress = Progress::steps(u64::from(args.repeat) * rows.len() as u64);
    let mut numbers = Numbers::default();
    for repeat in 1..=args.repeat {
        let numbers = Work::draw(&mut numbers, items as usize);
        let texts = (args.keys == KeyKind::Text).then(|| numbers.each(|numbers| Texts::of(numbers)));
        let slices = texts.as_ref().map(|texts| texts.each(Texts::slices));
        for (contender, row) in contenders.iter_mut().zip(&mut rows) {
            let (keys, of) = (human::plural(items, "key"), args.repeat);
            progress.step(format!("{keys}, repeat {repeat} of {of}, {}", row.name()));
            match &slices {
                Some(slices) => contender.measure(&numbers, slices, row)?,
                None => contender.measure(&numbers, &numbers, row)?,
            }
        }
    }
    Ok(rows)
}
