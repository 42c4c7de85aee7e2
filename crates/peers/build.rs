//! Keeps the compiler's version for the heading of the report: the `rustc` on the path when the
//! program runs need not be the one that built it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|run| String::from_utf8(run.stdout).ok());
    println!("cargo::rustc-env=PEERS_RUSTC={}", version.as_deref().unwrap_or("rustc unknown").trim());
}
