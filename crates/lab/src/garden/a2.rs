//! The A² filter by its paper: two buffers of bits that take turns.

use crate::Stream;

/// What happens to the number of keys in the active buffer when the buffers swap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swap {
    /// It begins again at zero.
    #[default]
    Resets,
    /// It is forgotten: the buffer seems to be full from then on.
    Forgets,
}

/// A filter.
pub(crate) struct TwoBuffers {
    active: Vec<bool>,
    passive: Vec<bool>,
    capacity: u64,
    held: u64,
    swap: Swap,
}

impl TwoBuffers {
    /// Of two empty buffers with half of the bits each.
    pub(crate) fn new(bits: u64, capacity: u64, swap: Swap) -> Self {
        let half = (bits / 2) as usize;
        Self { active: vec![false; half], passive: vec![false; half], capacity, held: 0, swap }
    }

    /// Bits of one buffer: positions are below that.
    pub(crate) fn half(&self) -> u64 {
        self.active.len() as u64
    }

    /// Inserts a key with these positions, unless the active buffer says that it is there: whether
    /// it did.
    pub(crate) fn insert(&mut self, key: &[u32]) -> bool {
        if key.iter().all(|at| self.active[*at as usize]) {
            return false;
        }
        if self.held >= self.capacity {
            self.passive.fill(false);
            std::mem::swap(&mut self.active, &mut self.passive);
            if self.swap == Swap::Resets {
                self.held = 0;
            }
        }
        key.iter().for_each(|at| self.active[*at as usize] = true);
        self.held += 1;
        true
    }

    /// Whether a key seems to be in a buffer.
    pub(crate) fn contains(&self, key: &[u32]) -> bool {
        let all = |buffer: &[bool]| key.iter().all(|at| buffer[*at as usize]);
        all(&self.active) || all(&self.passive)
    }

    /// How many of `queries` random keys seem to be there.
    pub(crate) fn found(&self, hashes: u32, queries: u64, stream: &mut Stream) -> u64 {
        let mut key = vec![0; hashes as usize];
        let half = self.half();
        let mut ask = || {
            key.fill_with(|| stream.below(half) as u32);
            self.contains(&key)
        };
        (0..queries).filter(|_| ask()).count() as u64
    }
}

#[test]
fn buffers_swap_when_the_active_one_is_full() {
    let mut filter = TwoBuffers::new(20, 2, Swap::Resets);
    assert!(filter.insert(&[0]) && filter.insert(&[1]) && !filter.insert(&[1]) && filter.held == 2);
    // The third key swaps, and the fifth clears the first two.
    assert!(filter.insert(&[2]) && filter.held == 1 && filter.contains(&[0]));
    assert!(filter.insert(&[3]) && filter.insert(&[4]) && filter.held == 1);
    let present: Vec<u32> = (0..10).filter(|at| filter.contains(&[*at])).collect();
    assert_eq!(present, [2, 3, 4]);
    // A key of the passive buffer goes into the active one: that renews it.
    assert!(filter.insert(&[2]) && !filter.insert(&[2]));
    let mut forgetful = TwoBuffers::new(20, 2, Swap::Forgets);
    (0..5).for_each(|at| _ = forgetful.insert(&[at]));
    let present: Vec<u32> = (0..10).filter(|at| forgetful.contains(&[*at])).collect();
    assert_eq!(present, [3, 4]); // every key swaps
}
