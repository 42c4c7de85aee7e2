//! `gardenia query`: the lines that may be in a filter, with the manners of `grep`.

use crate::Outcome;
use crate::args::QueryArgs;
use crate::input::{Block, Source, Work, read_all};
use crate::open::{Opened, is_dash, open};
use anyhow::{Context, bail};
use gardenia::{Digest, KeyHasher};
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    let opened = open(&args.filter, args.secret.read()?)?;
    let stdout = io::stdout().lock();
    // A bar among the lines of a terminal would be in the way.
    let progress = args.count || args.quiet || !stdout.is_terminal();
    let mut query = Query::new(args, &opened, stdout);
    let trouble = read_all(&sources, "looking up", progress, &mut query)?;
    if args.quiet && query.found > 0 {
        return Ok(Outcome::Done); // as grep: found is found, whatever else went wrong
    }
    if args.count {
        writeln!(query.stdout, "{}", query.found).context("stdout")?;
    }
    query.stdout.flush().context("stdout")?;
    Ok(outcome(trouble, query.found > 0))
}

/// The filter and the lines cannot both come from one pipe.
pub(crate) fn check_stdin(filter: &Path, sources: &[Source]) -> anyhow::Result<()> {
    if is_dash(filter) && sources.iter().any(|source| matches!(source, Source::Stdin)) {
        bail!("the filter and the lines cannot both come from stdin");
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

/// One question to one filter, a block of lines at a time.
struct Query<'a> {
    args: &'a QueryArgs,
    opened: &'a Opened,
    hasher: KeyHasher,
    digests: Vec<Digest>,
    answers: Vec<bool>,
    /// Lines found, in all inputs.
    found: u64,
    /// Lines seen, in this input.
    line: u64,
    /// Printed with one call per block: a call per line would cost more than all the rest.
    output: Vec<u8>,
    stdout: StdoutLock<'static>,
}

impl<'a> Query<'a> {
    fn new(args: &'a QueryArgs, opened: &'a Opened, stdout: StdoutLock<'static>) -> Self {
        let (digests, answers, output) = (Vec::new(), Vec::new(), Vec::new());
        Self { args, opened, hasher: opened.hasher(), digests, answers, found: 0, line: 0, output, stdout }
    }
}

impl Work for Query<'_> {
    fn begin(&mut self) {
        self.line = 0;
    }

    fn take(&mut self, block: Block<'_>) -> anyhow::Result<()> {
        self.args.key.digests(&self.hasher, block, &mut self.digests)?;
        self.answers.resize(self.digests.len(), false);
        self.opened.filter().contains_digests(&self.digests, &mut self.answers);
        if self.args.invert {
            self.answers.iter_mut().for_each(|answer| *answer = !*answer);
        }
        self.found += self.answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
        if self.args.count || self.args.quiet {
            return Ok(());
        }
        for (record, answer) in block.records().zip(&self.answers) {
            self.line += 1;
            if *answer {
                if self.args.line_number {
                    // Writing to a vector does not fail.
                    let _ = write!(self.output, "{}:", self.line);
                }
                self.output.extend_from_slice(record);
                self.output.push(b'\n');
            }
        }
        Ok(())
    }

    fn print(&mut self) -> anyhow::Result<ControlFlow<()>> {
        if self.args.quiet && self.found > 0 {
            return Ok(ControlFlow::Break(()));
        }
        self.stdout.write_all(&self.output).context("stdout")?;
        self.output.clear();
        Ok(ControlFlow::Continue(()))
    }
}
