//! The three algorithms against a plain model of the paper's rules, and the traps that others fell
//! into.

use super::*;
use crate::index::SchemeId;
use alloc::vec::Vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One filter of counters as the paper has it: no packing, positions as a set.
struct Plain {
    cells: Vec<u64>,
    scheme: AnyScheme,
    top: u64,
}

impl Plain {
    fn at(&self, digest: Digest) -> BTreeSet<usize> {
        self.scheme.positions(digest, self.cells.len() as u64).map(|at| at as usize).collect()
    }
    fn values(&self, digest: Digest) -> Vec<u64> {
        self.at(digest).into_iter().map(|at| self.cells[at]).collect()
    }
    fn least(&self, digest: Digest) -> u64 {
        self.values(digest).into_iter().min().unwrap()
    }
    fn recurs(&self, digest: Digest) -> bool {
        self.values(digest).into_iter().filter(|value| *value == self.least(digest)).count() >= 2
    }
    fn change(&mut self, digest: Digest, change: impl Fn(u64) -> u64) {
        for at in self.at(digest) {
            self.cells[at] = change(self.cells[at]).min(self.top);
        }
    }
    fn lower(&mut self, digest: Digest) {
        let top = self.top;
        self.change(digest, |value| if value == top { top } else { value.saturating_sub(1) });
    }
}

/// The rules of section 5 of Cohen and Matias, one after the other.
struct Model {
    policy: PolicyId,
    primary: Plain,
    secondary: Plain,
    /// Its cells are 0 or 1.
    marker: Option<Plain>,
    as_printed: bool,
}

impl Model {
    fn like(filter: &SpectralBloom<PolicyId>) -> Self {
        let top = (1 << filter.width()) - 1;
        let plain = |cells, scheme| Plain { cells: alloc::vec![0; cells as usize], scheme, top };
        Self {
            policy: filter.policy,
            as_printed: filter.is_as_printed(),
            primary: plain(filter.cells(), filter.scheme),
            secondary: plain(
                filter.secondary_cells().max(1),
                *filter.secondary_scheme().unwrap_or(&filter.scheme),
            ),
            marker: filter.has_marker().then(|| Plain { top: 1, ..plain(filter.cells(), filter.scheme) }),
        }
    }

    fn second(digest: Digest) -> Digest {
        Digest(digest.word(256))
    }

    fn third(digest: Digest) -> Digest {
        Digest(digest.word(257))
    }

    /// Whether a key counts as moved, now that the primary cells are as they are.
    fn moved(&self, digest: Digest) -> bool {
        match &self.marker {
            Some(marker) => marker.least(Self::third(digest)) == 1,
            None => !self.primary.recurs(digest),
        }
    }

    fn insert(&mut self, digest: Digest, by: u64) {
        let least = self.primary.least(digest);
        match self.policy {
            PolicyId::MinimumIncrease => self.primary.change(digest, |value| value.max(least + by)),
            _ => self.primary.change(digest, |value| value + by),
        }
        if self.policy != PolicyId::RecurringMinimum {
            return;
        }
        let (second, count) = (Self::second(digest), self.primary.least(digest));
        let recurs = self.primary.recurs(digest);
        let moved = self.moved(digest);
        let more = if self.secondary.least(second) > 0 { by } else { count };
        if let Some(marker) = &mut self.marker {
            if moved {
                self.secondary.change(second, |value| value + more);
            } else if !recurs {
                marker.change(Self::third(digest), |_| 1);
                self.secondary.change(second, |value| value + count);
            }
        } else if !recurs {
            self.secondary.change(second, |value| value + more);
        }
    }

    fn remove(&mut self, digest: Digest) -> Result<(), RemoveError> {
        match self.primary.least(digest) {
            0 => return Err(RemoveError::Absent),
            least if least == self.primary.top => return Err(RemoveError::Stuck),
            _ => self.primary.lower(digest),
        }
        let second = Self::second(digest);
        if self.policy == PolicyId::RecurringMinimum && self.moved(digest) && self.secondary.least(second) > 0
        {
            self.secondary.lower(second);
        }
        Ok(())
    }

    fn count(&self, digest: Digest) -> u64 {
        let least = self.primary.least(digest);
        if self.policy != PolicyId::RecurringMinimum || !self.moved(digest) || least == 0 {
            return least;
        }
        match self.secondary.least(Self::second(digest)) {
            0 => least,
            other if self.as_printed => other,
            other => other.min(least),
        }
    }

    fn agrees(&self, filter: &SpectralBloom<PolicyId>) {
        fn same(plain: &Plain, get: impl Fn(u64) -> u64) -> bool {
            (0..).zip(&plain.cells).all(|(at, value)| get(at) == *value)
        }
        each!(&filter.store, tables => {
            assert!(same(&self.primary, |at| tables.primary.get(at).into()), "primary cells");
            if let Some(secondary) = &tables.secondary {
                assert!(same(&self.secondary, |at| secondary.cells.get(at).into()), "secondary cells");
            }
        });
        if let (Some(plain), Some(marker)) = (&self.marker, filter.marker()) {
            assert!(same(plain, |at| marker.bits.get(at).into()), "marker");
        }
    }
}

/// Small filters of every algorithm, scheme, width and storage: keys meet, recur, and reach the
/// top.
fn filters() -> impl Strategy<Value = SpectralBloom<PolicyId>> {
    let shapes = (2u64..60, 1u32..10, 1u64..40, 1u32..10);
    let choice =
        (proptest::sample::select(PolicyId::ALL.to_vec()), 0..3, proptest::option::weighted(0.7, 1u32..=32));
    (proptest::sample::select(SchemeId::ALL.to_vec()), shapes, choice).prop_map(
        |(scheme, (cells, hashes, secondary_cells, secondary_hashes), (policy, marker, width))| {
            let mut builder = SpectralBloom::builder().cells(cells).hashes(hashes).scheme(scheme);
            if policy == PolicyId::RecurringMinimum {
                builder = builder.secondary_cells(secondary_cells).secondary_hashes(secondary_hashes);
                builder = if marker == 2 { builder.as_printed() } else { builder.marker(marker == 1) };
            }
            builder = match width {
                Some(width) => builder.width(width),
                None => builder.compact(),
            };
            builder.policy(policy).build().unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_algorithm_follows_the_rules_of_the_paper(
        filter in filters(),
        steps in proptest::collection::vec((0u64..12, 0u8..10, 1u64..9), 1..80),
    ) {
        let mut filter = filter;
        let mut model = Model::like(&filter);
        for (key, op, times) in steps {
            let digest = Digest(Digest(key).word(1));
            match op {
                0..=3 => {
                    let absent = model.primary.least(digest) == 0;
                    prop_assert_eq!(filter.insert_digest(digest), absent);
                    model.insert(digest, 1);
                }
                4 => {
                    let before = filter.clone();
                    match filter.insert_digest_times(digest, times) {
                        Ok(_) => model.insert(digest, times),
                        Err(error) => {
                            prop_assert!(error.count > error.top && error.top == model.primary.top - 1);
                            prop_assert!(filter == before);
                        }
                    }
                }
                _ if model.policy != PolicyId::MinimumIncrease => {
                    prop_assert_eq!(filter.try_remove_digest(digest), Some(model.remove(digest)));
                }
                _ => prop_assert_eq!(filter.try_remove_digest(digest), None),
            }
            model.agrees(&filter);
            for key in 0..12 {
                let digest = Digest(Digest(key).word(1));
                prop_assert_eq!(filter.count_digest(digest), model.count(digest));
                prop_assert_eq!(filter.contains_digest(digest), model.count(digest) > 0);
            }
        }
    }
}

#[test]
fn counters_at_their_top_neither_wrap_nor_come_back() {
    for policy in PolicyId::ALL {
        let mut bed = SpectralBloom::builder().cells(9).hashes(3).width(2).policy(policy).build().unwrap();
        (0..300).for_each(|_| _ = bed.insert("rose"));
        let digest = bed.hasher.digest(b"rose");
        assert_eq!((bed.count("rose"), bed.saturated() > 0), (3, true), "{}", policy.name());
        let stuck = (policy != PolicyId::MinimumIncrease).then_some(Err(RemoveError::Stuck));
        assert_eq!(bed.try_remove_digest(digest), stuck);
        assert!(bed.contains("rose"));
    }
}

#[test]
fn removing_an_absent_key_changes_nothing() {
    for policy in [PolicyId::MinimumSelection, PolicyId::RecurringMinimum] {
        let mut bed = SpectralBloom::builder().items(500).fpp(0.01).policy(policy).build().unwrap();
        bed.extend(0..500u32);
        let before = bed.clone();
        let absent: Vec<u32> = (500..5_000).filter(|key| !bed.contains(*key)).collect();
        for key in absent {
            let digest = bed.hasher.digest_key(&key);
            assert_eq!(bed.try_remove_digest(digest), Some(Err(RemoveError::Absent)));
        }
        assert!(bed == before, "a cell went below zero");
    }
}

#[test]
fn a_count_that_does_not_fit_is_refused_whole() {
    for policy in PolicyId::ALL {
        let mut bed = SpectralBloom::builder().cells(100).hashes(3).width(32).policy(policy).build().unwrap();
        let most = u64::from(u32::MAX) - 1;
        assert_eq!(bed.insert_times("rose", u64::MAX).unwrap_err().count, u64::MAX);
        assert_eq!(bed.insert_times("rose", 0), Ok(false));
        assert!(!bed.contains("rose"));
        assert_eq!(bed.insert_times("rose", most), Ok(true));
        assert_eq!(bed.insert_times("rose", 0), Ok(false));
        assert_eq!(bed.insert_times("rose", 1).unwrap_err(), Overflow { count: most + 1, top: most });
        assert_eq!(bed.count("rose"), most);
    }
}

/// A filter by recurring minimum in which every key has one cell, so that its least value never
/// recurs.
fn single_cells(width: u32) -> SpectralBloom<RecurringMinimum> {
    let builder = SpectralBloom::builder().cells(9).hashes(1).secondary_cells(9).width(width);
    builder.policy(RecurringMinimum).build().unwrap()
}

#[test]
fn a_count_that_does_not_fit_the_secondary_cells_is_refused_whole() {
    let mut bed = single_cells(4);
    let Store::Plain(tables) = &mut bed.store else { panic!("compact") };
    (0..9).for_each(|at| tables.secondary.as_mut().unwrap().cells.set(at, 14));
    let before = bed.clone();
    assert_eq!(bed.insert_times("rose", 2), Err(Overflow { count: 16, top: 14 }));
    assert!(bed == before && !bed.contains("rose"));
}

#[test]
fn a_key_that_moves_takes_its_count_along() {
    let mut bed = single_cells(16);
    let fill = |bed: &mut SpectralBloom<_>, value| {
        let Store::Plain(tables) = &mut bed.store else { panic!("compact") };
        (0..9).for_each(|at| tables.primary.set(at, value));
    };
    fill(&mut bed, 7);
    bed.insert("rose"); // moves with 8, not with 1
    fill(&mut bed, 100);
    assert_eq!(bed.count("rose"), 8);
    bed.insert("rose"); // is counted in both places from now on
    assert_eq!(bed.count("rose"), 9);
    bed.remove("rose").unwrap();
    assert_eq!(bed.count("rose"), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// With its marker recurring minimum counts too little only once a key passed for moved that
    /// was not.
    #[test]
    fn only_a_false_positive_of_the_marker_makes_a_count_too_small(
        (cells, hashes) in (2u64..200, 1u32..8),
        steps in proptest::collection::vec((0usize..16, any::<bool>()), 1..200),
    ) {
        let builder = SpectralBloom::builder().cells(cells).hashes(hashes).secondary_cells(cells.div_ceil(2));
        let mut filter = builder.policy(RecurringMinimum).build().unwrap();
        let (mut truth, mut moved) = ([0u64; 16], [false; 16]);
        let digest = |key: usize| Digest(Digest(key as u64).word(1));
        let marked = |filter: &SpectralBloom<RecurringMinimum>, key| {
            let marker = filter.marker().unwrap();
            let mut at = marker.scheme.positions(recurring::third(digest(key)), marker.bits.len());
            at.all(|at| marker.bits.get(at))
        };
        for (key, out) in steps {
            if out && truth[key] > 0 {
                truth[key] -= 1;
                prop_assert_eq!(filter.remove_digest(digest(key)), Ok(()));
            } else {
                truth[key] += 1;
                filter.insert_digest(digest(key));
                moved[key] = marked(&filter, key); // not yet by others: that was seen after the step before
            }
            if (0..16).any(|key| marked(&filter, key) && !moved[key]) {
                return Ok(());
            }
            for (key, count) in truth.into_iter().enumerate() {
                prop_assert!(filter.count_digest(digest(key)) >= count);
            }
        }
    }
}

#[test]
fn only_recurring_minimum_has_secondary_cells() {
    let bare = || SpectralBloom::builder().cells(100).hashes(3);
    for builder in [bare().secondary_cells(10), bare().secondary_hashes(2), bare().marker(true)] {
        assert!(matches!(builder.clone().build(), Err(SizeError::Conflict(_))));
        assert!(matches!(builder.clone().policy(MinimumIncrease).build(), Err(SizeError::Conflict(_))));
        assert!(builder.policy(RecurringMinimum).build().is_ok());
    }
    let wrong = |builder: Builder<SpectralBloom>| builder.policy(RecurringMinimum).build().unwrap_err();
    assert_eq!(wrong(bare().secondary_cells(0)), SizeError::ZeroCells);
    assert_eq!(wrong(bare().secondary_hashes(0)), SizeError::Hashes { hashes: 0, max: 255 });
    assert_eq!(wrong(bare().width(33)), SizeError::Width { width: 33 });
    assert!(matches!(wrong(bare().width(16).compact()), SizeError::Conflict(_)));
}

#[test]
fn the_hash_functions_of_secondary_cells_and_marker_are_their_own() {
    // Of two tables of one size, two positions of a key agree no more often than by chance.
    let (hashes, keys) = (8, 40_000u32);
    for scheme in SchemeId::ALL.map(|id| AnyScheme::new(id, hashes)) {
        let cells = scheme.fit(64);
        // In partitions the positions are compared by their place in their slice.
        let range = if scheme.partitioned() { cells / u64::from(hashes) } else { cells };
        let mut same = [[[0u32; 8]; 8]; 3];
        for key in 1..=keys {
            let digest = Digest(Digest(5).word(key));
            let [primary, secondary, marker] = [digest, recurring::second(digest), recurring::third(digest)]
                .map(|digest| scheme.positions(digest, cells).map(|at| at % range).collect::<Vec<_>>());
            let pairs = [(&primary, &secondary), (&primary, &marker), (&secondary, &marker)];
            for ((a, b), same) in pairs.into_iter().zip(&mut same) {
                for (i, j) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))) {
                    same[i][j] += u32::from(a[i] == b[j]);
                }
            }
        }
        let chance = 1.0 / range as f64;
        let (mean, variance) = (f64::from(keys) * chance, f64::from(keys) * chance * (1.0 - chance));
        for same in same.into_iter().flatten().flatten() {
            let off = (f64::from(same) - mean).abs();
            assert!(off < 5.0 * variance.sqrt(), "{:?}: {same}, not {mean}", scheme.id());
        }
    }
}
