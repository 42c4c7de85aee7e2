//! `gardenia query`: the lines that may be in a filter, with the manners of `grep`.

use super::points;
use crate::args::QueryArgs;
use crate::input::{Batch, Block, KeyTexts, Keys, Reading, Row, Source, Work, name};
use crate::message::{self, hinted, with_hint};
use crate::open::{check_unchanged, is_dash, is_stream, try_open};
use crate::output::Output;
use crate::{Outcome, split};
use anyhow::{Context, bail};
use gardenia::{DecodeError, DistanceSensitiveBloom, Filter, KeyHasher, Kind, OpenFilter};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<Outcome> {
    let (filters, inputs) = operands(args)?;
    let sources = Source::all(inputs);
    filters.iter().try_for_each(|filter| check_stdin(filter, &sources))?;
    if filters.iter().filter(|filter| is_dash(filter)).count() > 1 {
        bail!("only one filter can come from stdin");
    }
    let keys = args.key.keys()?;
    check_outputs(args, inputs)?;
    let filters = Filters::open(args, filters)?;
    let whole = [&args.matched, &args.unmatched].into_iter().flatten().any(|path| !is_dash(path));
    // A bar among the lines of a terminal would be in the way.
    let silent = args.count || args.quiet || args.matched.is_some() || args.unmatched.is_some();
    let reading = Reading {
        sources: &sources,
        keys: &keys,
        doing: "looking up",
        progress: silent || !io::stdout().is_terminal(),
        threads: args.threads.count(),
        // A file is to hold the lines of all inputs, or not to appear.
        strict: whole,
    };
    let search = Search { args, filters: &filters, reading: &reading };
    let none = || None::<&mut io::Sink>;
    let (trouble, found) = match (&args.matched, &args.unmatched) {
        (None, None) => {
            let mut stdout = io::stdout().lock();
            let found = search.run(Some(&mut stdout), none())?;
            if args.count && !args.quiet {
                writeln!(stdout, "{}", found.1).context("stdout")?;
            }
            stdout.flush().context("stdout")?;
            found
        }
        (Some(matched), None) => {
            output(args, matched, inputs).fill(|lines| search.run(Some(lines), none()))?
        }
        (None, Some(unmatched)) => {
            output(args, unmatched, inputs).fill(|lines| search.run(none(), Some(lines)))?
        }
        (Some(matched), Some(unmatched)) => output(args, matched, inputs).fill(|lines| {
            output(args, unmatched, inputs).fill(|others| search.run(Some(lines), Some(others)))
        })?,
    };
    if args.quiet && found > 0 {
        return Ok(Outcome::Done); // as grep: found is found, whatever else went wrong
    }
    Ok(outcome(trouble, found > 0))
}

/// All that is known before lines are read.
struct Search<'a> {
    args: &'a QueryArgs,
    filters: &'a Filters,
    reading: &'a Reading<'a>,
}

impl Search<'_> {
    /// Asks for all lines; whether an input could not be read, and how many lines were found.
    fn run<M: Write + ?Sized, U: Write + ?Sized>(
        &self,
        matched: Option<&mut M>,
        unmatched: Option<&mut U>,
    ) -> anyhow::Result<(bool, u64)> {
        let Self { args, filters, .. } = *self;
        let mut query = Query { args, filters, found: 0, line: 0, output: Vec::new(), matched, unmatched };
        let read = self.reading.run(|keys, block, part| filters.look(keys, block, part), &mut query);
        let hint = "--matched and --unmatched write files only when all inputs are read";
        let trouble = if self.reading.strict { read.map_err(|error| with_hint(error, hint))? } else { read? };
        Ok((trouble, query.found))
    }
}

/// The filters and the inputs. Without -F the first operand is the filter, as grep's is the pattern.
fn operands(args: &QueryArgs) -> anyhow::Result<(&[PathBuf], &[PathBuf])> {
    match (args.filters.is_empty(), args.operands.split_first()) {
        (false, _) => Ok((&args.filters, &args.operands)),
        (true, Some((_, inputs))) => Ok((&args.operands[..1], inputs)),
        (true, None) => Err(hinted("no filter was given", "gardenia query FILTER [FILE]...")),
    }
}

/// The filter and the lines cannot both come from one pipe.
pub(crate) fn check_stdin(filter: &Path, sources: &[Source]) -> anyhow::Result<()> {
    if is_dash(filter) && sources.iter().any(|source| matches!(source, Source::Stdin)) {
        bail!("the filter and the lines cannot both come from stdin");
    }
    Ok(())
}

/// A place for lines.
fn output<'a>(args: &QueryArgs, path: &'a Path, inputs: &'a [PathBuf]) -> Output<'a> {
    Output { path, force: args.force, inputs }
}

/// What would fail at the end is said at the start.
fn check_outputs(args: &QueryArgs, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let outputs = [&args.matched, &args.unmatched];
    for path in outputs.into_iter().flatten().filter(|path| !is_dash(path)) {
        output(args, path, inputs).check()?;
    }
    if args.matched.is_some() && args.matched == args.unmatched {
        return Err(hinted("--matched and --unmatched are one file", "name two"));
    }
    Ok(())
}

/// The outcome of a search.
pub(crate) fn outcome(trouble: bool, found: bool) -> Outcome {
    match (trouble, found) {
        (true, _) => Outcome::Trouble,
        (false, false) => Outcome::Nothing,
        (false, true) => Outcome::Done,
    }
}

/// The filters that are asked.
struct Filters {
    filters: Vec<Target>,
    paths: Vec<PathBuf>,
    /// What a line is marked with.
    labels: Vec<String>,
    /// The hash functions, each once.
    hashers: Vec<KeyHasher>,
    all: bool,
    invert: bool,
}

/// A filter that is asked.
enum Target {
    /// For keys, hashed by this hash function.
    Keys(OpenFilter, usize),
    /// For points.
    Points(DistanceSensitiveBloom),
}

/// What was found out about a block.
#[derive(Default)]
struct Answers {
    /// One for each hash function.
    batches: Vec<Batch>,
    texts: KeyTexts,
    /// One for each filter.
    answers: Vec<Vec<bool>>,
    /// Whether a key is to be printed.
    wanted: Vec<bool>,
}

impl Filters {
    fn open(args: &QueryArgs, paths: &[PathBuf]) -> anyhow::Result<Self> {
        let options = args.memory.options(args.secret.read()?);
        let (mut filters, mut hashers) = (Vec::new(), Vec::<KeyHasher>::new());
        for path in paths {
            let mut place = |hasher: KeyHasher| {
                hashers.iter().position(|known| *known == hasher).unwrap_or_else(|| {
                    hashers.push(hasher);
                    hashers.len() - 1
                })
            };
            split::check(path, &options)?;
            filters.push(match try_open(path, &options) {
                Ok(filter) => {
                    let hashed = place(filter.hasher().clone());
                    Target::Keys(filter, hashed)
                }
                Err(DecodeError::Kind { found, .. })
                    if found == Kind::DistanceSensitive.name() && !is_stream(path) =>
                {
                    let filter = points::load(path, &options)?;
                    place(filter.hasher().clone()); // rows are told by a batch, whatever is asked
                    Target::Points(filter)
                }
                Err(error) => return Err(message::decode(error).context(name(path))),
            });
        }
        let label = |path: &PathBuf| match path.file_stem() {
            Some(stem) if !is_dash(path) => stem.to_string_lossy().into_owned(),
            _ => name(path),
        };
        let labels = paths.iter().map(label).collect();
        Ok(Self { filters, paths: paths.to_vec(), labels, hashers, all: args.all, invert: args.invert })
    }

    fn look(&self, keys: &Keys, block: Block<'_>, part: &mut Answers) -> anyhow::Result<()> {
        let Answers { batches, texts, answers, wanted } = part;
        batches.resize_with(self.hashers.len(), Batch::default);
        answers.resize_with(self.filters.len(), Vec::new);
        for (hasher, batch) in self.hashers.iter().zip(batches.iter_mut()) {
            keys.read(hasher, block, batch)?;
        }
        for ((filter, path), answers) in self.filters.iter().zip(&self.paths).zip(answers.iter_mut()) {
            match filter {
                Target::Keys(filter, hashed) => {
                    let digests = &batches[*hashed].digests;
                    answers.resize(digests.len(), false);
                    filter.contains_digests(digests, answers);
                    check_unchanged(filter, path)?;
                }
                Target::Points(filter) => {
                    keys.texts_too(block, texts)?;
                    answers.clear();
                    for key in texts.slices(block) {
                        answers.push(points::is_near(filter, key)?);
                    }
                }
            }
        }
        wanted.clear();
        let Some((first, others)) = answers.split_first() else { return Ok(()) };
        wanted.extend_from_slice(first);
        for other in others {
            let pairs = wanted.iter_mut().zip(other);
            if self.all {
                pairs.for_each(|(wanted, answer)| *wanted &= answer);
            } else {
                pairs.for_each(|(wanted, answer)| *wanted |= answer);
            }
        }
        if self.invert {
            wanted.iter_mut().for_each(|answer| *answer = !*answer);
        }
        Ok(())
    }
}

/// The answers, in order.
struct Query<'a, M: ?Sized, U: ?Sized> {
    args: &'a QueryArgs,
    filters: &'a Filters,
    /// Lines found, in all inputs.
    found: u64,
    /// Lines seen, in this input.
    line: u64,
    /// Printed with one call per block: a call per line would cost more than all the rest.
    output: Vec<u8>,
    matched: Option<&'a mut M>,
    unmatched: Option<&'a mut U>,
}

impl<M: Write + ?Sized, U: Write + ?Sized> Work<Answers> for Query<'_, M, U> {
    fn begin(&mut self) {
        self.line = 0;
    }

    fn take(&mut self, block: Block<'_>, part: &mut Answers) -> anyhow::Result<ControlFlow<()>> {
        let Answers { batches, answers, wanted, .. } = part;
        let Some(batch) = batches.first() else { return Ok(ControlFlow::Break(())) };
        // A record without a key is in no filter.
        let keep = |row: Row| match row {
            Row::Key(at) => wanted[at],
            Row::Keyless => self.args.invert,
            Row::Header => true,
        };
        let most = self.args.max_count.unwrap_or(u64::MAX);
        if most == 0 {
            return Ok(ControlFlow::Break(()));
        }
        let silent = self.args.count || self.args.quiet;
        let found =
            batch.records(block).filter(|record| record.row != Row::Header && keep(record.row)).count();
        let rest = most - self.found;
        let last = found as u64 >= rest;
        if !silent && (self.args.line_number || self.args.label || last) {
            let mut rest = rest;
            for record in batch.records(block).take_while(|record| {
                // A header behind the last line that is wanted is not printed.
                let go = rest > 0;
                rest -= u64::from(go && record.row != Row::Header && keep(record.row));
                go
            }) {
                if keep(record.row) {
                    self.print(block, record.bytes, record.row, self.line + record.at as u64 + 1, answers);
                }
            }
        } else if !silent && self.matched.is_some() {
            batch.copy(block, &mut self.output, keep);
        }
        self.found += (found as u64).min(rest);
        self.line += batch.len() as u64;
        if let Some(lines) = &mut self.matched {
            lines.write_all(&self.output).with_context(|| output_name(self.args.matched.as_deref()))?;
        }
        self.output.clear();
        if let Some(lines) = &mut self.unmatched {
            batch.copy(block, &mut self.output, |row| row == Row::Header || !keep(row));
            lines.write_all(&self.output).with_context(|| output_name(self.args.unmatched.as_deref()))?;
            self.output.clear();
        }
        let done = last || (self.args.quiet && self.found > 0);
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// How messages name where lines go.
fn output_name(path: Option<&Path>) -> String {
    path.filter(|path| !is_dash(path)).map_or_else(|| "stdout".to_owned(), name)
}

impl<M: ?Sized, U: ?Sized> Query<'_, M, U> {
    /// A line with what stands before it.
    fn print(&mut self, block: Block<'_>, record: &[u8], row: Row, line: u64, answers: &[Vec<bool>]) {
        if row != Row::Header {
            if self.args.label {
                let found = |filter: &usize| matches!(row, Row::Key(at) if answers[*filter][at]);
                let labels: Vec<&str> =
                    (0..answers.len()).filter(found).map(|filter| &*self.filters.labels[filter]).collect();
                self.output.extend_from_slice(labels.join(",").as_bytes());
                self.output.push(b':');
            }
            if self.args.line_number {
                let _ = write!(self.output, "{line}:"); // a vector takes all
            }
        }
        self.output.extend_from_slice(record);
        if record.last() != Some(&block.end()) {
            self.output.push(block.end());
        }
    }
}
