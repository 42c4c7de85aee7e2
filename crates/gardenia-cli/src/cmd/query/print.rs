//! What is printed of the answers, in the form of `grep`.

use super::args::QueryArgs;
use super::filters::{Answers, Filters};
use super::inputs::Input;
use crate::input::{Block, Record, Row, Work, name};
use crate::open::is_dash;
use anyhow::Context;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Nothing,
    /// The name of the file, if a line is found in it, or if none is.
    Names {
        found: bool,
    },
    Counts,
    /// Lines, or what is found in them.
    Lines,
}

/// What was found in one input.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub(super) found: u64,
}

/// Prints lines, in order.
pub(super) struct Printer<'a, 'w> {
    args: &'a QueryArgs,
    filters: &'a Filters,
    form: Form,
    colour: bool,
    /// Lines found in this input.
    found: u64,
    /// Lines read of this input.
    line: u64,
    /// What stands before each line of this input.
    prefix: Vec<u8>,
    /// Printed with one call per block: a call per line would cost more than all the rest.
    output: Vec<u8>,
    matched: Option<&'w mut (dyn Write + 'w)>,
    unmatched: Option<&'w mut (dyn Write + 'w)>,
}

impl<'a, 'w> Printer<'a, 'w> {
    pub(super) fn new(
        args: &'a QueryArgs,
        filters: &'a Filters,
        matched: Option<&'w mut (dyn Write + 'w)>,
        unmatched: Option<&'w mut (dyn Write + 'w)>,
    ) -> Self {
        let form = match () {
            () if args.quiet => Form::Nothing,
            () if args.files_with_matches || args.files_without_match => {
                Form::Names { found: args.files_with_matches }
            }
            () if args.count => Form::Counts,
            () => Form::Lines,
        };
        let (prefix, output) = (Vec::new(), Vec::new());
        let colour = args.coloured();
        Self { args, filters, form, colour, found: 0, line: 0, prefix, output, matched, unmatched }
    }

    /// An input begins.
    pub(super) fn begin(&mut self, input: &Input) {
        let args = self.args;
        // A table with names before its records would be none.
        let plain = !args.key.csv
            && args.key.json_key.is_none()
            && args.matched.is_none()
            && args.unmatched.is_none();
        let named = args.with_filename || (input.named && plain && !args.no_filename);
        (self.found, self.line) = (0, 0);
        self.prefix.clear();
        if named {
            let mut prefix = std::mem::take(&mut self.prefix);
            self.paint(&mut prefix, NAME, input.name());
            self.paint(&mut prefix, SEPARATOR, b":");
            self.prefix = prefix;
        }
    }

    /// An input has ended: prints what is known of it as a whole. If it was not read to its end,
    /// or its answers cannot be trusted, that is no more than what was found.
    pub(super) fn end(&mut self, input: &Input, failed: bool) -> anyhow::Result<Tally> {
        let mut output = std::mem::take(&mut self.output);
        match self.form {
            Form::Counts | Form::Names { found: false } if failed => {}
            Form::Names { found } if found == (self.found > 0) => {
                self.paint(&mut output, NAME, input.name());
                output.push(b'\n');
            }
            Form::Counts => {
                output.extend_from_slice(&self.prefix);
                let _ = writeln!(output, "{}", self.found); // a vector takes all
            }
            _ => {}
        }
        self.output = output;
        self.write()?;
        Ok(Tally { found: self.found })
    }

    /// Hands on what is to be printed.
    fn write(&mut self) -> anyhow::Result<()> {
        if let Some(lines) = &mut self.matched {
            lines.write_all(&self.output).with_context(|| output_name(self.args.matched.as_deref()))?;
        }
        self.output.clear();
        Ok(())
    }
}

impl Work<Answers> for Printer<'_, '_> {
    fn take(&mut self, block: Block<'_>, part: &mut Answers) -> anyhow::Result<ControlFlow<()>> {
        let Some(batch) = part.records() else { return Ok(ControlFlow::Break(())) };
        // A record without a key is in no filter.
        let keep = |row: Row| match row {
            Row::Key(at) => part.wanted[at],
            Row::Keyless => self.args.invert,
            Row::Header => true,
        };
        let selected = |record: &Record<'_>| record.row != Row::Header && keep(record.row);
        let rest = self.args.max_count.unwrap_or(u64::MAX) - self.found;
        let found = batch.records(block).filter(selected).count() as u64;
        let last = found >= rest;
        let plain = self.prefix.is_empty() && !self.args.line_number && !self.args.label;
        let (lines, plain) = (self.form == Form::Lines, plain && !self.args.only_matching && !self.colour);
        if lines && (last || !plain) {
            let (mut rest, mut matches) = (rest, 0);
            for record in batch.records(block) {
                if rest == 0 {
                    break; // not even a header behind the last line that is wanted
                }
                rest -= u64::from(selected(&record));
                if keep(record.row) {
                    self.print(block, &record, part, &mut matches);
                }
            }
        } else if lines && self.matched.is_some() {
            batch.copy(block, &mut self.output, keep);
        }
        self.found += found.min(rest);
        self.line += batch.len() as u64;
        self.write()?;
        if let Some(lines) = &mut self.unmatched {
            batch.copy(block, &mut self.output, |row| row == Row::Header || !keep(row));
            lines.write_all(&self.output).with_context(|| output_name(self.args.unmatched.as_deref()))?;
            self.output.clear();
        }
        let enough = matches!(self.form, Form::Nothing | Form::Names { .. }) && self.found > 0;
        Ok(if last || enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// How messages name where lines go.
fn output_name(path: Option<&Path>) -> String {
    path.filter(|path| !is_dash(path)).map_or_else(|| "stdout".to_owned(), name)
}

/// Colours of grep.
const NAME: &str = "35";
const NUMBER: &str = "32";
const SEPARATOR: &str = "36";
const MATCH: &str = "01;31";

impl Printer<'_, '_> {
    /// A record with what stands before it, or what is found in it. `next` is the first match that
    /// is not before it.
    fn print(&mut self, block: Block<'_>, record: &Record<'_>, part: &Answers, next: &mut usize) {
        let line = block.without_end(record.bytes);
        let before = |found: &&super::filters::Match| found.record < record.at;
        *next += part.matches[*next..].iter().take_while(before).count();
        let matches = part.matches[*next..].iter().take_while(|found| found.record == record.at);
        let mut output = std::mem::take(&mut self.output);
        if self.args.only_matching && record.row != Row::Header {
            for found in matches.filter(|found| found.start < found.end) {
                self.before(&mut output, record, part);
                let bytes = if found.copied { &part.copies[..] } else { block.bytes() };
                self.paint(&mut output, MATCH, &bytes[found.start..found.end]);
                output.push(block.end());
            }
        } else {
            if record.row != Row::Header {
                self.before(&mut output, record, part);
            }
            let mut done = 0;
            for found in matches.filter(|found| self.colour && !found.copied && found.start < found.end) {
                let (start, end) = (found.start - record.start, found.end - record.start);
                output.extend_from_slice(&line[done..start]);
                self.paint(&mut output, MATCH, &line[start..end]);
                done = end;
            }
            output.extend_from_slice(&line[done..]);
            output.push(block.end());
        }
        self.output = output;
    }

    /// What stands before a record.
    fn before(&self, output: &mut Vec<u8>, record: &Record<'_>, part: &Answers) {
        output.extend_from_slice(&self.prefix);
        if self.args.label {
            if let Row::Key(key) = record.row {
                let labels: Vec<&str> =
                    part.targets(key).map(|target| &*self.filters.labels[target]).collect();
                output.extend_from_slice(labels.join(",").as_bytes());
            }
            self.paint(output, SEPARATOR, b":");
        }
        if self.args.line_number {
            let number = self.line + record.at as u64 + 1;
            self.paint(output, NUMBER, number.to_string().as_bytes());
            self.paint(output, SEPARATOR, b":");
        }
    }

    /// Appends a text, with the codes that grep uses if it is to be coloured.
    fn paint(&self, output: &mut Vec<u8>, colour: &str, text: &[u8]) {
        if self.colour {
            let _ = write!(output, "\x1b[{colour}m\x1b[K"); // a vector takes all
        }
        output.extend_from_slice(text);
        if self.colour {
            output.extend_from_slice(b"\x1b[m\x1b[K");
        }
    }
}
