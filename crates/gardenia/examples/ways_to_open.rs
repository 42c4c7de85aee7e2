//! Every way to open a filter: from a file, from bytes, from a reader, mapped, and with counters
//! beside it. All of them give the same answers.
//!
//! `cargo run --example ways_to_open`

use gardenia::{AnyFilter, Bloom, CountingBloom, OpenFilter, SplitBloom};
use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("gardenia-open-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let (path, split) = (directory.join("seen.gdn"), directory.join("split.gdn"));
    let keys: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
    let (held, others) = keys.split_at(1_000);

    let mut seen = Bloom::new(1_000, 0.01)?;
    seen.insert_many(held);
    seen.save(&path)?;
    let mut counted = SplitBloom::create(&split, CountingBloom::builder().items(1_000).fpp(0.01))?;
    counted.insert_many(held);
    counted.close()?;

    // Into memory.
    let expected = seen.contains_many(&keys);
    assert_eq!(Bloom::load(&path)?.contains_many(&keys), expected);
    assert_eq!(Bloom::read_from(File::open(&path)?)?.contains_many(&keys), expected);
    let bytes = std::fs::read(&path)?;
    assert_eq!(Bloom::from_bytes(&bytes)?.contains_many(&keys), expected);
    // Of any kind, which the file names.
    assert_eq!(AnyFilter::open(&path)?.contains_many(&keys), expected);
    assert_eq!(OpenFilter::open(&path)?.contains_many(&keys), expected);
    // From bytes that stay where they are.
    assert_eq!(Bloom::view(&bytes)?.contains_many(&keys), expected);
    // Mapped: pages are read when they are asked for.
    // SAFETY: nobody else knows this directory, and nobody here changes the file.
    #[allow(unsafe_code, reason = "a map needs a promise")]
    let (mapped, any, open) =
        unsafe { (Bloom::open_mapped(&path)?, AnyFilter::open_mapped(&path)?, OpenFilter::map(&path)?) };
    assert_eq!(mapped.contains_many(&keys), expected);
    assert_eq!(any.contains_many(&keys), expected);
    assert_eq!(open.contains_many(&keys), expected);
    // With counters, which are mapped and changed in place.
    let mut counted = SplitBloom::open(&split)?;
    counted.remove(&held[0])?;
    counted.close()?;
    let counted = SplitBloom::open(&split)?;
    assert!(held[1..].iter().all(|key| counted.contains(key)) && counted.count(&held[1]) > 0);
    assert!(expected[..1_000].iter().all(|found| *found));
    println!(
        "{} of {} other keys were found in every way",
        expected[1_000..].iter().filter(|found| **found).count(),
        others.len()
    );
    drop(counted);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
