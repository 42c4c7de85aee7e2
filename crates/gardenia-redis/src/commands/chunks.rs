//! `SCANDUMP` and `LOADCHUNK`: values in pieces.
//!
//! Iterator 0 asks for the header, and a header is loaded with iterator 1. From there on an
//! iterator is one more than the bytes so far: the one that a chunk came with is the one that it is
//! loaded with.

use super::parse_integer;
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Key, Keys, Str};
use crate::engine::stats::resized;
use crate::engine::types::Value as _;
use crate::values::stored::{BadChunk, CHUNK, Stored, Whole};
use std::ffi::CStr;

/// What a family of commands says to chunks that it does not take.
pub struct Words {
    /// There is no such key.
    pub not_found: &'static CStr,
    /// A header that announces nothing, or bytes that are no value.
    pub bad_data: &'static CStr,
    /// A chunk that is not the next.
    pub offset: &'static CStr,
    /// A chunk beyond the end.
    pub too_big: &'static CStr,
    /// More memory than may be.
    pub no_memory: &'static CStr,
    /// The engine did not take the value.
    pub not_made: &'static CStr,
}

/// The iterator of a command.
pub fn iterator(word: Str<'_>, error: &'static CStr) -> Result<i64, Failure> {
    parse_integer(word.bytes()).ok_or(Failure::Text(error))
}

/// The place that an iterator stands for: they count from 1 on, and anything can be sent.
fn offset(iterator: i64) -> Option<u64> {
    iterator.checked_sub(1).and_then(|at| u64::try_from(at).ok())
}

/// Answers with an iterator and bytes.
pub fn reply_chunk(ctx: &Context<'_>, next: i64, bytes: &[u8]) {
    let engine = ctx.engine();
    engine.reply_array(2);
    engine.reply_integer(next);
    engine.reply_bytes(bytes);
}

/// Answers with a piece of a value of our own.
pub fn scandump<T: Whole>(
    ctx: &Context<'_>,
    value: &Stored<T>,
    at: i64,
    words: &Words,
) -> Result<(), Failure> {
    scandump_some(ctx, value, at, CHUNK, words)
}

/// The same, with at most this many bytes.
pub fn scandump_some<T: Whole>(
    ctx: &Context<'_>,
    value: &Stored<T>,
    at: i64,
    most: usize,
    words: &Words,
) -> Result<(), Failure> {
    if at == 0 {
        reply_chunk(ctx, 1, &value.dump_header());
        return Ok(());
    }
    let bytes = value.dump(offset(at).unwrap_or(u64::MAX), most).ok_or(words.no_memory)?;
    reply_chunk(ctx, if bytes.is_empty() { 0 } else { at + bytes.len() as i64 }, &bytes);
    Ok(())
}

/// Takes a piece of a value of our own; a header replaces what `replaces` tells to be of the same
/// family. It does not answer.
pub fn loadchunk<T: Whole>(
    ctx: &Context<'_>,
    key: &mut Key<'_>,
    at: i64,
    bytes: &[u8],
    words: &Words,
    replaces: impl FnOnce(&mut Key<'_>) -> bool,
) -> Result<(), Failure> {
    if at == 1 {
        if !key.is_empty() && !replaces(key) {
            return Err(WRONG_TYPE);
        }
        let value = Stored::<T>::announce(bytes).ok_or(words.bad_data)?;
        if value.written() > ctx.limit() {
            return Err(words.no_memory.into());
        }
        return if key.set(value) { Ok(()) } else { Err(words.not_made.into()) };
    }
    if key.is_empty() {
        return Err(words.not_found.into());
    }
    let value = key.value::<Stored<T>>().ok_or(WRONG_TYPE)?;
    let before = value.memory();
    let Stored::Arriving(arriving) = value else { return Err(words.offset.into()) };
    let taken = arriving.take(offset(at).ok_or(words.bad_data)?, bytes);
    let result = match taken {
        Ok(None) => Ok(()),
        Ok(Some(whole)) => {
            *value = Stored::Whole(whole);
            Ok(())
        }
        Err(BadChunk::Offset) => Err(words.offset.into()),
        Err(BadChunk::TooBig) => Err(words.too_big.into()),
        Err(BadChunk::Data) => Err(words.bad_data.into()),
    };
    resized(before, value.memory());
    result
}

/// Tells everybody that a chunk was taken, and answers.
pub fn loaded(ctx: &Context<'_>, keys: &mut Keys<'_>, name: Str<'_>, event: &CStr) {
    let engine = ctx.engine();
    engine.replicate_verbatim();
    engine.changed(name);
    keys.notify(event, name);
    ctx.reply_ok();
}
