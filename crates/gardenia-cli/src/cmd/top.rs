//! `gardenia top`: the most frequent lines of a stream, with bounds that always hold.

use crate::args::TopArgs;
use crate::input::{Block, KeyTexts, Keys, Reading, Source, name};
use crate::lock::claim;
use crate::message::{hinted, say};
use crate::open::{is_dash, is_stream};
use crate::output::Output;
use crate::{Outcome, human, memory, message};
use anyhow::Context;
use gardenia::filter::Hitter;
use gardenia::{Kind, Merge, ReadOptions, Top, format};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The most lines that can be asked for: their candidates take a few hundred bytes each.
const MOST: u64 = 100_000_000;

/// Columns of the longest bar on a terminal.
const BAR: usize = 24;

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<Outcome> {
    let output = args.output.as_ref().map(|path| Output { path, force: args.force, inputs: &args.inputs });
    output.as_ref().map_or(Ok(()), Output::check)?;
    let _claim = args.state.as_deref().map(claimed).transpose()?;
    let (tables, texts): (Vec<_>, Vec<_>) = args.inputs.iter().cloned().partition(|path| is_saved(path));
    // Of saved counts alone, nothing is read from stdin.
    let sources = if tables.is_empty() || !texts.is_empty() { Source::all(&texts) } else { Vec::new() };
    let (keys, mut top) = (args.key.keys()?, begin(args, &tables)?);
    let (progress, threads, strict) = (!args.quiet, 1, output.is_some() || args.state.is_some());
    let reading = Reading { sources: &sources, keys: &keys, doing: "counting", progress, threads, strict };
    let look = |keys: &Keys, block: Block<'_>, found: &mut KeyTexts| keys.texts(block, found);
    let trouble = reading.run(look, &mut |block: Block<'_>, found: &mut KeyTexts| {
        top.update_many(&found.slices(block));
        Ok(())
    })?;
    if let Some(output) = &output {
        output.write_by(|out| top.write_to(out))?;
    }
    if let Some(path) = &args.state {
        top.save(path).map_err(message::encode).with_context(|| name(path))?;
    }
    let found = Found::of(args, &top);
    if !args.output.as_deref().is_some_and(is_dash) {
        print(args, &found)?;
    }
    if !args.quiet {
        say(&found.summary(args));
    }
    Ok(match (trouble, found.lines > 0) {
        (true, _) => Outcome::Trouble,
        (false, true) => Outcome::Done,
        (false, false) => Outcome::Nothing,
    })
}

fn print(args: &TopArgs, found: &Found) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let terminal = stdout.is_terminal();
    let text = match (args.json, terminal) {
        (true, _) => {
            let mut text = serde_json::to_vec(&found.json())?;
            text.push(b'\n');
            text
        }
        (false, true) => found.picture().into_bytes(),
        (false, false) => found.columns(),
    };
    stdout.write_all(&text).and_then(|()| stdout.flush()).context("stdout")
}

/// Takes the file of --state for this process.
fn claimed(path: &Path) -> anyhow::Result<crate::lock::Claim> {
    if is_stream(path) {
        let reason = format!("{}: the state cannot be a pipe or a device", name(path));
        return Err(hinted(reason, "give a regular file"));
    }
    claim(path)
}

/// Whether a file holds saved counts; a pipe is taken for lines.
pub(crate) fn is_saved(path: &Path) -> bool {
    let kind = || Some(format::header(File::open(path).ok()?).ok()?.identity.kind);
    !is_stream(path) && kind() == Some(Kind::Top)
}

/// The counts in a file.
pub(crate) fn load(path: &Path) -> anyhow::Result<Top> {
    let options = ReadOptions::new().max_bytes(memory::available().unwrap_or(u64::MAX));
    Top::load_with(path, &options).map_err(message::decode).with_context(|| name(path))
}

/// The counts of all these files together; none if there is no file.
pub(crate) fn merged<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> anyhow::Result<Option<Top>> {
    let mut all: Option<(Top, &Path)> = None;
    for path in paths {
        let next = load(path)?;
        match &mut all {
            None => all = Some((next, path)),
            Some((top, first)) => top.merge(&next).map_err(|difference| {
                let hint = "save all of them with one -n (or --min) and one --memory";
                hinted(message::difference(first, path, &difference), hint)
            })?,
        }
    }
    Ok(all.map(|(top, _)| top))
}

/// What was saved before, or an empty table.
fn begin(args: &TopArgs, tables: &[PathBuf]) -> anyhow::Result<Top> {
    // A new state is an empty file, made to be claimed.
    let state = args.state.iter().filter(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0));
    match (merged(state.chain(tables))?, args.memory) {
        (None, _) => empty(args),
        (Some(top), None) => Ok(top),
        (Some(_), Some(_)) => {
            Err(hinted("saved counts keep the size they were started with", "leave out --memory"))
        }
    }
}

/// Room for as many lines as may be printed.
fn empty(args: &TopArgs) -> anyhow::Result<Top> {
    let number = match args.min {
        Some(min) if min > 0.0 && min <= 1.0 => (1.0 / min).ceil() as u64,
        Some(min) => {
            let reason = format!("a share of {min} of the lines is not above 0 and at most 1");
            return Err(hinted(reason, "--min is a share such as 0.1% or 1/1000"));
        }
        None => args.number,
    };
    if number == 0 || number > MOST {
        let reason = format!("{} lines are not between 1 and {}", human::count(number), human::count(MOST));
        let option = if args.min.is_some() { "raise --min" } else { "-n is how many lines to print" };
        return Err(hinted(reason, option));
    }
    let keys = number as usize;
    // Candidates take some 200 bytes each beside their text, and there are four for each line to print.
    let bytes = args.memory.unwrap_or(0).saturating_add(number.saturating_mul(4 * 200 + 1024));
    memory::require(bytes, "counting", "lower -n or --memory, or raise --min")?;
    let size = |error| match args.memory {
        Some(bytes) => hinted(format!("{} cannot count: {error}", human::bytes(bytes)), "change --memory"),
        None => message::sketch_size(error),
    };
    match args.memory {
        Some(bytes) => Top::with_bytes(keys, bytes).map_err(size),
        None => Top::new(keys).map_err(size),
    }
}

/// What is to be printed.
struct Found {
    hitters: Vec<Hitter>,
    /// A line that occurred more often than this is surely among those asked for.
    bar: u64,
    /// Every line that occurred more often is listed.
    floor: u64,
    lines: u64,
}

impl Found {
    fn of(args: &TopArgs, top: &Top) -> Self {
        let lines = top.total();
        let mut hitters = match args.min {
            Some(min) => top.at_least((min * lines as f64).ceil() as u64),
            None => top.top(args.number as usize + 1),
        };
        let (bar, floor) = match args.min {
            Some(min) => ((min * lines as f64).ceil() as u64, top.floor()),
            None => {
                let next = hitters.get(args.number as usize).map_or(0, |hitter| hitter.upper);
                hitters.truncate(args.number as usize);
                (next.max(top.floor()), top.floor())
            }
        };
        Self { hitters, bar, floor, lines }
    }

    /// Whether a line surely is one of those asked for.
    fn certain(&self, hitter: &Hitter) -> bool {
        hitter.lower >= self.bar
    }

    /// For programs: at least, at most, line.
    fn columns(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for Hitter { key, lower, upper, .. } in &self.hitters {
            let _ = write!(text, "{lower}\t{upper}\t"); // a vector takes all
            text.extend_from_slice(key);
            text.push(b'\n');
        }
        text
    }

    /// For people: counts with their bounds, bars, and lines that cannot command a terminal.
    fn picture(&self) -> String {
        let counts: Vec<String> = self.hitters.iter().map(range).collect();
        let width = counts.iter().map(|count| count.chars().count()).max().unwrap_or(0);
        let most = self.hitters.iter().map(|hitter| hitter.upper).max().unwrap_or(1).max(1);
        let mut text = String::new();
        for (hitter, count) in self.hitters.iter().zip(counts) {
            let length = (BAR as f64 * hitter.upper as f64 / most as f64).ceil() as usize;
            let bar = "█".repeat(length.clamp(1, BAR));
            let doubt = if self.certain(hitter) { ' ' } else { '?' };
            let key = String::from_utf8_lossy(&hitter.key);
            let key: String = key.chars().flat_map(shown).collect();
            text += &format!("{count:>width$} {doubt} {bar:<BAR$}  {key}\n");
        }
        text
    }

    /// What the numbers mean.
    fn summary(&self, args: &TopArgs) -> String {
        let sure = self.hitters.iter().filter(|hitter| self.certain(hitter)).count() as u64;
        let (lines, listed) = (human::plural(self.lines, "line"), self.hitters.len() as u64);
        if self.floor == 0 {
            return format!("{lines} read; all counts are exact");
        }
        let asked = match args.min {
            Some(min) => format!("at least {} of the input", human::share(min)),
            None => format!("in the true top {}", human::count(args.number)),
        };
        let missing = match args.min {
            Some(_) if self.floor >= self.bar => "; others may be missing (more --memory helps)",
            _ => "",
        };
        let of = if sure == listed { "all".to_owned() } else { human::count(sure) };
        format!(
            "{lines} read; {of} of the {} printed are guaranteed to be {asked}{missing}",
            human::count(listed)
        )
    }

    fn json(&self) -> Json {
        let lines = self.hitters.iter().map(|hitter| JsonLine {
            line: String::from_utf8_lossy(&hitter.key).into_owned(),
            line_hex: std::str::from_utf8(&hitter.key)
                .is_err()
                .then(|| hitter.key.iter().map(|byte| format!("{byte:02x}")).collect()),
            at_least: hitter.lower,
            at_most: hitter.upper,
            certain: self.certain(hitter),
        });
        Json { read: self.lines, floor: self.floor, lines: lines.collect() }
    }
}

/// How often a line occurs, as people write it.
fn range(hitter: &Hitter) -> String {
    let Hitter { lower, upper, .. } = hitter;
    match lower == upper {
        true => human::count(*lower),
        false => format!("{} to {}", human::count(*lower), human::count(*upper)),
    }
}

/// A character as a terminal may have it.
fn shown(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Serialize)]
struct Json {
    /// Lines read.
    read: u64,
    /// Every line that occurred more often than this is known to the table.
    floor: u64,
    lines: Vec<JsonLine>,
}

#[derive(Serialize)]
struct JsonLine {
    line: String,
    /// The bytes of a line that is not UTF-8, else null.
    line_hex: Option<String>,
    at_least: u64,
    at_most: u64,
    /// Whether it surely is one of those asked for.
    certain: bool,
}
