//! Ribbon filters as files: kind 13.
//!
//! Parameters: 24 bytes for each layer, 1 to 16 of them. The payload is the solutions of all
//! layers, then the thresholds of all but the last. Keys are counted.

use super::{Band, Layer, MAX_ATTEMPTS, MAX_LAYERS, Ribbon, layer};
use crate::cells::{Bytes, Memory, Owned};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::index::MAX_CELLS;
use crate::simd::ribbon as simd;
use crate::theory::ribbon::MAX_FINGERPRINT;
use crate::{DecodeError, EncodeError};
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of the parameters of one layer.
const LAYER: usize = 24;

impl Layer {
    /// Segments (4 bytes), blocks of each (4), attempt (4), zero (4), full blocks (8).
    fn params(&self) -> [u8; LAYER] {
        let words =
            [self.segments | self.blocks << 32, u64::from(self.attempt), self.full].map(u64::to_le_bytes);
        core::array::from_fn(|i| words[i / 8][i % 8])
    }

    fn from_params<B: Band>(params: &[u8; LAYER], bumps: bool) -> Result<Self, DecodeError> {
        let word = |at: usize| u32::from_le_bytes(core::array::from_fn(|i| params[at + i]));
        let (segments, blocks, attempt) = (u64::from(word(0)), u64::from(word(4)), word(8));
        let full = u64::from(word(16)) | u64::from(word(20)) << 32;
        // Both are below 2^32, so that the product is a number, and slots are compared as blocks.
        let all = segments * blocks;
        DecodeError::check(
            "segments",
            segments,
            segments > 0 && (bumps || segments == 1),
            "one or, but for the last, more",
        )?;
        let fits = blocks >= B::BLOCKS as u64 && all <= MAX_CELLS / layer::BLOCK;
        DecodeError::check("blocks", blocks, fits, "a row must fit, and all slots be at most 2^40")?;
        let whole = !bumps || blocks.is_multiple_of(B::BUCKET / layer::BLOCK);
        DecodeError::check("blocks", blocks, whole, "segments are whole buckets")?;
        DecodeError::check("attempt", attempt.into(), attempt < MAX_ATTEMPTS, "0 to 63 are allowed")?;
        DecodeError::check("reserved field", word(12).into(), word(12) == 0, "it must be 0")?;
        DecodeError::check("full blocks", full, full <= all, "there are fewer")?;
        Ok(Self { full, ..Self::new::<B>(segments, blocks, attempt, bumps) })
    }
}

impl<M: Memory> Stored for Ribbon<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        let params = self.layers.iter().flat_map(Layer::params).collect();
        Ok(Header { items: self.items, params, ..header })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![&self.memory]
    }
}

/// The layers that a header describes, and the words that they take.
fn layers<B: Band>(header: &Header, width: u32) -> Result<(Vec<Layer>, u64), DecodeError> {
    let (params, rest) = header.params.as_chunks::<LAYER>();
    if !rest.is_empty() || !(1..=MAX_LAYERS).contains(&params.len()) {
        let (value, rule) = (header.params.len() as u64, "this kind has 24 bytes for each of 1 to 16 layers");
        return Err(DecodeError::Field { field: "parameter length", value, rule });
    }
    let layer = |(i, params)| Layer::from_params::<B>(params, i + 1 < header.params.len() / LAYER);
    let mut layers = params.iter().enumerate().map(layer).collect::<Result<Vec<_>, _>>()?;
    let words = layer::lay_out::<B>(&mut layers, width);
    Ok((layers, words))
}

/// The filter that the header describes, over words that are still to be filled, or are there.
fn restore<M: Memory>(
    header: &Header,
    options: &ReadOptions,
    memory: impl FnOnce(u64) -> Result<M, DecodeError>,
) -> Result<Ribbon<M>, DecodeError> {
    header.check_kind(Kind::Ribbon)?;
    header.check_no_scheme()?;
    let (width, hashes) = (header.identity.width, header.identity.hashes);
    if !(1..=MAX_FINGERPRINT).contains(&width) {
        let rule = "fingerprints have 1 to 32 bits";
        return Err(DecodeError::Field { field: "cell width", value: width.into(), rule });
    }
    let (layers, words) = match hashes {
        64 => layers::<u64>(header, width)?,
        128 => layers::<u128>(header, width)?,
        _ => {
            let rule = "rows have 64 or 128 coefficients";
            return Err(DecodeError::Field { field: "hashes", value: hashes.into(), rule });
        }
    };
    let (slots, cells) = (layers.iter().map(Layer::slots).sum::<u64>(), header.identity.cells);
    if slots != cells {
        return Err(DecodeError::Field { field: "cells", value: cells, rule: "the layers have others" });
    }
    if header.items > slots {
        let rule = "there are fewer slots";
        return Err(DecodeError::Field { field: "items", value: header.items, rule });
    }
    // At most 16 layers of 2^34 blocks of 32 words: no overflow.
    header.check_payload(words * 8)?;
    Ok(Ribbon {
        hasher: header.hasher(options)?,
        layers,
        width,
        wide: hashes == 128,
        memory: memory(words)?,
        items: header.items,
        about: header.about(),
        level: simd::best(),
    })
}

impl format::Restore for Ribbon {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        restore(header, options, |words| Ok(Owned::zeroed(words as usize)?))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.memory.as_mut_slice()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for Ribbon<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let found = payload.as_ref().len() as u64;
        let filter = restore(header, options, |words| {
            let needed = words * 8;
            if needed == found { Ok(Bytes(payload)) } else { Err(DecodeError::Truncated { needed, found }) }
        })?;
        filter.check_tail()?;
        Ok(filter)
    }
}

impl<M: Memory> Ribbon<M> {
    /// Nothing is set past the thresholds of a layer.
    fn check_tail(&self) -> Result<(), DecodeError> {
        let clear = self.layers.iter().filter(|layer| layer.bumps).all(|layer| {
            let buckets =
                layer.segments * if self.wide { layer.buckets::<u128>() } else { layer.buckets::<u64>() };
            let last = self.memory.load((layer.thresholds + (buckets - 1) / 32) as usize);
            buckets.is_multiple_of(32) || last >> (buckets % 32 * 2) == 0
        });
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last bucket"))
    }
}

format::stored_methods!(Ribbon<M> where M: Memory);
format::read_methods!(Ribbon);
format::serde_impls!([M: Memory] Ribbon<M>, [] Ribbon);
