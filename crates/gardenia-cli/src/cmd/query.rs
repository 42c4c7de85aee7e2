//! `gardenia query`: the lines that may be in a filter, with the manners of `grep`.

use crate::args::QueryArgs;
use crate::input::{Block, Source};
use crate::open::{Opened, open};
use crate::{Outcome, message};
use anyhow::{Context, bail};
use gardenia::{Digest, KeyHasher};
use std::io::{self, IsTerminal, Write};

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    let from_stdin = sources.iter().any(|source| matches!(source, Source::Stdin));
    if from_stdin && crate::open::is_dash(&args.filter) {
        bail!("the filter and the lines cannot both come from stdin");
    }
    let opened = open(&args.filter, args.secret.read()?)?;
    let mut stdout = io::stdout().lock();
    // A bar among the lines of a terminal would be in the way.
    let progress = args.count || args.quiet || !stdout.is_terminal();

    let mut query = Query::new(args, &opened);
    let mut trouble = false;
    for source in &sources {
        query.line = 0;
        // An input that cannot be read is complained about; output that cannot be written ends it all.
        let mut records = match source.open("looking up", progress) {
            Ok(records) => records,
            Err(error) => {
                message::complain(&error);
                trouble = true;
                continue;
            }
        };
        let failed = loop {
            match records.next_block() {
                Ok(Some(block)) => query.look_up(block),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if args.quiet && query.found > 0 {
                return Ok(Outcome::Done); // as grep: found is found, whatever else went wrong
            }
            query.print(&mut stdout)?;
        };
        drop(records); // and its progress bar with it, before anything is said
        if let Some(error) = failed {
            message::complain(&error);
            trouble = true;
        }
    }
    if args.count {
        writeln!(stdout, "{}", query.found).context("stdout")?;
    }
    stdout.flush().context("stdout")?;
    Ok(match (trouble, query.found) {
        (true, _) => Outcome::Trouble,
        (false, 0) => Outcome::Nothing,
        (false, _) => Outcome::Done,
    })
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
}

impl<'a> Query<'a> {
    fn new(args: &'a QueryArgs, opened: &'a Opened) -> Self {
        let (digests, answers, output) = (Vec::new(), Vec::new(), Vec::new());
        Self { args, opened, hasher: opened.hasher(), digests, answers, found: 0, line: 0, output }
    }

    fn look_up(&mut self, block: Block<'_>) {
        block.digest(&self.hasher, &mut self.digests);
        self.answers.resize(self.digests.len(), false);
        self.opened.filter().contains_digests(&self.digests, &mut self.answers);
        if self.args.invert {
            self.answers.iter_mut().for_each(|answer| *answer = !*answer);
        }
        self.found += self.answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
        if self.args.count || self.args.quiet {
            return;
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
    }

    fn print(&mut self, stdout: &mut impl Write) -> anyhow::Result<()> {
        stdout.write_all(&self.output).context("stdout")?;
        self.output.clear();
        Ok(())
    }
}
