//! `gardenia query`: the lines that may be in a filter, or are in a list, with the manners of
//! `grep`.

mod args;
mod filters;
mod inputs;
mod keys;
mod print;
mod tokens;

pub(crate) use args::QueryArgs;

use crate::Outcome;
use crate::input::{Keys, Reading, Source};
use crate::message::{hinted, with_hint};
use crate::open::{is_dash, try_open};
use crate::output::Output;
use anyhow::{Context, bail};
use filters::Filters;
use gardenia::{DecodeError, ReadOptions};
use inputs::{Input, Inputs};
use print::{Printer, Tally};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<Outcome> {
    let (filters, inputs) = operands(args)?;
    let sources = check_streams(args, filters, inputs)?;
    check_outputs(args, inputs)?;
    filters.iter().try_for_each(|path| args.verify.check(path, &sources))?;
    let (filters, keys) = Filters::open(args, filters, !args.quiet)?;
    let keys = keys.keys()?.tell_unseen_bytes(filters.have_no_cr());
    let silent = args.count || args.quiet || args.matched.is_some() || args.unmatched.is_some();
    let run = Query {
        args,
        inputs,
        keys,
        filters,
        // A bar among the lines of a terminal would be in the way.
        progress: silent || !io::stdout().is_terminal(),
    };
    let output = |path| Output { path, force: args.force, inputs };
    let (trouble, found) = match (&args.matched, &args.unmatched) {
        (None, None) => {
            let mut stdout = io::stdout().lock();
            let found = run.search(Some(&mut stdout), None)?;
            stdout.flush().context("stdout")?;
            found
        }
        (Some(matched), None) => output(matched).fill(|lines| run.search(Some(lines), None))?,
        (None, Some(unmatched)) => output(unmatched).fill(|lines| run.search(None, Some(lines)))?,
        (Some(matched), Some(unmatched)) => output(matched)
            .fill(|lines| output(unmatched).fill(|others| run.search(Some(lines), Some(others))))?,
    };
    run.filters.warn_of_cr(run.keys.saw_cr());
    if args.quiet && found {
        return Ok(Outcome::Done); // as grep: found is found, whatever else went wrong
    }
    Ok(outcome(trouble, found))
}

/// All that is known before lines are read.
struct Query<'a> {
    args: &'a QueryArgs,
    inputs: &'a [PathBuf],
    keys: Keys,
    filters: Filters,
    progress: bool,
}

impl Query<'_> {
    /// Searches all inputs; whether one could not be read, and whether a line was found.
    fn search<'w>(
        &self,
        matched: Option<&'w mut (dyn Write + 'w)>,
        unmatched: Option<&'w mut (dyn Write + 'w)>,
    ) -> anyhow::Result<(bool, bool)> {
        let mut printer = Printer::new(self.args, &self.filters, matched, unmatched);
        let (mut found, mut trouble) = (false, false);
        let mut inputs = Inputs::new(self.args, self.inputs, self.filters.files());
        let hint = "--matched and --unmatched write their files only if all inputs could be read";
        let strict = self.writes_files();
        // As grep: where no line can be found no file is read, unless for its name, which -q does not print.
        let none = self.args.max_count == Some(0) || (self.filters.are_empty() && !self.args.invert);
        if !none || (self.args.files_without_match && !self.args.quiet) {
            let searched = inputs.each(&mut |input| {
                let (failed, tally) = self.search_one(input, &mut printer)?;
                trouble |= failed;
                found |= tally.found > 0;
                Ok(if found && self.args.quiet { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            });
            searched.map_err(|error| if strict { with_hint(error, hint) } else { error })?;
        }
        Ok((trouble || inputs.trouble, found))
    }

    /// Searches one input; whether it could not be read to its end.
    fn search_one(&self, input: &Input, printer: &mut Printer<'_, '_>) -> anyhow::Result<(bool, Tally)> {
        printer.begin(input);
        if input.directory {
            return Ok((true, printer.end(input, false)?));
        }
        let reading = Reading {
            sources: std::slice::from_ref(&input.source),
            keys: &self.keys,
            doing: "looking up",
            progress: self.progress,
            threads: self.args.threads.count(),
            // A file is to hold the lines of all inputs, or not to appear.
            strict: self.writes_files(),
        };
        let failed = reading.run(|keys, block, part| self.filters.look(keys, block, part), printer)?;
        Ok((failed, printer.end(input, failed)?))
    }

    fn writes_files(&self) -> bool {
        [&self.args.matched, &self.args.unmatched].into_iter().flatten().any(|path| !is_dash(path))
    }
}

/// The filters and the inputs. Without -F and --confirm the first operand is the filter, as grep's
/// is the pattern.
fn operands(args: &QueryArgs) -> anyhow::Result<(&[PathBuf], &[PathBuf])> {
    match (args.filters.is_empty() && args.confirm.is_empty(), args.operands.split_first()) {
        (true, Some((_, inputs))) => Ok((&args.operands[..1], inputs)),
        (true, None) => Err(hinted("no filter was given", "gardenia query FILTER [FILE]...")),
        (false, Some((first, _))) if is_filter(first) && !args.recursive => {
            let (reason, first) =
                (format!("{} is a filter, not a file of lines", first.display()), first.display());
            Err(hinted(reason, format!("with -F and --confirm all others are files of lines: -F {first}")))
        }
        (false, _) => Ok((&args.filters, &args.operands)),
    }
}

/// Whether a file holds a filter, even a corrupted one. A pipe is not read for that.
fn is_filter(path: &Path) -> bool {
    use DecodeError::{Io, Magic, Truncated};
    path.is_file()
        && !matches!(try_open(path, &ReadOptions::new()), Err(Io(_) | Magic { .. } | Truncated { .. }))
}

/// The inputs. One pipe cannot be several things.
fn check_streams(args: &QueryArgs, filters: &[PathBuf], inputs: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let sources = if inputs.is_empty() && args.recursive { Vec::new() } else { Source::all(inputs) };
    filters.iter().try_for_each(|filter| check_stdin(filter, &sources))?;
    if args.confirm.iter().any(|list| is_dash(list))
        && sources.iter().any(|source| matches!(source, Source::Stdin))
    {
        bail!("the list and the lines cannot both come from stdin");
    }
    if filters.iter().chain(&args.confirm).filter(|path| is_dash(path)).count() > 1 {
        bail!("only one filter or list can come from stdin");
    }
    if args.index.is_some() && args.confirm.len() > 1 {
        return Err(hinted("--index is one file, and --confirm names several lists", "leave out --index"));
    }
    Ok(sources)
}

/// The filter and the lines cannot both come from one pipe.
pub(crate) fn check_stdin(filter: &Path, sources: &[Source]) -> anyhow::Result<()> {
    if is_dash(filter) && sources.iter().any(|source| matches!(source, Source::Stdin)) {
        bail!("the filter and the lines cannot both come from stdin");
    }
    Ok(())
}

/// Reports at the start what would fail at the end.
fn check_outputs(args: &QueryArgs, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let outputs = [&args.matched, &args.unmatched];
    for path in outputs.into_iter().flatten().filter(|path| !is_dash(path)) {
        Output { path, force: args.force, inputs }.check()?;
    }
    if args.matched.is_some() && args.matched == args.unmatched {
        return Err(hinted("--matched and --unmatched must be different files", "name two"));
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
