//! Spectral filters in files: the kind's own parameters, and the sections of its payload.

use super::recurring::{Marker, Secondary};
use super::store::{Packed, Store};
use super::tables::Tables;
use super::{MinimumSelection, Policy, PolicyId, SpectralBloom};
use crate::cells::{Bits, Bytes, Compact, CompactView, Counters, Memory, Owned, counter_bytes};
use crate::filter::About;
use crate::format::{self, Cut, Header, Kind, ReadOptions, Section, Stored, check_fit};
use crate::hash::KeyHasher;
use crate::index::{AnyScheme, Scheme};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::spec::{Param, Spec, Value};
use crate::{DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of parameters: algorithm, storage, marker and belief; hashes and cells of the secondary
/// filter.
const PARAMS: usize = 16;

/// Compact cells read from a file may take three times their words, beside the words themselves.
const COMPACT_FACTOR: u64 = 4;

impl<P: Policy, M: Memory> Stored for SpectralBloom<P, M> {
    fn options(&self, spec: &mut Spec) {
        spec.default_to(Param::Policy, Value::Word(self.policy().name()));
        for (param, given) in [
            (Param::Compact, self.is_compact()),
            (
                Param::NoMarker,
                self.policy() == PolicyId::RecurringMinimum && !self.has_marker() && !self.is_as_printed(),
            ),
            (Param::AsPrinted, self.is_as_printed()),
        ] {
            if given {
                spec.default_to(param, Value::Given);
            }
        }
        if self.is_compact() {
            spec.forget(&[Param::Width]);
        }
        if let Some(scheme) = self.secondary_scheme() {
            spec.set_whole(Param::SecondaryCells, self.secondary_cells());
            spec.set_whole(Param::SecondaryHashes, scheme.hashes());
        }
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let bytes = self.memory_bytes() as u64;
        let mut header = Header::new(self.identity(), &self.hasher, &self.about, bytes)?;
        let secondary = self.secondary_scheme();
        let flags = [self.is_compact(), self.has_marker(), self.is_as_printed()];
        header.params.push(self.policy.id().number());
        header.params.extend(flags.map(u8::from));
        header.params.extend(secondary.map_or(0, |scheme| scheme.hashes()).to_le_bytes());
        header.params.extend(self.secondary_cells().to_le_bytes());
        Ok(header)
    }
    /// Those of plain cells. Compact ones must be made: see `payload`.
    fn sections(&self) -> Vec<&dyn Memory> {
        let Store::Plain(Tables { primary, secondary }) = &self.store else { return Vec::new() };
        let mut sections: Vec<&dyn Memory> = vec![primary.memory()];
        if let Some(Secondary { cells, marker, .. }) = secondary {
            sections.push(cells.memory());
            sections.extend(marker.iter().map(|marker| marker.bits.memory() as &dyn Memory));
        }
        sections
    }
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        let Store::Compact(Tables { primary, secondary }) = &self.store else {
            return Ok(self.sections().into_iter().map(Section::Kept).collect());
        };
        let primary = packed_words(primary)?;
        let mut head = Owned::zeroed(1)?;
        head.as_mut_slice()[0] = primary.memory().words() as u64;
        let mut sections = vec![Section::Made(head), primary];
        if let Some(Secondary { cells, marker, .. }) = secondary {
            sections.push(packed_words(cells)?);
            sections.extend(marker.iter().map(|marker| Section::Kept(marker.bits.memory())));
        }
        Ok(sections)
    }
}

/// Compact cells as they are stored.
fn packed_words<M: Memory>(cells: &Packed<M>) -> Result<Section<'_>, SizeError> {
    Ok(match cells {
        Packed::Live(cells) => Section::Made(cells.to_words()?),
        Packed::Frozen(cells) => Section::Kept(cells.memory()),
    })
}

/// What a header says, checked.
struct Parts<P> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    policy: P,
    about: About,
    cells: u64,
    secondary: Option<(AnyScheme, u64)>,
    marker: bool,
    believed: bool,
    compact: bool,
    width: u32,
}

/// An error about a parameter.
fn wrong<T>(field: &'static str, value: impl Into<u64>, rule: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError::Field { field, value: value.into(), rule })
}

impl<P: Policy> Parts<P> {
    fn new(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        header.check_kind(Kind::Spectral)?;
        let scheme: AnyScheme = header.scheme()?;
        let Ok(params): Result<[u8; PARAMS], _> = header.params[..].try_into() else {
            return wrong("parameter length", header.params.len() as u64, "this kind has 16 bytes of them");
        };
        let [number, storage, marker, believed, h0, h1, h2, h3, cells @ ..] = params;
        let (hashes, cells) = (u32::from_le_bytes([h0, h1, h2, h3]), u64::from_le_bytes(cells));
        let Some(id) = PolicyId::from_number(number) else {
            return wrong("policy", number, "1 to 3 are known");
        };
        let Some(policy) = P::restore(id) else {
            let rule = "this type has another: read it by the policy's name, as PolicyId, or as AnyFilter";
            return wrong("policy", number, rule);
        };
        let recurring = id == PolicyId::RecurringMinimum;
        if storage > 1 {
            return wrong("storage", storage, "0 and 1 are known");
        }
        if marker > u8::from(recurring) {
            return wrong("marker", marker, "it is 0 or, with policy 3, 1");
        }
        if believed > u8::from(recurring && marker == 0) {
            return wrong("belief", believed, "it is 0 or, with policy 3 and no marker, 1");
        }
        let secondary = if recurring {
            if !(1..=MAX_HASHES).contains(&hashes) {
                return wrong("secondary hashes", hashes, "1 to 255 are allowed");
            }
            if !(1..=MAX_CELLS).contains(&cells) {
                return wrong("secondary cells", cells, "1 to 2^40 are allowed");
            }
            let scheme = AnyScheme::new(scheme.id().unwrap_or_default(), hashes);
            check_fit(&scheme, cells)?;
            Some((scheme, cells))
        } else if hashes != 0 || cells != 0 {
            return wrong("secondary cells", cells, "only policy 3 has some");
        } else {
            None
        };
        let parts = Self {
            hasher: header.hasher(options)?,
            scheme,
            policy,
            about: header.about(),
            cells: header.identity.cells,
            secondary,
            marker: marker == 1,
            believed: believed == 1,
            compact: storage == 1,
            width: header.identity.width,
        };
        if parts.compact {
            header.check_width(u32::BITS)?;
        } else {
            let Some(lens) = parts.plain_words() else {
                return wrong("cell width", parts.width, "counters have 1 to 32 bits");
            };
            header.check_payload(lens.iter().sum::<u64>() * 8)?; // each at most 2⁴⁰
        }
        Ok(parts)
    }

    /// Words of the marker.
    fn marker_words(&self) -> u64 {
        if self.marker { self.cells.div_ceil(64) } else { 0 }
    }

    /// Words of plain primary cells, secondary cells and marker.
    fn plain_words(&self) -> Option<[u64; 3]> {
        let secondary = match self.secondary {
            Some((_, cells)) => counter_bytes(cells, self.width)? / 8,
            None => 0,
        };
        Some([counter_bytes(self.cells, self.width)? / 8, secondary, self.marker_words()])
    }

    /// The same of compact ones in a payload of `total` words, the first of which is `head`.
    fn compact_words(&self, total: usize, head: u64) -> Result<[usize; 3], DecodeError> {
        let marker = usize::try_from(self.marker_words()).ok();
        let primary = usize::try_from(head).ok();
        let rest = primary.zip(marker).and_then(|(primary, marker)| {
            let secondary = total.checked_sub(1)?.checked_sub(primary)?.checked_sub(marker)?;
            (self.secondary.is_some() || secondary == 0).then_some([primary, secondary, marker])
        });
        rest.ok_or(DecodeError::Damaged("the parts of the payload do not add up to it"))
    }

    /// The filter of these parts and the sections that `cells` and `bits` make cells and marker of.
    fn join<S, C, M: Memory>(
        &self,
        [primary, secondary, marker]: [S; 3],
        cells: impl Fn(S, u64) -> Result<C, DecodeError>,
        bits: impl FnOnce(S) -> Result<Bits<M>, DecodeError>,
    ) -> Result<Tables<C, M>, DecodeError> {
        let primary = cells(primary, self.cells)?;
        let secondary = match self.secondary {
            None => None,
            Some((scheme, len)) => Some(Secondary {
                scheme,
                believed: self.believed,
                cells: cells(secondary, len)?,
                marker: match self.marker {
                    true => Some(Marker { scheme: self.scheme, bits: bits(marker)? }),
                    false => None,
                },
            }),
        };
        Ok(Tables { primary, secondary })
    }

    fn filter<M>(self, store: Store<M>) -> SpectralBloom<P, M> {
        let Self { hasher, scheme, policy, about, .. } = self;
        SpectralBloom { hasher, scheme, policy, store, about }
    }
}

const SHORT: DecodeError = DecodeError::Damaged("the payload is shorter than its header says");

/// The marker's bits past the end must be zero in a file.
fn check_bits(bits: Bits) -> Result<Bits, DecodeError> {
    match bits.tail_is_clear() {
        true => Ok(bits),
        false => Err(DecodeError::Damaged("bits past the end of the marker are set")),
    }
}

impl<P: Policy> format::Restore for SpectralBloom<P> {
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        let parts = Parts::<P>::new(header, options)?;
        if !parts.compact {
            return format::read_in_place(header, options, fill);
        }
        let (needed, max) = (header.payload_len.saturating_mul(COMPACT_FACTOR), options.max_bytes);
        if needed > max {
            return Err(DecodeError::TooLarge { needed, max });
        }
        let mut words = Owned::zeroed(usize::try_from(header.payload_len / 8).map_err(|_| SHORT)?)?;
        fill(vec![words.as_mut_slice()])?;
        let (head, words) = words.as_slice().split_first().ok_or(SHORT)?;
        let [primary, secondary, _] = parts.compact_words(words.len() + 1, *head)?;
        let (primary, rest) = words.split_at(primary);
        let (secondary, marker) = rest.split_at(secondary);
        let tables = parts.join(
            [primary, secondary, marker],
            |words, len| Ok(Packed::Live(Compact::from_words(len, words)?)),
            |words| {
                let mut bits = Bits::new(parts.cells)?;
                bits.words_mut().copy_from_slice(words);
                check_bits(bits)
            },
        )?;
        Ok(parts.filter(Store::Compact(tables)))
    }
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let parts = Parts::new(header, options)?;
        let cells = |(), len| Ok(Counters::new(len, parts.width)?);
        let tables = parts.join([(); 3], cells, |()| Ok(Bits::new(parts.cells)?))?;
        Ok(parts.filter(Store::Plain(tables)))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        let Store::Plain(Tables { primary, secondary }) = &mut self.store else { return Vec::new() };
        let mut sections = vec![primary.words_mut()];
        if let Some(Secondary { cells, marker, .. }) = secondary {
            sections.push(cells.words_mut());
            sections.extend(marker.iter_mut().map(|marker| marker.bits.words_mut()));
        }
        sections
    }
    fn check(&self) -> Result<(), DecodeError> {
        let Store::Plain(Tables { primary, secondary }) = &self.store else { return Ok(()) };
        primary.check_tail()?;
        let Some(secondary) = secondary else { return Ok(()) };
        secondary.cells.check_tail()?;
        match secondary.marker.as_ref().is_none_or(|marker| marker.bits.tail_is_clear()) {
            true => Ok(()),
            false => Err(DecodeError::Damaged("bits past the end of the marker are set")),
        }
    }
}

impl<P: Policy, B: Cut> format::Attach<B> for SpectralBloom<P, Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let parts = Parts::<P>::new(header, options)?;
        let cut = |payload: B, [primary, secondary, _]: [usize; 3]| {
            let (primary, rest) = payload.cut(primary.checked_mul(8)?)?;
            let (secondary, marker) = rest.cut(secondary.checked_mul(8)?)?;
            Some([primary, secondary, marker])
        };
        let bits = |bytes| Bits::borrowed(bytes, parts.cells).ok_or(SHORT);
        let store = if parts.compact {
            let total = payload.as_ref().len() / 8;
            let (head, rest) = payload.cut(8).ok_or(SHORT)?;
            let lens = parts.compact_words(total, Bytes(head).load(0))?;
            let cells = |bytes, len| Ok(Packed::Frozen(CompactView::new(Bytes(bytes), len)?));
            Store::Compact(parts.join(cut(rest, lens).ok_or(SHORT)?, cells, bits)?)
        } else {
            let lens =
                parts.plain_words().ok_or(SHORT)?.map(|words| usize::try_from(words).unwrap_or(usize::MAX));
            let cells = |bytes, len| Counters::borrowed(bytes, len, parts.width).ok_or(SHORT);
            Store::Plain(parts.join(cut(payload, lens).ok_or(SHORT)?, cells, bits)?)
        };
        Ok(parts.filter(store))
    }
}

format::stored_methods!(SpectralBloom<P, M> where P: Policy, M: Memory);
format::read_methods! {
    @ SpectralBloom, from_bytes_as, read_from_as, load_as, "by any algorithm and with options", [P: Policy],
    SpectralBloom<P>
}
format::read_methods! {
    @ SpectralBloom, view_as, open_mapped_as, "by any algorithm and with options", [P: Policy],
    SpectralBloom<P, Bytes<&'a [u8]>>, SpectralBloom<P, Bytes<crate::format::Mapped>>,
    SpectralBloom<MinimumSelection, Bytes<&[u8]>>, SpectralBloom<MinimumSelection, Bytes<crate::format::Mapped>>
}
format::serde_impls!([P: Policy, M: Memory] SpectralBloom<P, M>, [P: Policy] SpectralBloom<P>);
