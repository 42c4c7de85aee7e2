//! `gardenia improve`: the keys of a filter with choices choose again, all together.

use super::collected::Collected;
use crate::args::{MemoryArgs, SecretArgs};
use crate::input::{KeyArgs, Reading, Source, StoredArgs};
use crate::message::{self, hinted, say};
use crate::open::{is_dash, is_stream, load};
use crate::output::Output;
use crate::progress::Progress;
use crate::{Outcome, human, input, lock, memory};
use anyhow::Context;
use gardenia::filter::{ChoiceForm, Effort, OfflineProgress, Propagation};
use gardenia::index::AnyScheme;
use gardenia::{AnyFilter, ChoiceBloom, Digest};
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Reduce the false positives of a choice filter
///
/// Keys added one by one used the best group of bits at the time. With all keys known, `improve`
/// chooses again, in rounds: the filter keeps its size and finds the same keys, with fewer bits
/// set. All keys are needed, or those that are left out would be lost; they are held in memory, 8
/// bytes each. For filters of kind choice that were built with --effort online, rounds or
/// propagated; by default `build` places the keys together, which leaves nothing to improve. A
/// filter of an earlier version whose scheme needs a prime number of bits gets a few bits more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia build -o seen.gdn --kind choice --effort online --items 1M urls.txt
  gardenia improve seen.gdn urls.txt                           before and after are printed
  gardenia improve -o better.gdn --rounds 40 seen.gdn urls.txt
  gardenia improve --effort 3 seen.gdn urls.txt                by belief propagation: better, and slower

Exit codes: 0 improved, 1 no improvement found (nothing is written), 2 error.")]
pub(crate) struct ImproveArgs {
    /// The filter file
    pub(crate) filter: PathBuf,

    /// Files of all its keys, one per line; none, or -, is stdin
    pub(crate) keys: Vec<PathBuf>,

    /// Write the improved filter here, and leave FILTER as it is; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace OUT if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// How hard to try: 1 in rounds, 3 by propagation
    #[arg(long, value_name = "1|3", default_value_t = 1, value_parser = effort, allow_negative_numbers = true)]
    pub(crate) effort: u8,

    /// Rounds [default: 15 for two groups, 40 for more, 10 after propagation]
    #[arg(long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) rounds: Option<u64>,

    /// Print before and after as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn effort(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        _ => Err("1 (rounds) or 3 (propagation) is expected".to_owned()),
    }
}

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Serialize)]
struct Report {
    filter: String,
    /// Null if nothing was gained, and so nothing written.
    output: Option<String>,
    /// Different ones.
    keys: u64,
    bits: u64,
    hashes: u32,
    choices: u32,
    rounds: u64,
    fill_before: f64,
    fill_after: f64,
    fpp_before: f64,
    fpp_after: f64,
}

pub(crate) fn run(args: &ImproveArgs) -> anyhow::Result<Outcome> {
    let output = match &args.output {
        Some(path) => Output { path, force: args.force, inputs: &args.keys },
        None => Output { path: args.filter.as_path(), force: true, inputs: &args.keys },
    };
    if is_stream(&args.filter) && args.output.is_none() {
        return Err(hinted("a filter from a pipe cannot be changed in place", "give -o OUT"));
    }
    if args.json && is_dash(output.path) {
        return Err(hinted("the filter and --json cannot both go to stdout", "give -o FILE"));
    }
    if args.rounds == Some(0) {
        return Err(hinted("--rounds 0 leaves the filter as it is", "give 1 or more"));
    }
    let sources = Source::all(&args.keys);
    super::query::check_stdin(&args.filter, &sources)?;
    output.check()?;
    sources.iter().try_for_each(Source::check)?;
    let _lock = match args.output {
        None => Some(lock::hold(&args.filter, args.quiet)?),
        Some(_) => None,
    };
    let name = input::name(&args.filter);
    let before = with_choices(load(&args.filter, &args.memory.options(args.secret.read()?))?)
        .with_context(|| name.clone())?;
    if !matches!(before.form(), ChoiceForm::Groups { .. }) {
        let keys = before.estimated_items().items as u64;
        return Report::new(name, (keys, 0), &before, &before, None)
            .print(args, "its keys were placed together already");
    }
    let how = StoredArgs { keys_as_given: false };
    let keys = args.key.of_filter(before.about(), how).with_context(|| name.clone())?.keys()?;
    let hint = "all keys are held in memory, 8 bytes each";
    let (doing, progress, threads) = ("reading", !args.quiet, 1);
    let reading = Reading { sources: &sources, keys: &keys, doing, progress, threads, strict: true };
    let mut digests = Collected::read(&reading, before.hasher().clone(), hint)?.pieces.concat();
    digests.sort_unstable(); // so that the result does not depend on the order of the files
    digests.dedup();
    let keys = digests.len() as u64;
    check_keys(&before, &digests).with_context(|| name.clone())?;
    let (after, rounds) = improve(args, &before, digests)?;
    // Of the same size by the fill, which is exact. A filter of an earlier version may get another size, and may have a low fill
    // with a high rate.
    let same_size = after.bits() == before.bits();
    let gained = if same_size { after.fill() < before.fill() } else { after.fpp() < before.fpp() };
    let report = Report::new(name, (keys, rounds), &before, &after, gained.then(|| output.name()));
    if gained {
        output.write(&AnyFilter::from(after))?;
    }
    report.print(args, "no improvement found")
}

impl Report {
    /// Of this many keys and rounds.
    fn new(
        filter: String,
        (keys, rounds): (u64, u64),
        before: &ChoiceBloom<AnyScheme>,
        after: &ChoiceBloom<AnyScheme>,
        output: Option<String>,
    ) -> Self {
        Self {
            filter,
            output,
            keys,
            bits: after.bits(),
            hashes: after.hashes(),
            choices: after.choices(),
            rounds,
            fill_before: before.fill(),
            fill_after: after.fill(),
            fpp_before: before.fpp(),
            fpp_after: after.fpp(),
        }
    }

    /// Prints it; `unchanged` if nothing was written.
    fn print(&self, args: &ImproveArgs, unchanged: &str) -> anyhow::Result<Outcome> {
        if args.json {
            writeln!(io::stdout().lock(), "{}", serde_json::to_string(self)?).context("stdout")?;
        } else if !args.quiet {
            self.say(unchanged);
        }
        Ok(if self.output.is_some() { Outcome::Done } else { Outcome::Nothing })
    }

    fn say(&self, unchanged: &str) {
        let Some(output) = &self.output else {
            return say(&format!("{}: {unchanged}; nothing is written", self.filter));
        };
        let keys = human::plural(self.keys, "key");
        let [fill, filled] = [self.fill_before, self.fill_after].map(human::percent);
        let [before, after] = [self.fpp_before, self.fpp_after].map(human::share);
        let rounds = human::plural(self.rounds, "round");
        say(&format!(
            "{output}: {keys} in {rounds}; fill {fill} before, {filled} after; \
             estimated false positives {before} before, {after} after"
        ));
    }
}

/// The filter, if it is of the kind whose keys choose.
fn with_choices(filter: AnyFilter) -> anyhow::Result<ChoiceBloom<AnyScheme>> {
    let kind = filter.kind().name();
    match filter {
        AnyFilter::Choice(filter) => Ok(filter),
        _ => Err(hinted(
            format!("a filter of kind {kind} has no choices to improve"),
            "build it with --kind choice, which has the fewest false positives if all keys are known",
        )),
    }
}

/// An error unless these can be all keys of the filter, and no others.
fn check_keys(filter: &ChoiceBloom<AnyScheme>, digests: &[Digest]) -> anyhow::Result<()> {
    let (given, counted) = (digests.len() as u64, filter.estimated_items().items as u64);
    if given < counted {
        let (given, counted) = (human::plural(given, "distinct key"), human::count(counted));
        return Err(hinted(
            format!("{given} were given, and {counted} were added: the others would be lost"),
            "give all files of its keys; of a merged filter with common keys, build a new one",
        ));
    }
    let mut found = vec![false; digests.len()];
    filter.contains_digests(digests, &mut found);
    match found.iter().map(|&found| u64::from(!found)).sum() {
        0 => Ok(()),
        new => Err(hinted(
            format!(
                "{} of {} were never added: these are not its keys",
                human::count(new),
                human::plural(given, "key")
            ),
            "`gardenia add` adds them",
        )),
    }
}

/// The same shape with the keys in better groups, and the rounds that took.
fn improve(
    args: &ImproveArgs,
    before: &ChoiceBloom<AnyScheme>,
    digests: Vec<Digest>,
) -> anyhow::Result<(ChoiceBloom<AnyScheme>, u64)> {
    let (keys, bits, hashes) = (digests.len() as u64, before.bits(), before.hashes());
    let (choices, scheme) = (before.choices(), before.identity().scheme.unwrap_or_default());
    let effort = Effort::from_level(args.effort).unwrap_or(Effort::Rounds);
    let hint = "give more memory, or build filters of fewer keys";
    memory::require(keys.saturating_mul(2).saturating_add(bits), "choosing among all keys", hint)?;
    let planned = before.about().planned_items();
    let builder = ChoiceBloom::builder()
        .scheme(move |hashes| AnyScheme::new(scheme, hashes))
        .hasher(before.hasher().clone())
        .items(if planned > 0 { planned } else { keys.max(1) })
        .bits(bits)
        .hashes(hashes)
        .choices(choices)
        .effort(effort);
    let mut offline = builder.offline(digests).map_err(message::size)?;
    if effort == Effort::Propagated {
        let how = Propagation::new(bits, keys, hashes, choices);
        let bytes = Propagation::memory_bytes(bits, keys, hashes, choices);
        memory::require(bytes, "propagation", "--effort 1 needs far less")?;
        let mut progress = Progress::steps(how.iterations.into());
        let report = |now: OfflineProgress| {
            progress.step(format!("propagation, {} rounds", now.rounds));
            ControlFlow::Continue(())
        };
        offline.propagate_with(&how, report).map_err(message::size)?;
    }
    let rounds = args.rounds.unwrap_or(effort.rounds(choices));
    let mut progress = Progress::steps(rounds);
    let end = offline.improve_with(rounds, |now| {
        progress.step(format!("choosing, fill {}", human::share(now.fill)));
        ControlFlow::Continue(())
    });
    drop(progress);
    let mut after = offline.finish();
    after.about_mut().set_metadata(before.about().metadata()).map_err(message::encode)?;
    after.about_mut().set_key_note(before.about().key_note()).map_err(message::encode)?;
    after.about_mut().store_secret(before.about().stores_secret());
    Ok((after, end.rounds))
}
