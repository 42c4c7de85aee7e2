//! Which units were seen before: a filter that grows, one of a fixed size, or their digests.
//!
//! A filter is wrong in one direction only. A unit that occurred before is always known; a new one
//! is taken for known with the filter's current rate. How many were is the sum of that rate over
//! the units found new.

use crate::options::Set;
use crate::state::SetState;
use gardenia::theory::infini::Rule;
use gardenia::{AnyFilter, BlockedBloom, Bloom, Digest, InfiniFilter, Kind, Spec};
use gardenia_terminal::{human, message::hinted};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Read;
use std::path::Path;

/// Rates below this are left to the classical Bloom filter, whose size is smaller there.
const BLOCKED_FPP: f64 = 1e-5;

/// Rates below this would need longer fingerprints than a growing filter has.
pub const LEAST_FPP: f64 = 1e-8;

/// A filter of a fixed size is full at this multiple of the rate that it was made for.
const SLACK: f64 = 1.1;

/// Bytes of an exact set for each digest: the table is between 7/16 and 7/8 full.
const EXACT_BYTES: u64 = 14;

/// Digests are hashed already.
#[derive(Default)]
pub struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Digests in memory.
type Digests = HashSet<u64, BuildHasherDefault<AsIs>>;

/// What holds the units.
pub enum Store {
    /// A filter that grows.
    Growing(Box<InfiniFilter>),
    /// A filter of a fixed size.
    Fixed(Box<AnyFilter>),
    /// Digests.
    Exact(Digests),
}

impl Store {
    /// An empty one: `first` units are expected.
    pub fn new(fpp: f64, items: Option<u64>, exact: bool, first: u64) -> anyhow::Result<Self> {
        let size = |error| hinted(error, "change --fpp or --items");
        Ok(match items {
            _ if exact => Self::Exact(Digests::default()),
            None => {
                let builder = InfiniFilter::builder().fpp(fpp).items(first.clamp(1, 1 << 28));
                Self::Growing(Box::new(builder.build().map_err(size)?))
            }
            Some(items) => {
                let kind = if fpp < BLOCKED_FPP { Kind::Bloom } else { Kind::Blocked };
                let filter = Spec::new(kind).items(items).fpp(fpp).build();
                Self::Fixed(Box::new(filter.map_err(|error| hinted(error, "change --fpp or --items"))?))
            }
        })
    }

    fn contains(&self, digests: &[Digest], known: &mut [bool]) {
        match self {
            Self::Growing(filter) => filter.contains_digests(digests, known),
            Self::Fixed(filter) => gardenia::Filter::contains_digests(&**filter, digests, known),
            Self::Exact(set) => {
                digests.iter().zip(known).for_each(|(digest, known)| *known = set.contains(&digest.0));
            }
        }
    }

    fn insert(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        match self {
            Self::Growing(filter) => filter.insert_absent_digests(digests, new).map_err(|error| {
                hinted(error, "there is no memory for more: give a larger machine or a higher --fpp")
            }),
            Self::Fixed(filter) => Ok(filter.insert_digests(digests, new)?),
            Self::Exact(set) => {
                digests.iter().zip(new).for_each(|(digest, new)| *new = set.insert(digest.0));
                Ok(())
            }
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::Growing(filter) => filter.memory_bytes() as u64,
            Self::Fixed(filter) => filter.memory_bytes() as u64,
            Self::Exact(set) => set.capacity() as u64 * 9 * 8 / 7,
        }
    }

    /// The name of its file: filters can be asked by every program of the family, digests are our
    /// own.
    pub fn file_name(set: Set, generation: u64, exact: bool) -> String {
        format!("{}-{generation}.{}", set.name(), if exact { "digests" } else { "gdn" })
    }

    /// Writes it to a file.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        match self {
            Self::Growing(filter) => Ok(filter.save(path)?),
            Self::Fixed(filter) => Ok(filter.save(path)?),
            Self::Exact(set) => {
                let mut digests: Vec<u64> = set.iter().copied().collect();
                digests.sort_unstable();
                gardenia::format::replace_file::<anyhow::Error>(path, |file| {
                    digests.iter().try_for_each(|digest| file.write_all(&digest.to_le_bytes()))?;
                    Ok(())
                })
            }
        }
    }

    /// Reads a file that was saved.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let name = || path.display().to_string();
        if path.extension().is_some_and(|extension| extension == "digests") {
            let mut bytes = Vec::new();
            std::fs::File::open(path)
                .and_then(|mut file| file.read_to_end(&mut bytes))
                .map_err(|error| anyhow::anyhow!("{}: {error}", name()))?;
            let (digests, rest) = bytes.as_chunks::<8>();
            if !rest.is_empty() {
                let reason =
                    format!("{}: truncated: {} bytes are no whole number of digests", name(), bytes.len());
                return Err(hinted(reason, DAMAGED));
            }
            return Ok(Self::Exact(digests.iter().map(|digest| u64::from_le_bytes(*digest)).collect()));
        }
        match AnyFilter::open(path).map_err(|error| anyhow::anyhow!("{}: {error}", name()))? {
            AnyFilter::Infini(filter) => Ok(Self::Growing(Box::new(filter))),
            filter => Ok(Self::Fixed(Box::new(filter))),
        }
    }

    /// Adds all units of another.
    pub fn merge(&mut self, other: Self) -> anyhow::Result<()> {
        match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => ours.extend(theirs),
            (Self::Fixed(ours), Self::Fixed(theirs)) => match ours.merge(&theirs) {
                Some(merged) => {
                    merged.map_err(|error| hinted(error, "build both with the same --items and --fpp"))?;
                }
                None => return Err(hinted("filters of this kind cannot be merged", MERGE)),
            },
            _ => return Err(hinted("growing filters cannot be merged", MERGE)),
        }
        Ok(())
    }

    /// Adds digests.
    pub fn extend(&mut self, digests: &[Digest]) -> anyhow::Result<()> {
        self.insert(digests, &mut vec![false; digests.len()])
    }

    /// Its units, as far as it counts them.
    pub fn items(&self) -> u64 {
        match self {
            Self::Growing(filter) => filter.items(),
            Self::Fixed(filter) => filter.estimated_items().map_or(0, |estimate| estimate.items as u64),
            Self::Exact(set) => set.len() as u64,
        }
    }

    /// How often it takes a new unit for known when it holds `items`: of a filter by the theory of
    /// its shape, because looking at all of its cells takes long.
    fn rate_at(&self, items: u64) -> f64 {
        let Self::Fixed(filter) = self else { return self.rate() };
        let size = filter.spec().and_then(|spec| spec.items(items.max(1)).size().ok());
        size.and_then(|size| size.fpp).unwrap_or_else(|| filter.fpp())
    }

    /// An error, which calls it `name`, if it is of a fixed size and holds so much that it is wrong
    /// too often: what it would remove from then on is not what occurred before.
    pub fn check_room(&self, name: &str, items: u64, fpp: f64, hint: &str) -> anyhow::Result<()> {
        let rate = self.rate_at(items);
        if !matches!(self, Self::Fixed(_)) || rate <= fpp * SLACK {
            return Ok(());
        }
        let reason = format!(
            "the {name} is full: after {} its false-positive rate is {}, above {}",
            human::plural(items, "unit"),
            human::share(rate),
            human::share(fpp)
        );
        Err(hinted(reason, hint))
    }

    /// How often it takes a new unit for known, now.
    fn rate(&self) -> f64 {
        match self {
            // By the rule that it grows by: reading all fingerprints would take too long.
            Self::Growing(filter) => {
                let rule = Rule::new(filter.target(), filter.about().planned_items().max(1), filter.max());
                rule.map_or_else(|_| filter.fpp(), |rule| rule.fpp_at(filter.items()))
            }
            Self::Fixed(filter) => filter.fpp(),
            Self::Exact(set) => set.len() as f64 / 2f64.powi(64),
        }
    }
}

/// A state cannot be repaired: the journals hold what came after the sets.
pub(crate) const DAMAGED: &str = "copy the state again, or begin again with another --state";

const MERGE: &str = "give --items to all of them, or name each directory with --after";

/// What was seen, with what was lost by it.
pub struct Seen {
    set: Set,
    store: Store,
    /// What others saw: asked, and never changed.
    earlier: Vec<Store>,
    earlier_rate: f64,
    fpp: f64,
    limit: u64,
    /// Units inserted.
    pub items: u64,
    /// Expected number of units that were removed by mistake.
    pub lost: f64,
    rate: f64,
    /// Units at which the rate and the memory are looked at again.
    next: u64,
    /// What was inserted since it was last taken, if that is wanted.
    pub fresh: Option<Vec<Digest>>,
    /// How many units a sample of the input promised.
    pub expected: Option<u64>,
}

impl Seen {
    /// With what earlier runs saw, and at most `limit` bytes.
    pub fn new(set: Set, store: Store, earlier: Vec<Store>, fpp: f64, limit: u64, log: bool) -> Self {
        let earlier_rate = earlier.iter().map(Store::rate).sum();
        let (items, rate) = (store.items(), store.rate());
        let fresh = log.then(Vec::new);
        Self {
            set,
            store,
            earlier,
            earlier_rate,
            fpp,
            limit,
            items,
            lost: 0.0,
            rate,
            next: 0,
            fresh,
            expected: None,
        }
    }

    /// The current rate at which new units are taken for known.
    pub fn rate(&self) -> f64 {
        self.rate + self.earlier_rate
    }

    /// What holds the units.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether each unit is known.
    pub fn contains(&self, digests: &[Digest], known: &mut [bool]) {
        self.store.contains(digests, known);
        if self.earlier.is_empty() {
            return;
        }
        let mut also = vec![false; digests.len()];
        for earlier in &self.earlier {
            earlier.contains(digests, &mut also);
            known.iter_mut().zip(&also).for_each(|(known, also)| *known |= also);
        }
    }

    /// Adds units in order, and tells of each whether it is new.
    pub fn insert(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        if self.earlier.is_empty() {
            self.add(digests, new)?;
        } else {
            let mut known = vec![false; digests.len()];
            let mut also = known.clone();
            for earlier in &self.earlier {
                earlier.contains(digests, &mut also);
                known.iter_mut().zip(&also).for_each(|(known, also)| *known |= also);
            }
            let absent: Vec<Digest> =
                digests.iter().zip(&known).filter(|(_, known)| !**known).map(|(digest, _)| *digest).collect();
            let mut answers = vec![false; absent.len()];
            self.add(&absent, &mut answers)?;
            let mut answers = answers.into_iter();
            new.iter_mut()
                .zip(&known)
                .for_each(|(new, known)| *new = !known && answers.next().unwrap_or(false));
        }
        if self.items >= self.next {
            self.look()?;
        }
        Ok(())
    }

    /// The same for units that are removed if they are known, with how many were by mistake. Few go
    /// in at a time, because the rate of a filter rises with them.
    pub fn insert_units(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        let (mut digests, mut new) = (digests, new);
        while !digests.is_empty() {
            let piece = digests.len().min(256.max(self.items as usize / 32));
            let (first, rest) = std::mem::take(&mut new).split_at_mut(piece);
            let before = self.rate();
            self.insert(&digests[..piece], first)?;
            self.kept(first.iter().map(|new| u64::from(*new)).sum(), (before + self.rate()) / 2.0);
            (digests, new) = (&digests[piece..], rest);
        }
        Ok(())
    }

    fn add(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        // A full table is copied into one of twice its size: both are there for a while.
        if let Store::Exact(set) = &self.store
            && set.len() + digests.len() > set.capacity()
        {
            self.check_memory(self.store.memory_bytes().saturating_mul(3))?;
        }
        self.store.insert(digests, new)?;
        self.items += new.iter().map(|new| u64::from(*new)).sum::<u64>();
        if let Some(fresh) = &mut self.fresh {
            fresh.extend(digests.iter().zip(new).filter(|(_, new)| **new).map(|(digest, _)| *digest));
        }
        Ok(())
    }

    /// Adds what a journal holds.
    pub fn replay(&mut self, digests: &[Digest]) -> anyhow::Result<()> {
        self.store.extend(digests)
    }

    /// Its numbers, for a state.
    pub fn state(&self) -> SetState {
        let looked = Some((self.rate, self.next));
        SetState { set: self.set, items: self.items, lost: self.lost, journal: 0, looked }
    }

    /// Goes on where a state was written, after its units were replayed.
    pub fn go_on(&mut self, state: &SetState) {
        (self.items, self.lost) = (state.items, state.lost);
        (self.rate, self.next) = state.looked.unwrap_or_else(|| (self.store.rate(), 0));
    }

    /// What holds the units.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Looks at rate and memory. A set that is full ends the run: what it would remove from now on
    /// is wrong too often.
    fn look(&mut self) -> anyhow::Result<()> {
        self.next = self.items + self.items / 32 + 128;
        self.rate = self.store.rate_at(self.items);
        let name = format!("filter of {}", self.set.name());
        let hint = "raise --items, or leave it out, so that the filter grows";
        self.store.check_room(&name, self.items, self.fpp, hint)?;
        self.check_memory(self.store.memory_bytes())
    }

    fn check_memory(&self, bytes: u64) -> anyhow::Result<()> {
        if bytes <= self.limit {
            return Ok(());
        }
        let reason = format!(
            "the set of {} is full: after {} it takes {}, above the {} of --memory",
            self.set.name(),
            human::plural(self.items, "unit"),
            human::bytes(bytes),
            human::bytes(self.limit)
        );
        let hint = "raise --memory or --fpp; with --state the finished files are not read again";
        Err(hinted(reason, hint))
    }

    /// Notes that `units` units were found new, each of which the current rate could have removed
    /// with this probability.
    pub fn kept(&mut self, units: u64, probability: f64) {
        self.lost += units as f64 * probability / (1.0 - probability).max(1e-9);
    }
}

/// Bytes that `units` units take.
pub fn bytes_for(units: u64, fpp: f64, items: Option<u64>, exact: bool) -> anyhow::Result<u64> {
    if exact {
        return Ok(units.saturating_mul(EXACT_BYTES));
    }
    let size = |error| hinted(error, "change --fpp or --items");
    Ok(match items {
        Some(items) if fpp < BLOCKED_FPP => {
            Bloom::builder().items(items).fpp(fpp).shape().map_err(size)?.cells / 8
        }
        Some(items) => BlockedBloom::builder().items(items).fpp(fpp).shape().map_err(size)?.cells / 8,
        None => {
            let rule = InfiniFilter::builder().fpp(fpp).items(units.max(1)).rule().map_err(size)?;
            units.saturating_mul(u64::from(rule.width)).div_ceil(8).saturating_mul(6) / 5
        }
    })
}

/// A number that one run in a thousand exceeds, where `expected` are expected: Poisson's quantile.
pub fn upper_bound(expected: f64) -> u64 {
    if expected > 500.0 {
        return (expected + 3.2 * expected.sqrt()).ceil() as u64; // near enough to normal there
    }
    let (mut chance, mut sum) = ((-expected).exp(), 0.0);
    for number in 0..2_000 {
        sum += chance;
        if sum >= 0.999 {
            return number;
        }
        chance *= expected / (number + 1) as f64;
    }
    2_000 // not reached: far above the quantile of 500
}

/// The probability that at least `least` of `trials` independent events of this probability happen.
pub fn tail(trials: u64, probability: f64, least: u64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    if least > trials {
        return 0.0;
    }
    // The first term, and the others by their ratios.
    let (mut log, odds) = (0.0, probability / (1.0 - probability));
    for at in 0..least {
        log += ((trials - at) as f64 / (least - at) as f64).ln();
    }
    log += least as f64 * probability.ln() + (trials - least) as f64 * (-probability).ln_1p();
    let (mut term, mut sum) = (log.exp(), 0.0);
    for at in least..=trials {
        sum += term;
        term *= (trials - at) as f64 / (at + 1) as f64 * odds;
        if term < sum * 1e-12 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_tails_are_those_of_their_distributions() {
        assert_eq!([0.0, 0.001, 0.01, 1.0, 10.0].map(upper_bound), [0, 0, 1, 5, 21]);
        assert!((upper_bound(10_000.0) as f64 - 10_310.0).abs() < 15.0);
        assert!((tail(10, 0.5, 6) - 386.0 / 1024.0).abs() < 1e-12);
        assert!((tail(1, 1e-6, 1) - 1e-6).abs() < 1e-15);
        assert_eq!((tail(3, 0.1, 0), tail(3, 0.1, 4)), (1.0, 0.0));
    }

    fn digests(from: u64, to: u64) -> Vec<Digest> {
        (from..to).map(|key| Digest(Digest(key).word(1))).collect()
    }

    #[test]
    fn a_fixed_filter_ends_the_run_when_it_is_full() {
        let store = Store::new(0.01, Some(1_000), false, 0).unwrap();
        let mut seen = Seen::new(Set::Documents, store, Vec::new(), 0.01, u64::MAX, false);
        let full = (0..100).find_map(|block| {
            let block = digests(block * 100, block * 100 + 100);
            seen.insert(&block, &mut [false; 100]).err()
        });
        assert!(full.unwrap().to_string().contains("is full"));
        assert!((1_000..4_000).contains(&seen.items), "{}", seen.items);
    }

    /// The memory is looked at before it is allocated: the table never has more.
    #[test]
    fn digests_do_not_take_more_memory_than_they_may() {
        let store = Store::new(1e-6, None, true, 0).unwrap();
        let mut seen = Seen::new(Set::Documents, store, Vec::new(), 1e-6, 100_000, false);
        let full = (0..1_000).find_map(|block| {
            let block = digests(block * 100, block * 100 + 100);
            let full = seen.insert(&block, &mut [false; 100]).err();
            assert!(seen.store().memory_bytes() <= 100_000);
            full
        });
        assert!(full.unwrap().to_string().contains("of --memory"));
        assert!(seen.items > 2_000, "{}", seen.items);
    }

    #[test]
    fn earlier_units_are_known_and_not_inserted_again() {
        for exact in [false, true] {
            let mut first = Store::new(1e-6, None, exact, 1).unwrap();
            first.insert(&digests(0, 100), &mut [false; 100]).unwrap();
            let store = Store::new(1e-6, None, exact, 1).unwrap();
            let mut seen = Seen::new(Set::Documents, store, vec![first], 1e-6, u64::MAX, true);
            let mut new = [false; 150];
            seen.insert(&digests(50, 200), &mut new).unwrap();
            assert_eq!(new.iter().filter(|new| **new).count(), 100);
            assert!(new[..50].iter().all(|new| !new) && seen.items == 100);
            assert_eq!(seen.fresh.as_ref().unwrap().len(), 100);
        }
    }

    #[test]
    fn stores_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        for (items, exact) in [(None, false), (Some(1_000), false), (None, true)] {
            let mut store = Store::new(1e-4, items, exact, 1).unwrap();
            store.insert(&digests(0, 500), &mut [false; 500]).unwrap();
            let path = directory.path().join(Store::file_name(Set::Ngrams, 3, exact));
            store.save(&path).unwrap();
            let again = Store::load(&path).unwrap();
            let mut known = [false; 500];
            again.contains(&digests(0, 500), &mut known);
            assert!(known.iter().all(|known| *known));
            again.contains(&digests(1_000, 1_500), &mut known);
            assert!(known.iter().filter(|known| **known).count() < 10);
        }
    }
}
