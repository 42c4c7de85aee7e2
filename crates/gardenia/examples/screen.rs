//! Screen log lines against a list of indicators: open a filter of any kind, and ask it.
//!
//! `cargo run --example screen`

use gardenia::{AnyFilter, BinaryFuse};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // Usually made at the shell: gardenia build --kind fuse --fpp 1e-9 -o indicators.gdn indicators.txt
    let path = std::env::temp_dir().join(format!("gardenia-indicators-{}.gdn", std::process::id()));
    let indicators = ["192.0.2.66", "evil.example", "44d88612fea8a8f36de82e1278abb02f"];
    BinaryFuse::new(&indicators, 1e-9)?.save(&path)?;

    assert!(AnyFilter::open(&path)?.contains("evil.example"));

    let filter = AnyFilter::open(&path)?;
    let log =
        ["GET / from 198.51.100.7", "GET /login from 192.0.2.66", "lookup of evil.example by 198.51.100.9"];
    let mut hits = 0;
    for line in log {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let found = filter.contains_many(&tokens);
        for (token, _) in tokens.iter().zip(found).filter(|(_, found)| *found) {
            println!("{line}: {token}");
            hits += 1;
        }
    }
    std::fs::remove_file(&path)?;
    assert_eq!(hits, 2);
    Ok(())
}
