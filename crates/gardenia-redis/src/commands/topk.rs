//! `TOPK.*`: the most frequent items, with RedisBloom's arguments, replies and error texts.
//!
//! The value holds the state of its random numbers, so that the same commands make the same value
//! everywhere, and commands are passed on as they came. An item for which there is no memory ends
//! its command: the reply is that of the items before it and an error behind them, and those before
//! it are passed on.

use super::{commands, parse_integer, parse_number};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Either, Key, Keys, Str};
use crate::engine::stats::Counter;
use crate::values::redisbloom::TopKTable;
use crate::values::top_k::{DEFAULTS, MAX_INCREMENT, Top, TopK};
use std::ffi::CStr;

commands! { c"topk":
    Reserve c"topk.reserve" c"write deny-oom fast",
        "key k:n [width:n depth:n decay:f]",
        c"Creates an empty table of the k most frequent items.",
        c"O(k)" => reserve;
    Add c"topk.add" c"write deny-oom",
        "key item...",
        c"Counts items, and returns those that left the table.",
        c"O(n * log k), where n is the number of items" => add;
    IncrBy c"topk.incrby" c"write deny-oom",
        "key (item increment:n)...",
        c"Counts items several times, and returns those that left the table.",
        c"O(n * (i + log k)), where n is the number of items and i the largest increment" => incrby;
    Query c"topk.query" c"readonly",
        "key item...",
        c"Returns of each item whether it is in the table.",
        c"O(n), where n is the number of items" => query;
    Count c"topk.count" c"readonly",
        "key item...",
        c"Returns an estimate of how often each item was counted.",
        c"O(n), where n is the number of items" => count;
    List c"topk.list" c"readonly",
        "key [WITHCOUNT]",
        c"Returns the items of the table.",
        c"O(k * log k)" => list;
    Info c"topk.info" c"readonly fast",
        "key",
        c"Returns k, width, depth and decay of the table.",
        c"O(1)" => info;
}

const NO_KEY: Failure = Failure::Text(c"TopK: key does not exist");
const EXISTS: Failure = Failure::Text(c"TopK: key already exists");
const STILL_LOADING: Failure = Failure::Text(c"TopK: the table is still being loaded");
const NO_MEMORY: Failure =
    Failure::Text(c"ERR Insufficient memory to create topk data structure: see bf.memory-limit");
/// The most rows of a table: every item of a command goes through all of them.
const MAX_DEPTH: u32 = 255;
const TOO_DEEP: Failure = Failure::Text(c"TopK: invalid depth: a table has at most 255 rows");
const NOT_ADDED: &CStr = c"TopK: Insufficient memory to add the item: see bf.memory-limit";
const INCREMENT: Failure = Failure::Text(
    c"TopK: increment must be an integer greater or equal to 0 and smaller or equal to 100,000",
);

/// What a table is built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopKReserve {
    k: u32,
    width: u32,
    depth: u32,
    decay: f64,
}

/// Parses what follows the key of TOPK.RESERVE.
pub fn parse_reserve(args: &[impl AsRef<[u8]>]) -> Result<TopKReserve, Failure> {
    let size = |text: &[u8], error: &'static CStr| {
        let size = parse_integer(text).and_then(|size| u32::try_from(size).ok());
        size.filter(|size| *size > 0).ok_or(Failure::Text(error))
    };
    let (k, rest) = args.split_first().ok_or(Failure::Arity)?;
    let (width, depth, decay) = match rest {
        [] => DEFAULTS,
        [_, _, _] => (0, 0, 0.0), // read below, behind k
        _ => return Err(Failure::Arity),
    };
    let mut asked = TopKReserve { k: size(k.as_ref(), c"TopK: invalid k")?, width, depth, decay };
    if let [width, depth, decay] = rest {
        asked.width = size(width.as_ref(), c"TopK: invalid width")?;
        asked.depth = size(depth.as_ref(), c"TopK: invalid depth")?;
        let decay = parse_number(decay.as_ref()).filter(|decay| *decay > 0.0 && *decay <= 1.0);
        asked.decay = decay.ok_or(c"TopK: invalid decay value. must be '<= 1' & '> 0'")?;
    }
    Ok(asked)
}

/// Parses the increments of TOPK.INCRBY, every second one of these words.
pub fn parse_increments(pairs: &[impl AsRef<[u8]>]) -> Result<Vec<u32>, Failure> {
    let (pairs, rest) = pairs.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return Err(Failure::Arity);
    }
    let increment = |[_, by]: &[_; 2]| {
        let by = parse_integer(AsRef::as_ref(by)).and_then(|by| u32::try_from(by).ok());
        by.filter(|by| *by <= MAX_INCREMENT).ok_or(INCREMENT)
    };
    pairs.iter().map(increment).collect()
}

/// The table under a key.
fn find<'k>(key: &'k mut Key<'_>) -> Result<&'k mut TopK, Failure> {
    if key.is_empty() {
        return Err(NO_KEY);
    }
    match key.either::<Top, TopKTable>() {
        Either::First(Top::Whole(top)) | Either::Second(TopKTable(top)) => Ok(top),
        Either::First(Top::Arriving(_)) => Err(STILL_LOADING),
        Either::Neither => Err(WRONG_TYPE),
    }
}

/// Hands the table under a key to `ask`; an error if there is none.
fn with_table<R>(keys: &mut Keys<'_>, name: Str<'_>, ask: impl FnOnce(&TopK) -> R) -> Result<R, Failure> {
    let mut key = keys.open(name).ok_or(NO_KEY)?;
    find(&mut key).map(|top| ask(top))
}

/// Name and items of a command that has at least one item.
fn items<'a>(ctx: &Context<'a>) -> Result<(Str<'a>, &'a [Str<'a>]), Failure> {
    match ctx.args() {
        [_, name, items @ ..] if !items.is_empty() => Ok((*name, items)),
        _ => Err(Failure::Arity),
    }
}

fn reserve(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity) };
    if !matches!(rest.len(), 1 | 4) {
        return Err(Failure::Arity);
    }
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        return Err(EXISTS);
    }
    let TopKReserve { k, width, depth, decay } = parse_reserve(rest)?;
    // Replicas take what was accepted elsewhere, and files hold it.
    if depth > MAX_DEPTH && !ctx.is_repeated() {
        return Err(TOO_DEEP);
    }
    let top = TopK::new(k, width, depth, decay, ctx.limit()).map_err(|_| NO_MEMORY)?;
    if !key.set(Top::Whole(top)) {
        return Err(NO_MEMORY);
    }
    drop(key);
    ctx.reply_ok();
    let args = [k.to_string(), width.to_string(), depth.to_string(), decay.to_string()];
    ctx.replicate_made(c"TOPK.RESERVE", *name, &args);
    ctx.engine().changed(*name);
    keys.notify(c"topk.reserve", *name);
    Ok(())
}

fn add(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, items) = items(ctx)?;
    add_all(ctx, keys, name, items, 1, items.iter().map(|item| (*item, 1)), c"topk.add")
}

fn incrby(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, pairs) = items(ctx)?;
    let increments = parse_increments(pairs)?;
    let items = pairs.iter().step_by(2).copied().zip(increments);
    add_all(ctx, keys, name, pairs, 2, items, c"topk.incrby")
}

/// Counts items, and passes on those that were, as the same command: each of them is `step` of its
/// `words`.
fn add_all<'a>(
    ctx: &Context<'a>,
    keys: &mut Keys<'_>,
    name: Str<'a>,
    words: &[Str<'a>],
    step: usize,
    items: impl Iterator<Item = (Str<'a>, u32)>,
    command: &CStr,
) -> Result<(), Failure> {
    let mut key = keys.open_mut(name)?;
    let top = find(&mut key)?;
    let engine = ctx.engine();
    let limit = ctx.limit();
    let (mut pushed_out, mut counted, mut end) = (Vec::with_capacity(words.len() / step), false, None);
    for (item, by) in items {
        match top.add(item.bytes(), by, limit) {
            Ok(out) => pushed_out.push(out),
            Err(why) => {
                end = Some(why);
                break;
            }
        }
        counted |= by > 0;
    }
    drop(key);
    Counter::Added.add(pushed_out.len());
    Counter::RefusedMemory.add(end.is_some().into());
    engine.reply_array(pushed_out.len() + usize::from(end.is_some()));
    for out in &pushed_out {
        match out {
            Some(item) => engine.reply_bytes(item),
            None => engine.reply_null(),
        }
    }
    if end.is_some() {
        engine.reply_error(NOT_ADDED);
    }
    if counted {
        match end {
            None => engine.replicate_verbatim(),
            Some(_) => engine.replicate(command, name, &words[..pushed_out.len() * step]),
        }
        engine.changed(name);
        keys.notify(command, name);
    }
    Ok(())
}

fn query(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, items) = items(ctx)?;
    with_table(keys, name, |top| {
        ctx.engine().reply_array(items.len());
        items.iter().for_each(|item| ctx.engine().reply_bool(top.contains(item.bytes())));
    })
}

fn count(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, items) = items(ctx)?;
    with_table(keys, name, |top| {
        ctx.engine().reply_array(items.len());
        items.iter().for_each(|item| ctx.engine().reply_integer(top.count(item.bytes()).into()));
    })
}

fn list(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, counts) = match ctx.args() {
        [_, name] => (name, false),
        [_, name, word] if word.bytes().eq_ignore_ascii_case(b"WITHCOUNT") => (name, true),
        [_, _, _] => return Err(c"WITHCOUNT keyword expected".into()),
        _ => return Err(Failure::Arity),
    };
    let engine = ctx.engine();
    with_table(keys, *name, |top| {
        let list = top.list();
        engine.reply_array(list.len() * if counts { 2 } else { 1 });
        for (item, count) in list {
            engine.reply_bytes(item);
            if counts {
                engine.reply_integer(count.into());
            }
        }
    })
}

fn info(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let engine = ctx.engine();
    with_table(keys, *name, |top| {
        engine.reply_map(4);
        for (name, value) in [(c"k", top.k()), (c"width", top.width()), (c"depth", top.depth())] {
            engine.reply_status(name);
            engine.reply_integer(value.into());
        }
        engine.reply_status(c"decay");
        engine.reply_double(top.decay());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn reserve_says_what_is_wrong() {
        let reserve = |line: &str| parse_reserve(&words(line));
        assert_eq!(reserve("50"), Ok(TopKReserve { k: 50, width: 8, depth: 7, decay: 0.9 }));
        assert_eq!(reserve("3 50 4 1"), Ok(TopKReserve { k: 3, width: 50, depth: 4, decay: 1.0 }));
        for line in ["", "3 50", "3 50 4", "3 50 4 0.9 1"] {
            assert_eq!(reserve(line), Err(Failure::Arity), "{line}");
        }
        for wrong in ["0", "-1", "rose", "4294967296", "1000000000000000000", "1.5"] {
            let with = |place: usize| {
                let mut line = ["3", "50", "4", "0.9"];
                line[place] = wrong;
                parse_reserve(&line)
            };
            assert_eq!(reserve(wrong), Err(Failure::Text(c"TopK: invalid k")), "{wrong}");
            assert_eq!(with(1), Err(Failure::Text(c"TopK: invalid width")), "{wrong}");
            assert_eq!(with(2), Err(Failure::Text(c"TopK: invalid depth")), "{wrong}");
        }
        for wrong in ["0", "1.1", "-0.5", "nan", "inf", "rose"] {
            let text = c"TopK: invalid decay value. must be '<= 1' & '> 0'";
            assert_eq!(reserve(&format!("3 50 4 {wrong}")), Err(Failure::Text(text)), "{wrong}");
        }
    }

    #[test]
    fn increments_are_all_read_or_none() {
        assert_eq!(parse_increments(&words("a 1 b 0 c 100000")), Ok(vec![1, 0, 100_000]));
        for line in ["", "a", "a 1 b"] {
            assert_eq!(parse_increments(&words(line)), Err(Failure::Arity), "{line}");
        }
        for wrong in ["-1", "100001", "rose", "4294967297", "1.0"] {
            assert_eq!(parse_increments(&["a", "1", "b", wrong]), Err(INCREMENT), "{wrong}");
        }
    }
}
