//! The verbs that all builders of static sets have.

use crate::hash::KeyHasher;

/// The hash function, and how many threads may build.
#[derive(Clone, Debug)]
pub(crate) struct Means {
    pub(crate) hasher: KeyHasher,
    pub(crate) threads: usize,
}

/// As many threads as there are cores, where threads can be had.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "std")]
    return std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(not(feature = "std"))]
    1
}

impl Default for Means {
    fn default() -> Self {
        Self { hasher: KeyHasher::default(), threads: 1 }
    }
}

/// The verbs of a builder that has [`Means`].
macro_rules! means_verbs {
    () => {
        $crate::filter::wish::hash_verbs!(means.hasher);

        /// Threads that may build, 1 unless said. The result does not depend on it.
        pub fn threads(mut self, threads: usize) -> Self {
            self.means.threads = threads;
            self
        }
    };
}
pub(crate) use means_verbs;
