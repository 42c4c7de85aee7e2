//! `gardenia add` and `gardenia remove`: keys into, or out of, a filter file.

use super::relatives;
use crate::args::ChangeArgs;
use crate::input::{Batch, Block, Keys, Reading, Source};
use crate::message::{hinted, say};
use crate::open::{is_stream, load};
use crate::output::Output;
use crate::{Outcome, human, message};
use anyhow::Context;
use gardenia::{AnyFilter, Digest, RemoveError};

pub(crate) fn add(args: &ChangeArgs) -> anyhow::Result<Outcome> {
    let mut new = 0;
    let mut answers = Vec::new();
    let (keys, filter) = change(args, "adding", |filter, digests| {
        answers.resize(digests.len(), false);
        relatives::insert(filter, digests, &mut answers).map_err(message::insert)?;
        new += answers.iter().map(|&new| u64::from(new)).sum::<u64>();
        Ok(())
    })?;
    report(
        args,
        &filter,
        &format!("{} read, {} certainly new", human::plural(keys, "key"), human::count(new)),
    );
    Ok(Outcome::Done)
}

pub(crate) fn remove(args: &ChangeArgs) -> anyhow::Result<Outcome> {
    let (mut removed, mut absent, mut stuck) = (0, 0, 0);
    let (keys, filter) = change(args, "removing", |filter, digests| {
        if !filter.removes() {
            let reason = format!("keys cannot be taken out of a filter of kind {}", filter.kind().name());
            return Err(hinted(reason, "build it with --kind counting or cuckoo"));
        }
        for digest in digests {
            match filter.remove_digest(*digest) {
                Some(Ok(())) => removed += 1,
                Some(Err(RemoveError::Absent)) | None => absent += 1,
                Some(Err(_)) => stuck += 1,
            }
        }
        Ok(())
    })?;
    let mut text = format!("{} read, {} taken out", human::plural(keys, "key"), human::count(removed));
    if absent > 0 {
        text += &format!(", {} not in", human::count(absent));
    }
    if stuck > 0 {
        text += &format!(", {} stuck in cells that lost count", human::count(stuck));
    }
    report(args, &filter, &text);
    Ok(if removed > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Hands the digests of all keys to `work`, and stores what it made of the filter. How many keys there were.
fn change(
    args: &ChangeArgs,
    doing: &str,
    mut work: impl FnMut(&mut AnyFilter, &[Digest]) -> anyhow::Result<()>,
) -> anyhow::Result<(u64, AnyFilter)> {
    let output = output(args);
    if is_stream(&args.filter) && args.output.is_none() {
        return Err(hinted("a filter from a pipe cannot be changed in place", "give -o OUT"));
    }
    let (sources, keys) = (Source::all(&args.keys), args.key.keys()?);
    output.check()?;
    sources.iter().try_for_each(Source::check)?;
    let mut filter = load(&args.filter, args.secret.read()?)?;
    let (hasher, mut count) = (*filter.hasher(), 0);
    work(&mut filter, &[]).with_context(|| crate::input::name(&args.filter))?; // can it at all?
    let (progress, threads) = (!args.quiet, args.threads.count());
    let reading = Reading { sources: &sources, keys: &keys, doing, progress, threads, strict: true };
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    reading.run(look, &mut |_: Block<'_>, batch: &mut Batch| {
        count += batch.digests.len() as u64;
        work(&mut filter, &batch.digests).with_context(|| crate::input::name(&args.filter))
    })?;
    output.write(&filter)?;
    Ok((count, filter))
}

/// The filter's own file, unless another was named.
fn output(args: &ChangeArgs) -> Output<'_> {
    match &args.output {
        Some(path) => Output { path, force: args.force, inputs: &args.keys },
        None => Output { path: args.filter.as_path(), force: true, inputs: &args.keys },
    }
}

fn report(args: &ChangeArgs, filter: &AnyFilter, what: &str) {
    if !args.quiet {
        let rate = human::share(filter.fpp());
        say(&format!("{}: {what}; estimated false positives {rate}", output(args).name()));
    }
}
