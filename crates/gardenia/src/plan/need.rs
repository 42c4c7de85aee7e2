//! What a filter is needed for, and which needs conflict.

use super::candidates;
use super::{Calibration, Design, Plan};
use crate::spec::{Size, number};
use crate::{Ability, KeyHasher, SizeError};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// What is wanted of a filter: how many keys, how many errors, how much memory, and what must be
/// possible.
///
/// Without [`fpp`](Self::fpp) and [`memory`](Self::memory) it is planned for 1 %; with memory alone
/// for the least errors in it; with both, for designs that keep the rate and fit.
///
/// ```
/// use gardenia::{Kind, plan::{Need, Prefer}};
/// let first = |need: Need| need.plan().unwrap().best().kind;
/// assert_eq!(first(Need::of(1_000_000).fpp(0.01)), Kind::Blocked);
/// assert_eq!(first(Need::of(1_000_000).fpp(0.01).remove()), Kind::Cuckoo);
/// assert_eq!(first(Need::of(1_000_000).fpp(0.01).fixed().prefer(Prefer::Memory)), Kind::Ribbon);
/// assert_eq!(first(Need::unknown().fpp(0.01)), Kind::Infini);
/// assert_eq!(first(Need::of(10_000).fpp(0.01).window()), Kind::A2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Need {
    pub(super) items: Option<u64>,
    /// All insertions, and the most of one key, if keys are inserted again.
    pub(super) repeated: Option<(u64, u64)>,
    pub(super) fpp: Option<f64>,
    pub(super) bytes: Option<u64>,
    pub(super) abilities: Vec<Ability>,
    /// The largest count that must fit.
    pub(super) counts: u64,
    /// Bits of a value.
    pub(super) values: u32,
    pub(super) present: f64,
    pub(super) confidence: f64,
    pub(super) prefer: Prefer,
    pub(super) hasher: KeyHasher,
}

/// By what designs are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefer {
    /// Time of a query times bits for each halving of the rate; if the filter is to be sent, its
    /// size in a file; if memory is given and no rate, the rate.
    #[default]
    Balance,
    /// Time of a query.
    Speed,
    /// Memory; if it is given, the rate of errors.
    Memory,
}

impl Prefer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Balance, Self::Speed, Self::Memory];

    /// Name for people and for the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Balance => "balance",
            Self::Speed => "speed",
            Self::Memory => "memory",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prefer| prefer.name() == name)
    }
}

impl Need {
    /// The number of distinct keys; of a [`window`](Self::window), how many are remembered.
    pub fn of(items: u64) -> Self {
        Self { items: Some(items), ..Self::unknown() }
    }

    /// Nobody knows how many keys will come.
    pub fn unknown() -> Self {
        Self {
            items: None,
            repeated: None,
            fpp: None,
            bytes: None,
            abilities: Vec::new(),
            counts: 0,
            values: 0,
            present: 0.5,
            confidence: Size::CONFIDENCE,
            prefer: Prefer::Balance,
            hasher: KeyHasher::default(),
        }
    }

    /// Keys are inserted again: `total` insertions in all, at most `most` of one key. Kinds where
    /// each copy takes room ([`Ability::Copies`](crate::Ability::Copies)) are planned for all of
    /// them, or left out.
    ///
    /// ```
    /// use gardenia::{Kind, plan::Need};
    /// let kinds = |need: Need| {
    ///     let plan = need.fpp(0.01).remove().plan().unwrap();
    ///     plan.designs().iter().map(|design| design.kind).collect::<Vec<_>>()
    /// };
    /// assert_eq!(kinds(Need::of(1_000))[0], Kind::Cuckoo);
    /// assert!(!kinds(Need::of(1_000).repeated(50_000, 300)).contains(&Kind::Cuckoo));
    /// ```
    pub fn repeated(mut self, total: u64, most: u64) -> Self {
        self.repeated = Some((total, most));
        self
    }

    /// Insertions of `items` distinct keys, and the most of one key.
    pub(crate) fn insertions(&self, items: u64) -> (u64, u64) {
        self.repeated.map_or((items, 1), |(total, most)| (total.max(items), most))
    }

    /// The probability that an absent key is reported, at most; of filters that count, that a count
    /// is too large.
    pub fn fpp(mut self, fpp: f64) -> Self {
        self.fpp = Some(fpp);
        self
    }

    /// Memory that the cells may use, in bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// In any memory.
    pub fn any_memory(mut self) -> Self {
        self.bytes = None;
        self
    }

    /// Keys are removed again.
    pub fn remove(self) -> Self {
        self.with(Ability::Remove)
    }

    /// Keys are counted, up to `largest`.
    pub fn count(mut self, largest: u64) -> Self {
        self.counts = largest.max(1);
        self.with(Ability::Count)
    }

    /// Only the last `items` keys of an endless stream matter.
    pub fn window(self) -> Self {
        self.with(Ability::Forget)
    }

    /// More keys may come than are known of.
    pub fn grow(self) -> Self {
        self.with(Ability::Grow)
    }

    /// All keys are known up front, and never change.
    pub fn fixed(self) -> Self {
        self.with(Ability::Fixed)
    }

    /// Each key of a set that never changes has a value of this many bits, 1 to 32.
    pub fn values(mut self, bits: u32) -> Self {
        self.values = bits;
        self.with(Ability::Map)
    }

    /// Filters that were filled apart are merged.
    pub fn merge(self) -> Self {
        self.with(Ability::Merge)
    }

    /// Several threads insert at once. Designs then name kinds whose filters have `into_shared`.
    pub fn share(self) -> Self {
        self.with(Ability::Share)
    }

    /// The filter is sent or kept in a file, and its size there is what counts.
    pub fn send(self) -> Self {
        self.with(Ability::Send)
    }

    /// Any of the abilities; [`count`](Self::count) and [`values`](Self::values) say more.
    pub fn with(mut self, ability: Ability) -> Self {
        if !self.abilities.contains(&ability) {
            self.abilities.push(ability);
            self.abilities.sort_unstable();
        }
        if ability == Ability::Count {
            self.counts = self.counts.max(1);
        }
        if ability == Ability::Map {
            self.values = if self.values == 0 { 8 } else { self.values };
        }
        self
    }

    /// Without this ability.
    pub fn without(mut self, ability: Ability) -> Self {
        self.abilities.retain(|other| *other != ability);
        self
    }

    /// The share of queries for keys that are in: a half unless said.
    pub fn present(mut self, share: f64) -> Self {
        self.present = share;
        self
    }

    /// How surely a built filter's rate is within [`Design::bound`]: 0.999 unless said.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// By what designs are ranked.
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// The hash function of the filters that are built.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// What was asked for, beside being asked.
    #[must_use]
    pub fn abilities(&self) -> &[Ability] {
        &self.abilities
    }

    /// Whether no number of keys is known.
    pub(crate) fn is_open(&self) -> bool {
        self.items.is_none()
    }

    pub(super) fn needs(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }

    /// All designs that will do, the best first, by the default figures for time.
    ///
    /// ```
    /// use gardenia::{Ability, plan::{Need, Reason}};
    /// let plan = Need::of(1_000).fpp(0.01).plan().unwrap();
    /// assert!(plan.designs().iter().all(|design| design.fpp <= 0.01));
    /// // Needs that conflict are an error, which names the nearest design that works.
    /// let impossible = Need::of(1_000).fpp(0.01).remove().fixed().plan().unwrap_err();
    /// assert_eq!(impossible.reason, Reason::Together(vec![Ability::Remove, Ability::Fixed]));
    /// assert!(impossible.nearest.is_some());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Impossible`], if no kind can do it all, or none in the memory.
    pub fn plan(&self) -> Result<Plan, Impossible> {
        self.plan_with(&Calibration::default())
    }

    /// The same by the figures of a machine.
    pub fn plan_with(&self, calibration: &Calibration) -> Result<Plan, Impossible> {
        candidates::plan(self, calibration)
    }
}

impl FromStr for Need {
    type Err = NeedError;

    /// Words with the names of the methods, as bindings and configuration files write them:
    /// `items=1M fpp=0.1% memory=20MiB remove`.
    ///
    /// ```
    /// use gardenia::plan::Need;
    /// let need: Need = "items=1M fpp=0.1% remove prefer=memory".parse()?;
    /// assert!(need.plan()?.best().fpp <= 0.001);
    /// let wrong = "items=1M colour=red".parse::<Need>().unwrap_err();
    /// assert!(wrong.to_string().starts_with("no need is called \"colour\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, NeedError> {
        let mut need = Self::unknown();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = |expected: String| NeedError(alloc::format!("{name} is {value:?}: {expected}"));
            let count = || number::count(value).map_err(wrong);
            let share = || number::share(value).map_err(wrong);
            let ability = Ability::ALL.into_iter().find(|ability| ability.name() == name);
            need = match (name, ability) {
                ("items", _) => Self { items: Some(count()?), ..need },
                ("fpp", _) => need.fpp(share()?),
                ("memory", _) => need.memory(number::bytes(value).map_err(wrong)?),
                ("present", _) => need.present(share()?),
                ("confidence", _) => need.confidence(share()?),
                ("prefer", _) => need.prefer(Prefer::from_name(value).ok_or_else(|| {
                    wrong(alloc::format!("use one of {}", Prefer::ALL.map(Prefer::name).join(", ")))
                })?),
                (_, Some(Ability::Count)) if !value.is_empty() => need.count(count()?),
                (_, Some(Ability::Map)) if !value.is_empty() => {
                    need.values(u32::try_from(count()?).unwrap_or(u32::MAX))
                }
                (_, Some(ability)) if value.is_empty() => need.with(ability),
                (_, Some(_)) => return Err(wrong("it has no value".into())),
                (_, None) => {
                    let known = Ability::ALL.map(Ability::name).join(", ");
                    return Err(NeedError(alloc::format!(
                        "no need is called {name:?}: use items, fpp, memory, present, confidence, prefer, {known}"
                    )));
                }
            };
        }
        Ok(need)
    }
}

/// A text that does not read as a [`Need`]: what is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedError(String);

impl fmt::Display for NeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NeedError {}

/// A need that no design fulfils: why, and the nearest that can be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Impossible {
    /// What is impossible.
    pub reason: Reason,
    /// The design that comes nearest, if there is one.
    pub nearest: Option<Box<Design>>,
    /// What is given up by it.
    pub without: String,
}

/// What is impossible about a need.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// No kind of filter has all these abilities.
    Together(Vec<Ability>),
    /// The least that any design takes is more than is allowed.
    Memory {
        /// Bytes that the smallest design takes.
        needed: u64,
        /// Bytes that are allowed.
        allowed: u64,
    },
    /// In this memory every design answers yes to more than half of all absent keys.
    Useless {
        /// Bytes that are allowed.
        allowed: u64,
        /// Keys that are to go in.
        items: u64,
    },
    /// This ability is planned for a number of keys, and none was given.
    Items(Ability),
    /// A probability, a share or a confidence that is none, or other parameters that are out of
    /// range.
    Size(SizeError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Together(abilities) => {
                write!(f, "no kind of filter can do all of: ")?;
                for (at, ability) in abilities.iter().enumerate() {
                    write!(f, "{}{}", if at > 0 { ", " } else { "" }, ability.name())?;
                }
                Ok(())
            }
            Self::Memory { needed, allowed } => {
                write!(f, "the smallest design takes {needed} bytes, and {allowed} are allowed")
            }
            Self::Useless { allowed, items } => {
                write!(
                    f,
                    "in {allowed} bytes a filter of {items} keys answers yes to more than half of all others"
                )
            }
            Self::Items(ability) => {
                write!(f, "{} needs the number of keys", ability.name())
            }
            Self::Size(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl core::error::Error for Impossible {}
