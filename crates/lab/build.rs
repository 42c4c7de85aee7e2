//! The commit that the report names, where there is one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let git = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    if let Some(output) = git.ok().filter(|output| output.status.success()) {
        println!("cargo::rustc-env=GARDENIA_COMMIT={}", String::from_utf8_lossy(&output.stdout).trim());
    }
}
