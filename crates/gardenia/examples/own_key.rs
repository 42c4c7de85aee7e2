//! Your own struct as a key: derive `Key`, save the filter, and open it in another process.
//!
//! `cargo run --example own_key --features derive`

use gardenia::{BlockedBloom, Key};
use std::error::Error;
use std::process::Command;

/// A field of each type is fine as long as the type is a key. The bytes are the same on every
/// machine.
#[derive(Key)]
struct Visit<'a> {
    user: u64,
    page: &'a str,
    logged_in: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let seen = Visit { user: 7, page: "/roses", logged_in: true };
    let not_seen = Visit { user: 7, page: "/roses", logged_in: false };
    // Started a second time by itself, as another program that has only the file.
    if let Some(path) = std::env::args_os().nth(1) {
        let visits = BlockedBloom::load(path)?;
        assert!(visits.contains(&seen) && !visits.contains(&not_seen));
        println!("another process found the visit");
        return Ok(());
    }
    let mut visits = BlockedBloom::new(1_000_000, 0.001)?;
    visits.insert(&seen);
    let path = std::env::temp_dir().join(format!("gardenia-visits-{}.gdn", std::process::id()));
    visits.save(&path)?;
    let status = Command::new(std::env::current_exe()?).arg(&path).status()?;
    std::fs::remove_file(&path)?;
    assert!(status.success());
    Ok(())
}
