//! `GD.*`: what RedisBloom has no commands for, on filters of every kind.
//!
//! | command | answer |
//! |---|---|
//! | `GD.RESERVE key KIND kind [option ...]` | OK; the options are those of [`gardenia::Spec`] |
//! | `GD.ADD key item [item ...]` | of each item whether it was certainly new; an error ends the array |
//! | `GD.EXISTS key item [item ...]` | of each item whether it may be in |
//! | `GD.DEL key item [item ...]` | of each item whether it was in, and is removed |
//! | `GD.COUNT key item [item ...]` | how often each item went in; 1 or 0 by filters that do not count |
//! | `GD.CARD key` | how many items are in, estimated; null where the kind cannot tell |
//! | `GD.INFO key` | a map |
//! | `GD.MERGE key source [source ...]` | OK; the key takes in all items of the sources, and is a copy of the first if it is new |
//! | `GD.DUMP key` | the filter as a `.gdn` file |
//! | `GD.LOAD key bytes [REPLACE]` | OK; takes such a file |
//! | `GD.HADD key digests`, `GD.HEXISTS key digests` | one bit per digest of 8 bytes |
//! | `GD.SCANDUMP key iterator`, `GD.LOADCHUNK key iterator bytes` | any value of our own, in pieces |
//!
//! All but `GD.RESERVE` and `GD.LOAD` take keys of `BF.*` of our own layout, too, and `GD.DUMP` sketches of `CMS.*`.

mod digests;
mod items;
mod reserve;
mod whole;

use super::chunks::{self, Words};
use super::commands;
use super::found::{Found, STILL_LOADING};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Either, Key, Keys, Str};
use crate::redisbloom::count_min::CountMinTable;
use crate::redisbloom::cuckoo::CuckooChain;
use crate::values::any::{Any, Kept, Refused};
use crate::values::bloom::{Bloom, Scaling};
use crate::values::cuckoo::Chain;
use crate::values::redisbloom::{COUNT_MIN_MARK, count_min_len, dump_count_min, undump_count_min};
use crate::values::stored::{DUMP_HEADER, Stored};
use crate::values::top_k::TopK;
use gardenia::{AnyFilter, CountMin};
use std::ffi::{CStr, CString};

commands! { c"gardenia":
    ScanDump c"gd.scandump" c"readonly" => scandump;
    LoadChunk c"gd.loadchunk" c"write deny-oom" => loadchunk;
    Reserve c"gd.reserve" c"write deny-oom" => reserve::reserve;
    Add c"gd.add" c"write deny-oom" => items::add;
    Exists c"gd.exists" c"readonly" => items::exists;
    Del c"gd.del" c"write" => items::del;
    Count c"gd.count" c"readonly" => items::count;
    Card c"gd.card" c"readonly" => whole::card;
    Info c"gd.info" c"readonly" => whole::info;
    Merge c"gd.merge" c"write deny-oom" keys (1, -1, 1) => whole::merge;
    Dump c"gd.dump" c"readonly" => whole::dump;
    Load c"gd.load" c"write deny-oom" => whole::load;
    HashAdd c"gd.hadd" c"write deny-oom" => digests::add;
    HashExists c"gd.hexists" c"readonly" => digests::exists;
}

const NOT_FOUND: Failure = Failure::Text(c"ERR not found");
const EXISTS: Failure = Failure::Text(c"ERR item exists");
const NO_MEMORY: Failure = Failure::Text(c"ERR Insufficient memory to create the key");
const NOT_MADE: Failure = Failure::Text(c"ERR could not create the key");

const WORDS: Words = Words {
    not_found: c"ERR not found",
    bad_data: c"ERR received bad data",
    offset: c"ERR invalid offset - it is not the next chunk",
    too_big: c"ERR invalid chunk - more bytes than were announced",
    no_memory: c"ERR Insufficient memory to create the key",
    not_made: c"ERR could not create the key",
};

/// Does the same with the type of our own that fits: the one place that lists them.
macro_rules! each {
    ($fits:ident => $work:expr) => {
        each!(@ $fits => $work; Scaling, AnyFilter, Chain, CuckooChain, CountMin, TopK)
    };
    (@ $fits:ident => $work:expr; $($kind:ty),+) => {
        $({
            type $fits = $kind;
            if let Some(result) = $work {
                return result;
            }
        })+
    };
}

fn scandump(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    each!(T => key.value::<Stored<T>>().map(|value| chunks::scandump(ctx, value, at, &WORDS)));
    let table = key.value::<CountMinTable>().ok_or(WRONG_TYPE)?;
    let mut dump = Vec::new();
    if at == 0 {
        dump.try_reserve_exact(DUMP_HEADER + count_min_len(table)).map_err(|_| WORDS.no_memory)?;
        dump_count_min(table, &mut dump);
    }
    chunks::reply_chunk(ctx, (at == 0).into(), &dump);
    Ok(())
}

/// Takes any value of our own: by its mark, and then by what is there.
fn load(ctx: &Context<'_>, key: &mut Key<'_>, at: i64, bytes: &[u8]) -> Result<(), Failure> {
    if at == 1 {
        each!(T => Stored::<T>::is_announced(bytes).then(|| {
            chunks::loadchunk::<T>(ctx, key, at, bytes, &WORDS, |key| key.value::<Stored<T>>().is_some())
        }));
        return load_count_min(ctx, key, bytes);
    }
    if key.is_empty() {
        return Err(NOT_FOUND);
    }
    each!(T => key.value::<Stored<T>>().is_some().then(|| {
        chunks::loadchunk::<T>(ctx, key, at, bytes, &WORDS, |_| false)
    }));
    Err(WRONG_TYPE)
}

/// Takes a sketch of RedisBloom's, which comes all in one.
fn load_count_min(ctx: &Context<'_>, key: &mut Key<'_>, bytes: &[u8]) -> Result<(), Failure> {
    if !bytes.starts_with(&COUNT_MIN_MARK) {
        return Err(WORDS.bad_data.into());
    }
    if !key.is_empty() && key.value::<CountMinTable>().is_none() {
        return Err(WRONG_TYPE);
    }
    if bytes.len() as u64 > ctx.limit() {
        return Err(WORDS.no_memory.into());
    }
    let table = undump_count_min(bytes).ok_or(WORDS.bad_data)?;
    if key.set(table) { Ok(()) } else { Err(WORDS.not_made.into()) }
}

fn loadchunk(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at, bytes] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = keys.open_mut(*name)?;
    load(ctx, &mut key, at, bytes.bytes())?;
    drop(key);
    chunks::loaded(ctx, keys, *name, c"gd.loadchunk");
    Ok(())
}

/// Another type that holds a filter of the library gets its place here, and a variant of [`Kept`].
#[inline]
fn find<'k>(key: &'k mut Key<'_>) -> Found<Kept<'k>> {
    match key.either::<Any, Bloom>() {
        Either::First(Any::Whole(filter)) => Found::Filter(Kept::Any(filter)),
        Either::Second(Bloom::Whole(filter)) => Found::Filter(Kept::Scaling(filter)),
        Either::First(Any::Arriving(_)) | Either::Second(Bloom::Arriving(_)) => Found::Arriving,
        Either::Neither => Found::Other,
    }
}

/// The filter under an open key.
#[inline]
fn filter<'k>(key: &'k mut Key<'_>) -> Result<Kept<'k>, Failure> {
    find(key).filter()
}

/// The filter under a key that is to be changed.
fn filter_mut<'k>(key: &'k mut Key<'_>) -> Result<Kept<'k>, Failure> {
    if key.is_empty() { Err(NOT_FOUND) } else { filter(key) }
}

/// A refusal that may tell what it met.
enum Refusal {
    Failure(Failure),
    Words(String),
}

impl<T: Into<Failure>> From<T> for Refusal {
    fn from(failure: T) -> Self {
        Self::Failure(failure.into())
    }
}

/// A refusal in the words of an error.
fn words(error: impl ToString) -> Refusal {
    Refusal::Words(error.to_string())
}

/// An error reply of these words. A line stays a line.
fn text(words: &str) -> CString {
    let line = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    // There is no zero in it.
    CString::new(format!("ERR {}", line.collect::<String>())).unwrap_or_default()
}

/// Tells a refusal, if it is one.
fn told(ctx: &Context<'_>, result: Result<(), Refusal>) -> Result<(), Failure> {
    match result {
        Err(Refusal::Failure(failure)) => Err(failure),
        Err(Refusal::Words(words)) => {
            ctx.engine().reply_error(&text(&words));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Why an item was not added or removed.
fn refused(why: Refused) -> Refusal {
    match why {
        Refused::Fixed => {
            c"ERR the filter is static: its items are fixed, so build it again and load it".into()
        }
        Refused::Full => c"ERR the filter is full".into(),
        Refused::Copies => c"ERR the filter holds no further copy of the item: use KIND counting".into(),
        Refused::Memory => {
            c"ERR the filter may not grow: it is at bf.memory-limit, or at its most layers".into()
        }
        Refused::Stays => c"ERR a filter of this kind cannot remove items".into(),
        Refused::Remove(error) => words(error),
    }
}

/// An error inside an array.
fn reply_refused(ctx: &Context<'_>, why: Refused) {
    match refused(why) {
        Refusal::Failure(Failure::Text(text)) => ctx.engine().reply_error(text),
        Refusal::Failure(Failure::Arity) => ctx.engine().reply_wrong_arity(),
        Refusal::Words(words) => ctx.engine().reply_error(&text(&words)),
    }
}

/// Tells everybody that a key was changed.
fn announce(ctx: &Context<'_>, keys: &mut Keys<'_>, name: Str<'_>, event: &CStr) {
    ctx.engine().changed(name);
    keys.notify(event, name);
}
