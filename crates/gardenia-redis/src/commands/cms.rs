//! `CMS.*`: Count-Min sketches, with RedisBloom's arguments, replies and error texts.
//!
//! New keys are sketches of our own; sketches that came from RedisBloom keep its layout and answer
//! to the same commands. What is refused changes nothing: all arguments are read before the first
//! count.
//!
//! Beyond RedisBloom's, the commands that make a sketch take `SEED`, and one that is made here is
//! passed on with it. So one that comes from a primary or a file without it was made by RedisBloom,
//! and is made in its layout: else it could not be merged with those that came before.
//!
//! CMS.MERGE has as many keys as its second argument says. The engine gets all of them, so that
//! access to sources is checked, and sources in another slot are refused.

use super::{commands, parse_integer, parse_number};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Either, Key, Keys, Str};
use crate::engine::stats::Counter;
use crate::redisbloom::count_min::{CountMinTable, WeightedSum};
use crate::values::count_min::{Counts, NotMade, NotMerged, TOP, add_weighted, by_dim, shape};
use gardenia::CountMin;
use std::ffi::CStr;
use std::ops::Range;

commands! { c"cms":
    InitByDim c"cms.initbydim" c"write deny-oom fast",
        "key width:n depth:n [SEED seed:n]",
        c"Creates a Count-Min sketch of this width and depth.",
        c"O(1)" => init_by_dim;
    InitByProb c"cms.initbyprob" c"write deny-oom fast",
        "key error:f probability:f [SEED seed:n]",
        c"Creates a Count-Min sketch for this error and its probability.",
        c"O(1)" => init_by_prob;
    IncrBy c"cms.incrby" c"write deny-oom",
        "key (item increment:n)...",
        c"Raises the counts of items in a Count-Min sketch.",
        c"O(n), where n is the number of items" => incrby;
    Query c"cms.query" c"readonly",
        "key item...",
        c"Returns the counts of items in a Count-Min sketch.",
        c"O(n), where n is the number of items" => query;
    MergeAll c"cms.merge" c"write deny-oom getkeys-api" sources sources,
        "key numkeys:n source... [WEIGHTS weight:n...]",
        c"Overwrites a Count-Min sketch with the weighted sum of others.",
        c"O(n), where n is the size of all sources" => merge;
    Info c"cms.info" c"readonly fast",
        "key",
        c"Returns width, depth and total count of a Count-Min sketch.",
        c"O(1)" => info;
}

const NO_KEY: Failure = Failure::Text(c"CMS: key does not exist");
const EXISTS: Failure = Failure::Text(c"CMS: key already exists");
const STILL_LOADING: Failure = Failure::Text(c"CMS: the sketch is still being loaded");
const NO_MEMORY: Failure = Failure::Text(c"CMS: Insufficient memory to create the key: see bf.memory-limit");
const LOST_COUNT: &CStr = c"CMS: INCRBY overflow";

impl From<NotMade> for Failure {
    fn from(why: NotMade) -> Self {
        Self::Text(match why {
            NotMade::Width => c"CMS: invalid width",
            NotMade::Depth => c"CMS: invalid depth",
            NotMade::Overestimation => c"CMS: invalid overestimation value",
            NotMade::Probability => c"CMS: invalid prob value",
            NotMade::Product => c"CMS: invalid init arguments",
            NotMade::Memory => return NO_MEMORY,
        })
    }
}

impl From<NotMerged> for Failure {
    fn from(why: NotMerged) -> Self {
        Self::Text(match why {
            NotMerged::Shape => c"CMS: width/depth is not equal",
            NotMerged::Hashes => {
                c"CMS: sketches that hash differently, as RedisBloom's and ours, cannot be merged"
            }
            NotMerged::Weight => c"CMS: invalid weight value",
            NotMerged::Overflow => c"CMS: MERGE overflow",
            NotMerged::Memory => return NO_MEMORY,
        })
    }
}

/// Parses the width and the depth of CMS.INITBYDIM.
pub fn parse_dim(width: &[u8], depth: &[u8]) -> Result<(u64, u64), Failure> {
    let number = |text: &[u8]| parse_integer(text).filter(|number| *number > 0).map(i64::unsigned_abs);
    Ok((number(width).ok_or(NotMade::Width)?, number(depth).ok_or(NotMade::Depth)?))
}

/// Parses the error and the probability of CMS.INITBYPROB, and tells width and depth.
pub fn parse_prob(error: &[u8], probability: &[u8]) -> Result<(u64, u64), Failure> {
    let error = parse_number(error).ok_or(NotMade::Overestimation)?;
    // Not a number is no rate either; but what is wrong with the error is said first.
    Ok(shape(error, parse_number(probability).unwrap_or(0.0))?)
}

/// Parses a seed.
pub fn parse_seed(text: &[u8]) -> Result<u64, Failure> {
    str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Failure::Text(c"CMS: invalid seed"))
}

/// Parses the increments of CMS.INCRBY, every second one of these words.
pub fn parse_increments(pairs: &[impl AsRef<[u8]>]) -> Result<Vec<u64>, Failure> {
    let (pairs, rest) = pairs.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return Err(Failure::Arity);
    }
    let increment = |[_, by]: &[_; 2]| {
        let by = parse_integer(AsRef::as_ref(by)).ok_or(c"CMS: Cannot parse number")?;
        u64::try_from(by).map_err(|_| Failure::Text(c"CMS: Number cannot be negative"))
    };
    pairs.iter().map(increment).collect()
}

/// Parses what follows the destination of CMS.MERGE: how many of the words behind the number are
/// sources, and the weights of those.
pub fn parse_merge(args: &[impl AsRef<[u8]>]) -> Result<(usize, Vec<i64>), Failure> {
    let [count, words @ ..] = args else { return Err(Failure::Arity) };
    if words.is_empty() {
        return Err(Failure::Arity);
    }
    let count = parse_integer(count.as_ref()).ok_or(c"CMS: invalid numkeys")?;
    if count <= 0 {
        return Err(c"CMS: Number of keys must be positive".into());
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if words.len() == count {
        return Ok((count, vec![1; count]));
    }
    // By their number alone: a source may be called so, too.
    let is_weights = |word: &[u8]| word.eq_ignore_ascii_case(b"WEIGHTS");
    let weighted = count.checked_mul(2).and_then(|both| both.checked_add(1)) == Some(words.len());
    if !weighted || !is_weights(words[count].as_ref()) {
        let with_weights = words.iter().any(|word| is_weights(word.as_ref()));
        return Err(if with_weights {
            c"CMS: wrong number of keys/weights".into()
        } else {
            c"CMS: wrong number of keys".into()
        });
    }
    let weights = words[count + 1..].iter().map(|word| parse_integer(word.as_ref()));
    let weights: Option<_> = weights.collect();
    Ok((count, weights.ok_or(c"CMS: invalid weight value")?))
}

/// Where the sources of CMS.MERGE are, if its arguments are right.
fn sources(args: &[Str<'_>]) -> Range<usize> {
    let count = args.get(2).and_then(|count| parse_integer(count.bytes()));
    let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    3..count.saturating_add(3)
}

/// A sketch under a key.
enum Sketch<'k> {
    /// Made here.
    Ours(&'k mut CountMin),
    /// From RedisBloom.
    RedisBloom(&'k mut CountMinTable),
}

impl Sketch<'_> {
    fn add(&mut self, item: &[u8], by: u64) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.add(item, by),
            Self::RedisBloom(table) => table.add(item, by),
        }
    }

    fn count(&self, item: &[u8]) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.count(item),
            Self::RedisBloom(table) => table.count(item),
        }
    }

    /// Width, depth, and all that was counted.
    fn facts(&self) -> [u64; 3] {
        match self {
            Self::Ours(sketch) => [sketch.columns(), sketch.rows().into(), sketch.total()],
            Self::RedisBloom(table) => [table.width(), table.depth(), table.total()],
        }
    }
}

/// What sources are added up in: one key is open at a time, because any two may be the same.
enum Sum {
    Ours(Box<CountMin>),
    RedisBloom(WeightedSum),
}

impl Sum {
    fn like(sketch: &Sketch<'_>) -> Result<Self, NotMerged> {
        match sketch {
            Sketch::Ours(sketch) => {
                let mut sum = CountMin::try_to_owned(sketch)?;
                sum.clear();
                Ok(Self::Ours(Box::new(sum)))
            }
            Sketch::RedisBloom(table) => {
                WeightedSum::like(table).map(Self::RedisBloom).map_err(|_| NotMerged::Memory)
            }
        }
    }

    fn add(&mut self, source: &Sketch<'_>, weight: i64) -> Result<(), NotMerged> {
        match (self, source) {
            (Self::Ours(sum), Sketch::Ours(sketch)) => add_weighted(sum, sketch, weight),
            (Self::RedisBloom(sum), Sketch::RedisBloom(table)) => match sum.fits(table) {
                false => Err(NotMerged::Shape),
                true if sum.add(table, weight) => Ok(()),
                true => Err(NotMerged::Overflow),
            },
            _ => Err(NotMerged::Hashes),
        }
    }
}

/// The sketch under a key.
fn find<'k>(key: &'k mut Key<'_>) -> Result<Sketch<'k>, Failure> {
    if key.is_empty() {
        return Err(NO_KEY);
    }
    match key.either::<Counts, CountMinTable>() {
        Either::First(Counts::Whole(sketch)) => Ok(Sketch::Ours(sketch)),
        Either::First(Counts::Arriving(_)) => Err(STILL_LOADING),
        Either::Second(table) => Ok(Sketch::RedisBloom(table)),
        Either::Neither => Err(WRONG_TYPE),
    }
}

/// Hands the sketch under a key to `ask`; an error if there is none.
fn with_sketch<R>(
    keys: &mut Keys<'_>,
    name: Str<'_>,
    ask: impl FnOnce(&Sketch<'_>) -> R,
) -> Result<R, Failure> {
    let mut key = keys.open(name).ok_or(NO_KEY)?;
    find(&mut key).map(|sketch| ask(&sketch))
}

/// Makes a sketch of the shape that `parse` tells, once it is known that the key is free.
fn init(
    ctx: &Context<'_>,
    keys: &mut Keys<'_>,
    event: &CStr,
    parse: impl FnOnce(&[u8], &[u8]) -> Result<(u64, u64), Failure>,
) -> Result<(), Failure> {
    let (name, shape, seed) = match ctx.args() {
        [_, name, first, second] => (name, (first, second), None),
        [_, name, first, second, word, seed] if word.bytes().eq_ignore_ascii_case(b"SEED") => {
            (name, (first, second), Some(seed))
        }
        _ => return Err(Failure::Arity),
    };
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        return Err(EXISTS);
    }
    let (width, depth) = parse(shape.0.bytes(), shape.1.bytes())?;
    let mut passed_on = vec![width.to_string(), depth.to_string()];
    let set = if ctx.makes_redisbloom(seed) {
        let table = CountMinTable::new(width, depth, ctx.limit()).map_err(|_| NO_MEMORY)?;
        key.set(table)
    } else {
        let seed = seed.map_or(Ok(0), |seed| parse_seed(seed.bytes()))?;
        passed_on.extend(["SEED".into(), seed.to_string()]);
        key.set(Counts::Whole(by_dim(width, depth, seed, ctx.limit())?))
    };
    if !set {
        return Err(NO_MEMORY);
    }
    drop(key);
    ctx.reply_ok();
    ctx.replicate_made(c"CMS.INITBYDIM", *name, &passed_on);
    ctx.engine().changed(*name);
    keys.notify(event, *name);
    Ok(())
}

fn init_by_dim(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    init(ctx, keys, c"cms.initbydim", parse_dim)
}

fn init_by_prob(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    init(ctx, keys, c"cms.initbyprob", parse_prob)
}

fn incrby(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, pairs @ ..] = ctx.args() else { return Err(Failure::Arity) };
    let increments = parse_increments(pairs)?;
    let mut key = keys.open_mut(*name)?;
    let mut sketch = find(&mut key)?;
    let engine = ctx.engine();
    engine.reply_array(increments.len());
    for ([item, _], by) in pairs.as_chunks::<2>().0.iter().zip(&increments) {
        let count = sketch.add(item.bytes(), *by);
        // What was accepted elsewhere gets no error: a replica may be told to end itself at the first.
        if count < TOP || engine.is_repeated() {
            engine.reply_integer(count as i64);
        } else {
            engine.reply_error(LOST_COUNT);
        }
    }
    drop(key);
    Counter::Added.add(increments.len());
    if increments.iter().any(|by| *by > 0) {
        engine.replicate_verbatim();
        engine.changed(*name);
        keys.notify(c"cms.incrby", *name);
    }
    Ok(())
}

fn query(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, items @ ..] = ctx.args() else { return Err(Failure::Arity) };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    let engine = ctx.engine();
    with_sketch(keys, *name, |sketch| {
        engine.reply_array(items.len());
        items.iter().for_each(|item| engine.reply_integer(sketch.count(item.bytes()) as i64));
    })
}

fn merge(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, words @ ..] = ctx.args() else { return Err(Failure::Arity) };
    if words.len() < 2 {
        return Err(Failure::Arity);
    }
    with_sketch(keys, *name, |_| ())?;
    let (count, weights) = parse_merge(words)?;
    let mut sum = with_sketch(keys, *name, Sum::like)??;
    for (source, weight) in words[1..=count].iter().zip(weights) {
        with_sketch(keys, *source, |source| sum.add(source, weight))??;
    }
    let mut key = keys.open_mut(*name)?;
    // In its place: the key keeps what else is known of it, such as when it expires.
    match (find(&mut key)?, sum) {
        (Sketch::Ours(sketch), Sum::Ours(sum)) => *sketch = *sum,
        (Sketch::RedisBloom(table), Sum::RedisBloom(sum)) => {
            *table = sum.finish().map_err(|_| NotMerged::Memory)?.ok_or(NotMerged::Overflow)?;
        }
        _ => return Err(NotMerged::Hashes.into()), // it is as it was when the sum was made like it
    }
    drop(key);
    ctx.reply_ok();
    ctx.engine().replicate_verbatim();
    ctx.engine().changed(*name);
    keys.notify(c"cms.merge", *name);
    Ok(())
}

fn info(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let engine = ctx.engine();
    with_sketch(keys, *name, |sketch| {
        engine.reply_map(3);
        for (name, value) in [c"width", c"depth", c"count"].into_iter().zip(sketch.facts()) {
            engine.reply_status(name);
            engine.reply_integer(i64::try_from(value).unwrap_or(i64::MAX));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn sketches_that_cannot_be_say_why() {
        let dim = |width: &str, depth: &str| parse_dim(width.as_bytes(), depth.as_bytes());
        assert_eq!(dim("2000", "5"), Ok((2000, 5)));
        for wrong in ["0", "-1", "rose", "1.5", "9223372036854775808", ""] {
            assert_eq!(dim(wrong, "5"), Err(Failure::Text(c"CMS: invalid width")), "{wrong}");
            assert_eq!(dim("5", wrong), Err(Failure::Text(c"CMS: invalid depth")), "{wrong}");
        }
        let prob = |error: &str, prob: &str| parse_prob(error.as_bytes(), prob.as_bytes());
        assert_eq!(prob("0.001", "0.01"), Ok((2000, 7)));
        for wrong in ["0", "1", "-0.5", "nan", "inf", "rose", ""] {
            let (error, rate) = (c"CMS: invalid overestimation value", c"CMS: invalid prob value");
            assert_eq!(prob(wrong, "rose"), Err(Failure::Text(error)), "{wrong}");
            assert_eq!(prob("0.1", wrong), Err(Failure::Text(rate)), "{wrong}");
        }
    }

    #[test]
    fn seeds_are_numbers_of_64_bits() {
        assert_eq!(parse_seed(b"18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "-1", "rose", "18446744073709551616"] {
            assert_eq!(parse_seed(wrong.as_bytes()), Err(Failure::Text(c"CMS: invalid seed")), "{wrong}");
        }
    }

    #[test]
    fn increments_are_all_read_or_none() {
        assert_eq!(
            parse_increments(&words("a 1 b 0 c 9223372036854775807")),
            Ok(vec![1, 0, i64::MAX as u64])
        );
        for line in ["", "a", "a 1 b"] {
            assert_eq!(parse_increments(&words(line)), Err(Failure::Arity), "{line}");
        }
        for line in ["a rose", "a 1 b 1.5", "a 9223372036854775808 b -1"] {
            assert_eq!(
                parse_increments(&words(line)),
                Err(Failure::Text(c"CMS: Cannot parse number")),
                "{line}"
            );
        }
        let negative = Failure::Text(c"CMS: Number cannot be negative");
        assert_eq!(parse_increments(&words("a 1 b -1")), Err(negative));
    }

    #[test]
    fn sources_and_weights_are_as_many_as_was_said() {
        let merge = |line: &str| parse_merge(&words(line));
        assert_eq!(merge("2 a b"), Ok((2, vec![1, 1])));
        assert_eq!(merge("2 a b weights 3 -4"), Ok((2, vec![3, -4])));
        assert_eq!(merge("1 weights"), Ok((1, vec![1])));
        assert_eq!(merge("3 a weights b"), Ok((3, vec![1; 3])));
        let cases: [(&str, &CStr); 16] = [
            ("rose a", c"CMS: invalid numkeys"),
            ("1.0 a", c"CMS: invalid numkeys"),
            ("9223372036854775808 a", c"CMS: invalid numkeys"),
            ("0 a", c"CMS: Number of keys must be positive"),
            ("-1 a", c"CMS: Number of keys must be positive"),
            ("1 a b", c"CMS: wrong number of keys"),
            ("2 a", c"CMS: wrong number of keys"),
            ("1 a b 3", c"CMS: wrong number of keys"),
            ("9223372036854775807 a", c"CMS: wrong number of keys"),
            ("9223372036854775807 a WEIGHTS 1", c"CMS: wrong number of keys/weights"),
            ("2 a b WEIGHTS 1", c"CMS: wrong number of keys/weights"),
            ("2 a b WEIGHTS", c"CMS: wrong number of keys/weights"),
            ("1 a b WEIGHTS 1 2", c"CMS: wrong number of keys/weights"),
            ("3 a b WEIGHTS 1 2 3 4", c"CMS: wrong number of keys/weights"),
            ("1 a WEIGHTS rose", c"CMS: invalid weight value"),
            ("2 a b WEIGHTS 1 0.5", c"CMS: invalid weight value"),
        ];
        for (line, text) in cases {
            assert_eq!(merge(line), Err(Failure::Text(text)), "{line}");
        }
        for line in ["", "1"] {
            assert_eq!(merge(line), Err(Failure::Arity), "{line}");
        }
    }
}
