//! Texts that a program brings, in place of files: the same decisions, asked batch by batch.
//!
//! The result is that of the documents in their order, whatever the batches and the number of
//! threads are.

use crate::analyse::{Analyser, Given, Line};
use crate::args::Wanted;
use crate::decide::{Decider, Reason};
use crate::json::Bad;
use crate::options::{BadLines, Options};
use crate::output::excerpt;
use crate::report::{Cost, Report, Tally};
use crate::run::{self, REPEATED};
use crate::seen::{Seen, Store};
use crate::sizing;
use crate::state;
use gardenia::Top;
use gardenia_terminal::message::hinted;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

/// Bytes of text that a thread analyses at a time.
const PIECE: usize = 1 << 20;

/// What happens to a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why all of it goes, if it does.
    pub removed: Option<Reason>,
    /// What goes of its text otherwise, in bytes, in order.
    pub spans: Vec<(Reason, Range<usize>)>,
}

impl Verdict {
    /// Whether the document stays as it is.
    pub fn is_unchanged(&self) -> bool {
        self.removed.is_none() && self.spans.is_empty()
    }

    /// What is left of the text.
    pub fn rest(&self, text: &str) -> String {
        let (mut rest, mut at) = (String::with_capacity(text.len()), 0);
        for (_, span) in &self.spans {
            rest.push_str(&text[at..span.start]);
            at = span.end;
        }
        rest.push_str(&text[at..]);
        rest
    }
}

/// A run without files.
pub struct Texts {
    options: Options,
    decider: Decider,
    tally: Tally,
    top: Top,
    start: Instant,
    /// Documents so far: what an error names.
    documents: u64,
}

impl Texts {
    /// Begins a run. Texts of `benchmark` are those that documents must not share n-grams with.
    pub fn new(wanted: &Wanted, benchmark: &[Given<'_>]) -> anyhow::Result<Self> {
        let options = wanted.options.clone();
        run::check(&options)?;
        let decider = decider(&options, wanted, Vec::new(), benchmark)?;
        Ok(Self {
            options,
            decider,
            tally: Tally::default(),
            top: Top::new(REPEATED)?,
            start: Instant::now(),
            documents: 0,
        })
    }

    /// Goes on where [`save`](Self::save) was called.
    pub fn open(directory: &Path, memory: Option<u64>) -> anyhow::Result<Self> {
        let (options, loaded, tally, top) = state::load_texts(directory)?;
        let after = options.after.iter().map(Into::into).collect();
        let wanted = Wanted { options: options.clone(), after, memory };
        let decider = decider(&options, &wanted, loaded, &[])?;
        let documents = tally.documents;
        Ok(Self { options, decider, tally, top, start: Instant::now(), documents })
    }

    /// Writes what was seen into a directory, which is a state as a run over files makes one: for
    /// `--after` and `merge`.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        if self.options.benchmark.is_some() {
            return Err(hinted("a decontamination has no state", "it remembers no documents"));
        }
        let states: Vec<_> = self.decider.seen.iter().map(|(_, seen)| (seen.store(), seen.state())).collect();
        state::save_texts(directory, &self.options, &states, self.tally.clone(), &self.top)
    }

    /// What is done.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Decides about the next documents.
    pub fn push(&mut self, documents: &[Given<'_>], threads: usize) -> anyhow::Result<Vec<Verdict>> {
        let mut verdicts = Vec::with_capacity(documents.len());
        let pieces = pieces(documents);
        for group in pieces.chunks(threads.max(1)) {
            let options = &self.options;
            let analyse = |piece: &[Given<'_>]| Analyser::new(options).texts(piece);
            let analysed: Vec<_> = match group {
                [one] => vec![analyse(one)],
                group => std::thread::scope(|scope| {
                    let threads: Vec<_> = group.iter().map(|piece| scope.spawn(|| analyse(piece))).collect();
                    threads.into_iter().map(|thread| thread.join()).collect::<Result<_, _>>()
                })
                .map_err(|_| anyhow::anyhow!("a thread ended early"))?,
            };
            for (piece, analysed) in group.iter().zip(analysed) {
                self.check_bad(&analysed.docs)?;
                let decided = self.decider.decide(&analysed)?;
                let bands = self.options.near.as_ref().map_or(0, |near| near.bands.bands);
                self.tally.bands(&decided.bands, bands);
                self.tally.overlaps(&decided.overlaps);
                for ((given, doc), removed) in piece.iter().zip(&analysed.docs).zip(&decided.docs) {
                    let units = doc.units.start as usize..doc.units.end as usize;
                    let spans = units.filter_map(|unit| {
                        let text = &analysed.units[unit].text;
                        decided.units[unit].map(|reason| (reason, text.start as usize..text.end as usize))
                    });
                    let all = Verdict { removed: *removed, spans: spans.collect() };
                    let paragraphs = doc.units.len() as u64;
                    self.note(given.text.unwrap_or_default(), doc.state, paragraphs, &all);
                    // A document that goes as a whole has no spans.
                    verdicts.push(if removed.is_some() { Verdict { spans: Vec::new(), ..all } } else { all });
                }
            }
        }
        Ok(verdicts)
    }

    fn check_bad(&self, docs: &[crate::analyse::Doc]) -> anyhow::Result<()> {
        let bad = docs.iter().enumerate().find_map(|(at, doc)| match doc.state {
            Line::Bad(bad) => Some((at, bad)),
            _ => None,
        });
        let Some((at, bad)) = bad.filter(|_| self.options.bad == BadLines::Stop) else { return Ok(()) };
        let reason = format!("document {}: {}", self.documents + at as u64 + 1, bad.text());
        Err(hinted(reason, "--bad keep goes on with such documents, --bad drop without them"))
    }

    fn note(&mut self, text: &str, state: Line, paragraphs: u64, verdict: &Verdict) {
        let tally = &mut self.tally;
        self.documents += 1;
        tally.documents += 1;
        tally.paragraphs += paragraphs;
        tally.bytes_in += text.len() as u64;
        if let Line::Bad(bad) = state {
            tally.bad(bad);
        }
        match verdict.removed {
            Some(reason) => {
                tally.remove(reason, text);
                if matches!(reason, Reason::Document | Reason::Near | Reason::Ngrams) {
                    self.top.update(&excerpt(text)[..], 1);
                }
            }
            None => {
                let gone: usize = verdict.spans.iter().map(|(_, span)| span.len()).sum();
                tally.kept += 1;
                tally.bytes_out += (text.len() - gone) as u64;
                tally.changed += u64::from(gone > 0);
            }
        }
        // The paragraphs of a document that goes as a whole are in its own count.
        if matches!(verdict.removed, None | Some(Reason::Empty)) {
            for (reason, span) in &verdict.spans {
                let text = &text[span.clone()];
                if verdict.removed.is_none() {
                    tally.remove(*reason, text);
                }
                self.top.update(&excerpt(text)[..], 1);
            }
        }
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        Report {
            options: self.options.clone(),
            total: self.tally.clone(),
            sets: run::sets(&self.decider),
            repeated: run::repeated(&self.top),
            curve: run::curve_of(&self.options),
            files: Vec::new(),
            cost: Cost::now(self.start.elapsed().as_secs_f64(), 1),
            dry_run: false,
        }
    }
}

/// Documents in pieces of about [`PIECE`] bytes.
fn pieces<'d, 't>(documents: &'d [Given<'t>]) -> Vec<&'d [Given<'t>]> {
    let (mut pieces, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, given) in documents.iter().enumerate() {
        bytes += given.text.map_or(0, str::len);
        if bytes >= PIECE || at + 1 == documents.len() {
            pieces.push(&documents[start..=at]);
            (start, bytes) = (at + 1, 0);
        }
    }
    pieces
}

fn decider(
    options: &Options,
    wanted: &Wanted,
    mut loaded: Vec<state::Loaded>,
    benchmark: &[Given<'_>],
) -> anyhow::Result<Decider> {
    let (mut earlier, memory) = state::earlier(&wanted.after, options, wanted.memory)?;
    let sets = options.sets();
    // Nobody knows how many documents will come: the sets share the memory equally.
    let memory = memory.or_else(sizing::available).unwrap_or(u64::MAX);
    let limit = memory / sets.len().max(1) as u64;
    let mut all = Vec::new();
    for set in sets {
        let rate = sizing::rate(set, options);
        let others = earlier.extract_if(.., |(of, _)| *of == set).map(|(_, store)| store).collect();
        let found = loaded.iter().position(|found| found.set == set).map(|at| loaded.swap_remove(at));
        let (store, state) = match found {
            Some(found) => (found.store, Some(found.state)),
            None => (Store::new(rate, options.items, options.exact, 1)?, None),
        };
        let mut seen = Seen::new(set, store, others, rate, limit, false);
        if let Some(state) = state {
            seen.go_on(&state);
        }
        all.push((set, seen));
    }
    let benchmark = match options.benchmark {
        None => None,
        Some(_) => {
            let mut analyser = Analyser::new(options);
            let analysed = analyser.texts(benchmark);
            if let Some(at) = analysed.docs.iter().position(|doc| doc.state == Line::Bad(Bad::Key)) {
                return Err(hinted(
                    format!("text {} of the benchmark is missing", at + 1),
                    "a benchmark must be read as a whole",
                ));
            }
            let mut seen = run::benchmark()?;
            seen.insert(&analysed.grams, &mut vec![false; analysed.grams.len()])?;
            Some(run::filled(seen)?)
        }
    };
    Ok(Decider::new(options.clone(), all, benchmark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;

    fn texts(arguments: &str) -> Texts {
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        Texts::new(&parse(&arguments).unwrap(), &[]).unwrap()
    }

    fn given<'a>(all: &[&'a str]) -> Vec<Given<'a>> {
        all.iter().map(|text| Given { text: Some(text), key: None }).collect()
    }

    /// Batches, pieces and threads do not change what is decided.
    #[test]
    fn batches_and_threads_give_the_same_answers() {
        let long = "word ".repeat(300_000);
        let own: Vec<String> =
            (0..400).map(|at| format!("{long}{}\nshared {}\n", at % 150, at % 7)).collect();
        let all: Vec<Given<'_>> =
            own[..12].iter().map(|text| Given { text: Some(text), key: None }).collect();
        let short: Vec<String> =
            (0..3_000).map(|at| format!("text {}\nshared {}", at % 900, at % 70)).collect();
        let short: Vec<Given<'_>> = short.iter().map(|text| Given { text: Some(text), key: None }).collect();
        for documents in [&all, &short] {
            let whole = texts("dedup --by=document,paragraph").push(documents, 1).unwrap();
            assert!(whole.iter().any(|verdict| !verdict.is_unchanged()));
            for (batch, threads) in [(1, 1), (7, 4), (documents.len(), 4)] {
                let mut run = texts("dedup --by=document,paragraph");
                let batches = documents.chunks(batch).flat_map(|batch| run.push(batch, threads).unwrap());
                assert_eq!(batches.collect::<Vec<_>>(), whole, "{batch} at a time, {threads} threads");
            }
        }
    }

    #[test]
    fn a_saved_run_goes_on_and_counts_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = texts("dedup --by=document,paragraph --exact");
        run.push(&given(&["one\ntwo", "one\nthree"]), 1).unwrap();
        for _ in 0..2 {
            run.save(folder.path()).unwrap();
        }
        let mut again = Texts::open(folder.path(), None).unwrap();
        let verdicts = again.push(&given(&["one\ntwo", "four\none"]), 1).unwrap();
        assert_eq!(verdicts[0].removed, Some(Reason::Document));
        assert_eq!(verdicts[1].rest("four\none"), "four\n");
        let report = again.report();
        assert_eq!((report.total.documents, report.total.kept, report.sets[0].items), (4, 3, 3));
        assert_eq!(report.repeated[0].text, "one");
        // One set of files, those of the last time.
        let mut names: Vec<String> = folder
            .path()
            .read_dir()
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected =
            ["documents-1.digests", "files.jsonl", "options.json", "paragraphs-1.digests", "top-1.gdn"];
        assert_eq!(names, expected);
    }

    #[test]
    fn documents_without_a_text_follow_the_rule() {
        let documents = [Given { text: None, key: None }, Given { text: Some("a"), key: None }];
        assert!(texts("dedup").push(&documents, 1).unwrap().iter().all(Verdict::is_unchanged));
        let dropped = texts("dedup --bad=drop").push(&documents, 1).unwrap();
        assert_eq!(dropped[0].removed, Some(Reason::Bad));
        let stopped = texts("dedup --bad=stop").push(&documents, 1).unwrap_err();
        assert!(stopped.to_string().starts_with("document 1: no text"), "{stopped}");
        assert!(parse(&["dedup".into(), "--loud".into()]).unwrap_err().to_string().contains("--loud"));
    }
}
