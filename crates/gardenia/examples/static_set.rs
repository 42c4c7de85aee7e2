//! A set that is built into the program: no file to ship, nothing to load.
//!
//! `cargo run --example static_set`
//!
//! The file was made at the shell:
//! `gardenia build --kind fuse --fpp 1e-4 -o domains.gdn domains.txt`

use gardenia::BinaryFuse;

/// Domains of throw-away addresses.
static DOMAINS: &[u8] = include_bytes!("domains.gdn");

fn main() -> Result<(), gardenia::DecodeError> {
    // A view copies nothing: the filter answers from the program's own memory.
    let domains = BinaryFuse::view(DOMAINS)?;
    for address in ["rose@mailinator.example", "rose@flowers.example"] {
        let domain = address.split_once('@').map_or(address, |(_, domain)| domain);
        println!("{address}: {}", if domains.contains(domain) { "throw-away" } else { "fine" });
    }
    assert!(domains.contains("mailinator.example") && !domains.contains("flowers.example"));
    Ok(())
}
