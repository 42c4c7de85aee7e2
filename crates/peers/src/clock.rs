//! Time, as far as it was spent on the work.

use std::time::{Duration, Instant};

/// Measures the processor time of the thread that starts it, and wall time beside it.
///
/// On a machine with other work, wall time is mostly that of waiting for a core: with four busy
/// processes on two cores it made the same row twice as slow from one run to the next, while
/// processor time stayed within a few percent. On a quiet machine the two agree. What other work
/// does to the shared caches is in both.
pub(crate) struct Stopwatch {
    processor: Duration,
    start: Instant,
}

/// What a stopwatch says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// Processor time; wall time where a thread's processor time cannot be had.
    pub(crate) time: Duration,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let start = Instant::now();
        Self { processor: thread_time().unwrap_or_default(), start }
    }

    pub(crate) fn stop(&self) -> Took {
        let processor = thread_time();
        let (start, end) = (self.start, Instant::now());
        Took { time: processor.map_or(end - start, |now| now.saturating_sub(self.processor)), start, end }
    }
}

impl Took {
    /// Of things done at once: the processor time of the slowest, and from the first start to the
    /// last end.
    pub(crate) fn at_once(self, other: Self) -> Self {
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        Self { time: self.time.max(other.time), start, end }
    }
}

#[cfg(target_os = "linux")]
fn thread_time() -> Option<Duration> {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)).ok()
}

#[cfg(not(target_os = "linux"))]
fn thread_time() -> Option<Duration> {
    None
}
