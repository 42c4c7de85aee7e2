//! The filters and lists that are asked, and what they answer of a block of lines.

use super::args::QueryArgs;
use super::keys::TokenKeys;
use super::tokens;
use crate::cmd::points;
use crate::foreign;
use crate::input::{Batch, Block, Inherited, KeyArgs, KeyTexts, Keys, Row, Scratch, has_cr, name};
use crate::list::List;
use crate::message::{hinted, say};
use crate::open::{check_unchanged, is_dash, is_stream, try_open};
use crate::{message, split};
use anyhow::Context;
use gardenia::filter::About;
use gardenia::format::{Foreign, KeyError, KeyType};
use gardenia::{Ability, DecodeError, Digest, DistanceSensitiveBloom, Filter, KeyHasher, Kind, OpenFilter};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The filters that are asked.
pub(super) struct Filters {
    targets: Vec<Target>,
    /// What a line is marked with.
    pub(super) labels: Vec<String>,
    /// The hash functions, each once.
    hashers: Vec<KeyHasher>,
    /// In one of which a key must be that the filters find, if there are any.
    confirming: Vec<List>,
    /// Keys are not the records, but in them.
    tokens: Option<TokenKeys>,
    all: bool,
    invert: bool,
    /// Where the keys are is of interest.
    mark: bool,
    /// Some key was found.
    hit: AtomicBool,
}

/// What is asked.
enum Target {
    /// A filter of keys, hashed by this hash function.
    Keys(Box<OpenFilter>, PathBuf, usize),
    /// A filter of points.
    Points(DistanceSensitiveBloom, PathBuf),
    /// A filter of another program, whose keys are of this type.
    Foreign(Box<dyn Foreign>, PathBuf, Option<KeyType>),
    /// A list, with the hash function of its index.
    List(Box<List>, usize),
}

impl Target {
    /// The file of a filter, its kind, and what it says of itself; one of another program has
    /// neither, and a list says nothing.
    fn filter(&self) -> Option<(&Path, Option<(Kind, &About)>)> {
        match self {
            Self::Keys(filter, path, _) => Some((path, Some((filter.kind(), filter.about())))),
            Self::Points(filter, path) => Some((path, Some((Kind::DistanceSensitive, filter.about())))),
            Self::Foreign(_, path, _) => Some((path, None)),
            Self::List(..) => None,
        }
    }

    /// Warns where "not in the filter" is not certain, if the lines that are not in it are printed.
    fn warn(&self, args: &QueryArgs) {
        let relies = (args.invert || args.unmatched.is_some() || args.files_without_match) && !args.quiet;
        if let Some((path, Some((kind, _)))) = self.filter()
            && relies
            && kind.can(Ability::Miss)
        {
            let (path, kind) = (name(path), kind.name());
            message::say(&format!(
                "gardenia: warning: {path}: a filter of kind {kind} may miss lines that were added, and treats them as not in the filter"
            ));
        }
    }
}

/// How keys are made: as the options say, and where they say nothing as the filters do, which must
/// agree.
fn stored_keys(args: &QueryArgs, targets: &[Target]) -> anyhow::Result<KeyArgs> {
    let mut all: Option<(&Path, KeyArgs)> = None;
    for (path, ours) in targets.iter().filter_map(Target::filter) {
        let mut keys = match ours {
            Some((_, about)) => args.key.of_filter(about, args.stored).with_context(|| name(path))?,
            None => args.key.clone(),
        };
        if args.tokens || args.extract.is_some() {
            // Keys are anywhere in a line, wherever those of the filter were.
            let KeyArgs { field, delimiter, csv, no_header, json_key, null, .. } = args.key.clone();
            let inherited = Inherited::default();
            keys = KeyArgs { field, delimiter, csv, no_header, json_key, null, inherited, ..keys };
        }
        match &all {
            Some((first, others)) if *others != keys => {
                let (first, path) = (name(first), name(path));
                let (theirs, ours) = (others.describe(), keys.describe());
                let reason = format!("{first} was built with {theirs}, and {path} with {ours}");
                let hint = "query them one by one, or say how keys are made with --keys-as-given";
                return Err(hinted(reason, hint));
            }
            Some(_) => {}
            None => all = Some((path, keys)),
        }
    }
    Ok(all.map_or_else(|| args.key.clone(), |(_, keys)| keys))
}

/// How the filters that are asked were built, if they say so: with the same options, or the list
/// that confirms their hits cannot be read by them.
fn built_with(args: &QueryArgs, targets: &[Target]) -> anyhow::Result<Option<KeyArgs>> {
    let mut first: Option<KeyArgs> = None;
    if args.stored.keys_as_given {
        return Ok(None);
    }
    for (path, about) in targets.iter().filter_map(Target::filter) {
        let Some((_, about)) = about else { continue };
        let Some(found) = KeyArgs::stored_in(about).with_context(|| name(path))? else { continue };
        match &first {
            Some(first) if *first != found && args.list_field.is_none() => {
                let (first, found) = (first.describe(), found.describe());
                let reason = format!("the filters were built with {first} and with {found}");
                return Err(hinted(
                    reason,
                    "say where the keys of the list are: --list-field N, or 0 for whole lines",
                ));
            }
            Some(_) => {}
            None => first = Some(found),
        }
    }
    Ok(first)
}

/// What was found out about a block.
#[derive(Default)]
pub(super) struct Answers {
    /// The digests of keys, one batch for each hash function; the first has the records.
    batches: Vec<Batch>,
    texts: KeyTexts,
    scratch: Scratch,
    /// Where tokens are in the block.
    spans: Vec<(usize, usize)>,
    /// One for each target: which keys it has.
    answers: Vec<Vec<bool>>,
    /// Which keys are found.
    found: Vec<bool>,
    /// Which records are to be printed.
    pub(super) wanted: Vec<bool>,
    /// What was found in them, in order, if that is of interest.
    pub(super) matches: Vec<Match>,
    /// Keys that do not stand in their record as they are.
    pub(super) copies: Vec<u8>,
}

/// What was found in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// The number of the record in its block.
    pub(super) record: usize,
    /// Where it is in the block or, if `copied`, in the copies.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) copied: bool,
}

impl Answers {
    /// The records of the block.
    pub(super) fn records(&self) -> Option<&Batch> {
        self.batches.first()
    }

    /// The targets that have a key of this record.
    pub(super) fn targets(&self, key: usize) -> impl Iterator<Item = usize> {
        (0..self.answers.len()).filter(move |&target| self.answers[target].get(key) == Some(&true))
    }
}

impl Filters {
    /// Opens them, and tells how keys are made for them.
    pub(super) fn open(
        args: &QueryArgs,
        paths: &[PathBuf],
        progress: bool,
    ) -> anyhow::Result<(Self, KeyArgs)> {
        let options = args.memory.options(args.secret.read()?);
        let (mut targets, mut hashers) = (Vec::new(), Vec::<KeyHasher>::new());
        let mut place = |hasher: KeyHasher| {
            hashers.iter().position(|known| *known == hasher).unwrap_or_else(|| {
                hashers.push(hasher);
                hashers.len() - 1
            })
        };
        for path in paths {
            if let Some(filter) = foreign::open_to_ask(path, args.foreign, &options)? {
                place(KeyHasher::default()); // as of points
                targets.push(Target::Foreign(filter, path.clone(), args.foreign.as_type));
                continue;
            }
            split::check(path, &options)?;
            targets.push(match try_open(path, &options) {
                Ok(filter) => {
                    let hashed = place(filter.hasher().clone());
                    Target::Keys(Box::new(filter), path.clone(), hashed)
                }
                Err(DecodeError::Kind { found, .. })
                    if found == Kind::DistanceSensitive.name() && !is_stream(path) =>
                {
                    let filter = points::load(path, &options)?;
                    place(filter.hasher().clone()); // records are told by a batch, whatever is asked
                    Target::Points(filter, path.clone())
                }
                Err(error) => return Err(message::decode(error).context(name(path))),
            });
        }
        targets.iter().for_each(|target| target.warn(args));
        let key = stored_keys(args, &targets)?;
        key.keys()?; // before a list is read
        let built = if args.confirm.is_empty() { None } else { built_with(args, &targets)? };
        let list_key = args.list_key(&key, built.as_ref())?;
        let findable: Option<fn(&[u8]) -> bool> = if args.tokens { Some(tokens::is_token) } else { None };
        let open = |path: &PathBuf| List::open(path, &list_key, args.index.as_deref(), findable, progress);
        let mut confirming = args.confirm.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        if key.null && !list_key.null {
            confirming.iter().for_each(List::warn_of_nul);
        }
        let labelled = if paths.is_empty() { &args.confirm } else { paths };
        if paths.is_empty() {
            let hashed = place(List::hasher());
            targets.extend(confirming.drain(..).map(|list| Target::List(Box::new(list), hashed)));
        }
        let label = |path: &PathBuf| match path.file_stem() {
            Some(stem) if !is_dash(path) => stem.to_string_lossy().into_owned(),
            _ => name(path),
        };
        let filters = Self {
            targets,
            labels: labelled.iter().map(label).collect(),
            hashers,
            confirming,
            tokens: TokenKeys::new(args, &key)?,
            all: args.all,
            invert: args.invert,
            mark: !args.invert && (args.only_matching || args.coloured()),
            hit: AtomicBool::new(false),
        };
        Ok((filters, key))
    }

    /// Whether nothing can be found, because only empty lists are asked.
    pub(super) fn are_empty(&self) -> bool {
        let empty = |target: &Target| matches!(target, Target::List(list, _) if list.is_empty());
        self.targets.iter().all(empty)
    }

    /// What is asked, by name, whether it is a filter, and whether its keys end in a carriage
    /// return, if that is known.
    fn ends(&self) -> impl Iterator<Item = (String, bool, Option<bool>)> {
        let list = |list: &List| (list.name(), false, Some(list.has_cr()));
        let asked = self.targets.iter().filter_map(move |target| match target {
            Target::List(asked, _) => Some(list(asked)),
            target => target.filter().map(|(path, ours)| {
                let ends = ours.and_then(|(_, about)| has_cr(about));
                (name(path), true, ends)
            }),
        });
        asked.chain(self.confirming.iter().map(list))
    }

    /// Whether it is known that no key ends in a carriage return.
    pub(super) fn have_no_cr(&self) -> bool {
        self.ends().all(|(_, _, ends)| ends == Some(false))
    }

    /// Reports, once all is read, carriage returns that only keys have, or that only the lines that
    /// were looked up have.
    pub(super) fn warn_of_cr(&self, in_lines: bool) {
        for (name, is_filter, ends) in self.ends() {
            match ends {
                Some(true) if !in_lines => {
                    say(&format!(
                        "gardenia: warning: {name}: some keys end in CR, and no line that was looked up does"
                    ));
                    say(match is_filter {
                        true => "hint: build the filter again with --crlf",
                        false => "hint: --crlf leaves the CR out",
                    });
                }
                None if in_lines && !self.hit.load(Ordering::Relaxed) => {
                    say(&format!(
                        "gardenia: warning: {name}: nothing was found, and some lines end in CR LF: the CR is part of their keys"
                    ));
                    say("hint: --crlf leaves it out");
                }
                _ => {}
            }
        }
    }

    /// The files of filters and indexes in use, which hold no lines.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let asked = self.targets.iter().filter_map(|target| match target {
            Target::Keys(_, path, _) | Target::Points(_, path) | Target::Foreign(_, path, _) => Some(&**path),
            Target::List(list, _) => list.index_path(),
        });
        asked.chain(self.confirming.iter().filter_map(List::index_path)).map(Path::to_owned).collect()
    }

    /// Asks for the keys of a block.
    pub(super) fn look(&self, keys: &Keys, block: Block<'_>, part: &mut Answers) -> anyhow::Result<()> {
        part.batches.resize_with(self.hashers.len(), Batch::default);
        part.answers.resize_with(self.targets.len(), Vec::new);
        match &self.tokens {
            None => {
                for (hasher, batch) in self.hashers.iter().zip(&mut part.batches) {
                    keys.read(hasher, block, batch)?;
                }
            }
            Some(tokens) => {
                let Answers { batches, spans, .. } = part;
                for (at, (hasher, batch)) in self.hashers.iter().zip(batches).enumerate() {
                    tokens.read(hasher, block, batch, (at == 0).then_some(&mut *spans));
                }
            }
        }
        for (target, which) in self.targets.iter().zip(0..) {
            self.ask(target, which, keys, block, part)?;
        }
        self.combine(part);
        if !self.confirming.is_empty() {
            self.confirm_any(keys, block, part)?;
        }
        if !self.hit.load(Ordering::Relaxed) && part.found.contains(&true) {
            self.hit.store(true, Ordering::Relaxed);
        }
        match self.tokens {
            None => {
                if self.mark {
                    mark_records(keys, block, part);
                }
                std::mem::swap(&mut part.wanted, &mut part.found);
            }
            Some(_) => self.mark_tokens(block, part),
        }
        if self.invert {
            part.wanted.iter_mut().for_each(|wanted| *wanted = !*wanted);
        }
        Ok(())
    }

    /// Asks one target.
    fn ask(
        &self,
        target: &Target,
        which: usize,
        keys: &Keys,
        block: Block<'_>,
        part: &mut Answers,
    ) -> anyhow::Result<()> {
        match target {
            Target::Keys(filter, path, hashed) => {
                let (digests, answers) = (&part.batches[*hashed].digests, &mut part.answers[which]);
                answers.resize(digests.len(), false);
                filter.contains_digests(digests, answers);
                check_unchanged(filter, path)
            }
            Target::Points(filter, _) => {
                self.each_key(which, keys, block, part, |key| points::is_near(filter, key))
            }
            Target::Foreign(filter, _, as_type) => {
                let (tokens, mut scratch) = (self.tokens.is_some(), Vec::new());
                self.each_key(which, keys, block, part, |key| {
                    // What is anywhere in a line may be no key at all.
                    match foreign::contains(&**filter, *as_type, key, &mut scratch) {
                        Err(KeyError::Text { .. }) if tokens => Ok(false),
                        answer => answer.map_err(foreign::key_error),
                    }
                })
            }
            Target::List(list, hashed) => {
                let mut answers = std::mem::take(&mut part.answers[which]);
                let digests = &part.batches[*hashed].digests;
                answers.resize(digests.len(), false);
                list.may_contain(digests, &mut answers)?;
                let done =
                    self.each_hit(keys, block, part, &mut answers, Some(*hashed), |digest, key, scratch| {
                        list.contains(digest, key, scratch)
                    });
                part.answers[which] = answers;
                done.and_then(|()| list.check_unchanged())
            }
        }
    }

    /// Asks a target of each key, by its bytes.
    fn each_key(
        &self,
        which: usize,
        keys: &Keys,
        block: Block<'_>,
        part: &mut Answers,
        mut has: impl FnMut(&[u8]) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let Answers { answers, texts, spans, scratch, .. } = part;
        let answers = &mut answers[which];
        answers.clear();
        if let Some(tokens) = &self.tokens {
            for &(start, end) in spans.iter() {
                let key = tokens.keys().text_of(&block.bytes()[start..end], scratch);
                answers.push(key.map_or(Ok(false), &mut has)?);
            }
            return Ok(());
        }
        keys.texts_too(block, texts)?;
        for key in texts.slices(block) {
            answers.push(has(key)?);
        }
        Ok(())
    }

    /// Whether keys are found, by what all targets say of them.
    fn combine(&self, part: &mut Answers) {
        let Answers { answers, found, .. } = part;
        found.clear();
        let Some((first, others)) = answers.split_first() else { return };
        found.extend_from_slice(first);
        for other in others {
            let pairs = found.iter_mut().zip(other);
            if self.all {
                pairs.for_each(|(found, answer)| *found &= answer);
            } else {
                pairs.for_each(|(found, answer)| *found |= answer);
            }
        }
    }

    /// Leaves of the keys found those that are in a list.
    fn confirm_any(&self, keys: &Keys, block: Block<'_>, part: &mut Answers) -> anyhow::Result<()> {
        let mut found = std::mem::take(&mut part.found);
        let hashed = self.hashers.iter().position(|hasher| *hasher == List::hasher());
        let done = self.each_hit(keys, block, part, &mut found, hashed, |digest, key, scratch| {
            for list in &self.confirming {
                if list.contains(digest, key, scratch)? {
                    return Ok(true);
                }
            }
            Ok(false)
        });
        part.found = found;
        done?;
        self.confirming.iter().try_for_each(List::check_unchanged)
    }

    /// Asks `keep` of each key that is found, by its digest and its bytes.
    fn each_hit(
        &self,
        keys: &Keys,
        block: Block<'_>,
        part: &mut Answers,
        found: &mut [bool],
        hashed: Option<usize>,
        mut keep: impl FnMut(Digest, &[u8], &mut Scratch) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let Answers { batches, spans, scratch, .. } = part;
        let mut lines = Scratch::default(); // of the list, beside that of the record
        let digest = |at: usize, key: &[u8]| match hashed {
            Some(hashed) => batches[hashed].digests[at],
            None => List::hasher().digest(key),
        };
        if let Some(tokens) = &self.tokens {
            for (at, found) in found.iter_mut().enumerate().filter(|(_, found)| **found) {
                let (start, end) = spans[at];
                *found = match tokens.keys().bytes_of(&block.bytes()[start..end], scratch) {
                    Some(key) => keep(digest(at, &key), &key, &mut lines)?,
                    None => false,
                };
            }
            return Ok(());
        }
        let Some(batch) = batches.first() else { return Ok(()) };
        for record in batch.records(block) {
            let Row::Key(at) = record.row else { continue };
            if found[at] {
                let key = keys.bytes_of(block.without_end(record.bytes), scratch);
                found[at] = match key {
                    Some(key) => keep(digest(at, &key), &key, &mut lines)?,
                    None => false,
                };
            }
        }
        Ok(())
    }

    /// Which records have a token that is found, and where.
    fn mark_tokens(&self, block: Block<'_>, part: &mut Answers) {
        let Answers { batches, spans, answers, found, wanted, matches, .. } = part;
        matches.clear();
        wanted.clear();
        let Some(batch) = batches.first() else { return };
        let (records, mut record, mut end) = (batch.len(), 0, 0);
        wanted.resize(records, false);
        // For labels: what is true of a record is true of one of its tokens.
        let mut lines: Vec<Vec<bool>> = answers.iter().map(|_| vec![false; records]).collect();
        let mut ends = batch.ends();
        for (at, &(start, stop)) in spans.iter().enumerate().filter(|(at, _)| found[*at]) {
            while start >= end {
                let Some(next) = ends.next() else { break };
                (end, record) = (next, record + 1);
            }
            wanted[record - 1] = true;
            lines.iter_mut().zip(answers.iter()).for_each(|(line, answer)| line[record - 1] |= answer[at]);
            if self.mark {
                matches.push(Match { record: record - 1, start, end: stop, copied: false });
            }
        }
        debug_assert!(end <= block.bytes().len());
        *answers = lines;
        // The first, and the longest of those that begin together; none that overlap.
        matches.sort_unstable_by_key(|found| (found.start, std::cmp::Reverse(found.end)));
        let mut last = 0;
        matches.retain(|found| {
            let keep = found.start >= last;
            last = if keep { found.end } else { last };
            keep
        });
    }
}

/// Where the keys of records stand that are found.
fn mark_records(keys: &Keys, block: Block<'_>, part: &mut Answers) {
    let Answers { batches, found, matches, copies, scratch, .. } = part;
    matches.clear();
    copies.clear();
    let Some(batch) = batches.first() else { return };
    for record in batch.records(block) {
        let Row::Key(at) = record.row else { continue };
        if !found[at] {
            continue;
        }
        let line = block.without_end(record.bytes);
        let Some(key) = keys.part_of(line, scratch) else { continue };
        // A part of the line has an address within it.
        let offset = (key.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
        let inside =
            matches!(key, Cow::Borrowed(_)) && offset <= line.len() && offset + key.len() <= line.len();
        let (start, copied) = if inside { (record.start + offset, false) } else { (copies.len(), true) };
        matches.push(Match { record: record.at, start, end: start + key.len(), copied });
        if copied {
            copies.extend_from_slice(&key);
        }
    }
}
