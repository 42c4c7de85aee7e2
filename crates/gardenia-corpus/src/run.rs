//! A run: from files and options to a report.

use crate::decide::Decider;
use crate::input::{Chunk, Lines, Reader, Source};
use crate::json::Bad;
use crate::minhash::Bands;
use crate::options::{BadLines, Options, Set};
use crate::output::{self, Rendered, Sink, Target};
use crate::pipeline::{Consumer, Pipeline, Writer};
use crate::report::{Cost, CurvePoint, FileReport, Repeated, Report, SetReport, Tally};
use crate::seen::{Seen, Store, upper_bound};
use crate::sizing::{self, Expected};
use crate::state::{self, Finished, SetState, State};
use crate::{analyse::Analyser, options::Ngrams, options::Unit};
use anyhow::Context;
use gardenia::{Digest, Top};
use gardenia_terminal::message::{hinted, say};
use gardenia_terminal::progress::Progress;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Texts that the report names.
pub(crate) const REPEATED: usize = 100;

/// Bad lines that are named on stderr; the report counts all.
const NAMED: u64 = 10;

/// Journals below this length do not begin a new generation of a state.
const LEAST: u64 = 16 << 20;

/// What is to be done with which files.
#[derive(Debug)]
pub struct Job {
    /// Files, in order.
    pub sources: Vec<Source>,
    /// What is done.
    pub options: Options,
    /// What is written.
    pub target: Target,
    /// A directory that remembers what was done.
    pub state: Option<PathBuf>,
    /// Bytes of its journals after which its sets are written as a whole; by default what they
    /// take.
    pub journals: Option<u64>,
    /// States of other runs, whose units count as seen before.
    pub after: Vec<PathBuf>,
    /// Files of benchmarks.
    pub benchmark: Vec<Source>,
    /// The key of their text, if it is another one.
    pub benchmark_key: Option<String>,
    /// Bytes that all sets together may take.
    pub memory: Option<u64>,
    /// Threads.
    pub threads: usize,
    /// Replace files.
    pub force: bool,
    /// Show what is done, and name bad lines.
    pub verbose: bool,
}

/// What was decided about a file, on its way to the writer.
struct FileEnd {
    sets: Vec<SetState>,
    fresh: Vec<(Set, Vec<Digest>)>,
    generation: u64,
}

type Ends = Arc<Mutex<VecDeque<FileEnd>>>;

struct Decisions {
    ends: Ends,
    files: usize,
    exact: bool,
    /// The state's directory, the current generation, and bytes of its journals.
    state: Option<(PathBuf, u64, u64)>,
    /// Bytes of journals after which a new generation begins; by default what the sets take.
    longest: Option<u64>,
}

impl Consumer for Decisions {
    fn decided(&mut self, file: usize, decider: &mut Decider) -> anyhow::Result<()> {
        let mut end = FileEnd { sets: Vec::new(), fresh: Vec::new(), generation: 0 };
        for (set, seen) in &mut decider.seen {
            end.sets.push(seen.state());
            if let Some(fresh) = &mut seen.fresh {
                end.fresh.push((*set, std::mem::take(fresh)));
            }
        }
        if let Some((directory, generation, journals)) = &mut self.state {
            *journals += end.fresh.iter().map(|(_, fresh)| fresh.len() as u64 * 8).sum::<u64>();
            let memory = decider.seen.iter().map(|(_, seen)| seen.store().memory_bytes()).sum();
            if file + 1 == self.files || *journals > self.longest.unwrap_or(LEAST.max(memory)) {
                (*generation, *journals) = (*generation + 1, 0);
                for (set, seen) in &decider.seen {
                    State::snapshot(directory, *set, *generation, self.exact, seen.store())?;
                }
            }
            end.generation = *generation;
        }
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push_back(end);
        Ok(())
    }
}

/// Bad lines, which are counted, named, or end the run.
pub(crate) struct BadLog {
    rule: BadLines,
    verbose: bool,
    /// How many there were.
    pub(crate) lines: u64,
}

impl BadLog {
    pub(crate) fn new(options: &Options, verbose: bool) -> Self {
        Self { rule: options.bad, verbose, lines: 0 }
    }

    pub(crate) fn note(&mut self, source: &Source, line: u64, bad: Bad) -> anyhow::Result<()> {
        let what = format!("{}, line {line}: {}", source.path.display(), bad.text());
        if self.rule == BadLines::Stop {
            return Err(hinted(what, "--bad keep goes on with such lines, --bad drop without them"));
        }
        self.lines += 1;
        if self.verbose && self.lines <= NAMED {
            say(&format!("gardenia: {what}"));
        } else if self.verbose && self.lines == NAMED + 1 {
            say("gardenia: more bad lines follow, which are counted");
        }
        Ok(())
    }
}

struct Files<'j> {
    job: &'j Job,
    sink: Option<Sink>,
    tally: Tally,
    finished: Vec<FileReport>,
    top: Top,
    ends: Ends,
    state: Option<State>,
    bad: BadLog,
    progress: Progress,
    read: Arc<AtomicU64>,
}

impl Files<'_> {
    fn sink(&mut self, file: usize) -> anyhow::Result<&mut Sink> {
        if self.sink.is_none() {
            self.sink = Some(Sink::create(&self.job.target, &self.job.sources[file])?);
        }
        self.sink.as_mut().context("a file is written")
    }
}

impl Writer for Files<'_> {
    fn chunk(&mut self, file: usize, rendered: Rendered) -> anyhow::Result<()> {
        for (line, bad) in &rendered.bad {
            self.bad.note(&self.job.sources[file], *line, *bad)?;
        }
        self.sink(file)?.write(&rendered.bytes)?;
        self.tally.add(&rendered.tally);
        rendered.repeated.iter().for_each(|text| self.top.update(text.as_slice(), 1));
        self.progress.read(self.read.load(Ordering::Relaxed));
        Ok(())
    }

    fn end(&mut self, file: usize) -> anyhow::Result<()> {
        self.sink(file)?;
        let sealed = self.sink.take().context("a file is written")?.seal(self.state.is_some())?;
        let end = self.ends.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let end = end.context("a file is decided before it is written")?;
        let (source, tally) = (&self.job.sources[file], std::mem::take(&mut self.tally));
        if let Some(state) = &mut self.state {
            let FileEnd { sets, fresh, generation } = end;
            let done = Finished {
                file: source.name.clone(),
                bytes: source.bytes,
                written: sealed.bytes,
                tally: tally.clone(),
                sets,
                generation,
            };
            state.commit(done, &fresh, &self.top)?;
        }
        sealed.publish()?;
        self.finished.push(FileReport { file: source.name.clone(), tally });
        Ok(())
    }
}

impl Job {
    /// Does it.
    pub fn run(&self) -> anyhow::Result<Report> {
        let start = Instant::now();
        check(&self.options)?;
        let opened = match &self.state {
            Some(directory) => Some(State::open(directory, &self.options, &self.target)?),
            None => None,
        };
        let (state, loaded, top) = match opened {
            Some((state, loaded, top)) => (Some(state), loaded, top),
            None => (None, Vec::new(), None),
        };
        let finished: Vec<Finished> = state.as_ref().map_or(Vec::new(), |state| state.finished.clone());
        self.check_finished(&finished)?;
        let written = finished.iter().map(|done| (done.file.as_str(), done.written));
        output::check_finished(&self.target, written)?;
        output::check(&self.target, &self.sources, self.force, finished.len())?;

        let (mut earlier, memory) = state::earlier(&self.after, &self.options, self.memory)?;
        let expected = sizing::expect(&self.sources, &self.options)?;
        let limits = sizing::limits(&expected, memory)?;
        let mut seen = Vec::new();
        let mut loaded: Vec<_> = loaded.into_iter().map(Some).collect();
        for (Expected { set, units, .. }, limit) in expected.iter().zip(limits) {
            let rate = sizing::rate(*set, &self.options);
            let others = earlier.extract_if(.., |(of, _)| of == set).map(|(_, store)| store).collect();
            let found = loaded.iter_mut().find(|found| found.as_ref().is_some_and(|found| found.set == *set));
            let mut one = match found.and_then(Option::take) {
                Some(found) => {
                    let mut one = Seen::new(*set, found.store, others, rate, limit, state.is_some());
                    one.replay(&found.journal)?;
                    one.go_on(&found.state);
                    one
                }
                None => {
                    let store = Store::new(rate, self.options.items, self.options.exact, units / 4)?;
                    if let Some(state) = &state {
                        State::snapshot(state.directory(), *set, 0, self.options.exact, &store)?;
                    }
                    Seen::new(*set, store, others, rate, limit, state.is_some())
                }
            };
            one.expected = Some(*units);
            seen.push((*set, one));
        }
        let benchmark = match self.benchmark.is_empty() {
            true => None,
            false => Some(self.read_benchmark()?),
        };
        let decider = Decider::new(self.options.clone(), seen, benchmark);

        let ends = Ends::default();
        let journals = finished.last().map_or(0, |last| last.sets.iter().map(|set| set.journal).sum());
        let decisions = Decisions {
            ends: ends.clone(),
            files: self.sources.len(),
            exact: self.options.exact,
            state: state.as_ref().map(|state| (state.directory().to_owned(), state.generation, journals)),
            longest: self.journals,
        };
        let total: u64 = self.sources.iter().map(|source| source.bytes).sum();
        let done: u64 = finished.iter().map(|file| file.bytes).sum();
        let read = Arc::new(AtomicU64::new(done));
        let files = Files {
            job: self,
            sink: None,
            tally: Tally::default(),
            finished: finished
                .iter()
                .map(|done| FileReport { file: done.file.clone(), tally: done.tally.clone() })
                .collect(),
            top: top.map_or_else(|| Top::new(REPEATED), Ok)?,
            ends,
            state,
            bad: BadLog::new(&self.options, self.verbose),
            progress: Progress::new("corpus".into(), Some(total), self.verbose),
            read: read.clone(),
        };
        let pipeline = Pipeline {
            options: &self.options,
            sources: &self.sources,
            first: finished.len(),
            target: &self.target,
            threads: self.threads.max(1),
            read,
        };
        let (decider, files) = pipeline.run(decider, decisions, files)?;
        Ok(self.report(&decider, files, start))
    }

    fn check_finished(&self, finished: &[Finished]) -> anyhow::Result<()> {
        for (at, done) in finished.iter().enumerate() {
            let now = self.sources.get(at).map(|source| (source.name.as_str(), source.bytes));
            if now != Some((done.file.as_str(), done.bytes)) {
                let found =
                    now.map_or("no file".to_owned(), |(name, bytes)| format!("{name} of {bytes} bytes"));
                let reason = format!(
                    "file {} of the state is {} of {} bytes, now it is {found}",
                    at + 1,
                    done.file,
                    done.bytes
                );
                return Err(hinted(
                    reason,
                    "name the same files in the same order, new ones behind them, or give another --state",
                ));
            }
        }
        Ok(())
    }

    /// All n-grams of the benchmarks, exactly: there are few.
    fn read_benchmark(&self) -> anyhow::Result<Seen> {
        let mut seen = benchmark()?;
        let text_key = self.benchmark_key.clone().unwrap_or_else(|| self.options.text_key.clone());
        let options = Options { text_key, ..self.options.clone() };
        let mut analyser = Analyser::new(&options);
        for source in &self.benchmark {
            let mut reader = Reader::open(source, self.options.max_line as usize, Arc::default())?;
            while let Some(Chunk { bytes, lines, first_line }) =
                reader.chunk().with_context(|| source.path.display().to_string())?
            {
                let analysed = analyser.analyse(&Chunk { bytes, lines, first_line });
                let bad =
                    analysed.docs.iter().position(|doc| matches!(doc.state, crate::analyse::Line::Bad(_)));
                if let Some(at) = bad.filter(|_| lines == Lines::Whole) {
                    let reason =
                        format!("{}, line {}: no text", source.path.display(), first_line + at as u64);
                    return Err(hinted(
                        reason,
                        "a benchmark must be read as a whole: --benchmark-key names its text",
                    ));
                }
                seen.insert(&analysed.grams, &mut vec![false; analysed.grams.len()])?;
            }
        }
        filled(seen)
    }

    fn report(&self, decider: &Decider, files: Files<'_>, start: Instant) -> Report {
        let mut total = Tally::default();
        files.finished.iter().for_each(|file| total.add(&file.tally));
        Report {
            options: self.options.clone(),
            total,
            sets: sets(decider),
            repeated: repeated(&files.top),
            curve: curve_of(&self.options),
            files: files.finished,
            cost: Cost::now(start.elapsed().as_secs_f64(), self.threads),
            dry_run: self.target == Target::Nothing,
        }
    }
}

/// An error if these options cannot be.
pub(crate) fn check(options: &Options) -> anyhow::Result<()> {
    if !(options.fpp > 0.0 && options.fpp < 1.0) {
        return Err(hinted(format!("--fpp {}: not between 0 and 1", options.fpp), "1e-6 is the default"));
    }
    if options.max_line > 1 << 31 {
        return Err(hinted("--max-line is above 2 GiB", "lines are held in memory: 64MiB is the default"));
    }
    if options.sets().is_empty() && options.benchmark.is_none() {
        return Err(hinted("nothing to do", "choose what is compared: --by document"));
    }
    for set in options.sets() {
        let rate = sizing::rate(set, options);
        if !options.exact && options.items.is_none() && rate < crate::seen::LEAST_FPP {
            let reason = format!("{rate:.1e} is too low a rate for the growing filter of {}", set.name());
            return Err(hinted(reason, "raise --fpp, give --items, or use --exact"));
        }
    }
    if let Some(Ngrams { n, overlap, unit: Unit::Paragraph | Unit::Document | Unit::Both }) = &options.ngrams
        && (*n == 0 || !(0.0..1.0).contains(overlap))
    {
        return Err(hinted(
            format!("--ngram {n} --overlap {overlap}: not possible"),
            "n from 1, an overlap from 0 to below 1",
        ));
    }
    Ok(())
}

/// A set for the n-grams of benchmarks.
pub(crate) fn benchmark() -> anyhow::Result<Seen> {
    let store = Store::new(0.5, None, true, 0)?;
    Ok(Seen::new(Set::Ngrams, store, Vec::new(), 1.0, u64::MAX, false))
}

/// The set of benchmarks, unless it is empty.
pub(crate) fn filled(benchmark: Seen) -> anyhow::Result<Seen> {
    if benchmark.items == 0 {
        let hint = "lower --ngram, or name the key of its texts: --benchmark-key";
        return Err(hinted("no text of the benchmark has as many words as --ngram", hint));
    }
    Ok(benchmark)
}

/// The sets that were used.
pub(crate) fn sets(decider: &Decider) -> Vec<SetReport> {
    let benchmark = decider.benchmark.as_ref().map(|seen| (&Set::Ngrams, seen));
    let sets = decider.seen.iter().map(|(set, seen)| (set, seen)).chain(benchmark);
    let report = |(set, seen): (&Set, &Seen)| SetReport {
        set: *set,
        items: seen.items,
        expected: seen.expected,
        memory_bytes: seen.store().memory_bytes(),
        fpp: seen.rate(),
        wrong: seen.lost,
        wrong_at_most: upper_bound(seen.lost),
    };
    sets.map(report).collect()
}

/// The texts that were removed most often.
pub(crate) fn repeated(top: &Top) -> Vec<Repeated> {
    let hitters = top.top(REPEATED).into_iter().map(|hitter| Repeated {
        lower: hitter.lower,
        upper: hitter.upper,
        text: String::from_utf8_lossy(&hitter.key).into_owned(),
    });
    hitters.collect()
}

/// The curve that a run prints.
pub(crate) fn curve_of(options: &Options) -> Vec<CurvePoint> {
    options.near.as_ref().map_or(Vec::new(), |near| curve(near.bands, options.fpp))
}

/// How likely documents are removed that have this similarity to one before.
pub fn curve(bands: Bands, fpp: f64) -> Vec<CurvePoint> {
    let points = (0..=20).map(|at| f64::from(at) / 20.0);
    points.map(|similarity| CurvePoint { similarity, removed: bands.removed(similarity, fpp) }).collect()
}
