//! `CF.*`: cuckoo filters, with RedisBloom's arguments, replies and error texts.
//!
//! Beyond RedisBloom's, CF.RESERVE takes `SEED`. A filter that is made here is passed on with it,
//! so that replicas and files hold the same bits.
//!
//! Filters that came from RedisBloom keep its layout, and answer to the same commands.

use super::chunks::{self, Words};
use super::found::{Found, STILL_LOADING, reply_each};
use super::{commands, parse_integer};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Among, Either, Key, Keys, Setting, Str};
use crate::engine::settings::{
    CuckooBucketSize, CuckooExpansion, CuckooFilters, CuckooIterations, CuckooSize, MAX_CAPACITY,
    MAX_EXPANSION,
};
use crate::engine::stats::{Counter, resized};
use crate::redisbloom::cuckoo::{CuckooChain, InsertError, Limits};
use crate::redisbloom::layout::LayoutError;
use crate::values::BATCH;
use crate::values::cuckoo::{Chain, CuckooPlan, Cuckoos, Refused};
use crate::values::redisbloom::StoredCuckooChain;
use crate::values::stored::Whole;
use std::ffi::CStr;

commands! { c"cuckoo":
    Reserve c"cf.reserve" c"write deny-oom fast",
        "key capacity:n [BUCKETSIZE bucketsize:n] [MAXITERATIONS iterations:n] [EXPANSION expansion:n] [SEED seed:n]",
        c"Creates an empty cuckoo filter.",
        c"O(1)" => reserve;
    Add c"cf.add" c"write deny-oom fast",
        "key item",
        c"Adds an item to a cuckoo filter, which is created if there is none.",
        c"O(n), where n is the number of sub-filters" => add;
    AddAbsent c"cf.addnx" c"write deny-oom fast",
        "key item",
        c"Adds an item to a cuckoo filter if it is certainly not in it.",
        c"O(n), where n is the number of sub-filters" => addnx;
    Insert c"cf.insert" c"write deny-oom",
        "key [CAPACITY capacity:n] [NOCREATE] ITEMS item...",
        c"Adds items to a cuckoo filter, which is created with this capacity if there is none.",
        c"O(n * m), where n is the number of items and m the number of sub-filters" => insert;
    InsertAbsent c"cf.insertnx" c"write deny-oom",
        "key [CAPACITY capacity:n] [NOCREATE] ITEMS item...",
        c"Adds those items to a cuckoo filter that are certainly not in it.",
        c"O(n * m), where n is the number of items and m the number of sub-filters" => insertnx;
    Exists c"cf.exists" c"readonly fast",
        "key item",
        c"Returns whether an item may be in a cuckoo filter.",
        c"O(n), where n is the number of sub-filters" => exists;
    MultiExists c"cf.mexists" c"readonly",
        "key item...",
        c"Returns of each item whether it may be in a cuckoo filter.",
        c"O(n * m), where n is the number of items and m the number of sub-filters" => mexists;
    Count c"cf.count" c"readonly fast",
        "key item",
        c"Returns how often an item may be in a cuckoo filter.",
        c"O(n), where n is the number of sub-filters" => count;
    Delete c"cf.del" c"write fast",
        "key item",
        c"Removes an item from a cuckoo filter once.",
        c"O(n), where n is the number of sub-filters" => del;
    Info c"cf.info" c"readonly fast",
        "key",
        c"Returns the filter's parameters and size.",
        c"O(n), where n is the number of sub-filters" => info;
    ScanDump c"cf.scandump" c"readonly",
        "key iterator:n",
        c"Returns a cuckoo filter in chunks.",
        c"O(n), where n is the size of the filter" => scandump;
    LoadChunk c"cf.loadchunk" c"write deny-oom",
        "key iterator:n data",
        c"Restores a cuckoo filter from its chunks.",
        c"O(n), where n is the size of the filter" => loadchunk;
    Compact c"cf.compact" c"write",
        "key",
        c"Moves items of a cuckoo filter to older sub-filters and drops empty ones.",
        c"O(n), where n is the size of the newest sub-filters" => compact;
    Debug c"cf.debug" c"readonly fast",
        "key",
        c"Returns a line about a cuckoo filter.",
        c"O(n), where n is the number of sub-filters" => debug;
}

const NOT_FOUND: Failure = Failure::Text(c"ERR not found");
const NO_FILTER: Failure = Failure::Text(c"Cuckoo filter was not found");
const EXISTS: Failure = Failure::Text(c"ERR item exists");
const NO_MEMORY: Failure = Failure::Text(c"ERR Insufficient memory: see bf.memory-limit");
const NOT_MADE: Failure = Failure::Text(c"Couldn't create filter!");
const EXPANSIONS: Failure = Failure::Text(c"Maximum expansions reached");

const WORDS: Words = Words {
    not_found: c"ERR not found",
    bad_data: c"Couldn't load chunk!",
    offset: c"Couldn't load chunk!",
    too_big: c"Couldn't load chunk!",
    no_memory: c"Couldn't create filter! Insufficient memory: see bf.memory-limit",
    not_made: c"Couldn't create filter!",
};
/// The error about the first piece of a dump.
const HEADER_WORDS: Words = Words { bad_data: c"Invalid header", ..WORDS };

/// Why a filter was not made, or a key not added, in words.
fn refused(why: Refused) -> Failure {
    match why {
        Refused::Full => {
            Counter::RefusedFull.add(1);
            Failure::Text(c"Filter is full")
        }
        Refused::Expansions => {
            Counter::RefusedFull.add(1);
            EXPANSIONS
        }
        Refused::Memory => {
            Counter::RefusedMemory.add(1);
            NO_MEMORY
        }
    }
}

/// What a command says about a filter that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooReserve {
    capacity: u64,
    bucket_size: u16,
    iterations: u16,
    expansion: u16,
    seed: Option<u64>,
}

impl CuckooReserve {
    /// What the settings say.
    #[must_use]
    pub fn by_settings() -> Self {
        // They have the ranges of the options.
        let bucket_size = CuckooBucketSize::get() as u16;
        Self {
            capacity: CuckooSize::get().unsigned_abs().max(2 * u64::from(bucket_size)),
            bucket_size,
            iterations: CuckooIterations::get() as u16,
            expansion: CuckooExpansion::get() as u16,
            seed: None,
        }
    }

    /// The plan, with a seed if none was given.
    fn plan(&self, seed: impl FnOnce() -> u64) -> CuckooPlan {
        let Self { capacity, bucket_size, iterations, expansion, .. } = *self;
        CuckooPlan { capacity, bucket_size, iterations, expansion, seed: self.seed.unwrap_or_else(seed) }
    }
}

/// An option of CF.RESERVE, with the error if its value is no number, or is out of range.
struct Choice {
    word: &'static [u8],
    least: i64,
    most: i64,
    no_number: &'static CStr,
    out_of_range: &'static CStr,
}

const BUCKET_SIZE: Choice = Choice {
    word: b"BUCKETSIZE",
    least: 1,
    most: 255,
    no_number: c"Couldn't parse BUCKETSIZE",
    out_of_range: c"BUCKETSIZE: value must be in the range [1, 255]",
};
const ITERATIONS: Choice = Choice {
    word: b"MAXITERATIONS",
    least: 1,
    most: 65_535,
    no_number: c"Couldn't parse MAXITERATIONS",
    out_of_range: c"MAXITERATIONS: value must be in the range [1, 65535]",
};
const EXPANSION: Choice = Choice {
    word: b"EXPANSION",
    least: 0,
    most: MAX_EXPANSION,
    no_number: c"Couldn't parse EXPANSION",
    out_of_range: c"EXPANSION: value must be in the range [0, 32768]",
};

impl Choice {
    fn parse(&self, value: Option<&[u8]>) -> Result<u16, Failure> {
        let number = value.and_then(parse_integer).ok_or(self.no_number)?;
        let number = Some(number).filter(|number| (self.least..=self.most).contains(number));
        number.and_then(|number| u16::try_from(number).ok()).ok_or(self.out_of_range.into())
    }
}

/// Parses what follows the key of CF.RESERVE.
pub fn parse_reserve(args: &[impl AsRef<[u8]>], settings: CuckooReserve) -> Result<CuckooReserve, Failure> {
    let [capacity, options @ ..] = args else { return Err(Failure::Arity) };
    let capacity = parse_integer(capacity.as_ref()).ok_or(c"Bad capacity")?;
    let mut asked = settings;
    let mut options = options.iter().map(AsRef::as_ref);
    while let Some(option) = options.next() {
        let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
        if is(BUCKET_SIZE.word) {
            asked.bucket_size = BUCKET_SIZE.parse(options.next())?;
        } else if is(ITERATIONS.word) {
            asked.iterations = ITERATIONS.parse(options.next())?;
        } else if is(EXPANSION.word) {
            asked.expansion = EXPANSION.parse(options.next())?;
        } else if is(b"SEED") {
            let seed = options.next().and_then(|value| str::from_utf8(value).ok()?.parse().ok());
            asked.seed = Some(seed.ok_or(c"Couldn't parse SEED")?);
        } else {
            return Err(c"Unknown argument received".into());
        }
    }
    if !(2 * i64::from(asked.bucket_size)..=MAX_CAPACITY).contains(&capacity) {
        return Err(c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]".into());
    }
    asked.capacity = capacity.unsigned_abs();
    Ok(asked)
}

/// What CF.INSERT shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insertion {
    asked: CuckooReserve,
    create: bool,
    /// Where the items begin in what was parsed.
    items: usize,
}

/// Parses what follows the key of CF.INSERT.
pub fn parse_insert(args: &[impl AsRef<[u8]>], settings: CuckooReserve) -> Result<Insertion, Failure> {
    let (mut asked, mut create) = (settings, true);
    let mut options = args.iter().map(AsRef::as_ref).enumerate();
    while let Some((at, option)) = options.next() {
        if option.eq_ignore_ascii_case(b"ITEMS") {
            let items = at + 1;
            return if items < args.len() {
                Ok(Insertion { asked, create, items })
            } else {
                Err(Failure::Arity)
            };
        } else if option.eq_ignore_ascii_case(b"CAPACITY") {
            let capacity =
                options.next().and_then(|(_, value)| parse_integer(value)).ok_or(c"Bad capacity")?;
            if !(2 * i64::from(asked.bucket_size)..=MAX_CAPACITY).contains(&capacity) {
                return Err(c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]".into());
            }
            asked.capacity = capacity.unsigned_abs();
        } else if option.eq_ignore_ascii_case(b"NOCREATE") {
            create = false;
        } else {
            return Err(c"Unknown argument received".into());
        }
    }
    Err(Failure::Arity)
}

/// A filter under a key.
enum Filter<'k> {
    /// Made here.
    Ours(&'k mut Chain),
    /// From RedisBloom.
    RedisBloom(&'k mut CuckooChain),
}

impl From<InsertError> for Refused {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full => Self::Full,
            InsertError::Expansions => Self::Expansions,
            InsertError::Layout(_) => Self::Memory,
        }
    }
}

/// How far a filter may grow. What was accepted elsewhere is accepted here.
fn limits(ctx: &Context<'_>) -> Limits {
    let max_tables = if ctx.engine().is_repeated() { u64::MAX } else { CuckooFilters::get().unsigned_abs() };
    Limits { max_bytes: ctx.limit(), max_tables }
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Added,
    Present,
    Refused(Refused),
}

impl Filter<'_> {
    fn contains(&self, item: &[u8]) -> bool {
        match self {
            Self::Ours(chain) => chain.contains(item),
            Self::RedisBloom(chain) => chain.contains(item),
        }
    }

    fn contains_all(&self, items: &[Str<'_>], out: &mut [bool]) {
        match self {
            Self::Ours(chain) => chain.contains_all(items, out),
            Self::RedisBloom(chain) => {
                items.iter().zip(out).for_each(|(item, out)| *out = chain.contains(item.bytes()));
            }
        }
    }

    fn count(&self, item: &[u8]) -> u64 {
        match self {
            Self::Ours(chain) => chain.count(item),
            Self::RedisBloom(chain) => chain.count(item),
        }
    }

    /// Adds an item, unless it has to be absent and is not; true if it went in.
    fn insert(&mut self, item: &[u8], absent: bool, limit: impl FnOnce() -> Limits) -> Result<bool, Refused> {
        match self {
            Self::Ours(chain) if absent => chain.insert_if_absent(item, limit),
            Self::Ours(chain) => chain.insert(item, limit).map(|()| true),
            Self::RedisBloom(chain) => {
                let before = chain.size();
                let added = match absent {
                    true => chain.insert_if_absent(item, limit()),
                    false => chain.insert(item, limit()).map(|()| true),
                };
                resized(before as usize, chain.size() as usize);
                Ok(added?)
            }
        }
    }

    /// Adds items in order, and tells what became of each.
    fn insert_all(&mut self, items: &[Str<'_>], absent: bool, limit: impl Fn() -> Limits) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(items.len());
        if let Self::Ours(chain) = self
            && !absent
        {
            for items in items.chunks(BATCH) {
                let mut added = [false; BATCH];
                let why = chain.insert_all(items, &mut added[..items.len()], &limit).err();
                let refused = Outcome::Refused(why.unwrap_or(Refused::Full));
                let outcome = |added: &bool| if *added { Outcome::Added } else { refused };
                outcomes.extend(added[..items.len()].iter().map(outcome));
            }
            return outcomes;
        }
        outcomes.extend(items.iter().map(|item| match self.insert(item.bytes(), absent, &limit) {
            Ok(true) => Outcome::Added,
            Ok(false) => Outcome::Present,
            Err(why) => Outcome::Refused(why),
        }));
        outcomes
    }

    fn remove(&mut self, item: &[u8]) -> bool {
        match self {
            Self::Ours(chain) => chain.remove(item),
            Self::RedisBloom(chain) => chain.remove(item),
        }
    }

    /// True if that may have changed something.
    fn compact(&mut self) -> bool {
        match self {
            Self::Ours(chain) => chain.compact(),
            Self::RedisBloom(chain) => {
                let (changes, before) = (chain.tables() > 1 || chain.deletes() > 0, chain.size());
                chain.compact();
                resized(before as usize, chain.size() as usize);
                changes
            }
        }
    }

    /// The lines of CF.INFO.
    fn facts(&self) -> [(&'static CStr, u64); 8] {
        let numbers = match self {
            Self::Ours(chain) => [
                (size_of::<Cuckoos>() + chain.memory()) as u64,
                chain.buckets(),
                chain.filters() as u64,
                chain.items(),
                chain.deletes(),
                chain.bucket_size().into(),
                chain.expansion().into(),
                chain.iterations().into(),
            ],
            Self::RedisBloom(chain) => [
                chain.size(),
                chain.buckets(),
                chain.tables() as u64,
                chain.items(),
                chain.deletes(),
                chain.bucket_size().into(),
                chain.expansion().into(),
                chain.iterations().into(),
            ],
        };
        let [size, buckets, filters, items, deletes, bucket_size, expansion, iterations] = numbers;
        [
            (c"Size", size),
            (c"Number of buckets", buckets),
            (c"Number of filters", filters),
            (c"Number of items inserted", items),
            (c"Number of items deleted", deletes),
            (c"Bucket size", bucket_size),
            (c"Expansion rate", expansion),
            (c"Max iterations", iterations),
        ]
    }
}

#[inline]
fn find<'k>(key: &'k mut Key<'_>) -> Found<Filter<'k>> {
    match key.among::<Cuckoos, CuckooChain, StoredCuckooChain>() {
        Among::First(Cuckoos::Whole(chain)) => Found::Filter(Filter::Ours(chain)),
        Among::Second(chain) | Among::Third(StoredCuckooChain::Whole(chain)) => {
            Found::Filter(Filter::RedisBloom(chain))
        }
        Among::First(Cuckoos::Arriving(_)) | Among::Third(StoredCuckooChain::Arriving(_)) => Found::Arriving,
        Among::None => Found::Other,
    }
}

/// Hands the filter under a key to `ask`; `none` is the error if there is none.
fn with_filter<R>(
    keys: &mut Keys<'_>,
    name: Str<'_>,
    none: Failure,
    ask: impl FnOnce(&Filter<'_>) -> R,
) -> Result<R, Failure> {
    let mut key = keys.open(name).ok_or(none)?;
    find(&mut key).filter().map(|filter| ask(&filter))
}

/// What a filter was built with.
enum Made {
    Ours(CuckooPlan),
    RedisBloom(CuckooReserve),
}

/// Makes a filter under a key that is empty.
fn make(ctx: &Context<'_>, key: &mut Key<'_>, asked: CuckooReserve) -> Result<Made, Failure> {
    if ctx.makes_redisbloom(asked.seed) {
        let CuckooReserve { capacity, bucket_size, iterations, expansion, .. } = asked;
        let chain = CuckooChain::new(capacity, bucket_size, iterations, expansion, u64::MAX);
        return if key.set(chain.map_err(|_| NO_MEMORY)?) {
            Ok(Made::RedisBloom(asked))
        } else {
            Err(NOT_MADE)
        };
    }
    let plan = asked.plan(|| ctx.random());
    let chain = plan.build(ctx.limit()).map_err(refused)?;
    if key.set(Cuckoos::Whole(chain)) { Ok(Made::Ours(plan)) } else { Err(NOT_MADE) }
}

/// Passes on that a filter was made, with everything that it was built with.
fn pass_on(ctx: &Context<'_>, key: Str<'_>, made: &Made) {
    let args = match made {
        Made::Ours(plan) => creation(plan),
        Made::RedisBloom(asked) => {
            let mut args = creation(&asked.plan(|| 0));
            args.truncate(args.len() - 2); // without a seed
            args
        }
    };
    ctx.replicate_made(c"CF.RESERVE", key, &args);
}

/// What follows the key of the CF.RESERVE that makes this; the seed is last.
fn creation(plan: &CuckooPlan) -> Vec<String> {
    let CuckooPlan { capacity, bucket_size, iterations, expansion, seed } = plan;
    vec![
        capacity.to_string(),
        "BUCKETSIZE".into(),
        bucket_size.to_string(),
        "MAXITERATIONS".into(),
        iterations.to_string(),
        "EXPANSION".into(),
        expansion.to_string(),
        "SEED".into(),
        seed.to_string(),
    ]
}

fn reserve(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity) };
    let asked = parse_reserve(rest, CuckooReserve::by_settings())?;
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        return Err(if find(&mut key).is_other() { WRONG_TYPE } else { EXISTS });
    }
    let made = make(ctx, &mut key, asked)?;
    drop(key);
    pass_on(ctx, *name, &made);
    ctx.engine().changed(*name);
    keys.notify(c"cf.reserve", *name);
    ctx.reply_ok();
    Ok(())
}

fn add(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    add_one(ctx, keys, false, c"cf.add")
}

fn addnx(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    add_one(ctx, keys, true, c"cf.addnx")
}

/// Adds one item, unless it has to be absent and is not.
fn add_one(ctx: &Context<'_>, keys: &mut Keys<'_>, absent: bool, event: &CStr) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    let mut key = keys.open_mut(*name)?;
    let engine = ctx.engine();
    match find(&mut key) {
        Found::Filter(mut filter) => {
            let added = filter.insert(item.bytes(), absent, || limits(ctx)).map_err(refused)?;
            drop(key);
            engine.reply_bool(added);
            if added {
                Counter::Added.add(1);
                engine.replicate_verbatim();
                engine.changed(*name);
                keys.notify(event, *name);
            }
            return Ok(());
        }
        Found::Arriving => return Err(STILL_LOADING),
        Found::Other => {}
    }
    if !key.is_empty() {
        return Err(WRONG_TYPE);
    }
    let made = make(ctx, &mut key, CuckooReserve::by_settings())?;
    let Found::Filter(mut filter) = find(&mut key) else { return Err(NOT_MADE) };
    if let Err(why) = filter.insert(item.bytes(), false, || limits(ctx)) {
        key.delete();
        return Err(refused(why));
    }
    drop(key);
    Counter::Added.add(1);
    engine.reply_bool(true);
    pass_on(ctx, *name, &made);
    engine.replicate(c"CF.ADD", *name, &[*item]);
    engine.changed(*name);
    keys.notify(c"cf.reserve", *name);
    keys.notify(event, *name);
    Ok(())
}

fn insert(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    add_many(ctx, keys, false, c"cf.insert")
}

fn insertnx(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    add_many(ctx, keys, true, c"cf.insertnx")
}

/// The error in place of an item that was refused: none for a filter that does not grow and is
/// full, which is -1.
fn refusal(outcome: &Outcome) -> Option<Failure> {
    match outcome {
        Outcome::Refused(why @ (Refused::Expansions | Refused::Memory)) => Some(refused(*why)),
        Outcome::Refused(Refused::Full) => {
            Counter::RefusedFull.add(1);
            None
        }
        _ => None,
    }
}

/// Adds items, unless they have to be absent and are not. What was accepted is passed on, as
/// CF.INSERT of a key that is there.
fn add_many(ctx: &Context<'_>, keys: &mut Keys<'_>, absent: bool, event: &CStr) -> Result<(), Failure> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity) };
    let Insertion { asked, create, items } = parse_insert(rest, CuckooReserve::by_settings())?;
    let (name, items) = (*name, &rest[items..]);
    let mut key = keys.open_mut(name)?;
    let engine = ctx.engine();
    let mut made = None;
    if key.is_empty() {
        made = Some(make(ctx, &mut key, create.then_some(asked).ok_or(NOT_FOUND)?)?);
    }
    let outcomes = find(&mut key).filter()?.insert_all(items, absent, || limits(ctx));
    drop(key);
    let accepted = outcomes.iter().filter(|outcome| **outcome == Outcome::Added).count();
    Counter::Added.add(accepted);
    let refusals: Vec<Option<Failure>> = outcomes.iter().map(refusal).collect();
    // A reply that would hold nothing but errors is the error itself, as in RedisBloom.
    if let (None, Some(Some(why))) = (&made, refusals.first())
        && refusals.iter().all(Option::is_some)
    {
        return Err(*why);
    }
    engine.reply_array(outcomes.len());
    for (outcome, refusal) in outcomes.iter().zip(&refusals) {
        // In the third protocol -1 would be a truth value, which would not tell that the item is lost.
        if let Some(Failure::Text(text)) = refusal {
            engine.reply_error(text);
            continue;
        }
        match outcome {
            // Where keys may be there already, a truth value would not tell why one was not added.
            Outcome::Refused(_) if absent || !engine.is_resp3() => engine.reply_integer(-1),
            outcome if absent => engine.reply_integer((*outcome == Outcome::Added).into()),
            outcome => engine.reply_bool(*outcome == Outcome::Added),
        }
    }
    if let Some(made) = &made {
        pass_on(ctx, name, made);
        keys.notify(c"cf.reserve", name);
    }
    if accepted > 0 {
        let command = |accepted: &[Str<'_>]| {
            let words = [&b"NOCREATE"[..], b"ITEMS"].map(|word| engine.string(word));
            let mut args: Vec<Str<'_>> = words.iter().flatten().map(|word| word.get()).collect();
            args.extend_from_slice(accepted);
            engine.replicate(c"CF.INSERT", name, &args);
        };
        if accepted == items.len() && made.is_none() {
            engine.replicate_verbatim();
        } else if accepted == items.len() {
            command(items);
        } else {
            let added = items.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Added);
            command(&added.map(|(item, _)| *item).collect::<Vec<_>>());
        }
        keys.notify(event, name);
    }
    if made.is_some() || accepted > 0 {
        engine.changed(name);
    }
    Ok(())
}

fn exists(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    let found = match with_filter(keys, *name, NOT_FOUND, |filter| filter.contains(item.bytes())) {
        Err(none) if none == NOT_FOUND => false,
        other => other?,
    };
    ctx.engine().reply_bool(found);
    Ok(())
}

fn mexists(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, items @ ..] = ctx.args() else { return Err(Failure::Arity) };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    let mut key = keys.open(*name);
    let filter = key.as_mut().map(|key| find(key).filter()).transpose()?;
    reply_each(ctx, items, |items, out| {
        if let Some(filter) = &filter {
            filter.contains_all(items, out);
        }
    });
    Ok(())
}

fn count(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    let count = match with_filter(keys, *name, NOT_FOUND, |filter| filter.count(item.bytes())) {
        Err(none) if none == NOT_FOUND => 0,
        other => other?,
    };
    ctx.engine().reply_integer(count as i64);
    Ok(())
}

fn del(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    const NONE: Failure = Failure::Text(c"Not found");
    let mut key = keys.open_mut(*name).map_err(|_| NONE)?;
    let mut filter = match find(&mut key) {
        Found::Filter(filter) => filter,
        Found::Arriving => return Err(STILL_LOADING),
        Found::Other => return Err(NONE),
    };
    let removed = filter.remove(item.bytes());
    drop(key);
    let engine = ctx.engine();
    engine.reply_bool(removed);
    if removed {
        Counter::Removed.add(1);
        engine.replicate_verbatim();
        engine.changed(*name);
        keys.notify(c"cf.del", *name);
    }
    Ok(())
}

fn info(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let facts = with_filter(keys, *name, NOT_FOUND, |filter| filter.facts())?;
    let engine = ctx.engine();
    engine.reply_map(facts.len());
    for (name, value) in facts {
        engine.reply_status(name);
        engine.reply_integer(value as i64);
    }
    Ok(())
}

/// The place in a dump that a command tells.
fn position(word: Str<'_>, least: i64) -> Result<i64, Failure> {
    const WRONG: &CStr = c"Invalid position";
    let at = chunks::iterator(word, WRONG)?;
    if at < least { Err(WRONG.into()) } else { Ok(at) }
}

fn scandump(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at] = ctx.args() else { return Err(Failure::Arity) };
    let at = position(*at, 0)?;
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    let none = || {
        let engine = ctx.engine();
        engine.reply_array(2);
        engine.reply_integer(0);
        engine.reply_null();
        Ok(())
    };
    match key.among::<Cuckoos, CuckooChain, StoredCuckooChain>() {
        Among::First(Cuckoos::Whole(chain)) if chain.items() == 0 => none(),
        Among::Second(chain) | Among::Third(StoredCuckooChain::Whole(chain)) if chain.items() == 0 => none(),
        Among::First(chain) => chunks::scandump(ctx, chain, at, &WORDS),
        // As RedisBloom gives it.
        Among::Second(chain) | Among::Third(StoredCuckooChain::Whole(chain)) => {
            if at == 0 {
                chunks::reply_chunk(ctx, 1, &chain.header());
                return Ok(());
            }
            let (next, bytes) = chain.chunk(at.unsigned_abs()).unwrap_or((0, &[]));
            chunks::reply_chunk(ctx, next as i64, bytes);
            Ok(())
        }
        Among::Third(arriving) => chunks::scandump(ctx, arriving, at, &WORDS),
        Among::None => Err(WRONG_TYPE),
    }
}

fn loadchunk(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at, bytes] = ctx.args() else { return Err(Failure::Arity) };
    let at = position(*at, 1)?;
    let mut key = keys.open_mut(*name)?;
    if at == 1 {
        load_header(ctx, &mut key, bytes.bytes())?;
    } else {
        load(ctx, &mut key, at, bytes.bytes())?;
    }
    drop(key);
    chunks::loaded(ctx, keys, *name, c"cf.loadchunk");
    Ok(())
}

/// Takes the first piece of a dump: of our own, of RedisBloom's layout as we write it, or of
/// RedisBloom.
fn load_header(ctx: &Context<'_>, key: &mut Key<'_>, bytes: &[u8]) -> Result<(), Failure> {
    let any_filter = |key: &mut Key<'_>| !find(key).is_other();
    if Cuckoos::is_announced(bytes) {
        return chunks::loadchunk::<Chain>(ctx, key, 1, bytes, &HEADER_WORDS, any_filter);
    }
    if StoredCuckooChain::is_announced(bytes) {
        return chunks::loadchunk::<CuckooChain>(ctx, key, 1, bytes, &HEADER_WORDS, any_filter);
    }
    if !key.is_empty() && !any_filter(key) {
        return Err(WRONG_TYPE);
    }
    let chain = CuckooChain::from_header(bytes, ctx.limit()).map_err(|error| match error {
        LayoutError::TooLarge { .. } | LayoutError::Memory { .. } => Failure::Text(WORDS.no_memory),
        _ => Failure::Text(HEADER_WORDS.bad_data),
    })?;
    if key.set(chain) { Ok(()) } else { Err(NOT_MADE) }
}

/// Takes another piece of a dump: what it belongs to is there.
fn load(ctx: &Context<'_>, key: &mut Key<'_>, at: i64, bytes: &[u8]) -> Result<(), Failure> {
    match key.either::<CuckooChain, StoredCuckooChain>() {
        Either::First(chain) | Either::Second(StoredCuckooChain::Whole(chain)) => {
            chain.load_chunk(at.unsigned_abs(), bytes).map_err(|_| WORDS.offset.into())
        }
        Either::Second(_) => chunks::loadchunk::<CuckooChain>(ctx, key, at, bytes, &WORDS, |_| false),
        Either::Neither => chunks::loadchunk::<Chain>(ctx, key, at, bytes, &WORDS, |_| false),
    }
}

fn compact(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let mut key = keys.open_mut(*name)?;
    if key.is_empty() {
        return Err(NO_FILTER);
    }
    let changed = find(&mut key).filter()?.compact();
    drop(key);
    ctx.reply_ok();
    if changed {
        let engine = ctx.engine();
        engine.replicate_verbatim();
        engine.changed(*name);
        keys.notify(c"cf.compact", *name);
    }
    Ok(())
}

fn debug(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let facts = with_filter(keys, *name, NOT_FOUND, |filter| filter.facts())?;
    let [
        (_, size),
        (_, buckets),
        (_, filters),
        (_, items),
        (_, deletes),
        (_, slots),
        (_, growth),
        (_, steps),
    ] = facts;
    let line = format!(
        "size:{size} buckets:{buckets} filters:{filters} items:{items} deletes:{deletes} bucketsize:{slots} \
         expansion:{growth} maxiterations:{steps}"
    );
    ctx.engine().reply_bytes(line.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What RedisBloom makes of a key that is added to.
    const SETTINGS: CuckooReserve =
        CuckooReserve { capacity: 1024, bucket_size: 2, iterations: 20, expansion: 1, seed: None };

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn reserve_says_what_is_wrong() {
        let range = c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        let cases: [(&str, &CStr); 24] = [
            ("rose", c"Bad capacity"),
            ("1e3", c"Bad capacity"),
            ("9223372036854775808", c"Bad capacity"),
            ("0", range),
            ("-1", range),
            ("3", range),
            ("1073741825", range),
            ("1000000000000000000", range),
            ("509 BUCKETSIZE 255", range),
            ("10 BUCKETSIZE", c"Couldn't parse BUCKETSIZE"),
            ("10 BUCKETSIZE rose", c"Couldn't parse BUCKETSIZE"),
            ("10 BUCKETSIZE 0", c"BUCKETSIZE: value must be in the range [1, 255]"),
            ("10 BUCKETSIZE 256", c"BUCKETSIZE: value must be in the range [1, 255]"),
            ("10 BUCKETSIZE -1", c"BUCKETSIZE: value must be in the range [1, 255]"),
            ("10 MAXITERATIONS", c"Couldn't parse MAXITERATIONS"),
            ("10 MAXITERATIONS nan", c"Couldn't parse MAXITERATIONS"),
            ("10 MAXITERATIONS 0", c"MAXITERATIONS: value must be in the range [1, 65535]"),
            ("10 MAXITERATIONS 65536", c"MAXITERATIONS: value must be in the range [1, 65535]"),
            ("10 EXPANSION 1.5", c"Couldn't parse EXPANSION"),
            ("10 EXPANSION -1", c"EXPANSION: value must be in the range [0, 32768]"),
            ("10 EXPANSION 32769", c"EXPANSION: value must be in the range [0, 32768]"),
            ("10 EXPANSION 1000000000000000000", c"EXPANSION: value must be in the range [0, 32768]"),
            ("10 SEED -1", c"Couldn't parse SEED"),
            ("10 ROSES 1", c"Unknown argument received"),
        ];
        for (line, text) in cases {
            assert_eq!(parse_reserve(&words(line), SETTINGS), Err(Failure::Text(text)), "{line}");
        }
        assert_eq!(parse_reserve(&words(""), SETTINGS), Err(Failure::Arity));
        assert_eq!(parse_reserve(&words("4"), SETTINGS), Ok(CuckooReserve { capacity: 4, ..SETTINGS }));
        let all = "510 bucketsize 255 maxiterations 65535 expansion 32768 seed 18446744073709551615";
        let asked = CuckooReserve {
            capacity: 510,
            bucket_size: 255,
            iterations: 65_535,
            expansion: 32_768,
            seed: Some(u64::MAX),
        };
        assert_eq!(parse_reserve(&words(all), SETTINGS), Ok(asked));
    }

    #[test]
    fn insert_says_what_is_wrong() {
        let cases: [(&str, &CStr); 6] = [
            ("CAPACITY rose ITEMS a", c"Bad capacity"),
            ("CAPACITY 3 ITEMS a", c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
            ("CAPACITY -5 ITEMS a", c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
            ("CAPACITY", c"Bad capacity"),
            ("ROSES ITEMS a", c"Unknown argument received"),
            ("NOCREATE a", c"Unknown argument received"),
        ];
        for (line, text) in cases {
            assert_eq!(parse_insert(&words(line), SETTINGS), Err(Failure::Text(text)), "{line}");
        }
        for line in ["", "ITEMS", "NOCREATE", "CAPACITY 7"] {
            assert_eq!(parse_insert(&words(line), SETTINGS), Err(Failure::Arity), "{line}");
        }
        let asked = CuckooReserve { capacity: 7, ..SETTINGS };
        let all = words("capacity 7 nocreate items items a");
        assert_eq!(parse_insert(&all, SETTINGS), Ok(Insertion { asked, create: false, items: 4 }));
    }

    #[test]
    fn a_plan_survives_being_passed_on() {
        for line in ["4", "1000 EXPANSION 0", "600 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768"] {
            let plan = parse_reserve(&words(line), SETTINGS).unwrap().plan(|| u64::MAX - 7);
            assert_eq!(parse_reserve(&creation(&plan), SETTINGS).unwrap().plan(|| 0), plan);
        }
        // The smallest that CF.INSERT makes, too.
        let plan = parse_insert(&words("CAPACITY 4 ITEMS a"), SETTINGS).unwrap().asked.plan(|| 7);
        assert_eq!(parse_reserve(&creation(&plan), SETTINGS).unwrap().plan(|| 0), plan);
    }
}
