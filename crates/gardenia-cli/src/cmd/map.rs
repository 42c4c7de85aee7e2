//! Maps from lines to numbers: `gardenia build --kind bloomier`, and `gardenia get`.

use super::build;
use super::count::{Numbered, print_numbers};
use super::query::{check_stdin, outcome};
use crate::args::{BuildArgs, MemoryArgs, SecretArgs, ThreadArgs};
use crate::input::{Batch, Block, KeyArgs, Keys, Reading, Source, name};
use crate::message::{self, hinted};
use crate::open::{Opened, open};
use crate::{Outcome, memory};
use anyhow::Context;
use gardenia::cells::Memory;
use gardenia::{AnyFilter, Bloomier, Digest, KeyHasher};
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Print the numbers that a map has for lines
///
/// Each line of the input that is in the map is printed after its number and a tab. A line that was never put in
/// may be taken for one that was, as seldom as the map was built for, and then has some number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia build -o port.gdn --kind bloomier services.tsv    lines such as: ssh TAB 22
  gardenia get port.gdn names.txt                            22 TAB ssh
  gardenia get -f 3 --delimiter , port.gdn hosts.csv         by a field

Exit codes: 0 a line was in the map, 1 none was, 2 error. An input that cannot be read does not stop the others.")]
pub(crate) struct GetArgs {
    /// The map; - is stdin
    pub(crate) filter: PathBuf,

    /// Files of lines to look up; none, or -, is stdin
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

pub(crate) fn get(args: &GetArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    let (opened, keys) = (open(&args.filter, &args.memory.options(args.secret.read()?))?, args.key.keys()?);
    values(&opened, &[], &mut []).with_context(|| name(&args.filter))?; // is it a map?
    let (mut stdout, hasher) = (io::stdout().lock(), opened.hasher());
    let (progress, threads) = (!stdout.is_terminal(), args.threads.count());
    let reading =
        Reading { sources: &sources, keys: &keys, doing: "looking up", progress, threads, strict: false };
    let look = |keys: &Keys, block: Block<'_>, part: &mut Numbered| {
        keys.read(&hasher, block, &mut part.batch)?;
        let mut found = vec![None; part.batch.digests.len()];
        values(&opened, &part.batch.digests, &mut found)?;
        part.numbers.clear();
        part.numbers.extend(found.into_iter().map(|value| value.map(u64::from)));
        Ok(())
    };
    let mut found = false;
    let trouble = print_numbers(&reading, look, &mut stdout, |_| found = true)?;
    Ok(outcome(trouble, found))
}

/// What a map has for keys of these digests; an error if it is none.
fn values(opened: &Opened, digests: &[Digest], values: &mut [Option<u32>]) -> anyhow::Result<()> {
    fn of(
        filter: &AnyFilter<impl Memory>,
        digests: &[Digest],
        values: &mut [Option<u32>],
    ) -> anyhow::Result<()> {
        match filter {
            AnyFilter::Bloomier(map) => map.get_digests(digests, values),
            AnyFilter::MutableBloomier(map) => map.get_digests(digests, values),
            other => {
                let reason = format!("a filter of kind {} has no numbers for its keys", other.kind().name());
                return Err(hinted(reason, "build it with --kind bloomier"));
            }
        }
        Ok(())
    }
    match opened {
        Opened::Mapped(filter) => of(filter, digests, values),
        Opened::Read(filter) => of(filter, digests, values),
    }
}

/// A map of all records, each a key and its number; and how many there were.
pub(crate) fn build(
    args: &BuildArgs,
    hasher: KeyHasher,
    sources: &[Source],
) -> anyhow::Result<(AnyFilter, u64)> {
    let keys = args.key.keys_and_values(args.more.value.as_deref())?;
    let look = |keys: &Keys, block: Block<'_>, part: &mut Pairs| {
        let Pairs { batch, digests, values } = part;
        digests.clear();
        values.clear();
        keys.pairs(&hasher, block, batch, |digest, value| {
            digests.push(digest);
            values.push(number(value)?);
            Ok(())
        })
    };
    let mut all = Pairs::default();
    build::reading(args, sources, &keys, "reading").run(look, &mut |_: Block<'_>, part: &mut Pairs| {
        let hint = "a map is built of all records at once";
        memory::require(64 * part.digests.len() as u64, "keeping the records aside", hint)?;
        all.digests.extend_from_slice(&part.digests);
        all.values.extend_from_slice(&part.values);
        Ok(())
    })?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = Bloomier::builder().hasher(hasher).threads(threads);
    if let Some(bits) = args.width {
        builder = builder.value_bits(bits);
    }
    if let Some(bits) = args.more.check {
        builder = builder.check_bits(bits);
    }
    if let Some(arity) = args.more.arity {
        builder = builder.arity(arity);
    }
    let map = builder.build_from_digests(&all.digests, &all.values).map_err(message::build)?;
    build::within(args, map.memory_bytes() as u64)?;
    Ok((map.into(), all.digests.len() as u64))
}

/// The keys and numbers of a block.
#[derive(Default)]
struct Pairs {
    batch: Batch,
    digests: Vec<Digest>,
    values: Vec<u32>,
}

fn number(text: &[u8]) -> anyhow::Result<u32> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        let text = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        hinted(
            format!("{text:?} is not a whole number below 2^32"),
            "--value says where a record has its number",
        )
    })
}
