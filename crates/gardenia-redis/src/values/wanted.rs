//! What `GD.RESERVE` is asked for: a kind, and options that are called as on the command line.
//!
//! | option | kinds | meaning |
//! |---|---|---|
//! | `ITEMS n`, `WINDOW n` | all but count-min | items to make room for; of stable and a2 how many are to be remembered, of scalable and dynamic where they begin |
//! | `FPP p`, `ERROR p` | all but count-min | false-positive probability once they are in; 0.01 unless given |
//! | `MEMORY bytes` | all but scalable and dynamic | without FPP the size, for the lowest rate; with FPP, and of cuckoo, the most bytes |
//! | `BITS m` | all but cuckoo, scalable and dynamic | the size in bits |
//! | `CELLS m` | those with cells, but count-min and dynamic | the size in cells |
//! | `HASHES k` | those with BITS or CELLS, but count-min | cells of an item, with a size |
//! | `WIDTH w` | those with cells | bits of a cell: 4 unless given, 16 of spectral, 8 of bitwise and count-min |
//! | `SCHEME name` | all but blocked, cuckoo, count-min and scalable | how positions follow from a digest; fractional unless given |
//! | `SEED s` | all | seed of the hash function; 0 unless given, as on the command line: so filters can be united |
//! | `DECREMENTS p` | stable | cells that an item ages, with CELLS and HASHES, instead of FPP |
//! | `DIGIT d` | bitwise | bits of a digit |
//! | `CHOICES c` | choice | groups of bits that an item may take, 2 to 32 |
//! | `COMPACT` | spectral-* | cells as wide as their counts need |
//! | `SECONDARY-CELLS m`, `SECONDARY-HASHES k`, `NO-MARKER` | spectral-rm | its secondary filter |
//! | `EPSILON e`, `DELTA d` | count-min | how far a count may be above the truth, and how often farther; 0.0001 and 0.01 unless given |
//! | `COLUMNS w`, `ROWS d` | count-min | its size instead |
//! | `FORM original\|modified`, `UPDATE plain\|conservative` | count-min | original and conservative unless given |
//!
//! The subtle rule: two filters of one wish and one seed agree in everything after the same items, so a wish travels to
//! replicas and files with all that was left open filled in ([`Wanted::settled`]).

use super::any::{LEVEL, counter_bytes};
use super::bloom::{Plan, Refused, Scaling};
use crate::engine::settings::MAX_CAPACITY;
use gardenia::theory::bloom::Shape;
use gardenia::{
    A2Bloom, AnyFilter, AnyScheme, BitwiseBloom, BitwiseLevel, BlockedBloom, Bloom, CellKind, ChoiceBloom,
    CountMin, CountingBloom, Cuckoo, DynamicBloom, Form, KeyHasher, PolicyId, SchemeId, SizeError,
    SpectralBloom, StableBloom, Update,
};

/// Kinds of filter that are made empty and take items one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The classical filter.
    Bloom,
    /// One cache line per item.
    Blocked,
    /// Counts, and takes items out.
    Counting,
    /// Counts by the least cell, and takes items out.
    SpectralMs,
    /// Counts with the smallest errors.
    SpectralMi,
    /// Counts with a second filter, and takes items out.
    SpectralRm,
    /// Counts without end.
    Bitwise,
    /// Forgets by chance, the older the likelier.
    Stable,
    /// Remembers the last items for certain.
    A2,
    /// Items choose among groups of bits.
    Choice,
    /// Counts a stream of any length.
    CountMin,
    /// Fingerprints, which can be taken out.
    Cuckoo,
    /// Grows and keeps its rate: a key of `BF.*`.
    Scalable,
    /// Grows, and takes items out.
    Dynamic,
}

impl Kind {
    /// All of them, as the command line calls them.
    pub const ALL: [(&'static str, Self); 14] = [
        ("bloom", Self::Bloom),
        ("blocked", Self::Blocked),
        ("counting", Self::Counting),
        ("spectral-ms", Self::SpectralMs),
        ("spectral-mi", Self::SpectralMi),
        ("spectral-rm", Self::SpectralRm),
        ("bitwise", Self::Bitwise),
        ("stable", Self::Stable),
        ("a2", Self::A2),
        ("choice", Self::Choice),
        ("count-min", Self::CountMin),
        ("cuckoo", Self::Cuckoo),
        ("scalable", Self::Scalable),
        ("dynamic", Self::Dynamic),
    ];

    /// As the command line calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    fn is_spectral(self) -> bool {
        matches!(self, Self::SpectralMs | Self::SpectralMi | Self::SpectralRm)
    }

    fn has_cells(self) -> bool {
        let counts = matches!(self, Self::Counting | Self::Bitwise | Self::CountMin | Self::Dynamic);
        counts || self.is_spectral() || matches!(self, Self::Stable | Self::Cuckoo)
    }

    fn grows(self) -> bool {
        matches!(self, Self::Scalable | Self::Dynamic)
    }

    fn forgets(self) -> bool {
        matches!(self, Self::Stable | Self::A2)
    }

    fn takes_bits(self) -> bool {
        !self.grows() && self != Self::Cuckoo
    }

    fn takes_cells(self) -> bool {
        self.has_cells() && !matches!(self, Self::CountMin | Self::Dynamic)
    }
}

/// Options of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Items to make room for.
    Items,
    /// False-positive probability.
    Fpp,
    /// Bytes.
    Memory,
    /// Size in bits.
    Bits,
    /// Size in cells.
    Cells,
    /// Bits of a cell.
    Width,
    /// Cells of an item.
    Hashes,
    /// How positions follow from a digest.
    Scheme,
    /// Seed of the hash function.
    Seed,
    /// Cells that an item ages.
    Decrements,
    /// Bits of a digit.
    Digit,
    /// Groups of bits.
    Choices,
    /// Cells as wide as their counts need.
    Compact,
    /// Cells of the secondary filter.
    SecondaryCells,
    /// Cells of an item there.
    SecondaryHashes,
    /// Without a marker.
    NoMarker,
    /// How far a count may be above the truth.
    Epsilon,
    /// How often it may be farther.
    Delta,
    /// Cells of a row.
    Columns,
    /// Rows.
    Rows,
    /// How rows are hashed.
    Form,
    /// What happens to the cells of an item.
    Update,
}

/// What stands behind an option.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A whole number up to this.
    Whole(u64),
    /// A number between 0 and 1.
    Share,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Nothing.
    Nothing,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// See [`Takes::Whole`].
    Whole(u64),
    /// See [`Takes::Share`].
    Share(f64),
    /// Which of the words.
    Word(usize),
    /// It was given.
    Given,
}

const SCHEMES: [&str; 10] = {
    let mut names = [""; 10];
    let mut at = 0;
    while at < names.len() {
        names[at] = SchemeId::ALL[at].name();
        at += 1;
    }
    names
};
const FORMS: [&str; 2] = ["original", "modified"];
const UPDATES: [&str; 2] = ["conservative", "plain"];
const U32: u64 = u32::MAX as u64;

impl Name {
    /// All of them, with their words and what they take; of two words for one option the first is passed on.
    pub const ALL: [(&'static str, Self, Takes); 24] = [
        ("ITEMS", Self::Items, Takes::Whole(u64::MAX)),
        ("WINDOW", Self::Items, Takes::Whole(u64::MAX)),
        ("FPP", Self::Fpp, Takes::Share),
        ("ERROR", Self::Fpp, Takes::Share),
        ("MEMORY", Self::Memory, Takes::Whole(u64::MAX)),
        ("BITS", Self::Bits, Takes::Whole(u64::MAX)),
        ("CELLS", Self::Cells, Takes::Whole(u64::MAX)),
        ("WIDTH", Self::Width, Takes::Whole(64)),
        ("HASHES", Self::Hashes, Takes::Whole(U32)),
        ("SCHEME", Self::Scheme, Takes::Word(&SCHEMES)),
        ("SEED", Self::Seed, Takes::Whole(u64::MAX)),
        ("DECREMENTS", Self::Decrements, Takes::Whole(u64::MAX)),
        ("DIGIT", Self::Digit, Takes::Whole(32)),
        ("CHOICES", Self::Choices, Takes::Whole(32)),
        ("COMPACT", Self::Compact, Takes::Nothing),
        ("SECONDARY-CELLS", Self::SecondaryCells, Takes::Whole(u64::MAX)),
        ("SECONDARY-HASHES", Self::SecondaryHashes, Takes::Whole(U32)),
        ("NO-MARKER", Self::NoMarker, Takes::Nothing),
        ("EPSILON", Self::Epsilon, Takes::Share),
        ("DELTA", Self::Delta, Takes::Share),
        ("COLUMNS", Self::Columns, Takes::Whole(u64::MAX)),
        ("ROWS", Self::Rows, Takes::Whole(U32)),
        ("FORM", Self::Form, Takes::Word(&FORMS)),
        ("UPDATE", Self::Update, Takes::Word(&UPDATES)),
    ];

    /// Whether a filter of this kind has it.
    fn is_of(self, kind: Kind) -> bool {
        let sketch = kind == Kind::CountMin;
        match self {
            Self::Seed => true,
            Self::Items | Self::Fpp => !sketch,
            Self::Memory => !kind.grows(),
            Self::Bits => kind.takes_bits(),
            Self::Cells => kind.takes_cells(),
            Self::Hashes => !sketch && !kind.grows() && kind != Kind::Cuckoo,
            Self::Width => kind.has_cells(),
            Self::Scheme => !matches!(kind, Kind::Blocked | Kind::Cuckoo | Kind::CountMin | Kind::Scalable),
            Self::Decrements => kind == Kind::Stable,
            Self::Digit => kind == Kind::Bitwise,
            Self::Choices => kind == Kind::Choice,
            Self::Compact => kind.is_spectral(),
            Self::SecondaryCells | Self::SecondaryHashes | Self::NoMarker => kind == Kind::SpectralRm,
            Self::Epsilon | Self::Delta | Self::Columns | Self::Rows | Self::Form | Self::Update => sketch,
        }
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, name, _)| *name == self).map_or("", |(word, ..)| word)
    }
}

/// A kind and options.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    kind: Kind,
    values: [Option<Value>; Name::ALL.len()],
}

/// A filter that cannot be made, and what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// An option that this kind has not.
    #[error("a filter of kind {kind} has no {option}: leave it out")]
    Useless {
        /// The kind.
        kind: &'static str,
        /// The option.
        option: &'static str,
    },
    /// Options that exclude each other.
    #[error("{0} and {1} are both given: leave out one of them")]
    Both(&'static str, &'static str),
    /// Neither items nor a size.
    #[error("a filter of kind {0} needs ITEMS{1}")]
    NoSize(&'static str, &'static str),
    /// Something that needs something else.
    #[error("{0} needs {1}")]
    Needs(&'static str, &'static str),
    /// Larger than it may be.
    #[error("the filter needs {needed} bytes, and MEMORY allows {max}: raise it, or FPP, or leave out FPP")]
    OverMemory {
        /// Bytes.
        needed: u64,
        /// The most.
        max: u64,
    },
    /// Larger than any object may be.
    #[error(
        "the filter needs {needed} bytes, over the limit of {max}: lower its size, or raise bf.memory-limit"
    )]
    OverLimit {
        /// Bytes.
        needed: u64,
        /// The most.
        max: u64,
    },
    /// See [`SizeError`].
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// A filter that was made.
#[derive(Debug)]
pub enum Made {
    /// A key of `GD.*`.
    Any(AnyFilter),
    /// A key of `BF.*`, and the plan that it was made of.
    Scaling(Plan, Scaling),
}

const FPP: f64 = 0.01;
const EPSILON: f64 = 1e-4;
const DELTA: f64 = 0.01;
const ROWS: u64 = 4;
/// Items that a layer of a dynamic filter takes, unless given.
const LAYER: u64 = 10_000;

impl Wanted {
    /// A filter of this kind, with all else open.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, values: [None; Name::ALL.len()] }
    }

    /// Sets an option; false if it was set before.
    pub fn set(&mut self, name: Name, value: Value) -> bool {
        self.values[name as usize].replace(value).is_none()
    }

    fn has(&self, name: Name) -> bool {
        self.values[name as usize].is_some()
    }

    fn whole(&self, name: Name) -> Option<u64> {
        if let Some(Value::Whole(value)) = self.values[name as usize] { Some(value) } else { None }
    }

    /// A whole number that was parsed to be below 2³².
    fn small(&self, name: Name) -> Option<u32> {
        self.whole(name).map(|value| value as u32)
    }

    fn share(&self, name: Name) -> Option<f64> {
        if let Some(Value::Share(value)) = self.values[name as usize] { Some(value) } else { None }
    }

    fn choice(&self, name: Name) -> usize {
        if let Some(Value::Word(number)) = self.values[name as usize] { number } else { 0 }
    }

    fn default(&mut self, name: Name, value: Value) {
        if name.is_of(self.kind) {
            self.values[name as usize].get_or_insert(value);
        }
    }

    /// Everything that is wrong with the options whatever their values are.
    fn check(&self) -> Result<(), Unfit> {
        let kind = self.kind;
        for (option, name, _) in Name::ALL {
            if self.has(name) && !name.is_of(kind) {
                return Err(Unfit::Useless { kind: kind.name(), option });
            }
        }
        let sizes = [Name::Bits, Name::Cells, Name::Columns, Name::Memory];
        let mut sizes = sizes.into_iter().filter(|name| self.has(*name));
        let size = sizes.next();
        if let (Some(one), Some(other)) = (size, sizes.next()) {
            return Err(Unfit::Both(one.word(), other.word()));
        }
        for name in [Name::Epsilon, Name::Delta] {
            if let (true, Some(size)) = (self.has(name), size) {
                return Err(Unfit::Both(name.word(), size.word()));
            }
        }
        let fixed = matches!(size, Some(Name::Bits | Name::Cells));
        if fixed && self.has(Name::Fpp) && !kind.forgets() {
            return Err(Unfit::Both(size.map_or("", Name::word), "FPP"));
        }
        if self.has(Name::Rows) && size.is_none() {
            return Err(Unfit::Needs("ROWS", "a size: COLUMNS, BITS or MEMORY"));
        }
        if self.has(Name::Cells) && kind == Kind::Cuckoo && !self.has(Name::Width) {
            return Err(Unfit::Needs("CELLS", "WIDTH, the bits of a fingerprint, such as 12"));
        }
        let needs_items = !matches!(kind, Kind::CountMin | Kind::Scalable | Kind::Dynamic);
        let by_size = fixed || (size == Some(Name::Memory) && !self.has(Name::Fpp) && kind != Kind::Cuckoo);
        let enough = by_size && (self.has(Name::Hashes) || kind.forgets()) || (kind == Kind::Cuckoo && fixed);
        if needs_items && !self.has(Name::Items) && !enough {
            let other = match kind {
                Kind::Cuckoo => ", or CELLS and WIDTH",
                Kind::Stable | Kind::A2 => ", the items to be remembered, or a size and FPP",
                _ if by_size => " or HASHES beside its size",
                _ => ", the items to make room for, or a size and HASHES",
            };
            return Err(Unfit::NoSize(kind.name(), other));
        }
        if self.has(Name::Hashes) && !by_size {
            return Err(Unfit::Needs("HASHES", "a size: BITS, CELLS or MEMORY"));
        }
        Ok(())
    }

    /// The same with everything filled in that was left open by what is usual; `first` is where scalable filters begin.
    pub fn settled(mut self, first: u64) -> Result<Self, Unfit> {
        self.check()?;
        let kind = self.kind;
        if !self.has(Name::Seed) {
            self.set(Name::Seed, Value::Whole(0));
        }
        if let (Some(bytes), false) = (self.whole(Name::Memory), self.has(Name::Fpp))
            && kind.takes_bits()
        {
            // Whole blocks: their number is rounded up.
            self.values[Name::Memory as usize] = None;
            self.set(Name::Bits, Value::Whole((bytes / 64).max(1).saturating_mul(512)));
        }
        let sized = self.has(Name::Bits) || self.has(Name::Cells);
        // A size and the items, or the hashes, leave no rate to be chosen; a filter that forgets takes size and rate.
        let open = !sized || (kind.forgets() && !self.has(Name::Items) && !self.has(Name::Decrements));
        if open && !(kind == Kind::Cuckoo && self.has(Name::Width)) {
            self.default(Name::Fpp, Value::Share(FPP));
        }
        match kind {
            Kind::Dynamic => self.default(Name::Items, Value::Whole(LAYER)),
            Kind::Scalable => self.default(Name::Items, Value::Whole(first)),
            Kind::Choice => self.default(Name::Choices, Value::Whole(2)),
            Kind::CountMin if self.has(Name::Columns) || sized => {
                self.default(Name::Rows, Value::Whole(ROWS));
            }
            Kind::CountMin => {
                self.default(Name::Epsilon, Value::Share(EPSILON));
                self.default(Name::Delta, Value::Share(DELTA));
            }
            _ => {}
        }
        if kind != Kind::Cuckoo && !self.has(Name::Compact) {
            let usual = match kind {
                Kind::Bitwise | Kind::CountMin => 8,
                kind if kind.is_spectral() => 16,
                _ => 4,
            };
            self.default(Name::Width, Value::Whole(usual));
        }
        self.default(Name::Scheme, Value::Word(SCHEMES.len() - 1));
        self.default(Name::Form, Value::Word(0));
        self.default(Name::Update, Value::Word(0));
        Ok(self)
    }

    /// The words that ask for it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["KIND".to_owned(), self.kind.name().to_owned()];
        for (at, (word, name, takes)) in Name::ALL.into_iter().enumerate() {
            let first = Name::ALL.iter().position(|(_, one, _)| *one == name) == Some(at);
            let Some(value) = self.values[name as usize].filter(|_| first) else { continue };
            words.push(word.to_owned());
            match (value, takes) {
                (Value::Whole(value), _) => words.push(value.to_string()),
                // Rust writes the shortest text that reads as the same double.
                (Value::Share(value), _) => words.push(value.to_string()),
                (Value::Word(number), Takes::Word(names)) => words.push(names[number].to_owned()),
                (Value::Word(_) | Value::Given, _) => {}
            }
        }
        words
    }

    /// An error if so many bytes are more than there may be.
    fn within(&self, needed: u64, limit: u64) -> Result<(), Unfit> {
        match self.whole(Name::Memory) {
            Some(max) if needed > max => Err(Unfit::OverMemory { needed, max }),
            _ if needed > limit => Err(Unfit::OverLimit { needed, max: limit }),
            _ => Ok(()),
        }
    }

    /// The filter, empty, of a wish that is [`settled`](Self::settled); refused if it takes more than `limit` bytes, before
    /// any are taken.
    pub fn build(&self, limit: u64) -> Result<Made, Unfit> {
        let (kind, items, fpp) = (self.kind, self.whole(Name::Items), self.share(Name::Fpp));
        let hasher = KeyHasher::xxh3(self.whole(Name::Seed).unwrap_or(0));
        let scheme = SchemeId::ALL[self.choice(Name::Scheme)];
        let width = self.small(Name::Width).unwrap_or(u32::BITS);
        let bits = |cells: u64| cells.div_ceil(64).saturating_mul(8);
        /// Sets what was given; all builders have these verbs, and call their size bits or cells. `$bytes` tells the memory
        /// from the shape.
        macro_rules! made {
            ($builder:expr, $size:ident, $bits_per_cell:expr, $bytes:expr) => {{
                let mut builder = $builder.hasher(hasher);
                if let Some(items) = items {
                    builder = builder.items(items);
                }
                if let Some(fpp) = fpp {
                    builder = builder.fpp(fpp);
                }
                // BITS is the size in memory, whatever the cells are.
                let by_bits =
                    self.whole(Name::Bits).map(|bits| (bits as f64 / f64::max(1.0, $bits_per_cell)) as u64);
                if let Some(size) = self.whole(Name::Cells).or(by_bits) {
                    builder = builder.$size(size);
                }
                if let Some(hashes) = self.small(Name::Hashes) {
                    builder = builder.hashes(hashes);
                }
                let bytes: u64 = builder.shape().map($bytes)?;
                self.within(bytes, limit)?;
                AnyFilter::from(builder.build()?)
            }};
        }
        let any_scheme = move |hashes| AnyScheme::new(scheme, hashes);
        Ok(Made::Any(match kind {
            Kind::Bloom => {
                made!(Bloom::builder().scheme(any_scheme), bits, 1.0, |shape| bits(shape.cells))
            }
            Kind::Blocked => made!(BlockedBloom::builder(), bits, 1.0, |shape| bits(shape.cells)),
            Kind::Counting => {
                let builder = CountingBloom::builder().scheme(scheme).width(width);
                made!(builder, cells, width.into(), |shape| counter_bytes(shape.cells, width))
            }
            Kind::SpectralMs | Kind::SpectralMi | Kind::SpectralRm => {
                let recurring = kind == Kind::SpectralRm;
                let marker = recurring && !self.has(Name::NoMarker);
                let mut builder = SpectralBloom::builder().scheme(scheme).policy(match kind {
                    Kind::SpectralMi => PolicyId::MinimumIncrease,
                    Kind::SpectralRm => PolicyId::RecurringMinimum,
                    _ => PolicyId::MinimumSelection,
                });
                if self.has(Name::Width) {
                    builder = builder.width(width);
                }
                if self.has(Name::Compact) {
                    builder = builder.compact();
                }
                if let Some(cells) = self.whole(Name::SecondaryCells) {
                    builder = builder.secondary_cells(cells);
                }
                if let Some(hashes) = self.small(Name::SecondaryHashes) {
                    builder = builder.secondary_hashes(hashes);
                }
                if self.has(Name::NoMarker) {
                    builder = builder.marker(false);
                }
                // Recurring minimum has half as many cells again, unless told otherwise, and a marker bit per cell. Compact
                // cells are counted as wide as they may become.
                let others = self.whole(Name::SecondaryCells);
                let per_cell = f64::from(if self.has(Name::Compact) { 16 } else { width })
                    * if recurring { 1.5 } else { 1.0 }
                    + f64::from(u8::from(marker));
                let bytes = |shape: Shape| {
                    let others = if recurring { others.unwrap_or(shape.cells.div_ceil(2)) } else { 0 };
                    let marks = if marker { bits(shape.cells) } else { 0 };
                    let cells =
                        counter_bytes(shape.cells, width).saturating_add(counter_bytes(others, width));
                    cells.saturating_add(marks)
                };
                made!(builder, cells, per_cell, bytes)
            }
            Kind::Bitwise => {
                let mut builder = BitwiseBloom::builder().scheme(scheme).width(width);
                if let Some(digit) = self.small(Name::Digit) {
                    builder = builder.digit(digit);
                }
                // With all levels that may be added, each half as large as the one below it.
                let bytes = |levels: Vec<BitwiseLevel>| {
                    let added = counter_bytes(LEVEL, width).saturating_mul(64);
                    let level = |level: &BitwiseLevel| counter_bytes(level.cells, level.width);
                    levels
                        .iter()
                        .map(level)
                        .fold(0, u64::saturating_add)
                        .saturating_mul(2)
                        .saturating_add(added)
                };
                made!(builder, cells, width.into(), bytes)
            }
            Kind::Stable => {
                let mut builder = StableBloom::builder().scheme(scheme).width(width);
                if let Some(decrements) = self.whole(Name::Decrements) {
                    builder = builder.decrements(decrements);
                }
                made!(builder, cells, width.into(), |shape| counter_bytes(shape.cells, width))
            }
            Kind::A2 => made!(A2Bloom::builder().scheme(scheme), bits, 1.0, |shape| bits(shape.bits)),
            Kind::Choice => {
                let builder = ChoiceBloom::builder().scheme(any_scheme);
                let builder = builder.choices(self.small(Name::Choices).unwrap_or(2));
                made!(builder, bits, 1.0, |shape| bits(shape.cells))
            }
            Kind::CountMin => {
                let cells =
                    CellKind::from_width(width).ok_or(Unfit::Needs("WIDTH", "to be 4, 8, 32 or 64"))?;
                let builder = CountMin::builder().hasher(hasher).cells(cells);
                let builder = builder
                    .form([Form::Original, Form::Modified][self.choice(Name::Form)])
                    .update([Update::Conservative, Update::Plain][self.choice(Name::Update)]);
                let rows = self.small(Name::Rows).unwrap_or(ROWS as u32);
                let builder = match (self.whole(Name::Columns), self.whole(Name::Bits)) {
                    (Some(columns), _) => builder.columns(columns).rows(rows),
                    (None, Some(bits)) => builder.bytes(bits / 8).rows(rows),
                    (None, None) => builder
                        .epsilon(self.share(Name::Epsilon).unwrap_or(EPSILON))
                        .delta(self.share(Name::Delta).unwrap_or(DELTA)),
                };
                self.within(builder.memory_bytes()?, limit)?;
                builder.build()?.into()
            }
            Kind::Cuckoo => {
                let mut builder = Cuckoo::builder().hasher(hasher);
                match self.whole(Name::Cells) {
                    Some(cells) => builder = builder.cells(cells),
                    None => builder = builder.items(items.unwrap_or(0)),
                }
                if let Some(fpp) = fpp {
                    builder = builder.fpp(fpp);
                }
                if let Some(width) = self.small(Name::Width) {
                    builder = builder.width(width);
                }
                let shape = builder.shape()?;
                self.within(shape.cells().saturating_mul(shape.width.into()).div_ceil(8), limit)?;
                builder.build()?.into()
            }
            Kind::Dynamic => {
                let builder = DynamicBloom::builder().hasher(hasher).scheme(scheme).width(width);
                let builder = builder.items(items.unwrap_or(LAYER)).fpp(fpp.unwrap_or(FPP));
                self.within(counter_bytes(builder.shape()?.cells, width), limit)?;
                builder.build()?.into()
            }
            Kind::Scalable => {
                let (items, seed) = (items.unwrap_or(0), self.whole(Name::Seed).unwrap_or(0));
                if items == 0 {
                    return Err(SizeError::ZeroItems.into());
                }
                if items > MAX_CAPACITY.unsigned_abs() {
                    return Err(Unfit::Needs("ITEMS of kind scalable", "to be 1073741824 at most"));
                }
                let plan = Plan::new(fpp.unwrap_or(FPP), items, 2, seed);
                let filter = plan.build(limit).map_err(|refused| match refused {
                    Refused::Memory => {
                        let needed = items.saturating_mul(2); // at least
                        Unfit::OverLimit { needed: needed.max(limit.saturating_add(1)), max: limit }
                    }
                    _ => Unfit::Size(SizeError::Fpp(plan.error)),
                })?;
                return Ok(Made::Scaling(plan, filter));
            }
        }))
    }
}
