//! How spectral filters are made.

use super::store::{Packed, Store};
use super::tables::Tables;
use super::{Policy, PolicyId, SpectralBloom};
use crate::SizeError;
use crate::cells::Counters;
use crate::filter::Builder;
use crate::filter::builder::{Built, ForItems, ForRate, InCells, Probing, Schemed};
use crate::filter::request::Request;
use crate::index::{AnyScheme, Scheme};
use crate::kinds::{Ability, Kind};
use crate::plan::{Figures, Goal, sizes};
use crate::spec::{FromSpec, Measure, Param, Spec, Value, bit_bytes, cell_bytes};
use crate::theory::bloom::Shape;
use alloc::vec::Vec;

/// Bits per cell unless another width is asked for: counts up to 65,534.
const WIDTH: u32 = 16;

#[derive(Clone, Debug)]
pub struct SpectralBloomOptions<P> {
    width: Option<u32>,
    compact: bool,
    policy: P,
    secondary_cells: Option<u64>,
    secondary_hashes: Option<u32>,
    marker: Option<bool>,
    as_printed: bool,
}

impl<P: Policy> Built for SpectralBloom<P> {
    type Options = SpectralBloomOptions<P>;
}
impl<P: Policy> ForItems for SpectralBloom<P> {}
impl<P: Policy> ForRate for SpectralBloom<P> {}
impl<P: Policy> InCells for SpectralBloom<P> {}
impl<P: Policy> Probing for SpectralBloom<P> {}
impl<P: Policy> Schemed for SpectralBloom<P> {}

impl<P> SpectralBloomOptions<P> {
    pub(super) fn new(policy: P) -> Self {
        Self {
            width: None,
            compact: false,
            policy,
            secondary_cells: None,
            secondary_hashes: None,
            marker: None,
            as_printed: false,
        }
    }
}

impl<P: Policy> Builder<SpectralBloom<P>> {
    /// The algorithm, by its type or, as [`PolicyId`], at run time; minimum selection unless set.
    pub fn policy<Q: Policy>(self, policy: Q) -> Builder<SpectralBloom<Q>> {
        let SpectralBloomOptions {
            width,
            compact,
            secondary_cells,
            secondary_hashes,
            marker,
            as_printed,
            policy: _,
        } = self.options;
        let options = SpectralBloomOptions {
            width,
            compact,
            policy,
            secondary_cells,
            secondary_hashes,
            marker,
            as_printed,
        };
        Builder { request: self.request, options }
    }

    /// Bits per cell, 1 to 32; 16 unless set. Counts up to 2^width − 2 can be reported and lowered
    /// again.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = Some(width);
        self
    }

    /// Cells that take about as many bits as their counts need, up to 32, instead of one width for
    /// all: less memory where most counts are small, and slower.
    ///
    /// ```
    /// use gardenia::SpectralBloom;
    /// let builder = SpectralBloom::builder().items(10_000).fpp(0.01);
    /// let (mut plain, mut compact) = (builder.clone().build()?, builder.compact().build()?);
    /// plain.extend(0..10_000);
    /// compact.extend(0..10_000);
    /// assert!(compact.memory_bytes() * 5 < plain.memory_bytes());
    /// assert_eq!(compact.count(7), plain.count(7));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn compact(mut self) -> Self {
        self.options.compact = true;
        self
    }

    /// Number of secondary cells, for recurring minimum; half as many as the primary unless set, as
    /// in the paper.
    pub fn secondary_cells(mut self, cells: u64) -> Self {
        self.options.secondary_cells = Some(cells);
        self
    }

    /// Probes per key in the secondary cells, for recurring minimum; as many as in the primary
    /// unless set.
    pub fn secondary_hashes(mut self, hashes: u32) -> Self {
        self.options.secondary_hashes = Some(hashes);
        self
    }

    /// Whether recurring minimum marks the keys that have secondary cells; the default is true.
    /// Without the marker, which takes a bit per primary cell, some counts are too small.
    pub fn marker(mut self, yes: bool) -> Self {
        self.options.marker = Some(yes);
        self
    }

    /// Recurring minimum as the paper prints it: no marker, and the count of a key with a single
    /// least cell is that of its secondary cells, unless they are 0, even where the primary ones
    /// say less. Counts are wrong both ways, and more often than without this. A key with an empty
    /// primary cell is absent all the same.
    ///
    /// ```
    /// use gardenia::filter::RecurringMinimum;
    /// use gardenia::SpectralBloom;
    /// let builder = SpectralBloom::builder().cells(10_000).hashes(5).policy(RecurringMinimum);
    /// let mut printed = builder.as_printed().build()?;
    /// printed.insert_many(&["rose", "rose", "tulip"]);
    /// assert_eq!(printed.count_many(&["rose", "tulip", "thistle"]), [2, 1, 0]);
    /// assert!(printed.is_as_printed() && !printed.has_marker());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn as_printed(mut self) -> Self {
        (self.options.marker, self.options.as_printed) = (Some(false), true);
        self
    }

    /// The shape of the primary cells, before any memory is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        self.request.any_shape()
    }

    /// The shape of the secondary cells, if there are some.
    fn secondary_shape(&self, primary: Shape) -> Result<Option<Shape>, SizeError> {
        let asked = self.options.secondary_cells.is_some()
            || self.options.secondary_hashes.is_some()
            || self.options.marker.is_some();
        match self.options.policy.id() {
            PolicyId::RecurringMinimum => {
                let cells = self.options.secondary_cells.unwrap_or(primary.cells.div_ceil(2));
                let hashes = self.options.secondary_hashes.unwrap_or(primary.hashes);
                let given = Request {
                    cells: Some(cells),
                    hashes: Some(hashes),
                    items: None,
                    fpp: None,
                    ..self.request.clone()
                };
                given.any_shape().map(Some)
            }
            _ if asked => {
                Err(SizeError::Conflict("only the policy recurring minimum has secondary cells and a marker"))
            }
            _ => Ok(None),
        }
    }

    /// The filter.
    pub fn build(self) -> Result<SpectralBloom<P>, SizeError> {
        let shape = self.shape()?;
        let secondary = self.secondary_shape(shape)?;
        let scheme = AnyScheme::new(self.request.scheme, shape.hashes);
        let secondary =
            secondary.map(|shape| (AnyScheme::new(self.request.scheme, shape.hashes), shape.cells));
        let about = self.request.about(|items| scheme.planned_fpp(shape.cells, items));
        let marker = (self.options.marker.unwrap_or(true), self.options.as_printed);
        if marker == (true, true) {
            return Err(SizeError::Conflict(
                "recurring minimum as printed has no marker: leave one of them out",
            ));
        }
        let store = match (self.options.compact, self.options.width) {
            (false, width) => {
                let new = |len| Counters::new(len, width.unwrap_or(WIDTH));
                Store::Plain(Tables::new(scheme, shape.cells, secondary, marker, new)?)
            }
            (true, None) => Store::Compact(Tables::new(scheme, shape.cells, secondary, marker, Packed::new)?),
            (true, Some(_)) => return Err(SizeError::Conflict("compact cells have no width: leave it out")),
        };
        Ok(SpectralBloom { hasher: self.request.hasher, scheme, policy: self.options.policy, store, about })
    }
}

impl Builder<SpectralBloom<PolicyId>> {
    fn of(spec: &Spec) -> Self {
        let compact = spec.has(Param::Compact);
        let recurring = spec.policy() == PolicyId::RecurringMinimum;
        let as_printed = spec.has(Param::AsPrinted);
        let marker = !as_printed && !spec.has(Param::NoMarker);
        // Compact cells are taken for as wide as they may become. Recurring minimum has half as many cells again, unless
        // told otherwise, and a marker bit per cell.
        let width = if compact { u32::BITS } else { spec.small(Param::Width).unwrap_or(WIDTH) };
        let per_cell = f64::from(width) * if recurring { 1.5 } else { 1.0 };
        let options = SpectralBloomOptions {
            width: (!compact).then_some(width),
            compact,
            policy: spec.policy(),
            secondary_cells: spec.whole(Param::SecondaryCells),
            secondary_hashes: spec.small(Param::SecondaryHashes),
            marker: recurring.then_some(marker),
            as_printed,
        };
        Self { request: Request::of(spec, per_cell + f64::from(u8::from(recurring && marker))), options }
    }
}

impl FromSpec for SpectralBloom<PolicyId> {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let design = || sizes::spectral_design(goal.need, goal.items, goal.fpp, goal.within);
        if goal.has(Ability::Count) { goal.if_able(kind, design) } else { Vec::new() }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<SpectralBloom<PolicyId>>::of(spec);
        let shape = builder.shape()?;
        let secondary = builder.secondary_shape(shape)?;
        spec.fill_shape(Param::Cells, shape);
        spec.default_to(Param::Policy, Value::Word(builder.options.policy.name()));
        if let Some(width) = builder.options.width {
            spec.set_whole(Param::Width, width);
        }
        if let Some(Shape { cells, hashes }) = secondary {
            spec.set_whole(Param::SecondaryCells, cells);
            spec.set_whole(Param::SecondaryHashes, hashes);
        }
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (builder, shape) = (Builder::<SpectralBloom<PolicyId>>::of(spec), spec.shape(Param::Cells));
        let cells = |cells| cell_bytes(cells, builder.options.width.unwrap_or(u32::BITS));
        let marks = if builder.options.marker == Some(true) { bit_bytes(shape.cells) } else { 0 };
        let secondary = builder.options.secondary_cells.map_or(0, cells);
        let bytes = cells(shape.cells).saturating_add(secondary).saturating_add(marks);
        Ok(Measure::as_stored(bytes, 16, spec.bloom_rate(shape)))
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Cells), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<SpectralBloom<PolicyId>>::of(spec).build()
    }
}
