//! How many threads there are to build static sets with.

/// As many threads as there are cores, where threads can be had.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "std")]
    return std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(not(feature = "std"))]
    1
}
