use super::group::{Spot, sizes};
use super::*;
use crate::cells::{Bytes, Memory};
use crate::{DecodeError, Digest};
use alloc::format;
use alloc::vec;
use proptest::prelude::*;

/// Values from tiny to huge, more of the tiny.
fn value() -> impl Strategy<Value = u64> {
    let any = (0u32..33, any::<u64>()).prop_map(|(bits, v)| v & ((1 << bits) - 1));
    prop_oneof![6 => 0u64..4, 3 => 0u64..300, 1 => any]
}

/// The words as bytes, little-endian.
fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Memory that does not show its bytes.
struct Hidden<'a>(&'a [u64]);

impl crate::cells::memory::sealed::Sealed for Hidden<'_> {}
impl Memory for Hidden<'_> {
    fn words(&self) -> usize {
        self.0.len()
    }
    fn load(&self, at: usize) -> u64 {
        self.0[at]
    }
    fn prefetch(&self, _: usize) {}
}

/// Everything that must hold of counters with these values.
fn check(counters: &Compact, model: &[u64]) -> Result<(), TestCaseError> {
    let len = model.len() as u64;
    let words = counters.to_words().unwrap();
    let words = words.as_slice();
    let bytes = [&[0][..], &bytes_of(words)].concat();
    let views = (
        CompactView::new(Bytes(&bytes[1..]), len).unwrap(),
        CompactView::new(Hidden(words), len).unwrap(),
        Compact::from_words(len, words).unwrap(),
    );
    for (at, &value) in (0..).zip(model) {
        counters.prefetch(at);
        prop_assert_eq!(counters.get(at), value, "counter {}", at);
        prop_assert_eq!((views.0.get(at), views.1.get(at), views.2.get(at)), (value, value, value));
    }
    prop_assert!(&views.2 == counters);
    // Another history: from the last to the first, by another way.
    let mut other = Compact::new(len).unwrap();
    (0..len).rev().for_each(|at| _ = other.add(at, 3));
    (0..len).rev().for_each(|at| other.set(at, model[at as usize]));
    prop_assert!(&other == counters);
    let other_words = other.to_words().unwrap();
    prop_assert_eq!(other_words.as_slice(), words);
    other.shrink_to_fit();
    let mut copy = other.try_clone().unwrap();
    prop_assert!(copy == *counters && copy.memory_bytes() == other.memory_bytes());
    copy.update(len / 2, |value| value ^ 1);
    prop_assert!(copy != *counters && other == other.clone() && Compact::new(len + 1).unwrap() != *counters);
    prop_assert!(other.memory_bytes() <= 8 * words.len() as u64 + 16 * other.segments.len() as u64);
    Ok(())
}

proptest! {
    #[test]
    fn counters_follow_an_exact_model(
        len in prop_oneof![1u64..200, 500u64..10_000],
        spread in prop_oneof![1u64..70, 1u64..10_000],
        steps in proptest::collection::vec((any::<u64>(), value(), 0u8..7), 1..1500),
    ) {
        let mut model = vec![0; len as usize];
        let mut counters = Compact::new(len).unwrap();
        for (at, value, op) in steps {
            // Few places get many changes, among them the last ones.
            let at = if op % 2 == 0 { at % spread % len } else { len - 1 - at % spread % len };
            let cell = &mut model[at as usize];
            match op {
                0..3 => {
                    *cell = (*cell + value).min(TOP);
                    prop_assert_eq!(counters.add(at, value), *cell);
                }
                3 | 4 => {
                    *cell = if *cell == TOP { TOP } else { cell.saturating_sub(value) };
                    prop_assert_eq!(counters.sub(at, value), *cell);
                }
                5 => {
                    *cell = value;
                    counters.set(at, value);
                }
                _ => {
                    *cell = (*cell * 3 + value).min(TOP);
                    prop_assert_eq!(counters.update(at, |old| old * 3 + value), *cell);
                }
            }
            prop_assert_eq!(counters.get(at), *cell);
        }
        check(&counters, &model)?;
        counters.clear();
        prop_assert_eq!((0..len).map(|at| counters.get(at)).sum::<u64>(), 0);
        prop_assert!(counters == Compact::new(len).unwrap());
    }

    /// Whole blocks of every size, up to those whose lengths need two bytes.
    #[test]
    fn counters_can_all_be_large_and_then_small_again(
        bits in proptest::collection::vec(0u32..=32, 600),
        seed in any::<u64>(),
        rounds in 1usize..4,
    ) {
        let mut model = vec![0; 600];
        let mut counters = Compact::new(600).unwrap();
        for round in 0..rounds {
            for (i, &bits) in (0u32..).zip(&bits) {
                let at = u64::from(i) * 7 % 600;
                let bits = if round % 2 == 0 { bits.max(24) } else { bits / 8 };
                model[at as usize] = Digest(seed).word(i + 600 * round as u32) & ((1 << bits) - 1);
                counters.set(at, model[at as usize]);
            }
        }
        check(&counters, &model)?;
    }

    /// Of few counters several orders are often equally good.
    #[test]
    fn the_order_chosen_is_the_least_of_the_best(
        values in prop_oneof![
            proptest::collection::vec(value(), 1..8),
            proptest::collection::vec(value(), 512),
        ],
    ) {
        let mut counters = Compact::new(512).unwrap();
        (0..).zip(&values).for_each(|(at, &value)| counters.set(at, value));
        let cost = |order: &usize| {
            let bits = |&value: &u64| { let (steps, width) = sizes(value, *order); steps + width };
            values.iter().map(bits).sum::<usize>()
        };
        let best = (0..32).min_by_key(cost).unwrap(); // the first of them
        let found = counters.groups().next().map(|group| Values::decode(group).best_order());
        prop_assert_eq!(found, Some(if values.iter().all(|&v| v == 0) { 0 } else { best }));
    }

    /// What a reader accepts is canonical, and what it does not is an error; a view gives
    /// something.
    #[test]
    fn any_words_are_read_without_harm(
        len in 1u64..9_000,
        values in proptest::collection::vec(value(), 1..800),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0u32..64, any::<u64>(), 0u8..4),
            0..4,
        ),
        cut in prop_oneof![4 => Just(0usize), 1 => 0usize..40],
    ) {
        let mut counters = Compact::new(len).unwrap();
        (0u64..).zip(&values).for_each(|(i, &value)| counters.set(i * 13 % len, value));
        let mut words = counters.to_words().unwrap().as_slice().to_vec();
        for (at, bit, word, kind) in changes {
            let at = at.index(words.len());
            match kind {
                0 => words[at] ^= 1 << bit,
                1 => words[at] ^= 0xff << (bit & 56),
                2 => words[at] = word,
                _ => words[at] = if at > 0 { words[at - 1] } else { 0 },
            }
        }
        words.truncate(words.len().saturating_sub(cut));
        if let Ok(read) = Compact::from_words(len, &words) {
            let written = read.to_words().unwrap();
            prop_assert_eq!(written.as_slice(), &words[..]);
        }
        let bytes = bytes_of(&words);
        for at in (0..len).step_by(3) {
            let hidden = CompactView::new(Hidden(&words), len).map(|view| view.get(at));
            let shown = CompactView::new(Bytes(&bytes[..]), len).map(|view| {
                view.prefetch(at);
                view.get(at)
            });
            prop_assert_eq!(hidden.is_ok(), shown.is_ok());
            prop_assert_eq!(hidden.ok(), shown.ok());
        }
    }

    /// Random groups under a directory that is right, so that they are looked at.
    #[test]
    fn random_groups_are_read_without_harm(
        len in 1u64..20_000,
        sizes in proptest::collection::vec(prop_oneof![Just(0usize), 0usize..40, 200usize..400], 40),
        seed in any::<u64>(),
        head in prop_oneof![Just(0u64), any::<u64>()],
    ) {
        let segments = len.div_ceil(SEGMENT) as usize;
        let mut directory = vec![0; 3 * segments];
        let mut body = Vec::new();
        for (number, &size) in sizes[..8 * segments].iter().enumerate() {
            let entry = 3 * (number / 8);
            if number % 8 == 0 {
                directory[entry] = body.len() as u64;
            }
            let word = |i: usize| Digest(seed ^ number as u64).word(i as u32 + 1);
            // Some heads say nothing of long blocks, so that others are long.
            body.extend((0..size).map(|i| if i == 9 { word(i) & !0xffff | head & 0x1ff } else { word(i) }));
            let end = body.len() as u64 - directory[entry];
            directory[entry + 1 + number % 8 / 4] |= end << (16 * (number % 4));
        }
        let words = [directory, body].concat();
        let view = CompactView::new(Hidden(&words), len).unwrap();
        (0..len).step_by(7).for_each(|at| assert!(view.get(at) <= TOP));
        prop_assert_eq!(Compact::from_words(len, &words).is_ok(), words.len() == 3 * segments);
    }
}

#[test]
fn sizes_that_cannot_be_are_errors() {
    assert_eq!(Compact::new(0).unwrap_err(), SizeError::ZeroCells);
    assert!(matches!(Compact::new(MAX_CELLS + 1), Err(SizeError::TooManyCells { .. })));
    assert!(matches!(Compact::from_words(0, &[]), Err(DecodeError::Size(SizeError::ZeroCells))));
    // A hostile length is refused by the length of the words, before memory is taken for it.
    let needed = MAX_CELLS / SEGMENT * 24;
    match Compact::from_words(MAX_CELLS, &[0; 30]) {
        Err(DecodeError::Truncated { needed: n, found: 240 }) => assert_eq!(n, needed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_counter_at_its_top_stays_unless_it_is_set() {
    let mut counters = Compact::new(3).unwrap();
    assert_eq!((counters.add(1, TOP - 1), counters.sub(1, 1)), (TOP - 1, TOP - 2));
    assert_eq!((counters.add(1, u64::MAX), counters.add(1, 1), counters.sub(1, u64::MAX)), (TOP, TOP, TOP));
    assert_eq!((counters.sub(0, 5), counters.get(0), counters.get(1)), (0, 0, TOP));
    counters.set(1, 4);
    assert_eq!((counters.sub(1, 1), counters.top()), (3, TOP));
    assert_eq!(counters.update(2, |old| old + 2 * TOP), TOP);
}

#[test]
#[should_panic(expected = "counter 5000 of 5000")]
fn a_counter_past_the_end_is_not_changed_silently() {
    Compact::new(5_000).unwrap().add(5_000, 1);
}

#[test]
fn an_empty_array_takes_a_sixteenth_of_a_bit_for_each_counter_and_gives_memory_back() {
    let mut counters = Compact::new(1 << 20).unwrap();
    let empty = counters.memory_bytes();
    assert_eq!(empty, (1 << 20) / 16 / 8);
    assert_eq!(counters.to_words().unwrap().words(), 3 * (1 << 20) / 4096);
    (0..1 << 20).for_each(|at| counters.set(at, at));
    let full = counters.memory_bytes();
    assert!(full > 1 << 21);
    // Lowered one by one, the array takes less and less.
    (0..1 << 20).for_each(|at| counters.set(at, at % 2));
    assert!(counters.memory_bytes() < full / 3);
    (0..1 << 20).for_each(|at| counters.set(at, 0));
    assert!(counters.memory_bytes() <= 2 * empty, "{counters:?}");
    assert_eq!(counters.bits_used(), 0);
}

#[test]
fn blocks_of_every_length_are_coded() {
    // All at the top: the longest group, with lengths of two bytes.
    let mut counters = Compact::new(5_000).unwrap();
    (0..5_000).for_each(|at| counters.set(at, TOP));
    check(&counters, &vec![TOP; 5_000]).unwrap();
    let group = counters.to_words().unwrap().as_slice()[1] & 0xffff;
    assert_eq!(group, (64 + 8 + 2 + 8 + 512 * 34 / 8u64).div_ceil(8));
    // And back: the order is the best for what was there before.
    (0..5_000).for_each(|at| counters.set(at, 1));
    check(&counters, &vec![1; 5_000]).unwrap();
    assert_eq!(counters.bits_used() % 8, 0);
}

#[test]
fn a_form_that_is_not_canonical_is_refused_though_its_values_are_clear() {
    let mut counters = Compact::new(600).unwrap();
    [(0, 1), (1, 2), (64, 3), (599, 1)].into_iter().for_each(|(at, value)| counters.set(at, value));
    let good = counters.to_words().unwrap().as_slice().to_vec();
    let refused = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut words = good.clone();
        change(&mut words);
        assert_ne!(words, good);
        format!("{}", Compact::from_words(600, &words).unwrap_err())
    };
    assert!(Compact::from_words(600, &good).is_ok());
    let canonical = "corrupted: counters are not in their canonical form";
    assert_eq!(refused(&|words| words[3 + 9] ^= 1 << 63), canonical); // padding, or a block
    assert_eq!(refused(&|words| words[3 + 9] ^= 1), canonical); // another order
    assert_eq!(refused(&|words| words[3 + 9] ^= 0x100), canonical); // long lengths for short blocks
    assert_eq!(refused(&|words| words[3] ^= 4), canonical); // a counter more than there are codes
    // The only group of zeros that has words.
    let zeros =
        [0, 0x000a_000a_000a_000a, 0x000a_000a_000a_000a].into_iter().chain([0; 10]).collect::<Vec<_>>();
    assert_eq!(format!("{}", Compact::from_words(9, &zeros).unwrap_err()), canonical);
    let behind = "corrupted: counters behind the last are not zero";
    let len = good.len();
    assert_eq!(format!("{}", Compact::from_words(599, &good).unwrap_err()), behind);
    assert!(refused(&|words| words[0] = 1).contains("truncated"));
    assert!(refused(&|words| words[2] -= 1 << 48).contains("follow the end"));
    assert!(refused(&|words| words[1] ^= 1).contains("corrupted"));
    assert!(refused(&|words| words.truncate(len - 1)).contains("truncated"));
    assert!(refused(&|words| words.push(0)).contains("follow the end"));
    let odd = [&bytes_of(&good)[..], &[0]].concat();
    assert!(matches!(CompactView::new(Bytes(&odd[..]), 600), Err(DecodeError::Trailing { extra: 1 })));
    let mut two = Compact::new(4_097).unwrap();
    two.set(4_096, 1);
    let mut words = two.to_words().unwrap().as_slice().to_vec();
    words[0] = 5;
    assert!(format!("{}", Compact::from_words(4_097, &words).unwrap_err()).contains("do not begin"));
}

#[test]
fn bits_that_would_be_a_zero_of_a_counter_that_is_none_are_refused() {
    // Order 5 and 63 zeros, which no counter has: the low bits then are taken to be (5 + 63) mod 64.
    let mut words = [0; 3 + 11];
    (words[1], words[2]) = (11 * 0x0001_0001_0001_0001, 11 * 0x0001_0001_0001_0001);
    let mut group = [0; 88];
    (group[0], group[64], group[72]) = (1, 9, 5);
    (group[74 + 7], group[74 + 8]) = (0x80, 0xf0);
    for (word, bytes) in words[3..].iter_mut().zip(group.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    assert_eq!(CompactView::new(Hidden(&words), 64).unwrap().get(0), 0);
    assert!(matches!(Compact::from_words(64, &words), Err(DecodeError::Damaged(_))));
}

/// Bits of the code of one counter, by trying: the first of its ranges has 2^order values, the next
/// twice as many, and so on.
fn bits_of(value: u64, order: u32) -> u64 {
    let mut taken = 1 + u64::from(order);
    let (mut first, mut width) = (1u64, order);
    while value > first + (1 << width) - 1 {
        first += 1 << width;
        (width, taken) = (width + 1, taken + 2);
    }
    taken
}

#[test]
fn zipf_loads_take_just_the_bits_of_the_description_and_less_than_the_bound() {
    // A spectral filter's cells: n = m/10 keys, frequencies 10n/(i·H), each added to 7 cells.
    let (cells, keys) = (200_000u64, 20_000u64);
    let harmonic: f64 = (1..=keys).map(|i| 1.0 / i as f64).sum();
    let mut model = vec![0u64; cells as usize];
    let mut counters = Compact::new(cells).unwrap();
    for i in 0..keys {
        let frequency = (10.0 * keys as f64 / ((i + 1) as f64 * harmonic) + 0.5) as u64;
        for j in 0..7 {
            let at = ((u128::from(Digest(9).word((7 * i + j + 1) as u32)) * u128::from(cells)) >> 64) as u64;
            model[at as usize] += frequency;
            counters.add(at, frequency);
        }
    }
    let mut words = 3 * cells.div_ceil(4096);
    for group in model.chunks(512).filter(|group| group.iter().any(|&v| v > 0)) {
        let some = |values: &[u64], order| -> u64 {
            values.iter().filter(|&&v| v > 0).map(|&v| bits_of(v, order)).sum()
        };
        let order = (0..32).min_by_key(|&order| some(group, order)).unwrap();
        let bytes: u64 = group.chunks(64).map(|block| some(block, order).div_ceil(8)).sum();
        words += (64 + 8 + 2 + bytes).div_ceil(8);
    }
    assert_eq!(counters.to_words().unwrap().words() as u64, words);
    let lengths: u64 = model.iter().map(|v| u64::from(64 - v.leading_zeros())).sum();
    let bound = (3 * lengths + 3 * cells) / 2;
    assert!(64 * words <= bound && 8 * counters.memory_bytes() <= bound, "{counters:?} over {}", bound / 8);
    // A plain array has the width of the largest.
    let width = 64 - model.iter().max().unwrap().leading_zeros();
    assert!(u64::from(width) * cells > 4 * 8 * counters.memory_bytes());
    check(&counters, &model).unwrap();
}

#[test]
fn spots_are_found_in_blocks_longer_than_a_word() {
    // Few counters with long unary numbers: order 0 until the first milestone.
    let mut counters = Compact::new(64).unwrap();
    for at in 0..6 {
        counters.set(at, 1 << (20 + at));
        for before in 0..=at {
            let group = counters.groups().next().unwrap();
            assert_eq!(Spot::of(group, before as usize).value, 1 << (20 + before));
        }
    }
}
