//! The value behind `CMS.*` for keys that were made here: a Count-Min sketch of the library.
//!
//! Plain update and cells of 32 bits: what `CMS.INCRBY` promises is what they do. All of them hash
//! alike if nothing else is asked for, so that any two of one shape can be merged. Keys from
//! RedisBloom are [`CountMinTable`](crate::redisbloom::count_min::CountMinTable)s and keep its hash
//! functions; the two cannot be merged, because cells of one say nothing about cells of the other.
//!
//! A counter at 2³² − 1 has lost count, whether it was passed or just met, and the commands say so.

use super::stored::{Stored, Whole};
use crate::engine::types::TypeHandle;
use gardenia::cells::CellKind;
use gardenia::filter::Update;
use gardenia::index::Form;
use gardenia::{CountMin, Merge, ReadOptions, SizeError};
use std::ffi::CStr;
use std::io::{self, Read, Write};

/// Where a counter has lost count.
pub const TOP: u64 = u32::MAX as u64;

/// Why a sketch was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// No columns.
    Width,
    /// No rows, or more than 255.
    Depth,
    /// An error that is not between 0 and 1.
    Overestimation,
    /// A probability that is not between 0 and 1.
    Probability,
    /// More cells than can be numbered.
    Product,
    /// More memory than allowed, or than there is.
    Memory,
}

/// A new sketch of `depth` rows of `width` cells, if it takes at most `limit` bytes. Seed 0 is that
/// of all others.
///
/// ```
/// use gardenia_redis::values::count_min::{NotMade, by_dim};
/// let mut visits = by_dim(2000, 7, 0, u64::MAX).unwrap();
/// assert_eq!((visits.add(b"rose", 3), visits.count(b"thistle")), (3, 0));
/// assert_eq!(by_dim(2000, 7, 0, 1000).unwrap_err(), NotMade::Memory);
/// ```
pub fn by_dim(width: u64, depth: u64, seed: u64, limit: u64) -> Result<CountMin, NotMade> {
    if width == 0 {
        return Err(NotMade::Width);
    }
    if depth == 0 {
        return Err(NotMade::Depth);
    }
    width.checked_mul(depth).and_then(|cells| cells.checked_mul(4)).ok_or(NotMade::Product)?;
    let rows = u32::try_from(depth).map_err(|_| NotMade::Depth)?;
    let builder = CountMin::builder().columns(width).rows(rows).seed(seed);
    let wrong = |error| match error {
        SizeError::Hashes { .. } => NotMade::Depth,
        _ => NotMade::Memory,
    };
    if builder.memory_bytes().map_err(wrong)? > limit {
        return Err(NotMade::Memory);
    }
    builder.build().map_err(wrong)
}

/// The shape of a sketch whose counts are above the truth by more than `error` of all that was
/// counted with probability `probability` at most: ⌈2/error⌉ columns and ⌈log₂ 1/probability⌉ rows.
///
/// ```
/// assert_eq!(gardenia_redis::values::count_min::shape(0.001, 0.01), Ok((2000, 7)));
/// ```
pub fn shape(error: f64, probability: f64) -> Result<(u64, u64), NotMade> {
    let inside = |value: f64| value > 0.0 && value < 1.0; // not a number is outside
    if !inside(error) {
        return Err(NotMade::Overestimation);
    }
    if !inside(probability) {
        return Err(NotMade::Probability);
    }
    let (width, depth) = (libm::ceil(2.0 / error), libm::ceil(-libm::log2(probability)).max(1.0));
    Ok((width as u64, depth as u64))
}

/// Why sketches were not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMerged {
    /// They differ in width or depth.
    Shape,
    /// They differ in how keys find their cells.
    Hashes,
    /// A negative weight, which cells of our own cannot have.
    Weight,
    /// A counter would be below 0, or lose count.
    Overflow,
    /// No memory for the sum.
    Memory,
}

impl From<SizeError> for NotMerged {
    fn from(_: SizeError) -> Self {
        Self::Memory
    }
}

/// Adds the counts of `source` to `sum`, `weight` times. On an error the sum is none any more.
///
/// ```
/// use gardenia_redis::values::count_min::{add_weighted, by_dim};
/// let new = || by_dim(1000, 5, 0, u64::MAX).unwrap();
/// let (mut sum, mut visits) = (new(), new());
/// visits.add(b"rose", 5);
/// add_weighted(&mut sum, &visits, 3).unwrap();
/// assert_eq!(sum.count(b"rose"), 15);
/// ```
pub fn add_weighted(sum: &mut CountMin, source: &CountMin, weight: i64) -> Result<(), NotMerged> {
    if (sum.columns(), sum.rows()) != (source.columns(), source.rows()) {
        return Err(NotMerged::Shape);
    }
    let alike = |_| NotMerged::Hashes;
    let mut times = u64::try_from(weight).map_err(|_| NotMerged::Weight)?;
    let empty = source.fill() == 0.0;
    if times > TOP && !empty {
        return Err(NotMerged::Overflow);
    }
    if times == 1 {
        sum.merge(source).map_err(alike)?;
    } else {
        // By doubling a copy.
        let mut power = source.try_to_owned()?;
        if times == 0 || empty {
            power.clear(); // only what it is made of is to be compared
            times = 1;
        }
        while times > 0 {
            if times & 1 == 1 {
                sum.merge(&power).map_err(alike)?;
            }
            times >>= 1;
            if times > 0 {
                let copy = power.try_to_owned()?;
                power.merge(&copy).map_err(alike)?;
            }
        }
    }
    if sum.saturated() > 0 { Err(NotMerged::Overflow) } else { Ok(()) }
}

/// What is stored under the key.
pub type Counts = Stored<CountMin>;

static HANDLE: TypeHandle<Stored<CountMin>> = TypeHandle::new();

/// Written in the native format.
impl Whole for CountMin {
    const NAME: &'static CStr = c"gdn-count";
    const MARK: [u8; 8] = *b"\x89GDN-CM\xff";
    const LOADCHUNK: &'static CStr = c"GD.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
        &HANDLE
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        self.write_to(to).map_err(io::Error::other)
    }

    /// Only what the commands make: other cells would count otherwise.
    fn read(from: impl Read, len: u64) -> Option<Self> {
        let sketch = CountMin::read_from_with(from, &ReadOptions::new().max_bytes(len)).ok()?;
        let kind = (sketch.form(), sketch.update(), sketch.cell_kind());
        (kind == (Form::Original, Update::Plain, CellKind::Fixed32)).then_some(sketch)
    }

    fn memory(&self) -> usize {
        self.memory_bytes()
    }

    fn copy(&self) -> Option<Self> {
        self.try_to_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn of(width: u64, depth: u64) -> CountMin {
        by_dim(width, depth, 0, u64::MAX).unwrap()
    }

    fn bytes(sketch: &CountMin) -> Vec<u8> {
        let mut bytes = vec![];
        Whole::write(sketch, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn shapes_are_those_that_were_asked_for_or_errors() {
        assert_eq!((of(60, 4).columns(), of(60, 4).rows()), (60, 4));
        assert_eq!(shape(0.5, 0.5), Ok((4, 1)));
        assert_eq!(shape(0.9, 0.999), Ok((3, 1)));
        for wrong in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(shape(wrong, 0.01), Err(NotMade::Overestimation));
            assert_eq!(shape(0.01, wrong), Err(NotMade::Probability));
        }
        assert_eq!(shape(0.01, 1e-100), Ok((200, 333)));
        assert_eq!(shape(1e-300, 0.01), Ok((u64::MAX, 7)));
        let made = |width, depth| by_dim(width, depth, 0, 1 << 20).map(|_| ()).unwrap_err();
        assert_eq!((made(0, 4), made(4, 0)), (NotMade::Width, NotMade::Depth));
        assert_eq!((made(1, 256), made(1, 1 << 33)), (NotMade::Depth, NotMade::Depth));
        assert_eq!((made(u64::MAX, 1), made(1 << 32, 1 << 30)), (NotMade::Product, NotMade::Product));
        assert_eq!((made(1 << 61, 1), made(1 << 18, 2)), (NotMade::Memory, NotMade::Memory));
    }

    #[test]
    fn what_cannot_be_merged_says_why() {
        let (mut a, mut b) = (of(50, 3), of(50, 3));
        a.add(b"rose", TOP / 2);
        b.add(b"rose", TOP / 2);
        let merged = |sources: &[(&CountMin, i64)]| {
            let mut sum = of(50, 3);
            sources.iter().try_for_each(|(source, weight)| add_weighted(&mut sum, source, *weight))?;
            Ok(sum)
        };
        assert_eq!(merged(&[(&a, 1), (&b, 1)]).unwrap().count(b"rose"), TOP - 1);
        assert_eq!(merged(&[(&a, 0), (&b, 1)]).unwrap(), b);
        for overflow in [&[(&a, 1), (&b, 2)][..], &[(&a, 3)], &[(&a, i64::MAX)], &[(&a, 1 << 32)]] {
            assert_eq!(merged(overflow), Err(NotMerged::Overflow));
        }
        assert_eq!(merged(&[(&of(50, 3), i64::MAX)]), Ok(of(50, 3)));
        assert_eq!(merged(&[(&a, -1)]), Err(NotMerged::Weight));
        for weight in [0, 1, 2] {
            assert_eq!(merged(&[(&of(51, 3), weight)]), Err(NotMerged::Shape));
            assert_eq!(merged(&[(&of(50, 4), weight)]), Err(NotMerged::Shape));
            let seeded = by_dim(50, 3, 7, u64::MAX).unwrap();
            assert_eq!(merged(&[(&seeded, weight)]), Err(NotMerged::Hashes));
        }
    }

    #[test]
    fn sketches_that_commands_do_not_make_are_refused() {
        let builder = || CountMin::builder().columns(101).rows(3);
        let read = |builder: gardenia::Builder<gardenia::CountMin>, len: u64| {
            let bytes = bytes(&builder.build().unwrap());
            <CountMin as Whole>::read(&bytes[..], len.min(bytes.len() as u64)).is_some()
        };
        assert!(read(builder(), u64::MAX) && !read(builder(), 1 << 9));
        for other in [
            builder().update(Update::Conservative),
            builder().cells(CellKind::Fixed64),
            builder().form(Form::Modified),
        ] {
            assert!(!read(other, u64::MAX));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn counts_are_never_too_low_merge_exactly_and_survive_being_written(
            steps in prop::collection::vec((0u16..300, 0u64..50, any::<bool>()), 0..300),
            shape in (1u64..80, 1u64..6),
            weights in (0i64..9, 0i64..9),
        ) {
            let empty = of(shape.0, shape.1);
            let (mut a, mut b, mut both, mut truth) = (empty.clone(), empty.clone(), empty.clone(), HashMap::new());
            for (key, by, first) in steps {
                let (sketch, weight) = if first { (&mut a, weights.0) } else { (&mut b, weights.1) };
                let after = sketch.add(&key.to_le_bytes()[..], by);
                prop_assert_eq!(after, sketch.count(&key.to_le_bytes()[..]));
                both.add(&key.to_le_bytes()[..], by * weight as u64);
                *truth.entry(key).or_insert(0) += by * weight as u64;
            }
            let mut sum = empty;
            add_weighted(&mut sum, &a, weights.0).unwrap();
            add_weighted(&mut sum, &b, weights.1).unwrap();
            prop_assert_eq!(&sum, &both);
            prop_assert!(truth.iter().all(|(key, count)| both.count(&key.to_le_bytes()[..]) >= *count));
            prop_assert_eq!(both.total(), truth.values().sum::<u64>());
            let bytes = bytes(&both);
            prop_assert_eq!(<CountMin as Whole>::read(&bytes[..], bytes.len() as u64), Some(both));
        }
    }
}
