//! Bitwise filters as bytes: the rule for levels and their shapes are parameters, the levels the
//! payload.

use super::level::{COUNT_BITS, Rule};
use super::{BitwiseBloom, BitwiseLevel};
use crate::cells::{Bytes, Counters, Memory, counter_bytes};
use crate::filter::{About, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Stored, check_fit};
use crate::hash::KeyHasher;
use crate::index::AnyScheme;
use crate::spec::{Param, Spec};
use crate::{DecodeError, EncodeError};
use alloc::vec::Vec;

/// Bytes of the parameters before the levels, and of each level.
const RULE_BYTES: usize = 16;
const LEVEL_BYTES: usize = 16;

impl<M: Memory> Stored for BitwiseBloom<M> {
    fn options(&self, spec: &mut Spec) {
        spec.set_whole(Param::Digit, self.base.shape().digit);
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let mut header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        let Rule { share, max_levels, .. } = self.above.rule;
        let mut put = |field: &[u8]| header.params.extend_from_slice(field);
        put(&max_levels.to_le_bytes());
        put(&[0; 4]);
        put(&share.to_bits().to_le_bytes());
        for BitwiseLevel { cells, hashes, digit, width } in self.levels() {
            put(&cells.to_le_bytes());
            put(&hashes.to_le_bytes());
            put(&(digit as u16).to_le_bytes());
            put(&(width as u16).to_le_bytes());
        }
        Ok(header)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        self.all().map(|level| level.cells.memory() as &dyn Memory).collect()
    }
}

/// The parts of a stored filter other than its cells, checked: the levels need exactly the payload.
fn restore(
    header: &Header,
    options: &ReadOptions,
) -> Result<(KeyHasher, Rule, Vec<BitwiseLevel>, About), DecodeError> {
    header.check_kind(Kind::Bitwise)?;
    let scheme = header.identity.scheme.ok_or(DecodeError::UnknownScheme(0))?;
    let damaged = |what| Err(DecodeError::Damaged(what));
    let wrong = DecodeError::Field {
        field: "parameter length",
        value: header.params.len() as u64,
        rule: "this kind has 16 bytes, and 16 for each of 1 to 64 levels",
    };
    let Some((rule, levels)) = header.params.split_first_chunk::<RULE_BYTES>() else { return Err(wrong) };
    let (levels, []) = levels.as_chunks::<LEVEL_BYTES>() else { return Err(wrong) };
    if !(1..=COUNT_BITS as usize).contains(&levels.len()) {
        return Err(wrong);
    }
    let [max_levels, reserved] = [0, 4].map(|at| u32::from_le_bytes(core::array::from_fn(|i| rule[at + i])));
    let share = f64::from_bits(u64::from_le_bytes(core::array::from_fn(|i| rule[8 + i])));
    let level = |bytes: &[u8; LEVEL_BYTES]| BitwiseLevel {
        cells: u64::from_le_bytes(core::array::from_fn(|i| bytes[i])),
        hashes: u32::from_le_bytes(core::array::from_fn(|i| bytes[8 + i])),
        digit: u16::from_le_bytes([bytes[12], bytes[13]]).into(),
        width: u16::from_le_bytes([bytes[14], bytes[15]]).into(),
    };
    let levels: Vec<_> = levels.iter().map(level).collect();
    let rule = Rule { scheme, share, max_levels };
    rule.check(&levels)?;
    let bytes = levels.iter().map(|level| counter_bytes(level.cells, level.width).unwrap_or(0));
    header.check_payload(bytes.sum())?;
    let BitwiseLevel { cells, hashes, width, .. } = levels[0];
    if header.identity != (Identity { cells, hashes, width, ..header.identity }) {
        return damaged("the header and its parameters tell different shapes of the first level");
    }
    if reserved != 0 {
        return damaged("a reserved parameter is not 0");
    }
    levels.iter().try_for_each(|level| check_fit(&AnyScheme::new(scheme, level.hashes), level.cells))?;
    Ok((header.hasher(options)?, rule, levels, header.about()))
}

impl format::Restore for BitwiseBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, rule, levels, about) = restore(header, options)?;
        Ok(Self::of_levels(hasher, rule, &levels, about, BitwiseLevel::room)?)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        self.all_mut().map(|level| level.cells.words_mut()).collect()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.all().try_for_each(|level| level.cells.check_tail())
    }
}

impl<B: Cut> format::Attach<B> for BitwiseBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, rule, levels, about) = restore(header, options)?;
        let mut rest = Some(payload);
        Self::of_levels(hasher, rule, &levels, about, |level| {
            let needed =
                counter_bytes(level.cells, level.width).and_then(|bytes| usize::try_from(bytes).ok());
            let cut = rest.take().zip(needed).and_then(|(rest, needed)| rest.cut(needed));
            let cells = cut.and_then(|(now, later)| {
                rest = Some(later);
                Counters::borrowed(now, level.cells, level.width)
            });
            cells.ok_or(DecodeError::Damaged("the payload is shorter than its header says"))
        })
    }
}

format::stored_methods!(BitwiseBloom<M> where M: Memory);
format::read_methods!(BitwiseBloom);
format::serde_impls!([M: Memory] BitwiseBloom<M>, [] BitwiseBloom);
