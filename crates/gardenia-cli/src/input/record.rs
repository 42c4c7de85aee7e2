//! Bytes cut into blocks of whole records.
//!
//! A block is what one read gave, so that a few thousand keys are hashed and probed at a time and a
//! slow pipe is answered as its records arrive. A line ends in `\n` (or NUL), which belongs to no
//! record; the last one may lack it. A carriage return is a byte like any other. A CSV record may
//! hold line ends between quotes.

use super::unpack::{Reader, refuse_late};
use crate::message::hinted;
use crate::{human, memory};
use anyhow::Context;
use memchr::{memchr, memchr_iter, memrchr};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes asked of the system at a time: some thousand lines, and small enough for the second-level
/// cache.
const BLOCK: usize = 256 << 10;

/// The longest record that is accepted, unless another limit is given.
pub(super) const MAX_RECORD: u64 = 64 << 20;

/// A record that needs more than this is looked at twice before memory is taken for it.
const LARGE: usize = 64 << 20;

/// How records are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The byte after each record.
    pub(crate) end: u8,
    /// The byte between fields, if they may be quoted.
    pub(crate) csv: Option<u8>,
    /// Bytes of the longest record that is accepted, without its line end.
    pub(crate) max: usize,
}

impl Form {
    /// A parser at the start of a CSV record.
    pub(crate) fn parser(self) -> csv_core::Reader {
        let mut builder = csv_core::ReaderBuilder::new();
        builder.terminator(csv_core::Terminator::Any(self.end)).delimiter(self.csv.unwrap_or(b','));
        builder.build()
    }

    /// Whether a quoted field with a line end inside goes on behind its closing quote: then that
    /// quote opens a field of a later line, and the first one was never closed.
    fn is_stray(self, record: &[u8]) -> bool {
        let delimiter = self.csv.unwrap_or(b',');
        let ends_field = |byte: u8| byte == delimiter || byte == self.end;
        let mut rest = record;
        loop {
            if let [b'"', quoted @ ..] = rest {
                let mut at = 0;
                // Two quotes stand for one.
                while let Some(quote) = memchr(b'"', &quoted[at..]) {
                    at += quote + 1;
                    if quoted.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
                let (field, after) = quoted.split_at(at);
                let closed = after.first().is_none_or(|&byte| byte == b'\r' || ends_field(byte));
                if !closed && memchr(self.end, field).is_some() {
                    return true;
                }
                rest = after;
            }
            match rest.iter().position(|&byte| ends_field(byte)) {
                Some(at) => rest = &rest[at + 1..],
                None => return false,
            }
        }
    }
}

/// A block's bytes, where they lie.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    /// Bytes that are free before more are read, at least.
    room: usize,
    /// Whole records end here.
    given: usize,
    /// The end of each record, of CSV: finding them is work.
    ends: Vec<usize>,
    first: bool,
    /// Lines, or records that end otherwise, before it.
    before: u64,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self::sized(BLOCK)
    }

    fn sized(size: usize) -> Self {
        Self {
            bytes: vec![0; size],
            room: size.div_ceil(2),
            given: 0,
            ends: Vec::new(),
            first: false,
            before: 0,
        }
    }

    /// Its records.
    pub(super) fn block(&self, form: Form) -> Block<'_> {
        let ends = form.csv.map(|_| &*self.ends);
        let (bytes, before) = (&self.bytes[..self.given], self.before);
        Block { bytes, end: form.end, ends, first: self.first, before }
    }
}

/// Cuts what a reader gives.
pub(super) struct Blocks {
    reader: Reader,
    form: Form,
    /// The start of a record whose end is not read yet.
    rest: Vec<u8>,
    ended: bool,
    first: bool,
    /// Records given so far, and the line ends in them.
    records: u64,
    lines: u64,
    /// Records of CSV with a quote that is not closed.
    unclosed: Arc<Unclosed>,
    /// The next record is too long.
    stuck: bool,
}

impl Blocks {
    /// Of the bytes of `start`, and what `reader` gives after them.
    pub(super) fn new(start: Vec<u8>, reader: Reader, form: Form) -> Self {
        Self {
            reader,
            form,
            rest: start,
            ended: false,
            first: true,
            records: 0,
            lines: 0,
            unclosed: Arc::default(),
            stuck: false,
        }
    }

    /// What is found to be wrong with them.
    pub(super) fn unclosed(&self) -> Arc<Unclosed> {
        Arc::clone(&self.unclosed)
    }

    /// Fills the buffer with the next records; false if there are none. A record that is too long
    /// is an error once those before it are given.
    pub(super) fn fill(&mut self, buffer: &mut Buffer) -> anyhow::Result<bool> {
        if self.stuck {
            return Err(self.too_long());
        }
        let (max, room) = (self.form.max, buffer.room);
        grow(&mut buffer.bytes, self.rest.len().saturating_add(room), max.saturating_add(room))?;
        buffer.bytes[..self.rest.len()].copy_from_slice(&self.rest);
        let mut filled = self.rest.len();
        buffer.given = 0;
        buffer.ends.clear();
        // What was read to know the format may be whole lines, which must not wait for more; but not in what may be
        // UTF-16, where the byte of a line end can be part of a letter.
        let wide = matches!(self.rest[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        if self.first && self.form.csv.is_none() && !wide {
            buffer.given = memrchr(self.form.end, &self.rest).map_or(0, |at| at + 1);
        }
        // Bytes to have before a CSV record is looked at again: a long one would be parsed for ever.
        let mut enough = 0;
        while !self.ended && buffer.given == 0 {
            // Room for a part of a block at least, or long records would be read in ever smaller sips.
            grow(&mut buffer.bytes, filled.saturating_add(room), max.saturating_add(room))?;
            let count = match self.reader.read(&mut buffer.bytes[filled..]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let fresh = filled..filled + count;
            filled = fresh.end;
            self.ended = count == 0;
            if self.form.csv.is_none() {
                if let Some(at) = memrchr(self.form.end, &buffer.bytes[fresh.clone()]) {
                    buffer.given = fresh.start + at + 1;
                }
            } else if !self.ended && (filled >= enough || filled > max) {
                buffer.given = self.cut(&buffer.bytes[..filled], &mut buffer.ends);
                enough = if filled < BLOCK { 0 } else { 2 * filled };
            }
            // The first record begins at the first byte.
            if buffer.given == 0 && filled > max {
                return Err(self.too_long());
            }
        }
        if self.first {
            refuse_late(&buffer.bytes[..filled])?;
        }
        if self.ended {
            buffer.given = filled;
            if self.form.csv.is_some() {
                buffer.ends.clear();
                self.cut(&buffer.bytes[..filled], &mut buffer.ends);
            }
        }
        self.rest.clear();
        self.rest.extend_from_slice(&buffer.bytes[buffer.given..filled]);
        self.stop_at_long(buffer);
        if self.stuck && buffer.given == 0 {
            return Err(self.too_long());
        }
        (buffer.first, self.first) = (self.first, false);
        buffer.before = self.lines;
        let count = buffer.block(self.form).count();
        self.records += count;
        self.lines += match self.form.csv {
            None => count,
            Some(_) => memchr_iter(self.form.end, &buffer.bytes[..buffer.given]).count() as u64,
        };
        Ok(buffer.given > 0)
    }

    /// Leaves out of the block what begins with a record that is too long.
    fn stop_at_long(&mut self, buffer: &mut Buffer) {
        if buffer.given <= self.form.max {
            return; // as nearly always
        }
        let (block, mut start, mut at) = (buffer.block(self.form), 0, 0);
        let mut long = None;
        block.each_end(|end| {
            if long.is_none() && block.without_end(&block.bytes()[start..end]).len() > self.form.max {
                long = Some((start, at));
            }
            (start, at) = (end, at + 1);
        });
        if let Some((start, at)) = long {
            buffer.given = start;
            buffer.ends.truncate(at);
            self.stuck = true;
        }
    }

    /// What is wrong with the record after those that were given.
    fn too_long(&self) -> anyhow::Error {
        let what = if self.form.csv.is_none() && self.form.end == b'\n' { "line" } else { "record" };
        let (number, max) = (human::count(self.records + 1), human::limit(self.form.max as u64));
        let reason = format!("{what} {number} is longer than {max}");
        if self.form.csv.is_some() {
            let line = human::count(self.lines + 1);
            return hinted(
                reason,
                format!(
                    "raise the limit with --max-line SIZE, unless a quote that begins in line {line} is not closed"
                ),
            );
        }
        hinted(reason, "raise the limit with --max-line SIZE; each record is held in memory")
    }

    /// Finds the ends of CSV records; where the last whole one ends.
    fn cut(&self, bytes: &[u8], ends: &mut Vec<usize>) -> usize {
        let (mut start, mut fields, mut marks) = (0, [0; 1 << 10], [0; 64]);
        while start < bytes.len() {
            // The parser passes over blank lines; here each is a record.
            if let Some(blank) = [&[self.form.end][..], &[b'\r', self.form.end]]
                .into_iter()
                .find(|blank| bytes[start..].starts_with(blank))
            {
                start += blank.len();
                ends.push(start);
                continue;
            }
            let (mut parser, mut at) = (self.form.parser(), start);
            let whole = loop {
                let (result, read, _, _) = parser.read_record(&bytes[at..], &mut fields, &mut marks);
                at += read;
                match result {
                    csv_core::ReadRecordResult::Record => break true,
                    csv_core::ReadRecordResult::InputEmpty | csv_core::ReadRecordResult::End => break false,
                    // What the fields hold is of no interest here.
                    csv_core::ReadRecordResult::OutputFull | csv_core::ReadRecordResult::OutputEndsFull => {}
                }
            };
            let mut open = false;
            if !whole {
                if !self.ended {
                    return start;
                }
                // A line end ends a record, unless it is within quotes.
                let (result, ..) = parser.read_record(&[self.form.end], &mut fields, &mut marks);
                open = !matches!(result, csv_core::ReadRecordResult::Record);
                at = bytes.len();
            }
            let line = memchr(self.form.end, &bytes[start..at]).map_or(at, |line| start + line + 1);
            if open || line < at && self.form.is_stray(&bytes[start..at]) {
                self.unclosed.add(|| {
                    let before = memchr_iter(self.form.end, &bytes[..start]).count() as u64;
                    self.lines + before + 1
                });
                // The line is a record by itself, and so are those after it.
                at = line;
            }
            start = at;
            ends.push(start);
        }
        start
    }
}

/// Quotes of CSV that are not closed: how many, and the line where the record of the first begins.
#[derive(Debug)]
pub(super) struct Unclosed {
    count: AtomicU64,
    first: AtomicU64,
}

impl Default for Unclosed {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), first: AtomicU64::new(u64::MAX) }
    }
}

impl Unclosed {
    /// One more, in a line after those of the others: only the first is counted out.
    fn add(&self, line: impl FnOnce() -> u64) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first.store(line(), Ordering::Relaxed);
        }
    }

    /// How many there are, and the line of the first, if there is one.
    pub(super) fn found(&self) -> Option<(u64, u64)> {
        let count = self.count.load(Ordering::Relaxed);
        (count > 0).then(|| (count, self.first.load(Ordering::Relaxed)))
    }
}

/// Makes the buffer at least `needed` bytes long: twice as long as it was, so that growing takes
/// little time, but not more than `most` without need.
fn grow(buffer: &mut Vec<u8>, needed: usize, most: usize) -> anyhow::Result<()> {
    if buffer.len() >= needed {
        return Ok(());
    }
    let len = buffer.len().saturating_mul(2).min(most).max(needed);
    let (more, hint) = (len - buffer.len(), "lower --max-line; are the records separated by line ends?");
    if more >= LARGE {
        memory::require(more as u64, "a line this long", hint)?;
    }
    buffer.try_reserve_exact(more).context("a line is longer than memory")?;
    buffer.resize(len, 0);
    Ok(())
}

/// Whole records, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    bytes: &'a [u8],
    end: u8,
    ends: Option<&'a [usize]>,
    /// Whether it begins its input.
    first: bool,
    /// Lines before it.
    before: u64,
}

impl<'a> Block<'a> {
    /// All its bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The byte after each record.
    pub(crate) fn end(self) -> u8 {
        self.end
    }

    /// Whether it begins its input.
    pub(crate) fn is_first(self) -> bool {
        self.first
    }

    /// The number of the line that begins at this byte, from 1.
    pub(crate) fn line(self, start: usize) -> u64 {
        self.before + memchr_iter(self.end, &self.bytes[..start]).count() as u64 + 1
    }

    /// Hands the end of each record to `take`, behind its line end.
    #[inline]
    pub(crate) fn each_end(self, mut take: impl FnMut(usize)) {
        match self.ends {
            Some(ends) => ends.iter().for_each(|&end| take(end)),
            None => {
                memchr_iter(self.end, self.bytes).for_each(|at| take(at + 1));
                if self.bytes.last().is_some_and(|&last| last != self.end) {
                    take(self.bytes.len());
                }
            }
        }
    }

    /// A record without its line end.
    #[inline]
    pub(crate) fn without_end(self, record: &'a [u8]) -> &'a [u8] {
        record.strip_suffix(&[self.end]).unwrap_or(record)
    }

    /// Hands the records to `take`, in order, without their line ends.
    pub(crate) fn each(self, mut take: impl FnMut(&'a [u8])) {
        let mut start = 0;
        self.each_end(|end| {
            take(self.without_end(&self.bytes[start..end]));
            start = end;
        });
    }

    /// How many records.
    pub(crate) fn count(self) -> u64 {
        let unended = self.bytes.last().is_some_and(|&last| last != self.end);
        match self.ends {
            Some(ends) => ends.len() as u64,
            // Counted in vectors: this is done for every block.
            None => memchr_iter(self.end, self.bytes).count() as u64 + u64::from(unended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    const LINES: Form = Form { end: b'\n', csv: None, max: usize::MAX };
    const CSV: Form = Form { csv: Some(b','), ..LINES };

    /// Gives at most `step` bytes a time, and is interrupted before each.
    struct Slow {
        bytes: io::Cursor<Vec<u8>>,
        step: usize,
        interrupt: bool,
    }

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let step = self.step.min(buffer.len());
            self.bytes.read(&mut buffer[..step])
        }
    }

    fn blocks(text: &str, step: usize, form: Form) -> Blocks {
        let bytes = io::Cursor::new(text.as_bytes().to_vec());
        Blocks::new(Vec::new(), Box::new(Slow { bytes, step, interrupt: false }), form)
    }

    /// The records of a text, however its bytes arrive.
    fn check(text: &str, form: Form, expected: &[&str]) {
        for (step, size) in [1, 2, 3, 7, 4096].into_iter().flat_map(|step| [2, 5, 64].map(|s| (step, s))) {
            let (mut blocks, mut buffer) = (blocks(text, step, form), Buffer::sized(size));
            let (mut found, mut counted, mut firsts) = (Vec::new(), 0, 0);
            while blocks.fill(&mut buffer).unwrap() {
                let block = buffer.block(form);
                block.each(|record| found.push(String::from_utf8(record.to_vec()).unwrap()));
                counted += block.count();
                firsts += u32::from(block.is_first());
            }
            assert_eq!(found, expected, "{text:?} by {step} into {size}");
            assert_eq!((counted, firsts), (expected.len() as u64, u32::from(!text.is_empty())));
        }
    }

    #[test]
    fn records_do_not_depend_on_how_the_bytes_arrive() {
        let long = "x".repeat(1000);
        let texts = [
            "",
            "\n",
            "a",
            "a\n",
            "\n\n",
            "a\n\nb",
            "rose\r\ntulip\r\n",
            "\0\n\0\0",
            "a\nbb\nccc\ndddd",
            &long,
            &format!("a\n{long}\n\n{long}"),
        ];
        for text in texts {
            for end in ['\n', '\0'] {
                // What `split` makes of it, less the empty piece after a final line end.
                let mut expected: Vec<&str> = text.split(end).collect();
                expected.truncate(expected.len() - usize::from(text.is_empty() || text.ends_with(end)));
                check(text, Form { end: end as u8, ..LINES }, &expected);
            }
        }
    }

    #[test]
    fn quoted_line_ends_stay_in_their_record() {
        let quoted = format!("\"{}\",1", "many\n\"\"lines\"\" ".repeat(300));
        let text = format!("a,b\n\n\"x\ny\",2\r\n{quoted}\n5\" disk,3\n\"open\nto the end");
        let expected = ["a,b", "", "\"x\ny\",2\r", &quoted, "5\" disk,3", "\"open", "to the end"];
        check(&text, CSV, &expected);
        check("a\n\r\nb", CSV, &["a", "\r", "b"]);
        check("", CSV, &[]);
    }

    #[test]
    fn a_quote_that_a_later_line_closes_costs_its_line_and_no_other() {
        let whole = ["a,\"x\ny\"", "\"x\n\"\"y\"\"\n\"\r", "\"x\"y,\"\n\",\"z\"", "\"\n\""];
        check(&whole.join("\n"), CSV, &whole);
        let lines = "a,1\n".repeat(300);
        let text = format!("h,x\nfoo,\"open\n{lines}b,\"quoted\"\n{}\nc,\"in\n\",\"open\nd,\"e\"", whole[0]);
        let mut expected = vec!["h,x", "foo,\"open"];
        expected.extend(lines.lines());
        expected.extend(["b,\"quoted\"", whole[0], "c,\"in", "\",\"open", "d,\"e\""]);
        check(&text, CSV, &expected);
        for (step, size) in [(1, 64), (7, 2), (4096, 4096)] {
            let (mut blocks, mut buffer) = (blocks(&text, step, CSV), Buffer::sized(size));
            while blocks.fill(&mut buffer).unwrap() {}
            assert_eq!(blocks.unclosed().found(), Some((2, 2)), "by {step} into {size}");
        }
    }

    #[test]
    fn a_block_is_given_as_soon_as_it_holds_a_record() {
        for form in [LINES, CSV] {
            let (mut blocks, mut buffer) = (blocks("rose\ntulip\n", 6, form), Buffer::new());
            assert!(blocks.fill(&mut buffer).unwrap());
            assert_eq!(buffer.block(form).bytes(), b"rose\n");
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_an_error_after_those_before_it() {
        let long = "x".repeat(101);
        let just = &long[1..];
        let quoted = format!("\"{}\"", "a\n".repeat(50));
        let cases: [(Form, String, &[&str]); 7] = [
            (LINES, format!("a\n{just}\nb\n{long}\nc\n"), &["a", just, "b"]),
            (LINES, format!("{long}\n"), &[]),
            (LINES, format!("{just}\n{just}\n{}", long.repeat(50)), &[just, just]),
            (LINES, format!("a\n{long}"), &["a"]),
            (Form { end: 0, ..LINES }, format!("a\n\0{long}\0b\0"), &["a\n"]),
            (CSV, format!("a,b\n{just}\n{quoted}\nc\n"), &["a,b", just]),
            (CSV, format!("a,b\n\"{}", long.repeat(50)), &["a,b"]),
        ];
        for (form, text, expected) in cases {
            let form = Form { max: 100, ..form };
            for (step, size) in [1, 7, 4096].into_iter().flat_map(|step| [2, 64, 1024].map(|s| (step, s))) {
                let (mut blocks, mut buffer) = (blocks(&text, step, form), Buffer::sized(size));
                let mut found = Vec::new();
                let error = loop {
                    match blocks.fill(&mut buffer) {
                        Ok(true) => buffer
                            .block(form)
                            .each(|record| found.push(String::from_utf8(record.to_vec()).unwrap())),
                        Ok(false) => panic!("{text:?} by {step} into {size}: no error"),
                        Err(error) => break error.to_string(),
                    }
                };
                assert_eq!(found, expected, "{text:?} by {step} into {size}");
                let what = if form == (Form { max: 100, ..LINES }) { "line" } else { "record" };
                assert_eq!(error, format!("{what} {} is longer than 100 bytes", expected.len() + 1));
                assert!(buffer.bytes.len() <= 100 + 2 * size, "{} bytes", buffer.bytes.len());
            }
        }
    }
}
