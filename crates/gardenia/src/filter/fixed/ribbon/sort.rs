//! Distinct words in order, from digests in any order, repeated or not.
//!
//! Words of keys are spread evenly, so that two passes by their highest bits leave them nearly
//! sorted. Words that are not (of digests that somebody chose) are sorted by comparison.

use crate::filter::fixed::digests::in_threads;
use crate::hash::Digest;
use alloc::vec;
use alloc::vec::Vec;

/// Words of a group, about: half of a second-level cache with the room to sort them.
const GROUP: usize = 1 << 15;

/// The words number `number` of all digests, each once, in order.
pub(crate) fn words(digests: &[Digest], number: u32, threads: usize) -> Vec<u64> {
    let bits = (digests.len() / GROUP).checked_ilog2().map_or(0, |bits| (bits + 1).min(16));
    let group = |word: u64| (word >> 1 >> (63 - bits)) as usize;
    let mut ends = vec![0usize; 1 << bits];
    digests.iter().for_each(|digest| ends[group(digest.word(number))] += 1);
    // From counts to the place of each group's first word, and then, as words come, to the one behind its last.
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum - *end;
    }
    let mut words = vec![0u64; digests.len()];
    for digest in digests {
        let word = digest.word(number);
        let end = &mut ends[group(word)];
        words[*end] = word;
        *end += 1;
    }
    let mut groups = Vec::with_capacity(ends.len());
    let mut rest = &mut words[..];
    let mut start = 0;
    for end in ends {
        let (group, later) = rest.split_at_mut(end - start);
        groups.push(group);
        (rest, start) = (later, end);
    }
    let each = groups.len().div_ceil(threads.max(1));
    let parts = groups.chunks_mut(each).collect();
    in_threads(parts, |groups: &mut [&mut [u64]]| {
        let mut room = Room::default();
        groups.iter_mut().for_each(|group| room.sort(group, bits));
    });
    words.dedup();
    words
}

/// Memory that is used again for the next group.
#[derive(Default)]
struct Room {
    words: Vec<u64>,
    ends: Vec<u32>,
}

impl Room {
    /// Sorts words that agree in their first `skip` bits.
    fn sort(&mut self, words: &mut [u64], skip: u32) {
        // About four words to a bin.
        let bits = (words.len() / 4).checked_ilog2().unwrap_or(0).min(16);
        let bin = |word: u64| (word << skip >> 1 >> (63 - bits)) as usize;
        self.ends.clear();
        self.ends.resize(1 << bits, 0);
        words.iter().for_each(|word| self.ends[bin(*word)] += 1);
        if bits == 0 || self.ends.iter().any(|count| *count > 64) {
            return words.sort_unstable();
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += *end;
            *end = sum - *end;
        }
        self.words.resize(words.len(), 0);
        for word in words.iter() {
            let end = &mut self.ends[bin(*word)];
            self.words[*end as usize] = *word;
            *end += 1;
        }
        // Bins are in order: what remains is to move words by a few places.
        for (at, word) in self.words[..words.len()].iter().enumerate() {
            let mut to = at;
            while to > 0 && words[to - 1] > *word {
                words[to] = words[to - 1];
                to -= 1;
            }
            words[to] = *word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_different_whatever_comes() {
        let random = |count: u32| (1..=count).map(|i| Digest(Digest(3).word(i))).collect::<Vec<_>>();
        let equal = vec![Digest(7); 100_000];
        let twice = [random(70_000), random(50_000)].concat();
        let chosen: Vec<Digest> = (0..100_000).map(|low| Digest(5 << 40 | low)).rev().collect();
        for digests in [vec![], random(1), random(5), random(300), random(200_000), equal, twice, chosen] {
            for (number, threads) in [(0, 1), (1, 1), (2, 3)] {
                let mut expected: Vec<u64> = digests.iter().map(|digest| digest.word(number)).collect();
                expected.sort_unstable();
                expected.dedup();
                assert!(words(&digests, number, threads) == expected, "{} digests", digests.len());
            }
        }
    }
}
