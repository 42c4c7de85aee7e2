//! Commands on items.

use super::{Refusal, announce, filter, filter_mut, refused, reply_refused, told};
use crate::commands::found::reply_each;
use crate::engine::context::{Context, Failure};
use crate::engine::ffi::{Keys, Str};
use crate::engine::stats::Counter;
use crate::values::BATCH;
use crate::values::any::{Kept, Refused};
use gardenia::Digest;

/// The name of the key, and the items.
fn arguments<'a>(ctx: &Context<'a>) -> Result<(Str<'a>, &'a [Str<'a>]), Failure> {
    match ctx.args() {
        [_, name, items @ ..] if !items.is_empty() => Ok((*name, items)),
        _ => Err(Failure::Arity),
    }
}

/// The digests of up to [`BATCH`] items.
fn digests<'r>(filter: &Kept<'_>, items: &[Str<'_>], room: &'r mut [Digest; BATCH]) -> &'r [Digest] {
    let hasher = filter.hasher();
    for (digest, item) in room.iter_mut().zip(items) {
        *digest = hasher.digest(item.bytes());
    }
    &room[..items.len()]
}

pub(super) fn add(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, add_all(ctx, keys))
}

fn add_all(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let (name, items) = arguments(ctx)?;
    let mut key = keys.open_mut(name)?;
    let mut filter = filter_mut(&mut key)?;
    if !filter.inserts() {
        return Err(refused(Refused::Fixed));
    }
    let mut new = vec![false; items.len()];
    let (mut taken, mut error) = (0, None);
    for (items, new) in items.chunks(BATCH).zip(new.chunks_mut(BATCH)) {
        let mut room = [Digest(0); BATCH];
        if let Err((at, why)) = filter.insert(digests(&filter, items, &mut room), new, || ctx.limit()) {
            (taken, error) = (taken + at, Some(why));
            break;
        }
        taken += items.len();
    }
    let is_set = filter.is_set();
    drop(key);
    Counter::Added.add(taken);
    let (new, engine) = (&new[..taken], ctx.engine());
    engine.reply_array(taken + usize::from(error.is_some()));
    new.iter().for_each(|new| engine.reply_bool(*new));
    if let Some(why) = error {
        reply_refused(ctx, why);
    }
    let changed = if is_set { new.contains(&true) } else { taken > 0 };
    if changed {
        if error.is_none() {
            engine.replicate_verbatim();
        } else {
            // To a set those that it has are nothing new.
            let every = !is_set;
            let accepted = items.iter().zip(new).filter(|(_, new)| **new || every).map(|(item, _)| *item);
            engine.replicate(c"GD.ADD", name, &accepted.collect::<Vec<_>>());
        }
        announce(ctx, keys, name, c"gd.add");
    }
    Ok(())
}

pub(super) fn exists(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, items) = arguments(ctx)?;
    let mut key = keys.open(name);
    let filter = key.as_mut().map(filter).transpose()?;
    reply_each(ctx, items, |items, found| {
        let mut room = [Digest(0); BATCH];
        if let Some(filter) = &filter {
            filter.contains(digests(filter, items, &mut room), found);
        }
    });
    Ok(())
}

pub(super) fn count(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let (name, items) = arguments(ctx)?;
    let mut key = keys.open(name);
    let filter = key.as_mut().map(filter).transpose()?;
    let engine = ctx.engine();
    engine.reply_array(items.len());
    for items in items.chunks(BATCH) {
        let (mut room, mut counts) = ([Digest(0); BATCH], [0; BATCH]);
        let counts = &mut counts[..items.len()];
        if let Some(filter) = &filter {
            filter.count(digests(filter, items, &mut room), counts);
        }
        counts.iter().for_each(|count| engine.reply_integer(i64::try_from(*count).unwrap_or(i64::MAX)));
    }
    Ok(())
}

pub(super) fn del(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, delete_all(ctx, keys))
}

fn delete_all(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let (name, items) = arguments(ctx)?;
    let mut key = keys.open_mut(name)?;
    let mut filter = filter_mut(&mut key)?;
    let mut removed = Vec::with_capacity(items.len());
    for item in items {
        let digest = filter.hasher().digest(item.bytes());
        match filter.remove(digest) {
            Err(Refused::Stays) => return Err(refused(Refused::Stays)),
            other => removed.push(other),
        }
    }
    drop(key);
    let engine = ctx.engine();
    engine.reply_array(removed.len());
    for removed in &removed {
        match removed {
            Ok(removed) => engine.reply_bool(*removed),
            Err(why) => reply_refused(ctx, *why),
        }
    }
    // Items that stay where they are change nothing, wherever the command is repeated.
    let gone = items.iter().zip(&removed).filter(|(_, removed)| **removed == Ok(true));
    let gone: Vec<Str<'_>> = gone.map(|(item, _)| *item).collect();
    Counter::Removed.add(gone.len());
    if !gone.is_empty() {
        engine.replicate(c"GD.DEL", name, &gone);
        announce(ctx, keys, name, c"gd.del");
    }
    Ok(())
}
