//! The records of a block and their digests.

use super::key::Scratch;
use super::record::Block;
use gardenia::Digest;

/// Why a record has no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// It names the fields of the others.
    Header,
    /// It has no key.
    Keyless,
    /// It is no number, and has to be one.
    NoNumber,
    /// It is to be skipped.
    LeftOut,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// One with a key: that of this digest.
    Key(usize),
    /// One without.
    Keyless,
    /// One that names the fields of the others, to be kept with them.
    Header,
}

/// The records of a block, and the digests of those that have a key. Filled by `Keys::read`.
#[derive(Default)]
pub(crate) struct Batch {
    /// In the order of the records.
    pub(crate) digests: Vec<Digest>,
    /// The end of each record, behind its line end.
    pub(super) ends: Vec<usize>,
    /// Those without a digest, by their place.
    pub(super) odd: Vec<(usize, Odd)>,
    pub(super) scratch: Scratch,
}

/// A record of a block.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    /// Its number in the block.
    pub(crate) at: usize,
    /// Where its bytes begin.
    pub(crate) start: usize,
    /// With its line end, unless it is the last and has none.
    pub(crate) bytes: &'a [u8],
    pub(crate) row: Row,
}

impl Batch {
    /// Finds the records of a block and nothing else: each is one with a key.
    pub(crate) fn find(&mut self, block: Block<'_>) {
        self.clear();
        block.each_end(|end| self.ends.push(end));
    }

    pub(super) fn clear(&mut self) {
        self.digests.clear();
        self.ends.clear();
        self.odd.clear();
    }

    /// The end of each record, behind its line end.
    pub(crate) fn ends(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().copied()
    }

    /// Records of the block, of any sort.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Records but for headers and those that are to be skipped.
    pub(crate) fn lines(&self) -> u64 {
        let keyless = self.odd.iter().filter(|(_, why)| matches!(why, Odd::Keyless | Odd::NoNumber)).count();
        (self.digests.len() + keyless) as u64
    }

    /// The records in order, less those that are to be skipped.
    pub(crate) fn records<'a>(&'a self, block: Block<'a>) -> impl Iterator<Item = Record<'a>> {
        let (mut start, mut key, mut odd) = (0, 0, self.odd.iter().peekable());
        self.ends.iter().enumerate().filter_map(move |(at, &end)| {
            let (from, bytes) = (start, &block.bytes()[start..end]);
            start = end;
            let row = match odd.next_if(|(place, _)| *place == at) {
                None => {
                    key += 1;
                    Row::Key(key - 1)
                }
                Some((_, Odd::Header)) => Row::Header,
                Some((_, Odd::Keyless | Odd::NoNumber)) => Row::Keyless,
                Some((_, Odd::LeftOut)) => return None,
            };
            Some(Record { at, start: from, bytes, row })
        })
    }

    /// Appends the records that `keep` wants to `output`, each with a line end, neighbours in one
    /// go.
    pub(crate) fn copy(&self, block: Block<'_>, output: &mut Vec<u8>, mut keep: impl FnMut(Row) -> bool) {
        let bytes = block.bytes();
        let mut run = 0..0;
        for record in self.records(block) {
            if !keep(record.row) {
                continue;
            }
            if record.start != run.end {
                output.extend_from_slice(&bytes[run.clone()]);
                run.start = record.start;
            }
            run.end = record.start + record.bytes.len();
        }
        output.extend_from_slice(&bytes[run.clone()]);
        if !run.is_empty() && run.end == bytes.len() && bytes.last() != Some(&block.end()) {
            output.push(block.end());
        }
    }
}
