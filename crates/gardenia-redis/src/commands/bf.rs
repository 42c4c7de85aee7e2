//! `BF.*`: Bloom filters, with RedisBloom's arguments, replies and error texts.
//!
//! Beyond RedisBloom's, BF.RESERVE accepts `SEED`, `TIGHTENING`, `PEAK` and `SCHEME`: what decides
//! the bits of a filter. A filter that is made here is passed on with all of them, so that replicas
//! and files hold the same bits.
//!
//! Filters that came from RedisBloom keep its layout, and answer to the same commands.

use super::chunks::{self, Words};
use super::found::{Found, STILL_LOADING, reply_each};
use super::{commands, parse_integer, parse_number};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Either, Key, Keys, Setting, Str};
use crate::engine::settings::{ErrorRate, ExpansionFactor, InitialSize, MAX_CAPACITY, MAX_EXPANSION};
use crate::engine::stats::{Counter, resized};
use crate::redisbloom::bloom::{BloomChain, InsertError};
use crate::redisbloom::layout::{ChunkError, LayoutError};
use crate::values::BATCH;
use crate::values::bloom::{Bloom, BloomPlan, MOST_SLICES, Refused, Scaling};
use crate::values::stored::Whole as _;
use gardenia::index::SchemeId;
use std::ffi::CStr;

commands! { c"bloom":
    Reserve c"bf.reserve" c"write deny-oom fast",
        "key error:f capacity:n [EXPANSION expansion:n] [NONSCALING] [SEED seed:n] [TIGHTENING share:f] [PEAK slice:n] [SCHEME scheme]",
        c"Creates an empty Bloom filter.",
        c"O(1)" => reserve;
    Add c"bf.add" c"write deny-oom fast",
        "key item",
        c"Adds an item to a Bloom filter, which is created if there is none.",
        c"O(k), where k is the number of hashes of all sub-filters" => add;
    MultiAdd c"bf.madd" c"write deny-oom",
        "key item...",
        c"Adds items to a Bloom filter, which is created if there is none.",
        c"O(k * n), where k is the number of hashes and n the number of items" => madd;
    Insert c"bf.insert" c"write deny-oom",
        "key [CAPACITY capacity:n] [ERROR error:f] [EXPANSION expansion:n] [NOCREATE] [NONSCALING] ITEMS item...",
        c"Adds items to a Bloom filter, which is created with these options if there is none.",
        c"O(k * n), where k is the number of hashes and n the number of items" => insert;
    Exists c"bf.exists" c"readonly fast",
        "key item",
        c"Returns whether an item may be in a Bloom filter.",
        c"O(k), where k is the number of hashes of all sub-filters" => exists;
    MultiExists c"bf.mexists" c"readonly",
        "key item...",
        c"Returns of each item whether it may be in a Bloom filter.",
        c"O(k * n), where k is the number of hashes and n the number of items" => mexists;
    Card c"bf.card" c"readonly fast",
        "key",
        c"Returns the number of items that were added to a Bloom filter.",
        c"O(1)" => card;
    Info c"bf.info" c"readonly fast",
        "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]",
        c"Returns the filter's parameters and size.",
        c"O(1)" => info;
    ScanDump c"bf.scandump" c"readonly",
        "key iterator:n",
        c"Returns a Bloom filter in chunks.",
        c"O(n), where n is the size of the filter" => scandump;
    LoadChunk c"bf.loadchunk" c"write deny-oom",
        "key iterator:n data",
        c"Restores a Bloom filter from its chunks.",
        c"O(n), where n is the size of the filter" => loadchunk;
    Debug c"bf.debug" c"readonly",
        "key",
        c"Returns a line for each sub-filter of a Bloom filter.",
        c"O(1)" => debug;
}

const NOT_FOUND: Failure = Failure::Text(c"ERR not found");
const EXISTS: Failure = Failure::Text(c"ERR item exists");
const NO_MEMORY: Failure = Failure::Text(c"ERR Insufficient memory to create filter: see bf.memory-limit");
const NOT_MADE: Failure = Failure::Text(c"ERR could not create filter");

const WORDS: Words = Words {
    not_found: c"ERR not found",
    bad_data: c"ERR received bad data",
    offset: c"ERR invalid offset - no link found",
    too_big: c"ERR invalid chunk - Too big for current filter",
    no_memory: c"ERR Insufficient memory to create filter: see bf.memory-limit",
    not_made: c"ERR could not create filter",
};
const FULL: &CStr = c"ERR non scaling filter is full";
const MOST_FILTERS: &CStr =
    c"ERR the filter is full: it has 64 sub-filters, the most. Reserve another with a larger capacity or EXPANSION";
const _: () = assert!(MOST_SLICES == 64);
const NOT_INSERTED: &CStr = c"ERR problem inserting into filter";
const NOT_GROWN: &CStr = c"ERR problem inserting into filter: it may not grow, see bf.memory-limit";

/// Why a filter could not be made, in words.
fn not_made(refused: Refused) -> Failure {
    if refused == Refused::Memory {
        Counter::RefusedMemory.add(1);
    }
    match refused {
        Refused::Memory => NO_MEMORY,
        Refused::Full | Refused::Shape => NOT_MADE,
    }
}

/// Why an item was not added to a filter, in words.
fn not_added(refused: Refused, filter: &Filter<'_>) -> &'static CStr {
    match refused {
        Refused::Full => {
            Counter::RefusedFull.add(1);
            if filter.grows() { MOST_FILTERS } else { FULL }
        }
        Refused::Memory => {
            Counter::RefusedMemory.add(1);
            NOT_GROWN
        }
        Refused::Shape => NOT_INSERTED,
    }
}

/// What a command says about a filter that is to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomReserve {
    error: f64,
    capacity: u64,
    expansion: u32,
    seed: Option<u64>,
    tightening: Option<f64>,
    peak: Option<u32>,
    scheme: SchemeId,
}

impl BloomReserve {
    /// What the settings say.
    #[must_use]
    pub fn by_settings() -> Self {
        Self {
            error: ErrorRate::get(),
            capacity: InitialSize::get().unsigned_abs(),
            expansion: ExpansionFactor::get() as u32,
            seed: None,
            tightening: None,
            peak: None,
            scheme: SchemeId::default(),
        }
    }

    /// The plan, with a seed if none was given.
    fn plan(&self, seed: impl FnOnce() -> u64) -> BloomPlan {
        let seed = self.seed.unwrap_or_else(seed);
        let plan = BloomPlan::new(self.error, self.capacity, self.expansion, seed);
        let (tightening, peak) = (self.tightening.unwrap_or(plan.tightening), self.peak.unwrap_or(plan.peak));
        BloomPlan { tightening, peak, scheme: self.scheme, ..plan }
    }
}

/// Parses what follows the key of BF.RESERVE.
pub fn parse_reserve(args: &[impl AsRef<[u8]>], settings: BloomReserve) -> Result<BloomReserve, Failure> {
    let [error, capacity, options @ ..] = args else { return Err(Failure::Arity) };
    let error = parse_number(error.as_ref()).ok_or(c"ERR bad error rate")?;
    if !(error > 0.0 && error < 1.0) {
        return Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into());
    }
    let capacity = parse_integer(capacity.as_ref()).ok_or(c"ERR bad capacity")?;
    if !(1..=MAX_CAPACITY).contains(&capacity) {
        return Err(c"ERR capacity must be in the range [1, 1073741824]".into());
    }
    let mut asked = BloomReserve { error, capacity: capacity.unsigned_abs(), ..settings };
    let (mut expands, mut fixed) = (false, false);
    let mut options = options.iter().map(AsRef::as_ref);
    while let Some(option) = options.next() {
        if option.eq_ignore_ascii_case(b"NONSCALING") {
            fixed = true;
        } else if option.eq_ignore_ascii_case(b"EXPANSION") {
            let value = options.next().ok_or(c"ERR no expansion")?;
            let expansion = parse_integer(value).ok_or(c"ERR bad expansion")?;
            if !(0..=MAX_EXPANSION).contains(&expansion) {
                return Err(c"ERR expansion must be in the range [0, 32768]".into());
            }
            (asked.expansion, expands) = (expansion as u32, expansion > 0);
        } else if option.eq_ignore_ascii_case(b"SEED") {
            let seed = options.next().and_then(|value| str::from_utf8(value).ok()?.parse().ok());
            asked.seed = Some(seed.ok_or(c"ERR bad seed")?);
        } else if option.eq_ignore_ascii_case(b"TIGHTENING") {
            let share = options.next().and_then(parse_number).filter(|&share| share > 0.0 && share < 1.0);
            asked.tightening = Some(share.ok_or(c"ERR bad tightening")?);
        } else if option.eq_ignore_ascii_case(b"PEAK") {
            let peak = options.next().and_then(parse_integer).filter(|peak| (0..64).contains(peak));
            asked.peak = Some(peak.ok_or(c"ERR bad peak")? as u32);
        } else if option.eq_ignore_ascii_case(b"SCHEME") {
            let name = options.next().ok_or(c"ERR bad scheme")?;
            let mut schemes = SchemeId::ALL.into_iter();
            let scheme = schemes.find(|scheme| scheme.name().as_bytes().eq_ignore_ascii_case(name));
            asked.scheme = scheme.ok_or(c"ERR bad scheme")?;
        } else {
            return Err(c"Unknown argument received".into());
        }
    }
    if fixed && expands {
        return Err(c"Nonscaling filters cannot expand".into());
    }
    if fixed {
        asked.expansion = 0;
    }
    Ok(asked)
}

/// What BF.INSERT shall do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Insertion {
    asked: BloomReserve,
    create: bool,
    /// Where the items begin in what was parsed.
    items: usize,
}

/// Parses what follows the key of BF.INSERT.
pub fn parse_insert(args: &[impl AsRef<[u8]>], settings: BloomReserve) -> Result<Insertion, Failure> {
    let (mut asked, mut create, mut fixed) = (settings, true, false);
    let mut options = args.iter().map(AsRef::as_ref).enumerate();
    while let Some((at, option)) = options.next() {
        let mut value = || options.next().map(|(_, value)| value);
        if option.eq_ignore_ascii_case(b"ITEMS") {
            let items = at + 1;
            if fixed {
                asked.expansion = 0;
            }
            return if items < args.len() {
                Ok(Insertion { asked, create, items })
            } else {
                Err(Failure::Arity)
            };
        } else if option.eq_ignore_ascii_case(b"CAPACITY") {
            let capacity = value().and_then(parse_integer).filter(|n| (1..=MAX_CAPACITY).contains(n));
            asked.capacity = capacity.ok_or(c"Bad capacity")?.unsigned_abs();
        } else if option.eq_ignore_ascii_case(b"ERROR") {
            let error = value().and_then(parse_number).filter(|&error| error > 0.0 && error < 1.0);
            asked.error = error.ok_or(c"Bad error rate")?;
        } else if option.eq_ignore_ascii_case(b"EXPANSION") {
            let expansion = value().and_then(parse_integer).filter(|n| (0..=MAX_EXPANSION).contains(n));
            asked.expansion = expansion.ok_or(c"Bad expansion")? as u32;
        } else if option.eq_ignore_ascii_case(b"NOCREATE") {
            create = false;
        } else if option.eq_ignore_ascii_case(b"NONSCALING") {
            fixed = true;
        } else {
            return Err(c"Unknown argument received".into());
        }
    }
    Err(Failure::Arity)
}

/// A filter under a key.
enum Filter<'k> {
    /// Made here.
    Ours(&'k mut Scaling),
    /// From RedisBloom.
    RedisBloom(&'k mut BloomChain),
}

impl Filter<'_> {
    fn contains(&self, item: &[u8]) -> bool {
        match self {
            Self::Ours(filter) => filter.contains(item),
            Self::RedisBloom(chain) => chain.contains(item),
        }
    }

    fn contains_all(&self, items: &[Str<'_>], out: &mut [bool]) {
        match self {
            Self::Ours(filter) => filter.contains_all(items, out),
            Self::RedisBloom(chain) => {
                items.iter().zip(out).for_each(|(item, out)| *out = chain.contains(item.bytes()));
            }
        }
    }

    fn insert(&mut self, item: &[u8], limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        match self {
            Self::Ours(filter) => filter.insert(item, limit),
            Self::RedisBloom(chain) => {
                let before = chain.size();
                let new = chain.insert(item, limit()).map_err(Refused::from);
                resized(before as usize, chain.size() as usize);
                new
            }
        }
    }

    fn insert_all(
        &mut self,
        items: &[Str<'_>],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        match self {
            Self::Ours(filter) => filter.insert_all(items, new, limit),
            Self::RedisBloom(chain) => {
                let before = chain.size();
                let mut result = Ok(());
                for (at, (item, new)) in items.iter().zip(new).enumerate() {
                    match chain.insert(item.bytes(), limit()) {
                        Ok(absent) => *new = absent,
                        Err(why) => {
                            result = Err((at, why.into()));
                            break;
                        }
                    }
                }
                resized(before as usize, chain.size() as usize);
                result
            }
        }
    }

    fn items(&self) -> u64 {
        match self {
            Self::Ours(filter) => filter.items(),
            Self::RedisBloom(chain) => chain.items(),
        }
    }

    /// Whether it would add a sub-filter when it is full. RedisBloom's are never full if they grow.
    fn grows(&self) -> bool {
        matches!(self, Self::Ours(filter) if filter.expansion() > 0)
    }

    /// The lines of BF.DEBUG.
    fn describe(&self) -> Vec<String> {
        match self {
            Self::Ours(filter) => filter.describe(),
            Self::RedisBloom(chain) => chain.describe().collect(),
        }
    }
}

impl From<InsertError> for Refused {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full => Self::Full,
            InsertError::Layout(_) => Self::Memory,
        }
    }
}

#[inline]
fn find<'k>(key: &'k mut Key<'_>) -> Found<Filter<'k>> {
    match key.either::<Bloom, BloomChain>() {
        Either::First(Bloom::Whole(filter)) => Found::Filter(Filter::Ours(filter)),
        Either::First(Bloom::Arriving(_)) => Found::Arriving,
        Either::Second(chain) => Found::Filter(Filter::RedisBloom(chain)),
        Either::Neither => Found::Other,
    }
}

/// Hands the filter under a key to `ask`; an error if there is none.
fn with_filter<R>(
    keys: &mut Keys<'_>,
    name: Str<'_>,
    ask: impl FnOnce(&Filter<'_>) -> R,
) -> Result<R, Failure> {
    let mut key = keys.open(name).ok_or(NOT_FOUND)?;
    find(&mut key).filter().map(|filter| ask(&filter))
}

/// What a filter was built with.
enum Made {
    Ours(BloomPlan),
    RedisBloom(BloomReserve),
}

/// Makes a filter under a key that is empty.
fn make(ctx: &Context<'_>, key: &mut Key<'_>, asked: BloomReserve) -> Result<Made, Failure> {
    if ctx.makes_redisbloom(asked.seed) {
        let growth = Some(asked.expansion).filter(|&growth| growth > 0);
        let chain = BloomChain::new(asked.error, asked.capacity, growth, u64::MAX);
        let chain = chain.map_err(|error| match error {
            LayoutError::TooLarge { .. } | LayoutError::Memory { .. } => NO_MEMORY,
            _ => NOT_MADE,
        })?;
        return if key.set(chain) { Ok(Made::RedisBloom(asked)) } else { Err(NOT_MADE) };
    }
    let plan = asked.plan(|| ctx.random());
    let filter = plan.build(ctx.limit()).map_err(not_made)?;
    if key.set(Bloom::Whole(filter)) { Ok(Made::Ours(plan)) } else { Err(NOT_MADE) }
}

/// Passes on that a filter was made.
fn pass_on(ctx: &Context<'_>, key: Str<'_>, made: &Made) {
    match made {
        Made::Ours(plan) => pass_on_creation(ctx, key, plan),
        Made::RedisBloom(BloomReserve { error, capacity, expansion, .. }) => {
            let args = [error.to_string(), capacity.to_string(), "EXPANSION".into(), expansion.to_string()];
            ctx.replicate_made(c"BF.RESERVE", key, &args);
        }
    }
}

/// Passes on that a filter of our own was made, with everything that it was built with.
pub(super) fn pass_on_creation(ctx: &Context<'_>, key: Str<'_>, plan: &BloomPlan) {
    ctx.replicate_made(c"BF.RESERVE", key, &words_of(plan));
}

/// What follows the key in a BF.RESERVE of this plan.
fn words_of(plan: &BloomPlan) -> Vec<String> {
    let BloomPlan { error, capacity, expansion, seed, tightening, peak, scheme } = plan;
    // Rust writes the shortest text that reads as the same double.
    let mut words = vec![
        error.to_string(),
        capacity.to_string(),
        "EXPANSION".into(),
        expansion.to_string(),
        "SEED".into(),
        seed.to_string(),
        "TIGHTENING".into(),
        tightening.to_string(),
        "PEAK".into(),
        peak.to_string(),
    ];
    // Replicas of an earlier version do not know the word, and have no other scheme.
    if *scheme != SchemeId::default() {
        words.extend(["SCHEME".into(), scheme.name().into()]);
    }
    words
}

fn reserve(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity) };
    let asked = parse_reserve(rest, BloomReserve::by_settings())?;
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        return Err(if find(&mut key).is_other() { WRONG_TYPE } else { EXISTS });
    }
    let made = make(ctx, &mut key, asked)?;
    drop(key);
    pass_on(ctx, *name, &made);
    ctx.engine().changed(*name);
    keys.notify(c"bf.reserve", *name);
    ctx.reply_ok();
    Ok(())
}

fn add(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    let mut key = keys.open_mut(*name)?;
    let engine = ctx.engine();
    match find(&mut key) {
        Found::Filter(mut filter) => {
            let new = filter.insert(item.bytes(), || ctx.limit()).map_err(|why| not_added(why, &filter))?;
            drop(key);
            engine.reply_bool(new);
            if new {
                Counter::Added.add(1);
                engine.replicate_verbatim();
                engine.changed(*name);
                keys.notify(c"bf.add", *name);
            }
            return Ok(());
        }
        Found::Arriving => return Err(STILL_LOADING),
        Found::Other => {}
    }
    if !key.is_empty() {
        return Err(WRONG_TYPE);
    }
    let made = make(ctx, &mut key, BloomReserve::by_settings())?;
    let Found::Filter(mut filter) = find(&mut key) else { return Err(NOT_MADE) };
    let new = match filter.insert(item.bytes(), || ctx.limit()) {
        Ok(new) => new,
        Err(refused) => {
            let why = not_added(refused, &filter);
            key.delete();
            return Err(why.into());
        }
    };
    drop(key);
    Counter::Added.add(1);
    engine.reply_bool(new);
    pass_on(ctx, *name, &made);
    engine.replicate(c"BF.ADD", *name, &[*item]);
    engine.changed(*name);
    keys.notify(c"bf.reserve", *name);
    keys.notify(c"bf.add", *name);
    Ok(())
}

fn madd(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, items @ ..] = ctx.args() else { return Err(Failure::Arity) };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    add_many(ctx, keys, *name, items, Some(BloomReserve::by_settings()), true)
}

fn insert(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, rest @ ..] = ctx.args() else { return Err(Failure::Arity) };
    let Insertion { asked, create, items } = parse_insert(rest, BloomReserve::by_settings())?;
    add_many(ctx, keys, *name, &rest[items..], create.then_some(asked), false)
}

/// Adds items, to a filter that is built as `asked` if there is none. What was accepted is passed
/// on: as it came if it came `plain` as BF.MADD and all of it was, else as BF.MADD of the accepted
/// items.
fn add_many<'a>(
    ctx: &Context<'a>,
    keys: &mut Keys<'_>,
    name: Str<'a>,
    items: &[Str<'a>],
    asked: Option<BloomReserve>,
    plain: bool,
) -> Result<(), Failure> {
    let mut key = keys.open_mut(name)?;
    let engine = ctx.engine();
    let mut made = None;
    if key.is_empty() {
        made = Some(make(ctx, &mut key, asked.ok_or(NOT_FOUND)?)?);
    }
    let mut filter = find(&mut key).filter()?;
    let mut few = [false; BATCH];
    let mut many = Vec::new();
    let new: &mut [bool] = if items.len() <= BATCH {
        &mut few[..items.len()]
    } else {
        many.resize(items.len(), false);
        &mut many
    };
    let mut end = Ok(items.len());
    for (number, (items, new)) in items.chunks(BATCH).zip(new.chunks_mut(BATCH)).enumerate() {
        if let Err((taken, refused)) = filter.insert_all(items, new, || ctx.limit()) {
            end = Err((number * BATCH + taken, not_added(refused, &filter)));
            break;
        }
    }
    let (taken, error) = match end {
        Ok(taken) => (taken, None),
        Err((taken, error)) => (taken, Some(error)),
    };
    drop(key);
    let new = &new[..taken];
    engine.reply_array(taken + usize::from(error.is_some()));
    new.iter().for_each(|new| engine.reply_bool(*new));
    if let Some(error) = error {
        engine.reply_error(error);
    }
    if let Some(made) = &made {
        pass_on(ctx, name, made);
        keys.notify(c"bf.reserve", name);
    }
    if new.contains(&true) {
        Counter::Added.add(new.iter().filter(|new| **new).count());
        if plain && made.is_none() && error.is_none() {
            engine.replicate_verbatim();
        } else {
            let accepted: Vec<Str<'_>> =
                items.iter().zip(new).filter(|(_, new)| **new).map(|(item, _)| *item).collect();
            engine.replicate(c"BF.MADD", name, &accepted);
        }
        keys.notify(c"bf.add", name);
    }
    if made.is_some() || new.contains(&true) {
        engine.changed(name);
    }
    Ok(())
}

fn exists(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, item] = ctx.args() else { return Err(Failure::Arity) };
    let found = match keys.open(*name) {
        None => false,
        Some(mut key) => match find(&mut key) {
            Found::Filter(filter) => filter.contains(item.bytes()),
            Found::Arriving => return Err(STILL_LOADING),
            // As in RedisBloom: nothing was ever added to another type.
            Found::Other => false,
        },
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
    let filter = match key.as_mut().map(find) {
        Some(Found::Filter(filter)) => Some(filter),
        Some(Found::Arriving) => return Err(STILL_LOADING),
        Some(Found::Other) | None => None,
    };
    reply_each(ctx, items, |items, out| {
        if let Some(filter) = &filter {
            filter.contains_all(items, out);
        }
    });
    Ok(())
}

fn card(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let items = match with_filter(keys, *name, |filter| filter.items()) {
        Err(none) if none == NOT_FOUND => 0,
        other => other?,
    };
    ctx.engine().reply_integer(items as i64);
    Ok(())
}

/// One line of BF.INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Capacity,
    Size,
    Filters,
    Items,
    Expansion,
}

impl Fact {
    const ALL: [Self; 5] = [Self::Capacity, Self::Size, Self::Filters, Self::Items, Self::Expansion];

    fn parse(word: &[u8]) -> Option<Self> {
        let words: [&[u8]; 5] = [b"CAPACITY", b"SIZE", b"FILTERS", b"ITEMS", b"EXPANSION"];
        Self::ALL
            .into_iter()
            .zip(words)
            .find(|(_, name)| word.eq_ignore_ascii_case(name))
            .map(|(fact, _)| fact)
    }

    fn name(self) -> &'static CStr {
        match self {
            Self::Capacity => c"Capacity",
            Self::Size => c"Size",
            Self::Filters => c"Number of filters",
            Self::Items => c"Number of items inserted",
            Self::Expansion => c"Expansion rate",
        }
    }

    /// `None`: it does not expand.
    fn of(self, filter: &Filter<'_>) -> Option<u64> {
        match (self, filter) {
            (Self::Capacity, Filter::Ours(filter)) => Some(filter.capacity()),
            (Self::Capacity, Filter::RedisBloom(chain)) => Some(chain.capacity()),
            (Self::Size, Filter::Ours(filter)) => Some((size_of::<Bloom>() + filter.memory()) as u64),
            (Self::Size, Filter::RedisBloom(chain)) => Some(chain.size()),
            (Self::Filters, Filter::Ours(filter)) => Some(filter.slices() as u64),
            (Self::Filters, Filter::RedisBloom(chain)) => Some(chain.layers().len() as u64),
            (Self::Items, filter) => Some(filter.items()),
            (Self::Expansion, Filter::Ours(filter)) => Some(filter.expansion().into()).filter(|&by| by > 0),
            (Self::Expansion, Filter::RedisBloom(chain)) => chain.growth().map(u64::from),
        }
    }
}

fn info(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, fact) = match ctx.args() {
        [_, name] => (name, None),
        [_, name, word] => (name, Some(word)),
        _ => return Err(Failure::Arity),
    };
    let engine = ctx.engine();
    with_filter(keys, *name, |filter| {
        let value = |fact: Fact| match fact.of(filter) {
            Some(value) => engine.reply_integer(value as i64),
            None => engine.reply_null(),
        };
        let named = |fact: Fact| {
            engine.reply_status(fact.name());
            value(fact);
        };
        let Some(word) = fact else {
            engine.reply_map(Fact::ALL.len());
            Fact::ALL.into_iter().for_each(named);
            return Ok(());
        };
        let fact = Fact::parse(word.bytes()).ok_or(c"Invalid information value")?;
        if engine.is_resp3() {
            engine.reply_map(1);
            named(fact);
        } else {
            engine.reply_array(1);
            value(fact);
        }
        Ok(())
    })?
}

fn scandump(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"Second argument must be numeric")?;
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    if let Some(filter) = key.value::<Bloom>() {
        return chunks::scandump(ctx, filter, at, &WORDS);
    }
    let chain = key.value::<BloomChain>().ok_or(WRONG_TYPE)?;
    if at == 0 {
        chunks::reply_chunk(ctx, 1, &chain.header());
        return Ok(());
    }
    let (next, bytes) = u64::try_from(at).ok().and_then(|at| chain.chunk(at)).unwrap_or((0, &[]));
    chunks::reply_chunk(ctx, next as i64, bytes);
    Ok(())
}

fn loadchunk(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, at, bytes] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = keys.open_mut(*name)?;
    load(ctx, &mut key, at, bytes.bytes())?;
    drop(key);
    chunks::loaded(ctx, keys, *name, c"bf.loadchunk");
    Ok(())
}

fn load(ctx: &Context<'_>, key: &mut Key<'_>, at: i64, bytes: &[u8]) -> Result<(), Failure> {
    let any_filter = |key: &mut Key<'_>| !find(key).is_other();
    let ours = if at == 1 { Bloom::is_announced(bytes) } else { key.value::<BloomChain>().is_none() };
    if ours {
        return chunks::loadchunk::<Scaling>(ctx, key, at, bytes, &WORDS, any_filter);
    }
    if at == 1 {
        if !key.is_empty() && !any_filter(key) {
            return Err(WRONG_TYPE);
        }
        let chain = BloomChain::from_header(bytes, ctx.limit()).map_err(|error| match error {
            LayoutError::TooLarge { .. } | LayoutError::Memory { .. } => NO_MEMORY,
            _ => Failure::Text(WORDS.bad_data),
        })?;
        return if key.set(chain) { Ok(()) } else { Err(NOT_MADE) };
    }
    let chain = key.value::<BloomChain>().ok_or(WRONG_TYPE)?;
    let at = u64::try_from(at).map_err(|_| WORDS.bad_data)?;
    chain.load_chunk(at, bytes).map_err(|error| match error {
        ChunkError::Offset => Failure::Text(WORDS.offset),
        ChunkError::TooBig => Failure::Text(WORDS.too_big),
    })
}

fn debug(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let engine = ctx.engine();
    with_filter(keys, *name, |filter| {
        let lines = filter.describe();
        engine.reply_array(1 + lines.len());
        engine.reply_bytes(format!("size:{}", filter.items()).as_bytes());
        lines.iter().for_each(|line| engine.reply_bytes(line.as_bytes()));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BloomReserve = BloomReserve {
        error: 0.01,
        capacity: 100,
        expansion: 2,
        seed: None,
        tightening: None,
        peak: None,
        scheme: SchemeId::Fractional,
    };

    fn words(line: &str) -> Vec<&str> {
        line.split(' ').filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn reserve_says_what_is_wrong() {
        let cases: [(&str, &CStr); 21] = [
            ("rose 1", c"ERR bad error rate"),
            ("nan 1", c"ERR bad error rate"),
            ("0 1", c"ERR error rate must be in the range (0.000000, 1.000000)"),
            ("1 1", c"ERR error rate must be in the range (0.000000, 1.000000)"),
            ("inf 1", c"ERR error rate must be in the range (0.000000, 1.000000)"),
            ("-0.1 1", c"ERR error rate must be in the range (0.000000, 1.000000)"),
            ("0.1 rose", c"ERR bad capacity"),
            ("0.1 0", c"ERR capacity must be in the range [1, 1073741824]"),
            ("0.1 -1", c"ERR capacity must be in the range [1, 1073741824]"),
            ("0.1 1073741825", c"ERR capacity must be in the range [1, 1073741824]"),
            ("0.1 1000000000000000000", c"ERR capacity must be in the range [1, 1073741824]"),
            ("0.1 1 EXPANSION", c"ERR no expansion"),
            ("0.1 1 EXPANSION rose", c"ERR bad expansion"),
            ("0.1 1 EXPANSION 32769", c"ERR expansion must be in the range [0, 32768]"),
            ("0.1 1 EXPANSION -1", c"ERR expansion must be in the range [0, 32768]"),
            ("0.1 1 NONSCALING EXPANSION 2", c"Nonscaling filters cannot expand"),
            ("0.1 1 ROSES", c"Unknown argument received"),
            ("0.1 1 PEAK 64", c"ERR bad peak"),
            ("0.1 1 TIGHTENING 1", c"ERR bad tightening"),
            ("0.1 1 SCHEME", c"ERR bad scheme"),
            ("0.1 1 SCHEME rose", c"ERR bad scheme"),
        ];
        for (line, text) in cases {
            assert_eq!(parse_reserve(&words(line), SETTINGS), Err(Failure::Text(text)), "{line}");
        }
        assert_eq!(parse_reserve(&words("0.1"), SETTINGS), Err(Failure::Arity));
        let asked = parse_reserve(&words("0.1 7 expansion 4 seed 18446744073709551615"), SETTINGS).unwrap();
        assert_eq!(
            asked,
            BloomReserve { error: 0.1, capacity: 7, expansion: 4, seed: Some(u64::MAX), ..SETTINGS }
        );
        for line in ["0.1 7 NONSCALING", "0.1 7 EXPANSION 0", "0.1 7 nonscaling EXPANSION 0"] {
            assert_eq!(parse_reserve(&words(line), SETTINGS).unwrap().expansion, 0, "{line}");
        }
    }

    #[test]
    fn insert_says_what_is_wrong() {
        let cases: [(&str, &CStr); 9] = [
            ("CAPACITY rose ITEMS a", c"Bad capacity"),
            ("CAPACITY 0 ITEMS a", c"Bad capacity"),
            ("CAPACITY", c"Bad capacity"),
            ("ERROR 1 ITEMS a", c"Bad error rate"),
            ("ERROR rose ITEMS a", c"Bad error rate"),
            ("EXPANSION -1 ITEMS a", c"Bad expansion"),
            ("EXPANSION 32769 ITEMS a", c"Bad expansion"),
            ("ROSES ITEMS a", c"Unknown argument received"),
            ("NOCREATE a", c"Unknown argument received"),
        ];
        for (line, text) in cases {
            assert_eq!(parse_insert(&words(line), SETTINGS), Err(Failure::Text(text)), "{line}");
        }
        for line in ["", "ITEMS", "NOCREATE", "CAPACITY 7"] {
            assert_eq!(parse_insert(&words(line), SETTINGS), Err(Failure::Arity), "{line}");
        }
        let all = words("capacity 7 error 0.5 expansion 3 nocreate nonscaling items items a");
        let asked = BloomReserve { error: 0.5, capacity: 7, expansion: 0, ..SETTINGS };
        assert_eq!(parse_insert(&all, SETTINGS), Ok(Insertion { asked, create: false, items: 9 }));
    }

    #[test]
    fn a_plan_survives_being_passed_on() {
        for (error, capacity, expansion) in [(0.01, 100, 2), (1e-9, 5, 32_768), (0.3, 10_000, 0), (0.1, 7, 1)]
        {
            let plan = BloomPlan::new(error, capacity, expansion, u64::MAX - 7);
            for scheme in SchemeId::ALL {
                let plan = BloomPlan { scheme, ..plan };
                assert_eq!(parse_reserve(&words_of(&plan), SETTINGS).unwrap().plan(|| 0), plan);
            }
        }
    }
}
