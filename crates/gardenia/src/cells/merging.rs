//! Cells that merge with their neighbour when they overflow.
//!
//! Most keys of a stream are rare, so most cells of 32 bits hold small numbers. Here cells have 4
//! or 8 bits, and a counter that overflows takes the place of its neighbour too: pairs of cells
//! merge, then pairs of pairs, then those, each aligned to its size. In the same memory there are
//! up to six times as many cells, and few are shared. Two bits for each pair of cells (one per
//! cell) say how wide the counter is that the pair belongs to, so that a counter is found by two
//! shifts and without a branch.
//!
//! What a merged counter starts from decides what the sketch promises. With the *sum* of its parts
//! a counter is what all its keys were raised by, whatever their order, so that merging two
//! sketches equals counting both streams. With the *larger* part it still is at least the count of
//! each key, and the error is smaller.
//!
//! Source: Ben Basat, Einziger, Mitzenmacher and Vargaftik, "SALSA: self-adjusting lean streaming
//! analytics" (2021). Their map marks the nodes of a tree; this one has the same size and is read
//! in fewer steps.

use super::region::{CellLayout, MOST, Region, Slot, top};

/// Cells of `WIDTH` bits (4 or 8) that grow to eight times that.
pub(crate) struct Merging<const WIDTH: u32>;

impl<const WIDTH: u32> Merging<WIDTH> {
    /// The word of cell `at`.
    #[inline(always)]
    fn word(at: u64) -> usize {
        (at / (64 / u64::from(WIDTH))) as usize
    }

    /// How often the counter of cell `at` has doubled, by its word of the map.
    #[inline(always)]
    fn level(map: u64, at: u64) -> u32 {
        (map >> (at & 62)) as u32 & 3
    }

    /// The bits of a region in its word of cells, and how far up they stand.
    fn place(at: u64) -> (u64, u32) {
        (top(WIDTH * MOST as u32), (at / MOST as u64 * MOST as u64 * u64::from(WIDTH) % 64) as u32)
    }

    /// The marks of a region whose counters have these levels.
    fn marks(level: &[u32; MOST]) -> u64 {
        (0..MOST).step_by(2).fold(0, |marks, at| marks | u64::from(level[at]) << at)
    }
}

impl<const WIDTH: u32> CellLayout for Merging<WIDTH> {
    const UNIT: u64 = 64;
    const REGION: usize = MOST;
    const LEVELS: u32 = 3;
    const WIDTH: u32 = WIDTH;

    fn words(cells: u64) -> (u64, u64) {
        (cells / 64 * u64::from(WIDTH), cells / 64 * u64::from(WIDTH + 1))
    }

    #[inline(always)]
    fn slot(load: impl Fn(usize) -> u64, map: usize, at: u64) -> Slot {
        let width = WIDTH << Self::level(load(map + (at / 64) as usize), at);
        let word = Self::word(at);
        // A counter starts at a multiple of its width, which is a power of two.
        let shift = (at as u32).wrapping_mul(WIDTH) & width.wrapping_neg() & 63;
        Slot { word, shift, width, value: load(word) >> shift & top(width) }
    }

    #[inline(always)]
    fn lines(map: usize, at: u64) -> (usize, Option<usize>) {
        (Self::word(at), Some(map + (at / 64) as usize))
    }

    fn read(load: impl Fn(usize) -> u64, map: usize, at: u64) -> Region {
        let first = at / MOST as u64 * MOST as u64;
        let marks = load(map + (at / 64) as usize);
        let level: [u32; MOST] = core::array::from_fn(|i| Self::level(marks, first + i as u64));
        let mut region = Region { level, value: [0; MOST], len: MOST };
        let mut at = 0;
        while at < MOST {
            region.value[at] = Self::slot(&load, map, first + at as u64).value;
            at += 1 << level[at];
        }
        region
    }

    fn write(words: &mut [u64], map: usize, at: u64, region: &Region) {
        let ((mask, shift), word) = (Self::place(at), Self::word(at));
        let cells = region.starts().fold(0, |cells, i| cells | region.value[i] << (i as u32 * WIDTH));
        words[word] = words[word] & !(mask << shift) | cells << shift;
        let (marks, shift) = (&mut words[map + (at / 64) as usize], (at & 56) as u32);
        *marks = *marks & !(0xff << shift) | Self::marks(&region.level) << shift;
    }

    fn check(load: &dyn Fn(usize) -> u64, map: usize, rows: u64, stride: u64, columns: u64) -> bool {
        (0..rows * stride).step_by(MOST).all(|at| {
            let used = columns.saturating_sub(at % stride);
            let merged = load(map + (at / 64) as usize) >> (at & 56) & 0xff != 0;
            let plain = !merged && used >= MOST as u64;
            plain || Self::is_right(&Self::read(load, map, at), used)
        })
    }
}

impl<const WIDTH: u32> Merging<WIDTH> {
    /// Whether all cells of each counter agree on its width, and counters that start beyond the
    /// cells in use are empty.
    fn is_right(region: &Region, used: u64) -> bool {
        let agree = |at: usize| {
            let level = region.level[at];
            let start = at >> level << level;
            region.level[start..start + (1 << level)].iter().all(|other| *other == level)
        };
        let clear = |at: usize| (at as u64) < used || (region.value[at], region.level[at]) == (0, 0);
        (0..MOST).all(agree) && region.starts().all(clear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::region::{Fixed, Join, add_all, census, dot};
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Two rows of 64 cells, as a plain list of counters: first cell, cells, value.
    #[derive(Clone, Debug, PartialEq)]
    struct Model {
        width: u32,
        counters: Vec<(usize, usize, u128)>,
    }

    impl Model {
        fn new(width: u32) -> Self {
            Self { width, counters: (0..128).map(|at| (at, 1, 0)).collect() }
        }

        /// The counter of cell `at`.
        fn of(&self, at: usize) -> usize {
            self.counters.iter().position(|(start, len, _)| (*start..start + len).contains(&at)).unwrap()
        }

        /// Makes one counter of the block of `len` cells around `at`.
        fn widen(&mut self, at: usize, len: usize, join: Join) {
            let block = at / len * len..at / len * len + len;
            let inside = |counter: &&(usize, usize, u128)| block.contains(&counter.0);
            let values = self.counters.iter().filter(inside).map(|(_, _, value)| *value);
            let value = if join == Join::Sum { values.sum() } else { values.max().unwrap() };
            self.counters.retain(|counter| !inside(&counter));
            self.counters.push((block.start, len, value));
        }

        /// Sets the counter of cell `at`, growing as it must.
        fn set(&mut self, at: usize, value: u128, join: Join) {
            let counter = self.of(at);
            self.counters[counter].2 = value;
            loop {
                let (_, len, value) = self.counters[self.of(at)];
                let top = (1u128 << (self.width as usize * len)) - 1;
                if value <= top {
                    return;
                }
                if len == 8 {
                    let counter = self.of(at);
                    self.counters[counter].2 = top;
                    return;
                }
                self.widen(at, 2 * len, join);
            }
        }

        fn values(&self) -> Vec<(u64, u32)> {
            let of = |at| self.counters[self.of(at)];
            (0..128).map(|at| (of(at).2 as u64, of(at).1 as u32 * self.width)).collect()
        }
    }

    /// The words of two rows, and where their map begins.
    fn empty<L: CellLayout>() -> (Vec<u64>, usize) {
        let (bare, all) = L::words(128);
        (vec![0; all as usize], bare as usize)
    }

    fn slots<L: CellLayout>(words: &[u64], map: usize) -> Vec<(u64, u32)> {
        (0..128).map(|at| L::slot(|word| words[word], map, at)).map(|slot| (slot.value, slot.width)).collect()
    }

    /// Raises of cells: by an amount, in rows that are used much and little.
    fn raises() -> impl Strategy<Value = Vec<(usize, u64)>> {
        let by = prop_oneof![4 => 1u64..20, 2 => 1u64..5000, 1 => any::<u32>().prop_map(u64::from), 1 => any::<u64>()];
        proptest::collection::vec((prop_oneof![0usize..128, 0usize..16], by), 0..300)
    }

    fn follows_the_model<L: CellLayout>(raises: &[(usize, u64)], join: Join) -> (Vec<u64>, usize, Model) {
        let ((mut words, map), mut model) = (empty::<L>(), Model::new(L::WIDTH));
        for (at, by) in raises {
            // A sum may pass 64 bits only where it sticks.
            let now = model.counters[model.of(*at)].2;
            let to = (now + u128::from(*by)).min(u128::from(u64::MAX));
            model.set(*at, to, join);
            match join {
                Join::Sum => L::overflow(&mut words, map, *at as u64, *by, 0, join),
                Join::Largest => L::overflow(&mut words, map, *at as u64, 0, to as u64, join),
            }
        }
        assert_eq!(slots::<L>(&words, map), model.values(), "{join:?}");
        assert!(L::check(&|word| words[word], map, 2, 64, 64));
        (words, map, model)
    }

    proptest! {
        #[test]
        fn cells_merge_as_an_exact_model_does(raises in raises()) {
            for join in [Join::Sum, Join::Largest] {
                follows_the_model::<Merging<4>>(&raises, join);
                follows_the_model::<Merging<8>>(&raises, join);
            }
        }

        #[test]
        fn counters_are_never_below_those_of_64_bits(raises in raises()) {
            let mut exact = [0u64; 128];
            raises.iter().for_each(|(at, by)| exact[*at] = exact[*at].saturating_add(*by));
            for join in [Join::Sum, Join::Largest] {
                let (words, map, _) = follows_the_model::<Merging<8>>(&raises, join);
                let found = slots::<Merging<8>>(&words, map);
                prop_assert!(found.iter().zip(exact).all(|((value, _), exact)| *value >= exact));
                let (words, map, _) = follows_the_model::<Merging<4>>(&raises, join);
                let found = slots::<Merging<4>>(&words, map);
                prop_assert!(found.iter().zip(exact).all(|((value, _), exact)| *value >= exact.min(top(32))));
            }
        }

        #[test]
        fn sums_do_not_depend_on_the_order_and_add_up(raises in raises(), cut in any::<prop::sample::Index>()) {
            let cut = cut.index(raises.len() + 1);
            let (all, map, _) = follows_the_model::<Merging<4>>(&raises, Join::Sum);
            let reversed: Vec<_> = raises.iter().rev().copied().collect();
            prop_assert_eq!(&follows_the_model::<Merging<4>>(&reversed, Join::Sum).0, &all);
            let (mut ours, ..) = follows_the_model::<Merging<4>>(&raises[..cut], Join::Sum);
            let (theirs, ..) = follows_the_model::<Merging<4>>(&raises[cut..], Join::Sum);
            let bytes: Vec<u8> = theirs.iter().flat_map(|word| word.to_le_bytes()).collect();
            add_all::<Merging<4>>(&mut ours, &crate::cells::Bytes(&bytes[..]), map, 128, Join::Sum);
            prop_assert_eq!(&ours, &all);
        }

        #[test]
        fn inner_products_are_those_of_counters_of_both(a in raises(), b in raises()) {
            // Against the products of sums over the coarser of both partitions.
            let small = |raises: Vec<(usize, u64)>| -> Vec<_> {
                raises.into_iter().map(|(at, by)| (at, by % 1000)).collect()
            };
            let (a, map, model_a) = follows_the_model::<Merging<8>>(&small(a), Join::Sum);
            let (b, _, model_b) = follows_the_model::<Merging<8>>(&small(b), Join::Sum);
            let mut expected = 0;
            let mut at = 0;
            while at < 64 {
                let len = model_a.counters[model_a.of(at)].1.max(model_b.counters[model_b.of(at)].1);
                let sum = |model: &Model| {
                    let mut model = model.clone();
                    model.widen(at, len, Join::Sum);
                    model.counters[model.of(at)].2
                };
                expected += sum(&model_a) * sum(&model_b);
                at += len;
            }
            let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
            let (a, b) = (bytes(&a), bytes(&b));
            let memory = |bytes| crate::cells::Bytes(bytes);
            prop_assert_eq!(dot::<Merging<8>>(&memory(&a[..]), &memory(&b[..]), map, 0, 64), expected);
        }
    }

    #[test]
    fn a_census_counts_merged_cells_once() {
        let (mut words, map) = empty::<Merging<4>>();
        // A pair, a quad, a single cell, and an oct at its top.
        for (at, by) in [(0, 20), (4, 300), (9, 1), (16, u64::MAX)] {
            Merging::<4>::overflow(&mut words, map, at, by, 0, Join::Sum);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let census = census::<Merging<4>>(&crate::cells::Bytes(&bytes[..]), map, 0, 62);
        assert_eq!(
            (census.counters, census.nonzero, census.stuck, census.covered),
            (62 - 1 - 3 - 7, 4, 1, 15)
        );
    }

    #[test]
    fn marks_that_disagree_and_spare_cells_that_are_set_are_found() {
        let (words, map) = empty::<Merging<4>>();
        let right = |change: &dyn Fn(&mut Vec<u64>), columns| {
            let mut words = words.clone();
            change(&mut words);
            Merging::<4>::check(&|word| words[word], map, 2, 64, columns)
        };
        assert!(right(&|_| (), 64) && right(&|words| words[map] = 0b01, 64));
        assert!(right(&|words| words[map] = 0b1010, 64) && right(&|words| words[map] = 0xff, 64));
        for marks in [0b10, 0b1000, 0b11, 0b1110, 0b1010_1111, 0x3f, 0b0110] {
            assert!(!right(&|words| words[map] = marks, 64), "{marks:b}");
            assert!(!right(&|words| words[map + 1] = marks << 32, 64), "{marks:b}");
        }
        // Of 50 columns the last counters are 48 to 55; 49 may have merged with what is beyond.
        assert!(right(&|words| words[3] = 0xff, 50) && !right(&|words| words[3] = 0x100, 50));
        let merged = |marks: u64| move |words: &mut Vec<u64>| (words[3], words[map]) = (0x1fff, marks << 48);
        assert!(right(&merged(0b1010), 50) && !right(&merged(0), 50));
        let (fixed, map) = empty::<Fixed<32>>();
        assert!(Fixed::<32>::check(&|word| fixed[word], map, 2, 64, 63));
        assert!(!Fixed::<32>::check(&|word| fixed[word] | 1 << 40, map, 2, 64, 63));
    }
}
