//! Maps from lines to numbers: `gardenia build --kind bloomier`, and `gardenia get`.

use super::build;
use super::count::{Numbered, print_numbers};
use super::query::{check_stdin, outcome};
use crate::args::{BuildArgs, MemoryArgs, SecretArgs, ThreadArgs};
use crate::input::{Batch, Block, KeyArgs, Keys, Reading, Source, StoredArgs, has_cr, name};
use crate::message::hinted;
use crate::open::{check_unchanged, open};
use crate::spec::{explain, kinds_that};
use crate::{Outcome, memory};
use gardenia::{Ability, AnyFilter, Digest, Spec};
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Look up the number stored for each line
///
/// Each line of the input that is in the map is printed after its number and a tab. A line that was
/// never added is reported with an arbitrary number at the false-positive rate the map was built
/// for.
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
    pub(crate) stored: StoredArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

pub(crate) fn get(args: &GetArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    let opened = open(&args.filter, &args.memory.options(args.secret.read()?))?;
    let keys = args.key.of_filter(opened.about(), args.stored)?.keys()?;
    let keys = keys.tell_unseen_bytes(has_cr(opened.about()) == Some(false));
    if !opened.can(Ability::Map) {
        let (file, kind) = (name(&args.filter), opened.kind().name());
        let hint = format!("build it with --kind {}", kinds_that(Ability::Map));
        return Err(hinted(format!("{file}: a filter of kind {kind} has no numbers for its keys"), hint));
    }
    let (mut stdout, hasher) = (io::stdout().lock(), opened.hasher().clone());
    let (progress, threads) = (!stdout.is_terminal(), args.threads.count());
    let reading =
        Reading { sources: &sources, keys: &keys, doing: "looking up", progress, threads, strict: false };
    let look = |keys: &Keys, block: Block<'_>, part: &mut Numbered| {
        keys.read(&hasher, block, &mut part.batch)?;
        let mut found = vec![None; part.batch.digests.len()];
        opened.get_digests(&part.batch.digests, &mut found);
        check_unchanged(&opened, &args.filter)?;
        part.numbers.clear();
        part.numbers.extend(found.into_iter().map(|value| value.map(u64::from)));
        Ok(())
    };
    let mut found = false;
    let trouble = print_numbers(&reading, look, &mut stdout, u64::MAX, |_| found = true)?;
    Ok(outcome(trouble, found))
}

/// A map of all records, each a key and its number; and how many there were.
pub(crate) fn build(args: &BuildArgs, spec: &Spec, sources: &[Source]) -> anyhow::Result<(AnyFilter, u64)> {
    let keys = args.key.keys_and_values(args.value.as_deref())?;
    let hasher = spec.hasher();
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
        memory::require(64 * part.digests.len() as u64, "holding the records in memory", hint)?;
        all.digests.extend_from_slice(&part.digests);
        all.values.extend_from_slice(&part.values);
        Ok(())
    })?;
    let map = spec.build_map(&all.digests, &all.values).map_err(explain)?;
    build::within(spec, map.memory_bytes() as u64)?;
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
