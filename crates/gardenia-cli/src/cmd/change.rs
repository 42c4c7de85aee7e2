//! `gardenia add` and `gardenia remove`: keys into, or out of, a filter file.

use super::build::{counted, full};
use crate::args::{AddArgs, ChangeArgs, OnFull};
use crate::input::{Batch, Block, Keys, Reading, Source, has_cr};
use crate::message::{hinted, say, with_hint};
use crate::open::is_stream;
use crate::output::Output;
use crate::spec::kinds_that;
use crate::split::Target;
use crate::{Outcome, foreign, human, lock, message};
use anyhow::Context;
use gardenia::filter::SplitFiles;
use gardenia::{Ability, Digest, Kind, RemoveError};
use std::path::Path;

pub(crate) fn add(args: &AddArgs) -> anyhow::Result<Outcome> {
    let (on_full, args) = (args.on_full.unwrap_or_default(), &args.change);
    let (mut new, mut stored, mut left_out) = (0, 0, 0);
    let (mut answers, mut before) = (Vec::new(), None);
    let (keys, filter) = change(args, "adding", |filter, digests| {
        let grows = filter.kind().can(Ability::Grow);
        if on_full == OnFull::Grow && !grows {
            let reason = format!("a filter of kind {} does not grow", filter.kind().name());
            let hint = format!("build it with one of --kind {}", kinds_that(Ability::Grow));
            return Err(hinted(reason, hint));
        }
        if on_full == OnFull::Error && filter.kind() == Kind::Split {
            let reason = "a filter of kind split is changed in place, so lines that were added stay";
            return Err(hinted(reason, "leave out --on-full error"));
        }
        answers.resize(digests.len(), false);
        let beyond = filter.insert(digests, &mut answers)?;
        let came = answers.iter().map(|&new| u64::from(new)).sum::<u64>();
        new += came;
        left_out += beyond;
        // What takes room.
        stored += if filter.can(Ability::Copies) { digests.len() as u64 - beyond } else { came };
        // Filters of foreign formats have their keys counted.
        let counted = filter.about().counted_items().map(|items| items.saturating_add(came));
        filter.about_mut().set_counted_items(counted);
        if on_full == OnFull::Error {
            // Counting what is in looks at every cell: done once.
            let before = *before.get_or_insert_with(|| held(filter));
            if let Some((surely, _, planned)) = before
                && surely + stored as f64 > planned as f64
            {
                return Err(full(filter, planned));
            }
            if left_out > 0 {
                return Err(message::copies(left_out, filter.kind()));
            }
        }
        Ok(())
    })?;
    let (keys, new) = (human::plural(keys, "key"), human::count(new));
    report(args, &filter, &format!("{keys} read, {new} certainly new"));
    if let Some((surely, about, planned)) = held(&filter)
        && surely > planned as f64
    {
        let (name, planned) = (output(args).name(), human::plural(planned, "key"));
        let full = match about {
            u64::MAX => "the filter is full, and reports every key as present".to_owned(),
            about => format!("the filter holds about {} {}", human::count(about), counted(&filter)),
        };
        say(&format!("gardenia: warning: {name}: {full}; it was planned for {planned}"));
        say("hint: build it again with a larger --items, or with --kind scalable, which grows");
    }
    message::warn_of_saturation(&output(args).name(), filter.saturated(), filter.identity().hashes);
    let kind = filter.kind();
    filter.close()?;
    message::left_out(left_out, kind, &output(args).name())
}

/// How many keys a filter surely holds, about how many, and how many were planned; nothing of
/// filters that forget, or whose rate does not depend on the number.
fn held(filter: &Target) -> Option<(f64, u64, u64)> {
    let planned = filter.about().planned_items();
    let fills = ![Ability::Forget, Ability::Grow].iter().any(|ability| filter.kind().can(*ability));
    let estimate = filter.estimated_items().filter(|_| fills && planned > 0)?;
    // Of a filter that is full to the last cell nothing can be estimated but that there are too many.
    let surely = match estimate.items.is_finite() {
        true => estimate.items - 3.0 * estimate.std_error,
        false => f64::INFINITY,
    };
    Some((surely, estimate.items.round() as u64, planned))
}

pub(crate) fn remove(args: &ChangeArgs) -> anyhow::Result<Outcome> {
    let (mut removed, mut absent, mut stuck, mut ambiguous) = (0, 0, 0, 0);
    let (keys, filter) = change(args, "removing", |filter, digests| {
        if !filter.can(Ability::Remove) {
            let reason = format!("keys cannot be removed from a filter of kind {}", filter.kind().name());
            return Err(hinted(reason, "build it with --kind counting, cuckoo or split"));
        }
        for digest in digests {
            match filter.remove(*digest) {
                Some(Ok(())) => removed += 1,
                Some(Err(RemoveError::Absent)) | None => absent += 1,
                Some(Err(RemoveError::Ambiguous)) => ambiguous += 1,
                Some(Err(_)) => stuck += 1,
            }
        }
        Ok(())
    })?;
    let mut text = format!("{} read, {} removed", human::plural(keys, "key"), human::count(removed));
    if absent > 0 {
        text += &format!(", {} not in the filter", human::count(absent));
    }
    if stuck > 0 {
        text += &format!(", {} could not be removed (their counters had overflowed)", human::count(stuck));
    }
    if ambiguous > 0 {
        text += &format!(", {} could not be removed (several layers may hold them)", human::count(ambiguous));
    }
    report(args, &filter, &text);
    filter.close()?;
    Ok(if removed > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Hands the digests of all keys to `work`, and stores the filter as it changed it. How many keys
/// there were.
fn change(
    args: &ChangeArgs,
    doing: &str,
    mut work: impl FnMut(&mut Target, &[Digest]) -> anyhow::Result<()>,
) -> anyhow::Result<(u64, Target)> {
    let output = output(args);
    if is_stream(&args.filter) && args.output.is_none() {
        return Err(hinted("a filter from a pipe cannot be changed in place", "give -o OUT"));
    }
    let split = SplitFiles::find(&args.filter);
    if split.is_some() && args.output.is_some() {
        let reason =
            format!("{}: a filter of kind split is changed in place", crate::input::name(&args.filter));
        return Err(hinted(reason, "leave out -o; to keep the old filter, copy both files first"));
    }
    foreign::refuse_change(&args.filter)?;
    let sources = Source::all(&args.keys);
    output.check()?;
    sources.iter().try_for_each(Source::check)?;
    // Until the changed filter is in its place: what another process adds meanwhile must not be lost.
    // A split filter has a lock of its own.
    let locked = in_place(args) && split.is_none();
    let _lock = if locked { Some(lock::hold(&args.filter, args.quiet)?) } else { None };
    let mut filter = Target::open(&args.filter, &args.memory.options(args.secret.read()?), args.quiet)?;
    let (hasher, mut count) = (filter.hasher().clone(), 0);
    let keys = args.key.of_filter(filter.about(), args.stored);
    let keys = keys.with_context(|| crate::input::name(&args.filter))?.keys()?;
    let keys = keys.tell_unseen_bytes(has_cr(filter.about()) == Some(false));
    work(&mut filter, &[]).with_context(|| crate::input::name(&args.filter))?; // can it at all?
    let (progress, threads) = (!args.quiet, args.threads.count());
    let reading = Reading { sources: &sources, keys: &keys, doing, progress, threads, strict: true };
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    let read = reading.run(look, &mut |_: Block<'_>, batch: &mut Batch| {
        count += batch.digests.len() as u64;
        work(&mut filter, &batch.digests).with_context(|| crate::input::name(&args.filter))
    });
    if split.is_none() {
        read?;
        filter.write(&output)?;
    } else {
        // What it has taken in stays, whatever became of the input.
        let hint = "the lines are in the counters: free some space, and gardenia recover writes the bits";
        filter.write(&output).map_err(|error| with_hint(error, hint))?;
        if read.is_err() {
            let (name, lines) = (output.name(), human::plural(count, "line"));
            say(&format!("gardenia: warning: {name}: {lines} done before the error: continue after them"));
        }
        read?;
    }
    Ok((count, filter))
}

/// Whether the file that is read is the one that is written.
fn in_place(args: &ChangeArgs) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    args.output.as_ref().is_none_or(|output| real(output).is_some_and(|to| real(&args.filter) == Some(to)))
}

/// The filter's own file, unless another was named.
fn output(args: &ChangeArgs) -> Output<'_> {
    match &args.output {
        Some(path) => Output { path, force: args.force, inputs: &args.keys },
        None => Output { path: args.filter.as_path(), force: true, inputs: &args.keys },
    }
}

fn report(args: &ChangeArgs, filter: &Target, what: &str) {
    if !args.quiet {
        let rate = message::rate(filter.fpp(), filter.is_empty());
        say(&format!("{}: {what}; estimated false positives {rate}", output(args).name()));
    }
}
