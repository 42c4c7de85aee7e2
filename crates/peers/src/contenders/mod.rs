//! Who is measured: one file per library, and the machine itself.

mod bloomfilter;
mod fastbloom;
pub(crate) mod gardenia;
mod machine;
mod parquet;
mod qfilter;
mod sbbf;
mod xorf;

use crate::contender::Contender;
use crate::keys::BenchKey;
use crate::measure::{Round, Sample, measure};

/// One line of the roster.
pub(crate) struct Entry<K> {
    pub(crate) name: &'static str,
    /// Whether there is a row for two threads: they share the filter, at least for queries.
    pub(crate) shareable: bool,
    /// Measured whatever `--only` says, because other rows are read against it.
    pub(crate) always: bool,
    pub(crate) run: fn(&Round<'_, K>, usize) -> Sample,
}

impl<K: BenchKey> Entry<K> {
    fn of<C: Contender<K>>(name: &'static str) -> Self {
        let run = |round: &Round<'_, K>, threads| measure::<C, K>(&round.work, threads);
        Self { name, shareable: false, always: false, run }
    }

    fn shareable(self) -> Self {
        Self { shareable: true, ..self }
    }

    fn always(self) -> Self {
        Self { always: true, ..self }
    }
}

/// Names that the goals refer to.
pub(crate) mod name {
    pub(crate) const LINES: &str = "limit: random lines";
    pub(crate) const HASH: &str = "limit: hash alone";
    pub(crate) const BLOOM: &str = "gardenia bloom";
    pub(crate) const ATOMIC: &str = "gardenia atomic";
    pub(crate) const BLOCKED: &str = "gardenia blocked";
    pub(crate) const BLOCKED_ATOMIC: &str = "gardenia bl. atomic";
    pub(crate) const SPLIT_BLOCK: &str = "gardenia sbbf";
    pub(crate) const PARQUET: &str = "gardenia sbbf xxh64";
    pub(crate) const PARQUET_CRATE: &str = "parquet";
    pub(crate) const FASTBLOOM: &str = "fastbloom";
    pub(crate) const FOLDHASH: &str = "fastbloom foldhash";
    pub(crate) const SBBF: [&str; 2] = ["sbbf-rs-safe xxh3", "sbbf-rs-safe foldhash"];
}

/// All contenders, in the order of the rows.
pub(crate) fn roster<K: BenchKey>() -> Vec<Entry<K>> {
    vec![
        Entry {
            run: |round, threads| measure::<machine::Lines, u64>(&round.numbers, threads),
            ..Entry::of::<machine::HashAlone>(name::LINES).shareable().always()
        },
        Entry::of::<machine::HashAlone>(name::HASH).shareable().always(),
        Entry::of::<gardenia::Bloom>(name::BLOOM).shareable(),
        Entry::of::<gardenia::AtomicBloom>(name::ATOMIC).shareable(),
        Entry::of::<gardenia::Blocked>(name::BLOCKED).shareable(),
        Entry::of::<gardenia::AtomicBlocked>(name::BLOCKED_ATOMIC).shareable(),
        Entry::of::<gardenia::SplitBlock>(name::SPLIT_BLOCK).shareable(),
        Entry::of::<gardenia::Parquet>(name::PARQUET).shareable(),
        Entry::of::<fastbloom::Default>(name::FASTBLOOM),
        Entry::of::<fastbloom::FoldHash>(name::FOLDHASH),
        Entry::of::<fastbloom::Atomic>("fastbloom atomic").shareable(),
        Entry::of::<bloomfilter::Sip<K>>("bloomfilter"),
        Entry::of::<sbbf::Sbbf<sbbf::Xxh3>>(name::SBBF[0]),
        Entry::of::<sbbf::Sbbf<sbbf::FoldHash>>(name::SBBF[1]),
        Entry::of::<parquet::Parquet>(name::PARQUET_CRATE),
        Entry::of::<xorf::Fuse8>("xorf binary fuse 8"),
        Entry::of::<qfilter::Quotient>("qfilter"),
    ]
}
