//! Ending well on SIGINT, SIGTERM and SIGHUP.
//!
//! The first signal is noted, so that a loop can end at its next block; `last` runs beside the loop
//! for the case that it waits in a read, which a signal does not end. A second signal ends the
//! process at once.

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

/// From now on signals are noted, and at the first `last` is called in a thread of its own; then
/// the process ends.
#[cfg(unix)]
pub(crate) fn watch(last: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = Some(SIGHUP).filter(|&signal| ignores(&status, signal) == Some(false));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))?;
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

/// Whether the process was started to ignore a signal, as by `nohup`, where the system tells
/// (Linux). Watching it would end what is meant to go on.
#[cfg(unix)]
fn ignores(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    Some(u64::from_str_radix(mask.trim(), 16).ok()? >> (signal - 1) & 1 == 1)
}

/// From now on a bus error says what happened: a mapped file was cut short. The system's own words,
/// or none at all, would leave people guessing.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a handler of signals may call write, but not take the lock of stderr")]
pub(crate) fn explain_bus_errors() -> std::io::Result<()> {
    use std::io::Write;
    use std::os::fd::FromRawFd;
    static ONCE: std::sync::Once = std::sync::Once::new();
    let mut registered = Ok(());
    ONCE.call_once(|| {
        let explain = || {
            const MESSAGE: &[u8] =
                b"gardenia: a file was cut short while it was being used\nhint: run it again; \
                to replace a filter, list or counters in use, write a new file and mv it over the old one\n";
            // SAFETY: descriptor 2 is open, and is not closed by this: a `ManuallyDrop` is never dropped.
            let file = unsafe { std::fs::File::from_raw_fd(2) };
            let mut stderr = std::mem::ManuallyDrop::new(file);
            let _ = stderr.write_all(MESSAGE);
            signal_hook::low_level::exit(2)
        };
        // SAFETY: the handler calls write and _exit only, both of which a handler of signals may call.
        let result = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, explain) };
        registered = result.map(|_| ());
    });
    registered
}

/// Other systems do not let a mapped file be cut short.
#[cfg(not(unix))]
pub(crate) fn explain_bus_errors() -> std::io::Result<()> {
    Ok(())
}

/// Other systems end the process as they do.
#[cfg(not(unix))]
pub(crate) fn watch(_last: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[test]
fn ignored_signals_are_read_from_the_kernels_table() {
    assert_eq!(ignores("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n", 1), Some(true));
    assert_eq!(ignores("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n", 1), Some(false));
    assert_eq!((ignores("SigCgt:\t1\n", 1), ignores("SigIgn:\tmany\n", 1)), (None, None));
}
