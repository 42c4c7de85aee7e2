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
//! | `GD.VERSION` | Gardenia's version |
//! | `GD.SCANDUMP key iterator`, `GD.LOADCHUNK key iterator bytes` | any value of our own, in pieces |
//!
//! All but `GD.RESERVE` and `GD.LOAD` take keys of `BF.*` of our own layout, too, and `GD.DUMP`
//! sketches of `CMS.*`.

mod digests;
mod items;
mod reserve;
mod whole;

use super::chunks::{self, Words};
use super::found::{Found, STILL_LOADING};
use super::{commands, parse_integer};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Either, Key, Keys, Str};
use crate::engine::stats::Counter;
use crate::redisbloom::count_min::CountMinTable;
use crate::redisbloom::cuckoo::CuckooChain;
use crate::values::any::{Any, Kept, Refused};
use crate::values::bloom::{Bloom, Scaling};
use crate::values::cuckoo::Chain;
use crate::values::redisbloom::{
    COUNT_MIN_MARK, TOP_K_MARK, TopKTable, count_min_len, dump_count_min, undump_count_min,
};
use crate::values::stored::{CHUNK, DUMP_HEADER, Stored};
use crate::values::top_k::TopK;
use gardenia::{AnyFilter, CountMin};
use std::ffi::{CStr, CString};

commands! { c"gardenia":
    ScanDump c"gd.scandump" c"readonly",
        "key iterator:n [COUNT bytes:n]",
        c"Returns any value of the module in chunks.",
        c"O(n), where n is the size of the value" => scandump;
    LoadChunk c"gd.loadchunk" c"write deny-oom",
        "key iterator:n data",
        c"Restores any value of the module from its chunks.",
        c"O(n), where n is the size of the value" => loadchunk;
    Reserve c"gd.reserve" c"write deny-oom",
        "key KIND kind [option...]",
        c"Creates an empty filter of a kind of the library.",
        c"O(1)" => reserve::reserve;
    Add c"gd.add" c"write deny-oom",
        "key item...",
        c"Adds items to a filter of any kind.",
        c"O(n), where n is the number of items" => items::add;
    Exists c"gd.exists" c"readonly",
        "key item...",
        c"Returns of each item whether it may be in a filter of any kind.",
        c"O(n), where n is the number of items" => items::exists;
    Del c"gd.del" c"write",
        "key item...",
        c"Removes items from a filter of a kind that can.",
        c"O(n), where n is the number of items" => items::del;
    Count c"gd.count" c"readonly",
        "key item...",
        c"Returns how often each item is in a filter.",
        c"O(n), where n is the number of items" => items::count;
    Card c"gd.card" c"readonly",
        "key",
        c"Returns an estimate of the number of items in a filter.",
        c"O(n), where n is the size of the filter" => whole::card;
    Info c"gd.info" c"readonly",
        "key",
        c"Returns the filter's parameters and size.",
        c"O(n), where n is the size of the filter" => whole::info;
    Merge c"gd.merge" c"write deny-oom" keys (1, -1, 1),
        "key source...",
        c"Adds the items of filters to a filter of the same shape.",
        c"O(n), where n is the size of all filters" => whole::merge;
    Dump c"gd.dump" c"readonly",
        "key",
        c"Returns a filter as a .gdn file.",
        c"O(n), where n is the size of the filter" => whole::dump;
    Load c"gd.load" c"write deny-oom",
        "key data [REPLACE]",
        c"Stores a filter from a .gdn file.",
        c"O(n), where n is the size of the file" => whole::load;
    HashAdd c"gd.hadd" c"write deny-oom",
        "key digests",
        c"Adds items by their digests of 8 bytes each.",
        c"O(n), where n is the number of digests" => digests::add;
    HashExists c"gd.hexists" c"readonly",
        "key digests",
        c"Returns a bit for each digest of 8 bytes: whether its item may be in.",
        c"O(n), where n is the number of digests" => digests::exists;
    Version c"gd.version" c"readonly fast" keys (0, 0, 0),
        "",
        c"Returns Gardenia's version.",
        c"O(1)" => version;
}

const NOT_FOUND: Failure = Failure::Text(c"ERR not found");
const EXISTS: Failure = Failure::Text(c"ERR item exists");
const NO_MEMORY: Failure = Failure::Text(c"ERR Insufficient memory to create the key: see bf.memory-limit");
const BAD_COUNT: Failure = Failure::Text(c"ERR COUNT must be a number of bytes in the range [1, 16777216]");
const NOT_MADE: Failure = Failure::Text(c"ERR could not create the key");

const WORDS: Words = Words {
    not_found: c"ERR not found",
    bad_data: c"ERR received bad data",
    offset: c"ERR invalid offset - it is not the next chunk",
    too_big: c"ERR invalid chunk - more bytes than were announced",
    no_memory: c"ERR Insufficient memory to create the key: see bf.memory-limit",
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

fn version(ctx: &Context<'_>, _: &mut Keys<'_>) -> Result<(), Failure> {
    let [_] = ctx.args() else { return Err(Failure::Arity) };
    ctx.engine().reply_bytes(crate::VERSION.as_bytes());
    Ok(())
}

fn scandump(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, at, most) = match ctx.args() {
        [_, name, at] => (name, at, CHUNK),
        [_, name, at, word, most] if word.bytes().eq_ignore_ascii_case(b"COUNT") => {
            let most = parse_integer(most.bytes()).and_then(|most| usize::try_from(most).ok());
            (name, at, most.filter(|most| (1..=CHUNK).contains(most)).ok_or(BAD_COUNT)?)
        }
        _ => return Err(Failure::Arity),
    };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    each!(T => key.value::<Stored<T>>().map(|value| chunks::scandump_some(ctx, value, at, most, &WORDS)));
    if let Some(table) = key.value::<TopKTable>() {
        let dump = if at == 0 { table.dump() } else { Vec::new() };
        chunks::reply_chunk(ctx, (at == 0).into(), &dump);
        return Ok(());
    }
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
        return load_redisbloom(ctx, key, bytes);
    }
    if key.is_empty() {
        return Err(NOT_FOUND);
    }
    each!(T => key.value::<Stored<T>>().is_some().then(|| {
        chunks::loadchunk::<T>(ctx, key, at, bytes, &WORDS, |_| false)
    }));
    Err(WRONG_TYPE)
}

/// Takes a sketch, or a table of frequent items, of RedisBloom's, which comes all in one.
fn load_redisbloom(ctx: &Context<'_>, key: &mut Key<'_>, bytes: &[u8]) -> Result<(), Failure> {
    let is_top_k = bytes.starts_with(&TOP_K_MARK);
    if !is_top_k && !bytes.starts_with(&COUNT_MIN_MARK) {
        return Err(WORDS.bad_data.into());
    }
    let fits = match key.either::<CountMinTable, TopKTable>() {
        Either::First(_) => !is_top_k,
        Either::Second(_) => is_top_k,
        Either::Neither => key.is_empty(),
    };
    if !fits {
        return Err(WRONG_TYPE);
    }
    if bytes.len() as u64 > ctx.limit() {
        return Err(WORDS.no_memory.into());
    }
    if is_top_k {
        let table = TopKTable::undump(bytes).ok_or(WORDS.bad_data)?;
        return if key.set(table) { Ok(()) } else { Err(WORDS.not_made.into()) };
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
        Refused::Full | Refused::Copies => Counter::RefusedFull.add(1),
        Refused::Memory => Counter::RefusedMemory.add(1),
        _ => {}
    }
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
