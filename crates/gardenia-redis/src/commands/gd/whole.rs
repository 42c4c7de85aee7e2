//! Commands on whole filters.

use super::{
    EXISTS, NO_MEMORY, NOT_FOUND, NOT_MADE, Refusal, STILL_LOADING, announce, filter, find, told, words,
};
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::{Ctx, Key, Keys};
use crate::engine::stats::resized;
use crate::engine::types::Value;
use crate::values::any::{Any, Kept, Loaded, bytes, kind_name};
use crate::values::bloom::Bloom;
use crate::values::count_min::Counts;
use crate::values::stored::{Stored, Whole};
use gardenia::hash::HasherId;
use gardenia::{Ability, DecodeError, SizeError};
use std::ffi::CStr;

pub(super) fn card(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let items = match keys.open(*name) {
        None => Some(0),
        Some(mut key) => filter(&mut key)?.items(),
    };
    reply_whole(ctx.engine(), items);
    Ok(())
}

/// A whole number, or nothing.
fn reply_whole(engine: Ctx<'_>, number: Option<u64>) {
    match number {
        Some(number) => engine.reply_integer(i64::try_from(number).unwrap_or(i64::MAX)),
        None => engine.reply_null(),
    }
}

/// A number that is not whole, as text.
fn reply_number(engine: Ctx<'_>, number: f64) {
    engine.reply_bytes(number.to_string().as_bytes());
}

/// What GD.INFO tells.
struct Facts {
    kind: &'static str,
    planned: (u64, f64),
    fpp: f64,
    memory: usize,
    identity: gardenia::filter::Identity,
    abilities: Vec<&'static str>,
}

impl Facts {
    fn of(filter: &Kept<'_>) -> Self {
        match filter {
            Kept::Any(filter) => {
                let able = [
                    (filter.can(Ability::Insert), "add"),
                    (filter.can(Ability::Remove), "del"),
                    (filter.as_count().is_some(), "count"),
                    (filter.can(Ability::Merge), "merge"),
                ];
                Self {
                    kind: kind_name(filter),
                    planned: (filter.about().planned_items(), filter.about().planned_fpp()),
                    fpp: filter.fpp(),
                    memory: size_of::<Any>() + Whole::memory(&**filter),
                    identity: filter.identity(),
                    abilities: able.into_iter().filter(|(can, _)| *can).map(|(_, what)| what).collect(),
                }
            }
            Kept::Scaling(scaling) => {
                let filter = scaling.filter();
                Self {
                    kind: "scalable",
                    planned: (scaling.capacity(), filter.target()),
                    fpp: filter.fpp(),
                    memory: size_of::<Bloom>() + Whole::memory(&**scaling),
                    identity: filter.identity(),
                    abilities: vec!["add"],
                }
            }
        }
    }
}

pub(super) fn info(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity) };
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    let filter = filter(&mut key)?;
    let Facts { kind, planned, fpp, memory, identity, abilities } = Facts::of(&filter);
    let (engine, (planned_items, planned_fpp)) = (ctx.engine(), planned);
    let named = |name: &CStr| engine.reply_status(name);
    engine.reply_map(12);
    named(c"Kind");
    engine.reply_bytes(kind.as_bytes());
    named(c"Items");
    reply_whole(engine, filter.items());
    named(c"Capacity");
    reply_whole(engine, Some(planned_items).filter(|items| *items > 0));
    named(c"Error rate");
    match planned_fpp {
        0.0 => engine.reply_null(),
        rate => reply_number(engine, rate),
    }
    named(c"Current error rate");
    reply_number(engine, fpp);
    named(c"Size");
    engine.reply_integer(memory as i64);
    named(c"Cells");
    reply_whole(engine, Some(identity.cells));
    named(c"Width");
    engine.reply_integer(identity.width.into());
    named(c"Hashes");
    engine.reply_integer(identity.hashes.into());
    named(c"Hasher");
    engine.reply_bytes(identity.hasher.name().as_bytes());
    named(c"Seed");
    match identity.hasher {
        // As text: a seed may be more than a reply's whole number.
        HasherId::Xxh3 | HasherId::Xxh64 => engine.reply_bytes(identity.mark.to_string().as_bytes()),
        _ => engine.reply_null(),
    }
    named(c"Takes");
    engine.reply_array(abilities.len());
    abilities.iter().for_each(|what| engine.reply_bytes(what.as_bytes()));
    Ok(())
}

pub(super) fn dump(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, dump_file(ctx, keys))
}

fn dump_file(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let [_, name] = ctx.args() else { return Err(Failure::Arity.into()) };
    let mut key = keys.open(*name).ok_or(NOT_FOUND)?;
    let bytes = match key.value::<Counts>() {
        Some(Counts::Whole(sketch)) => bytes(sketch.memory_bytes(), |to| sketch.write_to(to)),
        Some(Counts::Arriving(_)) => return Err(STILL_LOADING.into()),
        None => filter(&mut key)?.to_bytes(),
    };
    ctx.engine().reply_bytes(&bytes.map_err(words)?);
    Ok(())
}

/// What is wrong with a file, in words of commands.
fn not_loaded(error: DecodeError) -> Refusal {
    match error {
        DecodeError::TooLarge { needed, max } => {
            words(format!("the filter needs {needed} bytes, over the limit of {max}: raise bf.memory-limit"))
        }
        DecodeError::SecretMissing { id } => words(format!(
            "the filter is keyed, and its secret (id {id:016x}) is not in the file: write the file with its secret \
             stored (--store-secret), or build it without one"
        )),
        DecodeError::Magic { .. } => words("the bytes are no Gardenia file"),
        DecodeError::Size(SizeError::Memory { .. }) => NO_MEMORY.into(),
        error => words(error),
    }
}

pub(super) fn load(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, load_file(ctx, keys))
}

fn load_file(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let (name, bytes, replace) = match ctx.args() {
        [_, name, bytes] => (name, bytes, false),
        [_, name, bytes, word] if word.bytes().eq_ignore_ascii_case(b"REPLACE") => (name, bytes, true),
        [_, _, _, _] => return Err(c"ERR after the bytes only REPLACE can follow".into()),
        _ => return Err(Failure::Arity.into()),
    };
    let mut key = keys.open_mut(*name)?;
    if !key.is_empty() {
        if find(&mut key).is_other() {
            return Err(WRONG_TYPE.into());
        }
        if !replace {
            return Err(EXISTS.into());
        }
    }
    let loaded = crate::values::any::load(bytes.bytes(), ctx.limit()).map_err(not_loaded)?;
    let set = match loaded {
        Loaded::Any(filter) => key.set(Any::Whole(filter)),
        Loaded::Scaling(filter) => key.set(Bloom::Whole(filter)),
    };
    if !set {
        return Err(NOT_MADE.into());
    }
    drop(key);
    ctx.engine().replicate_verbatim();
    announce(ctx, keys, *name, c"gd.load");
    ctx.reply_ok();
    Ok(())
}

pub(super) fn merge(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, merge_all(ctx, keys))
}

fn merge_all(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let [_, name, sources @ ..] = ctx.args() else { return Err(Failure::Arity.into()) };
    if sources.is_empty() {
        return Err(Failure::Arity.into());
    }
    // The sum is a copy that takes the target's place at the end: an error changes nothing, and one key is open at a time,
    // because any two may be the same.
    let mut target = keys.open_mut(*name)?;
    let mut sum = if target.is_empty() { None } else { Some(copy(&mut target)?) };
    let is_new = sum.is_none();
    drop(target);
    for (at, source) in sources.iter().enumerate() {
        let mut key = keys.open(*source).ok_or_else(|| words(format!("source {} is not there", at + 1)))?;
        match &mut sum {
            None => sum = Some(copy(&mut key)?),
            Some(sum) => unite(sum, &filter(&mut key)?, at + 1)?,
        }
    }
    let sum = sum.ok_or(NOT_MADE)?;
    if is_new && memory(&sum) > ctx.limit() {
        return Err(NO_MEMORY.into());
    }
    let mut target = keys.open_mut(*name)?;
    if !put(&mut target, sum) {
        return Err(NOT_MADE.into());
    }
    drop(target);
    ctx.engine().replicate_verbatim();
    announce(ctx, keys, *name, c"gd.merge");
    ctx.reply_ok();
    Ok(())
}

/// A copy of the filter under a key.
fn copy(key: &mut Key<'_>) -> Result<Loaded, Refusal> {
    let copy = match filter(key)? {
        Kept::Any(filter) => Whole::copy(filter).map(Loaded::Any),
        Kept::Scaling(filter) => filter.copy().map(Loaded::Scaling),
    };
    copy.ok_or(NO_MEMORY.into())
}

/// Adds the items of a source, or says why that cannot be.
fn unite(sum: &mut Loaded, source: &Kept<'_>, number: usize) -> Result<(), Refusal> {
    let (kind, merged) = match (sum, source) {
        (Loaded::Any(sum), Kept::Any(source)) => (kind_name(sum), sum.merge(source)),
        (Loaded::Any(sum), Kept::Scaling(_)) if sum.can(Ability::Merge) => {
            return Err(words(format!(
                "source {number}: the filters differ in kind: {} here, scalable there",
                kind_name(sum)
            )));
        }
        (Loaded::Any(sum), _) => (kind_name(sum), None),
        (Loaded::Scaling(_), _) => ("scalable", None),
    };
    match merged {
        Some(Ok(())) => Ok(()),
        Some(Err(mismatch)) => Err(words(format!("source {number}: {mismatch}"))),
        None => Err(words(format!("filters of kind {kind} cannot be merged"))),
    }
}

/// Bytes of a filter.
fn memory(filter: &Loaded) -> u64 {
    match filter {
        Loaded::Any(filter) => Whole::memory(filter) as u64,
        Loaded::Scaling(filter) => filter.memory() as u64,
    }
}

/// Puts a filter in place of the one under the key, which goes on to live as long as it was to.
fn put(key: &mut Key<'_>, filter: Loaded) -> bool {
    match filter {
        Loaded::Any(filter) => match key.value::<Any>() {
            Some(place) => {
                let before = Value::memory(place);
                *place = Stored::Whole(filter);
                resized(before, Value::memory(place));
                true
            }
            None => key.set(Any::Whole(filter)),
        },
        Loaded::Scaling(filter) => key.set(Bloom::Whole(filter)),
    }
}
