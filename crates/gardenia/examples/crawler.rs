//! A crawler that visits each page once, with a filter in place of a `HashSet`.
//!
//! `cargo run --example crawler`

use gardenia::BlockedBloom;
use std::collections::VecDeque;

/// The links of a page, made up: a web of 200,000 pages.
fn links(page: u32) -> [u32; 5] {
    [1u32, 2, 3, 4, 5].map(|i| page.wrapping_mul(2_654_435_761).wrapping_add(i * 97_531) % 200_000)
}

fn main() -> Result<(), gardenia::SizeError> {
    // 1 % of the pages are skipped by mistake; a HashSet of URLs would use some 100 bytes per page, this uses 1.2.
    let mut seen = BlockedBloom::new(200_000, 0.01)?;
    let mut queue = VecDeque::from([0]);
    let mut visited = 0;
    seen.insert(format!("https://flowers.example/{}", 0).as_str());
    while let Some(page) = queue.pop_front() {
        visited += 1;
        for link in links(page) {
            // `insert` returns true for a key that was certainly not there, as `HashSet::insert` does.
            if seen.insert(format!("https://flowers.example/{link}").as_str()) {
                queue.push_back(link);
            }
        }
    }
    println!("{visited} pages visited, {} bytes for the filter", seen.memory_bytes());
    assert!(visited > 100_000 && seen.memory_bytes() < 260_000);
    Ok(())
}
