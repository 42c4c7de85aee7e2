//! Compact counters against an independent description of their stored form, and against hostile
//! words with the memory counted.

use crate::allocator::peak_of;
use gardenia::cells::{Bytes, Compact, CompactView};
use gardenia::index::MAX_CELLS;
use gardenia::{DecodeError, Digest};
use proptest::prelude::*;

const LEN: u64 = 10_000;

/// The counters of `data/make_compact.py`.
fn golden_value(at: u64) -> u64 {
    let (x, kind) = (Digest(2003).word(at as u32 + 1), at / 512);
    match kind % 4 {
        0 if x & 1 == 1 => (x >> 8) % 8,
        1 => (x >> 8 & 0xffff_ffff) >> (x & 31),
        2 if (at / 64).is_multiple_of(3) => 0xffff_ffff - (x & 0xff),
        3 if kind == 7 && at % 512 == 300 => 1000,
        _ => 0,
    }
}

#[test]
fn the_stored_form_is_that_of_the_description() {
    let golden = include_bytes!("../data/compact.words");
    let mut counters = Compact::new(LEN).unwrap();
    (0..LEN).for_each(|at| counters.set(at, golden_value(at)));
    let words = counters.to_words().unwrap();
    let written: Vec<u8> = words.as_slice().iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(written == golden, "{} and {} bytes", written.len(), golden.len());
    let view = CompactView::new(Bytes(&golden[..]), LEN).unwrap();
    (0..LEN).for_each(|at| assert_eq!(view.get(at), golden_value(at), "counter {at}"));
    assert!(view.to_compact().unwrap() == counters);
}

/// Memory that a reader may hold: a directory entry of 24 bytes becomes an index entry of 32 and
/// spare bytes; groups are held once, and one of them a second time.
fn allowed(words: &[u64]) -> usize {
    3 * 8 * words.len()
}

#[test]
fn a_hostile_length_takes_no_memory() {
    for len in [MAX_CELLS, MAX_CELLS - 1, 1 << 30, 4096 * 11] {
        let words = [0; 30];
        let (result, peak) = peak_of(|| Compact::from_words(len, &words));
        assert!(matches!(result, Err(DecodeError::Truncated { .. })), "{len}: {result:?}");
        assert_eq!(peak, 0, "{len}");
    }
    // Zeros only: as many as the directory allows, and their index.
    let words = [0; 30];
    let (result, peak) = peak_of(|| Compact::from_words(4096 * 10, &words));
    assert_eq!(result.unwrap().get(4096 * 10 - 1), 0);
    assert!(peak <= allowed(&words), "{peak}");
}

proptest! {
    #[test]
    fn no_words_take_more_memory_than_three_times_their_own(
        len in 1u64..=LEN,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u8..3), 0..3),
        cut in prop_oneof![3 => Just(0usize), 1 => 0usize..2000],
    ) {
        let golden = include_bytes!("../data/compact.words");
        let mut words: Vec<u64> =
            golden.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let directory = 9;
        for (at, word, kind) in changes {
            match kind {
                0 => words[at.index(directory)] = word,
                1 => words[at.index(directory)] ^= 1 << (word % 64),
                _ => {
                    let at = at.index(words.len());
                    words[at] ^= 1 << (word % 64);
                }
            }
        }
        words.truncate(words.len().saturating_sub(cut));
        let len = if len % 2 == 0 { LEN } else { len };
        let (result, peak) = peak_of(|| Compact::from_words(len, &words));
        prop_assert!(peak <= allowed(&words), "{} bytes for {} words", peak, words.len());
        if let Ok(read) = result {
            let written = read.to_words().unwrap();
            prop_assert_eq!(written.as_slice(), &words[..]);
        }
    }
}
