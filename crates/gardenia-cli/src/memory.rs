//! Memory is refused before it is taken: a process killed by the system cannot say what it needed.

use crate::human;
use crate::message::hinted;

/// Bytes that can be had without swapping, where the system tells (Linux).
pub(crate) fn available() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// An error if `bytes` more would exceed what is available; `hint` says what to change.
pub(crate) fn require(bytes: u64, what: &str, hint: &str) -> anyhow::Result<()> {
    match available() {
        Some(free) if bytes > free => {
            let (needed, free) = (human::bytes(bytes), human::bytes(free));
            Err(hinted(format!("{what} needs {needed} of memory, and {free} is available"), hint))
        }
        _ => Ok(()),
    }
}

#[test]
fn available_memory_is_read_from_the_kernels_table() {
    assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:   24 kB\n"), Some(24 * 1024));
    assert_eq!(parse("MemTotal: 9 kB\n"), None);
    assert_eq!(parse("MemAvailable: many kB\n"), None);
}
