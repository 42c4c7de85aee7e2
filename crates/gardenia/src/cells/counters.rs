//! A packed array of small saturating counters.
//!
//! Each 64-bit word holds ⌊64/w⌋ whole counters: none crosses a word, so that one atomic
//! instruction can change it and a torn write to a mapped file cannot split it. Widths that divide
//! 64 waste nothing; the worst, 22 bits, wastes a third. A counter at its top *sticks*: what it
//! lost count of it never lowers.

use super::{Bits, Bytes, Lines, Memory, Owned, Shared, Tally, atom};
use crate::index::MAX_CELLS;
use crate::index::scale;
use crate::{DecodeError, SizeError};
use core::fmt;

/// `len` counters of `width` bits (1 to 32) over some [`Memory`], saturating at both ends.
///
/// ```
/// let mut counters = gardenia::cells::Counters::new(100, 4)?;
/// assert_eq!(counters.add(7, 20), 15); // four bits end at 15
/// assert_eq!(counters.sub(7, 1), 15); // and what reached its top stays there
/// assert_eq!((counters.add(8, 2), counters.sub(8, 5)), (2, 0));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct Counters<M = Owned> {
    memory: M,
    layout: Layout,
}

/// Where counters begin: enough to ask for their cache lines, which reads nothing.
#[derive(Clone, Copy)]
pub(crate) struct CounterLines {
    lines: Lines,
    layout: Layout,
}

impl CounterLines {
    /// Asks for the cache line of counter `at`.
    #[inline(always)]
    pub(crate) fn prefetch(self, at: u64) {
        self.lines.prefetch_word(self.layout.place(at).0);
    }
}

/// Where counters stand in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    len: u64,
    width: u32,
    /// ⌊2⁶⁴/c⌋+1 for c ≥ 2 counters a word: multiply-high by it divides positions below 2⁴⁰
    /// exactly.
    reciprocal: u64,
    /// log2 of the counters a word, 1 to 6, where that is whole: there a shift divides. Otherwise
    /// 0.
    halvings: u32,
    /// The lowest bit of every counter of a word.
    ones: u64,
}

impl Layout {
    fn new(len: u64, width: u32) -> Result<Self, SizeError> {
        if !(1..=32).contains(&width) {
            return Err(SizeError::Width { width });
        }
        if len == 0 {
            return Err(SizeError::ZeroCells);
        }
        if len > MAX_CELLS {
            return Err(SizeError::TooManyCells { cells: len, max: MAX_CELLS });
        }
        let per_word = 64 / width;
        let (top, used) = (u64::MAX >> (64 - width), u64::MAX >> (64 - per_word * width));
        let reciprocal = u64::MAX / u64::from(per_word) + 1;
        let halvings =
            if per_word.is_power_of_two() && width.is_power_of_two() { per_word.ilog2() } else { 0 };
        Ok(Self { len, width, reciprocal, halvings, ones: used / top })
    }

    fn words(self) -> Result<usize, SizeError> {
        let words = self.len.div_ceil(u64::from(64 / self.width));
        usize::try_from(words).map_err(|_| SizeError::Memory { bytes: words.saturating_mul(8) })
    }

    /// Word and shift of counter `at`.
    #[inline(always)]
    fn place(self, at: u64) -> (usize, u32) {
        if self.halvings != 0 {
            return self.place_even(at);
        }
        let word = scale(self.reciprocal, at);
        (word as usize, (at - word * u64::from(64 / self.width)) as u32 * self.width)
    }

    /// The same where `halvings` are known not to be 0.
    #[inline(always)]
    fn place_even(self, at: u64) -> (usize, u32) {
        ((at >> self.halvings) as usize, (at << (6 - self.halvings)) as u32 % 64)
    }

    /// The largest value, and the mask of a counter at shift 0.
    #[inline]
    fn top(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Counters in word `word`; fewer in the last one.
    fn in_word(self, word: usize) -> u32 {
        let per_word = u64::from(64 / self.width);
        (self.len - word as u64 * per_word).min(per_word) as u32
    }

    /// `word` with every counter under `mask` lowered by one that is not 0 already, those at the
    /// top too.
    #[inline(always)]
    fn aged(self, word: u64, mask: u64) -> u64 {
        let high = self.ones << (self.width - 1);
        // Below its highest bit a counter has room for the sum: that bit is set unless all others are 0.
        let below = high - self.ones;
        let nonzero = (((word & below) + below) | word) & high;
        word - (nonzero >> (self.width - 1) & mask)
    }

    /// `word` with the counter at `shift` raised by `by`, and its new value.
    #[inline]
    fn raised(self, word: u64, shift: u32, by: u32) -> (u64, u32) {
        let old = word >> shift & self.top();
        let new = (old + u64::from(by)).min(self.top());
        (word + ((new - old) << shift), new as u32)
    }

    /// `word` with the counter at `shift` lowered by `by`, and its new value: not below 0, not from
    /// the top.
    #[inline]
    fn lowered(self, word: u64, shift: u32, by: u32) -> (u64, u32) {
        let old = word >> shift & self.top();
        let new = if old == self.top() { old } else { old.saturating_sub(u64::from(by)) };
        (word - ((old - new) << shift), new as u32)
    }
}

/// Bytes of `len` counters of `width` bits; `None` if there cannot be such.
pub(crate) fn counter_bytes(len: u64, width: u32) -> Option<u64> {
    Layout::new(len, width).ok().map(|layout| layout.len.div_ceil(u64::from(64 / width)) * 8)
}

impl Counters {
    /// `len` counters of `width` bits, all zero.
    pub fn new(len: u64, width: u32) -> Result<Self, SizeError> {
        let layout = Layout::new(len, width)?;
        Ok(Self { memory: Owned::zeroed(layout.words()?)?, layout })
    }

    /// Raises counter `at` by `by`, stopping at the top; its new value.
    #[inline]
    pub fn add(&mut self, at: u64, by: u32) -> u32 {
        let (word, shift) = self.layout.place(at);
        let word = &mut self.memory.as_mut_slice()[word];
        let (changed, value) = self.layout.raised(*word, shift, by);
        *word = changed;
        value
    }

    /// Lowers counter `at` by `by`, stopping at 0; a counter at its top stays. Its new value.
    #[inline]
    pub fn sub(&mut self, at: u64, by: u32) -> u32 {
        let (word, shift) = self.layout.place(at);
        let word = &mut self.memory.as_mut_slice()[word];
        let (changed, value) = self.layout.lowered(*word, shift, by);
        *word = changed;
        value
    }

    /// Sets counter `at` to `value`, or to the top if that is less.
    #[inline]
    pub fn set(&mut self, at: u64, value: u32) {
        let (word, shift) = self.layout.place(at);
        let word = &mut self.memory.as_mut_slice()[word];
        let top = self.layout.top();
        *word = *word & !(top << shift) | u64::from(value).min(top) << shift;
    }

    /// Puts counter `at` to its top; the value before.
    #[inline(always)]
    pub(crate) fn renew(&mut self, at: u64) -> u32 {
        let (word, shift) = self.layout.place(at);
        let word = &mut self.memory.as_mut_slice()[word];
        let before = *word >> shift;
        *word |= self.layout.top() << shift;
        (before & self.layout.top()) as u32
    }

    /// Lowers `count` (1 to all) counters from `start` on by one, going round at the end. Here a
    /// counter is an age and no count: it stops at 0, but does not stick at its top.
    #[inline]
    pub(crate) fn age_run(&mut self, start: u64, count: u64) {
        let straight = count.min(self.layout.len - start);
        self.age(start, straight);
        if straight < count {
            self.age(0, count - straight);
        }
    }

    /// [`age_run`](Self::age_run) that does not go round, a word at a time.
    #[inline(always)]
    fn age(&mut self, start: u64, count: u64) {
        let layout = self.layout;
        let ((first, from), (last, to)) = (layout.place(start), layout.place(start + count - 1));
        let words = self.memory.as_mut_slice();
        let head = u64::MAX << from;
        let tail = u64::MAX >> (64 - layout.width - to);
        // Whether a short run crosses a word cannot be predicted: then two words are changed in either case, the
        // second by nothing.
        let one = first == last;
        words[first] = layout.aged(words[first], core::hint::select_unpredictable(one, head & tail, head));
        words[last] = layout.aged(words[last], core::hint::select_unpredictable(one, 0, tail));
        if last > first + 1 {
            words[first + 1..last].iter_mut().for_each(|word| *word = layout.aged(*word, u64::MAX));
        }
    }

    /// All counters to zero.
    pub fn clear(&mut self) {
        self.memory.as_mut_slice().fill(0);
    }

    /// Adds the counters of `other`, of which there are as many and as wide, stopping at the top.
    pub(crate) fn add_all(&mut self, other: &Counters<impl Memory>) {
        debug_assert_eq!(self.layout, other.layout);
        let layout = self.layout;
        for (at, word) in self.memory.as_mut_slice().iter_mut().enumerate() {
            let theirs = other.memory.load(at);
            for shift in (0..layout.in_word(at)).map(|i| i * layout.width) {
                *word = layout.raised(*word, shift, (theirs >> shift & layout.top()) as u32).0;
            }
        }
    }

    /// Takes the words of `other`, of which there are as many and as wide.
    pub(crate) fn copy_from(&mut self, other: &Counters<impl Memory>) {
        debug_assert_eq!(self.layout, other.layout);
        let words = self.memory.as_mut_slice().iter_mut();
        words.enumerate().for_each(|(at, word)| *word = other.memory.load(at));
    }

    /// The words, for decoders to fill.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }

    /// A way to ask for cache lines while the counters themselves are lent out.
    #[inline]
    pub(crate) fn lines(&self) -> CounterLines {
        CounterLines { lines: Lines::new(self.memory.as_slice()), layout: self.layout }
    }

    /// The same counters for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> Counters<Shared> {
        Counters { memory: Shared::new(self.memory), layout: self.layout }
    }
}

impl Counters<Shared> {
    /// Raises counter `at` by `by`, stopping at the top; its new value.
    #[inline]
    pub fn add(&self, at: u64, by: u32) -> u32 {
        self.update(at, |layout, word, shift| layout.raised(word, shift, by))
    }

    /// Lowers counter `at` by `by`, stopping at 0; a counter at its top stays. Its new value.
    #[inline]
    pub fn sub(&self, at: u64, by: u32) -> u32 {
        self.update(at, |layout, word, shift| layout.lowered(word, shift, by))
    }

    #[inline]
    fn update(&self, at: u64, change: impl Fn(Layout, u64, u32) -> (u64, u32)) -> u32 {
        let (word, shift) = self.layout.place(at);
        atom::update(&self.memory.atoms()[word], |word| change(self.layout, word, shift))
    }

    /// The same counters for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> Counters {
        Counters { memory: self.memory.into_owned(), layout: self.layout }
    }
}

#[cfg(feature = "mmap")]
impl Counters<super::MappedWords> {
    /// `len` counters in a mapped file; `None` unless these are exactly the words they need.
    pub(crate) fn mapped(memory: super::MappedWords, len: u64, width: u32) -> Option<Self> {
        let layout = Layout::new(len, width).ok()?;
        (layout.words() == Ok(memory.words())).then_some(Self { memory, layout })
    }

    /// Sets counter `at` to `value`, or to the top if that is less.
    #[inline]
    pub(crate) fn set(&mut self, at: u64, value: u32) {
        let (at, shift) = self.layout.place(at);
        let top = self.layout.top();
        let word = self.memory.load(at);
        self.memory.store(at, word & !(top << shift) | u64::from(value).min(top) << shift);
    }

    /// A way to ask for cache lines while the counters themselves are lent out.
    #[inline]
    pub(crate) fn lines(&self) -> CounterLines {
        CounterLines { lines: Lines::at(self.memory.as_ptr()), layout: self.layout }
    }
}

impl<B: AsRef<[u8]>> Counters<Bytes<B>> {
    /// `len` counters in borrowed bytes; `None` unless the bytes are exactly the words they need.
    #[must_use]
    pub fn borrowed(bytes: B, len: u64, width: u32) -> Option<Self> {
        let layout = Layout::new(len, width).ok()?;
        let fits = layout.words().is_ok_and(|words| words.checked_mul(8) == Some(bytes.as_ref().len()));
        fits.then_some(Self { memory: Bytes(bytes), layout })
    }
}

/// Counters of 1, 2, 4, 8, 16 or 32 bits, to be read: loops that ask for the width once, and not
/// for each cell, take a tenth less time.
pub(crate) struct Even<'a, M>(&'a Counters<M>);

impl<M: Memory> Tally for Even<'_, M> {
    #[inline]
    fn len(&self) -> u64 {
        self.0.len()
    }
    #[inline]
    fn top(&self) -> u32 {
        self.0.top()
    }
    #[inline(always)]
    fn get(&self, at: u64) -> u32 {
        let (word, shift) = self.0.layout.place_even(at);
        (self.0.memory.load(word) >> shift & self.0.layout.top()) as u32
    }
    #[inline(always)]
    fn prefetch(&self, at: u64) {
        self.0.memory.prefetch(self.0.layout.place_even(at).0);
    }
    fn words(&self) -> usize {
        self.0.memory.words()
    }
}

impl<M: Memory> Counters<M> {
    /// The same counters in their faster form, if their width has one.
    #[inline]
    pub(crate) fn even(&self) -> Option<Even<'_, M>> {
        (self.layout.halvings != 0).then_some(Even(self))
    }

    /// Number of counters.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.layout.len
    }

    /// Never true: there is at least one counter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bits per counter.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.layout.width
    }

    /// The largest value a counter can hold.
    #[must_use]
    pub fn top(&self) -> u32 {
        self.layout.top() as u32
    }

    /// Counter `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u32 {
        let (word, shift) = self.layout.place(at);
        (self.memory.load(word) >> shift & self.layout.top()) as u32
    }

    /// Asks for the cache line of counter `at`.
    #[inline]
    pub fn prefetch(&self, at: u64) {
        self.memory.prefetch(self.layout.place(at).0);
    }

    /// Number of counters that are not zero.
    #[must_use]
    pub fn count_nonzero(&self) -> u64 {
        self.count(|value| value != 0)
    }

    /// Number of counters at their top, which have lost count.
    #[must_use]
    pub fn count_saturated(&self) -> u64 {
        let top = self.layout.top();
        self.count(|value| value == top)
    }

    fn count(&self, yes: impl Fn(u64) -> bool) -> u64 {
        let Layout { width, .. } = self.layout;
        let in_word = |at| {
            let word = self.memory.load(at);
            let values = (0..self.layout.in_word(at)).map(|i| word >> (i * width) & self.layout.top());
            values.map(|value| u64::from(yes(value))).sum::<u64>()
        };
        (0..self.memory.words()).map(in_word).sum()
    }

    /// A bit for each counter: whether it is not zero. One pass over the words in order.
    pub(crate) fn to_bits(&self) -> Result<Bits, SizeError> {
        let mut bits = Bits::new(self.len())?;
        self.fill_bits(&mut bits);
        Ok(bits)
    }

    /// Sets the bit of each counter that is not zero; there is a bit for each.
    pub(crate) fn fill_bits(&self, bits: &mut Bits) {
        let (width, per_word) = (self.layout.width, 64 / self.layout.width);
        for at in 0..self.memory.words() {
            let (word, first) = (self.memory.load(at), at as u64 * u64::from(per_word));
            let nonzero = |i: u32| u64::from(word >> (i * width) & self.layout.top() != 0) << i;
            bits.merge(first, (0..self.layout.in_word(at)).fold(0, |all, i| all | nonzero(i)));
        }
    }

    /// The bits that belong to no counter must be zero in a file.
    pub(crate) fn check_tail(&self) -> Result<(), DecodeError> {
        let spare = |at| self.memory.load(at).checked_shr(self.layout.in_word(at) * self.layout.width);
        match (0..self.memory.words()).all(|at| spare(at).unwrap_or(0) == 0) {
            true => Ok(()),
            false => Err(DecodeError::Damaged("bits that belong to no cell are set")),
        }
    }

    /// A copy in own memory.
    pub(crate) fn to_owned(&self) -> Result<Counters, SizeError> {
        let mut copy = Counters::new(self.len(), self.width())?;
        copy.copy_from(self);
        Ok(copy)
    }

    /// The memory below.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }
}

impl<M: Memory, N: Memory> PartialEq<Counters<N>> for Counters<M> {
    fn eq(&self, other: &Counters<N>) -> bool {
        self.layout == other.layout
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

impl<M: Memory> Eq for Counters<M> {}

impl<M: Memory> fmt::Debug for Counters<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counters({} of {} bits)", self.layout.len, self.layout.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use proptest::prelude::*;

    #[test]
    fn widths_and_sizes_that_cannot_be_are_errors() {
        assert_eq!(Counters::new(10, 0).unwrap_err(), SizeError::Width { width: 0 });
        assert_eq!(Counters::new(10, 33).unwrap_err(), SizeError::Width { width: 33 });
        assert_eq!(Counters::new(0, 4).unwrap_err(), SizeError::ZeroCells);
        assert!(matches!(Counters::new(MAX_CELLS + 1, 1), Err(SizeError::TooManyCells { .. })));
    }

    #[test]
    fn places_never_cross_a_word_up_to_the_largest_size() {
        for width in 1..=32 {
            let layout = Layout::new(MAX_CELLS, width).unwrap();
            let per_word = u64::from(64 / width);
            for at in [0, per_word - 1, per_word, MAX_CELLS / 3, MAX_CELLS - 1] {
                let (word, shift) = layout.place(at);
                assert_eq!((word as u64, shift), (at / per_word, (at % per_word) as u32 * width));
            }
        }
    }

    #[test]
    fn a_bit_tells_of_each_counter_whether_it_is_not_zero() {
        // Words of bits and words of counters begin together in all ways.
        for (width, len) in (1..=32).flat_map(|width| [1, 64, 65, 1_000].map(|len| (width, len))) {
            let mut counters = Counters::new(len, width).unwrap();
            (0..len)
                .for_each(|at| counters.set(at, Digest(width.into()).word(at as u32) as u32 & 1 << (at % 3)));
            let bits = counters.to_bits().unwrap();
            assert!((0..len).all(|at| bits.get(at) == (counters.get(at) != 0)), "{len} of {width} bits");
            assert!(bits.tail_is_clear() && bits.count_ones() == counters.count_nonzero());
        }
    }

    proptest! {
        /// Plain and atomic counters follow the same model: an array of saturating, sticky
        /// integers.
        #[test]
        fn counters_follow_an_exact_model(
            width in 1u32..=32,
            steps in proptest::collection::vec((0u64..50, any::<u32>(), 0u8..4), 1..300),
        ) {
            let top = u64::MAX >> (64 - width);
            let mut model = [0u64; 50];
            let mut plain = Counters::new(50, width).unwrap();
            let shared = Counters::new(50, width).unwrap().into_shared();
            for (at, by, op) in steps {
                let cell = &mut model[at as usize];
                let by = if op & 1 == 0 { by % 4 } else { by };
                if op < 2 {
                    *cell = (*cell + u64::from(by)).min(top);
                    prop_assert_eq!(u64::from(plain.add(at, by)), *cell);
                    prop_assert_eq!(u64::from(shared.add(at, by)), *cell);
                } else {
                    if *cell < top {
                        *cell = cell.saturating_sub(u64::from(by));
                    }
                    prop_assert_eq!(u64::from(plain.sub(at, by)), *cell);
                    prop_assert_eq!(u64::from(shared.sub(at, by)), *cell);
                }
            }
            let bytes: alloc::vec::Vec<u8> =
                plain.memory().as_slice().iter().flat_map(|w| w.to_le_bytes()).collect();
            let borrowed = Counters::borrowed(&bytes[..], 50, width).unwrap();
            for at in 0..50 {
                prop_assert_eq!(u64::from(borrowed.get(at)), model[at as usize]);
            }
            if let Some(even) = plain.even() {
                prop_assert!(64u32.is_multiple_of(width) && even.len() == 50 && u64::from(even.top()) == top);
                prop_assert!((0..50).all(|at| u64::from(even.get(at)) == model[at as usize]));
            }
            prop_assert!(plain == shared && plain == borrowed);
            plain.set(3, u32::MAX);
            prop_assert_eq!(u64::from(plain.get(3)), top);
        }

        /// Runs of every length, at every place, going round at the end: each counter in them is
        /// lowered by one, not below 0 (libbf wraps to the top), and from the top too.
        #[test]
        fn a_run_ages_exactly_its_counters(
            width in 1u32..=32,
            len in 1u64..300,
            steps in proptest::collection::vec((any::<[u64; 3]>(), 0u8..4), 1..60),
        ) {
            let top = u32::MAX >> (32 - width);
            let mut model = alloc::vec![0u32; len as usize];
            let mut cells = Counters::new(len, width).unwrap();
            for ([a, b, value], op) in steps {
                let (start, count) = (a % len, 1 + b % len);
                if op == 0 {
                    let value = (value as u32).min(top) % 5 + (top - top.min(4)) * (value >> 63) as u32;
                    cells.set(start, value);
                    model[start as usize] = value.min(top);
                } else if op == 1 {
                    prop_assert_eq!(cells.renew(start), core::mem::replace(&mut model[start as usize], top));
                } else {
                    let count = if op == 2 { count } else { 1 + b % len.min(9) };
                    cells.age_run(start, count);
                    for at in start..start + count {
                        let cell = &mut model[(at % len) as usize];
                        *cell = cell.saturating_sub(1);
                    }
                }
                prop_assert!((0..len).all(|at| cells.get(at) == model[at as usize]), "{start} {count} {op}");
                prop_assert!(cells.check_tail().is_ok());
            }
        }
    }
}
