//! Ending well on SIGINT and SIGTERM.
//!
//! The first signal is noted, so that a loop can end at its next block; `last` runs beside the loop for the case that it
//! waits in a read, which a signal does not end. A second signal ends the process at once.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The number of the signal that came first; 0 if none came.
static CAME: AtomicI32 = AtomicI32::new(0);

/// The signal that came, if one did, once [`watch`] was called.
pub(crate) fn came() -> Option<i32> {
    Some(CAME.load(Relaxed)).filter(|&signal| signal != 0)
}

/// The exit code of a process that a signal ended, as shells tell it.
pub(crate) fn exit(signal: i32) -> ! {
    std::process::exit(128 + signal)
}

/// From now on signals are noted, and at the first `last` is called in a thread of its own; then the process ends.
#[cfg(unix)]
pub(crate) fn watch(last: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let mut last = Some(last);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let Some(last) = last.take() else { exit(signal) };
            CAME.store(signal, Relaxed);
            std::thread::spawn(move || {
                last();
                exit(signal)
            });
        }
    })?;
    Ok(())
}

/// Other systems end the process as they do.
#[cfg(not(unix))]
pub(crate) fn watch(_last: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    Ok(())
}
