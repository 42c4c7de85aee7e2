//! The same sizes with Gardenia's own filter: random digests, the library's scheme.
//!
//! The library's double hashing never takes the step 0, so its short cycles are fewer than the
//! paper's; all other schemes are the paper's.

use super::{Filter, Size, Way};
use crate::Stream;
use crate::queries::found;
use anyhow::Result;
use gardenia::index::SchemeId;
use gardenia::index::{AnyScheme, Scheme};
use gardenia::{Bloom, Digest};

fn scheme(way: Way, hashes: u32) -> AnyScheme {
    let id = match way {
        Way::Standard => SchemeId::Independent,
        Way::Partition => SchemeId::Partition,
        Way::Double => SchemeId::Double,
        Way::Square => SchemeId::EnhancedSquare,
        Way::Cube => SchemeId::EnhancedCube,
        Way::Triple => SchemeId::Triple,
    };
    AnyScheme::new(id, hashes)
}

/// The rate that the library promises.
pub(crate) fn library_expected(size: &Size, way: Way) -> f64 {
    scheme(way, size.hashes).planned_fpp(size.cells(way), size.items)
}

/// The bits that the library's scheme sets for n random keys.
pub(crate) fn library_filter(size: &Size, way: Way, stream: &mut Stream) -> Filter {
    let (scheme, cells) = (scheme(way, size.hashes), size.cells(way));
    let mut bits = vec![0; cells.div_ceil(64) as usize];
    for digest in stream.digests(size.items) {
        scheme.positions(digest, cells).for_each(|at| bits[(at / 64) as usize] |= 1 << (at % 64));
    }
    Filter { bits }
}

/// One trial: a filter is filled, and asked for this many keys that are not in it; how many it
/// found.
pub(crate) fn library_found(
    size: &Size,
    way: Way,
    broken: bool,
    queries: u64,
    stream: &mut Stream,
) -> Result<u64> {
    if broken {
        return fill_and_ask(size, move |hashes| Cut(scheme(way, hashes)), queries, stream);
    }
    fill_and_ask(size, move |hashes| scheme(way, hashes), queries, stream)
}

fn fill_and_ask<S: Scheme>(
    size: &Size,
    scheme: impl Fn(u32) -> S + Send + Sync + 'static,
    queries: u64,
    stream: &mut Stream,
) -> Result<u64> {
    let cells = size.per_item * size.items;
    let mut filter = Bloom::builder().bits(cells).hashes(size.hashes).scheme(scheme).build()?;
    let keys = stream.digests(size.items);
    filter.insert_digests(&keys, &mut vec![false; keys.len()]);
    Ok(found(&filter, queries, stream))
}

/// A scheme that goes by the upper twenty bits of a digest only: a bug that verdicts must notice.
/// Two keys in a million have the same positions then.
#[derive(Clone, Debug, PartialEq)]
struct Cut(AnyScheme);

impl Scheme for Cut {
    type Walk = <AnyScheme as Scheme>::Walk;
    fn id(&self) -> Option<SchemeId> {
        None
    }
    fn hashes(&self) -> u32 {
        self.0.hashes()
    }
    fn walk(&self, digest: Digest, cells: u64) -> Self::Walk {
        self.0.walk(Digest(digest.0 & !(u64::MAX >> 20)), cells)
    }
    fn fit(&self, cells: u64) -> u64 {
        self.0.fit(cells)
    }
    fn partitioned(&self) -> bool {
        self.0.partitioned()
    }
}
