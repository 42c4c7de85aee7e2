//! The rows of `peers static`: how each filter is built from keys, and queried.
//!
//! Loops are inside the rows, so that calls are inlined as a caller's would be.

use super::Keys;
use dsi_progress_logger::no_logging;
use gardenia::{BinaryFuse, Cuckoo, Digest, GolombSet, InfiniFilter, Ribbon, ScalableBlocked, ScalableBloom};
use growable_bloom_filter::GrowableBloom;
use mem_dbg::{MemSize, SizeFlags};
use std::hint::black_box;
use std::io::Write;
use sux::dict::VFilter;
use sux::func::VBuilder;
use sux::func::shard_edge::{Fuse3NoShards, FuseAug3Shards};
use xorf::Filter as _;

/// Keys per batch call.
pub(crate) const BATCH: usize = 8192;

/// A built filter as this benchmark sees it.
pub(crate) trait Fixed {
    /// Asks one by one; how many were found.
    fn ask(&self, keys: &Keys) -> usize;
    /// Asks by batches, if it can.
    fn ask_many(&self, _: &Keys) -> Option<usize> {
        None
    }
    fn bytes(&self) -> usize;
}

/// A row.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The row that its times are compared with.
    pub(crate) peer: &'static str,
    pub(crate) rate: Rate,
    pub(crate) build: Build,
    pub(crate) make: fn(&Keys, usize) -> anyhow::Result<Box<dyn Fixed>>,
}

/// What a filter says of its false positives.
#[derive(Clone, Copy)]
pub(crate) enum Rate {
    /// This is their probability.
    Is(f64),
    /// It is no more than this.
    AtMost(f64),
}

/// Who builds.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Build {
    /// The caller's thread, one key or one batch at a time.
    Caller,
    /// As many threads as are asked for, the caller's if one.
    Threads,
    /// As many threads as are asked for, never the caller's: its processor time says nothing.
    OwnThreads,
}

pub(crate) const XORF_8: &str = "xorf BinaryFuse8";
pub(crate) const XORF_16: &str = "xorf BinaryFuse16";
pub(crate) const SUX: &str = "sux VFilter 8";
pub(crate) const SUX_SMALL: &str = "sux VFilter 8, 64 b";
pub(crate) const FUSE: &str = "fuse 8, u64";
pub(crate) const FUSE_DIGESTS: &str = "fuse 8, digests";
pub(crate) const RIBBON: &str = "ribbon 8";
pub(crate) const CUCKOOFILTER: &str = "cuckoofilter";
pub(crate) const CUCKOO: &str = "cuckoo 8";
pub(crate) const CUCKOO_BATCH: &str = "cuckoo 8, batches";
pub(crate) const GROWABLE: &str = "growable-bloom";
/// Told the number of keys as its maximum, and beginning with room for few.
pub(crate) const QFILTER: &str = "qfilter resizeable";
pub(crate) const INFINI: &str = "infini";
pub(crate) const INFINI_BATCH: &str = "infini, batches";

const BYTE: Rate = Rate::Is(1.0 / 256.0);
/// Two buckets of four fingerprints of eight bits, one of whose values is for empty places.
const EIGHT_PLACES: Rate = Rate::AtMost(8.0 / 255.0);
const GROWING: f64 = 0.01;

/// sux's filters are built by its calls for slices, in a pool of that number of threads.
macro_rules! sux {
    ($filter:ty, $keys:expr, $threads:expr) => {{
        let pool = rayon::ThreadPoolBuilder::new().num_threads($threads).build()?;
        let builder = VBuilder::default().max_num_threads($threads);
        let make = || <$filter>::try_par_new_with_builder($keys, builder, no_logging![]);
        Ok(Box::new(pool.install(make)?))
    }};
}

/// The rows, each behind the one that it is compared with.
pub(crate) fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: XORF_8,
            peer: XORF_8,
            rate: BYTE,
            build: Build::Caller,
            make: |keys, _| {
                Ok(Box::new(xorf::BinaryFuse8::try_from(&keys.numbers[..]).map_err(anyhow::Error::msg)?))
            },
        },
        Entry {
            name: SUX,
            peer: XORF_8,
            rate: BYTE,
            build: Build::OwnThreads,
            make: |keys, threads| sux!(Sux, &keys.numbers, threads),
        },
        Entry {
            name: SUX_SMALL,
            peer: XORF_8,
            rate: BYTE,
            build: Build::OwnThreads,
            make: |keys, threads| sux!(SuxSmall, &keys.numbers, threads),
        },
        Entry {
            name: FUSE,
            peer: XORF_8,
            rate: BYTE,
            build: Build::Threads,
            make: |keys, threads| {
                Ok(Box::new(BinaryFuse::builder().threads(threads).build_from(&keys.numbers)?))
            },
        },
        Entry {
            name: FUSE_DIGESTS,
            peer: XORF_8,
            rate: BYTE,
            build: Build::Threads,
            make: |keys, threads| {
                let builder = BinaryFuse::builder().threads(threads);
                Ok(Box::new(OfDigests(builder.build_from_digests(&keys.digests)?)))
            },
        },
        Entry {
            name: "fuse 8, four cells",
            peer: XORF_8,
            rate: BYTE,
            build: Build::Threads,
            make: |keys, threads| {
                Ok(Box::new(BinaryFuse::builder().arity(4).threads(threads).build_from(&keys.numbers)?))
            },
        },
        Entry {
            name: RIBBON,
            peer: XORF_8,
            rate: BYTE,
            build: Build::Threads,
            make: |keys, threads| {
                Ok(Box::new(Ribbon::builder().fingerprint(8).threads(threads).build_from(&keys.numbers)?))
            },
        },
        Entry {
            name: "Golomb set",
            peer: XORF_8,
            rate: BYTE,
            build: Build::Caller,
            make: |keys, _| Ok(Box::new(GolombSet::builder().fpp(1.0 / 256.0).build_from(&keys.numbers)?)),
        },
        Entry {
            name: XORF_16,
            peer: XORF_16,
            rate: Rate::Is(1.0 / 65536.0),
            build: Build::Caller,
            make: |keys, _| {
                Ok(Box::new(xorf::BinaryFuse16::try_from(&keys.numbers[..]).map_err(anyhow::Error::msg)?))
            },
        },
        Entry {
            name: "fuse 16, u64",
            peer: XORF_16,
            rate: Rate::Is(1.0 / 65536.0),
            build: Build::Threads,
            make: |keys, threads| {
                let builder = BinaryFuse::builder().fingerprint(16).threads(threads);
                Ok(Box::new(builder.build_from(&keys.numbers)?))
            },
        },
        Entry {
            name: CUCKOOFILTER,
            peer: CUCKOOFILTER,
            rate: EIGHT_PLACES,
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = TheirCuckoo::with_capacity(keys.numbers.len());
                keys.numbers.iter().try_for_each(|key| filter.add(key))?;
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: "qfilter, 2^-5",
            peer: CUCKOOFILTER,
            rate: Rate::AtMost(1.0 / 32.0),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = qfilter::Filter::new(keys.numbers.len() as u64, 1.0 / 32.0)?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: CUCKOO,
            peer: CUCKOOFILTER,
            rate: EIGHT_PLACES,
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = Cuckoo::builder().items(keys.numbers.len() as u64).width(8).build()?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: CUCKOO_BATCH,
            peer: CUCKOOFILTER,
            rate: EIGHT_PLACES,
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = Cuckoo::builder().items(keys.numbers.len() as u64).width(8).build()?;
                for keys in keys.numbers.chunks(BATCH) {
                    black_box(filter.insert_many(keys)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: GROWABLE,
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = GrowableBloom::new(GROWING, 1000);
                for key in &keys.numbers {
                    black_box(filter.insert(key));
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: QFILTER,
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = qfilter::Filter::new_resizeable(1000, keys.numbers.len() as u64, GROWING)?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: INFINI,
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = InfiniFilter::new(GROWING)?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: INFINI_BATCH,
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = InfiniFilter::new(GROWING)?;
                for keys in keys.numbers.chunks(BATCH) {
                    black_box(filter.insert_many(keys)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: "scalable-blocked",
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = ScalableBlocked::builder().fpp(GROWING).items(1000).build()?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: "scalable-bl., batches",
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = ScalableBlocked::builder().fpp(GROWING).items(1000).build()?;
                for keys in keys.numbers.chunks(BATCH) {
                    black_box(filter.insert_many(keys)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: "scalable",
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = ScalableBloom::builder().fpp(GROWING).items(1000).build()?;
                for key in &keys.numbers {
                    black_box(filter.insert(key)?);
                }
                Ok(Box::new(filter))
            },
        },
        Entry {
            name: "scalable, batches",
            peer: GROWABLE,
            rate: Rate::AtMost(GROWING),
            build: Build::Caller,
            make: |keys, _| {
                let mut filter = ScalableBloom::builder().fpp(GROWING).items(1000).build()?;
                for keys in keys.numbers.chunks(BATCH) {
                    black_box(filter.insert_many(keys)?);
                }
                Ok(Box::new(filter))
            },
        },
    ]
}

/// One answer, which the compiler can neither leave out nor make together with others.
#[inline]
fn counted(found: bool) -> usize {
    usize::from(black_box(found))
}

/// Gardenia's filters, asked with keys.
macro_rules! of_keys {
    ($($filter:ty),*) => {$(
        impl Fixed for $filter {
            fn ask(&self, keys: &Keys) -> usize {
                keys.numbers.iter().map(|key| counted(self.contains(key))).sum()
            }
            fn ask_many(&self, keys: &Keys) -> Option<usize> {
                let found = |keys: &[u64]| self.contains_many(keys).iter().filter(|found| **found).count();
                Some(keys.numbers.chunks(BATCH).map(found).sum())
            }
            fn bytes(&self) -> usize {
                self.memory_bytes()
            }
        }
    )*};
}
of_keys!(BinaryFuse, Ribbon, GolombSet, Cuckoo, InfiniFilter, ScalableBlocked, ScalableBloom);

/// Gardenia's, asked with digests.
struct OfDigests(BinaryFuse);

impl Fixed for OfDigests {
    fn ask(&self, keys: &Keys) -> usize {
        keys.digests.iter().map(|digest| counted(self.0.contains_digest(*digest))).sum()
    }
    fn ask_many(&self, keys: &Keys) -> Option<usize> {
        let mut room = vec![false; BATCH];
        let mut found = |digests: &[Digest]| {
            let answers = &mut room[..digests.len()];
            self.0.contains_digests(digests, answers);
            answers.iter().filter(|found| **found).count()
        };
        Some(keys.digests.chunks(BATCH).map(&mut found).sum())
    }
    fn bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

/// Filters of other crates.
macro_rules! of_others {
    ($($filter:ty: |$self:ident| $bytes:expr;)*) => {$(
        impl Fixed for $filter {
            fn ask(&self, keys: &Keys) -> usize {
                keys.numbers.iter().map(|key| counted(self.contains(key))).sum()
            }
            fn bytes(&self) -> usize {
                let $self = self;
                $bytes
            }
        }
    )*};
}
of_others! {
    xorf::BinaryFuse8: |filter| filter.fingerprints.len();
    xorf::BinaryFuse16: |filter| filter.fingerprints.len() * 2;
    Sux: |filter| filter.mem_size(SizeFlags::default());
    SuxSmall: |filter| filter.mem_size(SizeFlags::default());
    TheirCuckoo: |filter| filter.memory_usage();
    qfilter::Filter: |filter| filter.memory_usage();
    GrowableBloom: |filter| {
        // It does not tell; its stored form is a list of bytes and little else.
        let mut commas = Commas(0);
        serde_json::to_writer(&mut commas, filter).map_or(0, |()| commas.0)
    };
}

type TheirCuckoo = cuckoofilter::CuckooFilter<std::hash::DefaultHasher>;

/// Its default form, and that of 64-bit signatures without shards, for fewer keys.
type Sux = VFilter<u64, Box<[u8]>, [u64; 2], FuseAug3Shards>;
type SuxSmall = VFilter<u64, Box<[u8]>, [u64; 1], Fuse3NoShards>;

/// Counts commas of what is written.
struct Commas(usize);

impl Write for Commas {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0 += text.iter().filter(|byte| **byte == b',').count();
        Ok(text.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
