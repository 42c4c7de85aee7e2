//! Values of our own that were damaged where they are stored: an error or a value that works, and
//! no more memory than allowed.

use gardenia_redis::redisbloom::layout::Field;
use gardenia_redis::values::count_min::by_dim;
use gardenia_redis::values::stored::Whole;
use gardenia_redis::values::top_k::TopK;

use crate::common::{Random, damaged_bytes, damaged_fields};
use gardenia::CountMin;
use gardenia_redis::engine::alloc::peak_of;

/// How many damaged values of each type are tried.
const DAMAGED: u64 = 10_000;
/// The memory that they may take.
const LIMIT: u64 = 64 << 10;

#[test]
fn damaged_tables_of_frequent_items_are_errors_or_harmless_and_take_no_more_memory_than_allowed() {
    let mut random = Random(21);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..DAMAGED {
        let size = |random: &mut Random| 1 + random.below(12) as u32;
        let (k, width, depth) = (size(&mut random), size(&mut random), size(&mut random));
        let mut top = TopK::new(k, width, depth, 0.9, u64::MAX).unwrap();
        (0..30).for_each(|_| {
            _ = top.add(&random.below(20).to_le_bytes(), random.below(9) as u32, u64::MAX).unwrap();
        });
        let mut fields: Vec<Field> = vec![];
        top.save(&mut fields);
        damaged_fields(&mut fields, &mut random);
        let (top, peak) = peak_of(|| TopK::load(&mut &fields[..], LIMIT));
        // The index has room for up to 16/7 times its entries, and is counted with 32 bytes each, not with 17 × 16/7.
        assert!(peak <= 3 * LIMIT as usize / 2, "round {round}: {peak} bytes");
        let Ok(mut top) = top else {
            refused += 1;
            continue;
        };
        accepted += 1;
        assert!(top.memory_bytes() <= LIMIT, "round {round}");
        for item in 0..20u64 {
            top.add(&item.to_le_bytes(), random.below(100_000) as u32, u64::MAX).unwrap();
        }
        assert!(top.list().is_sorted_by_key(|(_, count)| u32::MAX - count), "round {round}");
        let mut again: Vec<Field> = vec![];
        top.save(&mut again);
        assert_eq!(TopK::load(&mut &again[..], u64::MAX).as_ref(), Ok(&top), "round {round}");
    }
    assert!(accepted > DAMAGED / 20 && refused > DAMAGED / 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_sketches_are_errors_and_take_no_more_memory_than_their_bytes() {
    let mut random = Random(22);
    let mut refused = 0;
    for round in 0..DAMAGED {
        let mut sketch = by_dim(1 + random.below(30), 1 + random.below(5), 0, u64::MAX).unwrap();
        (0..20).for_each(|_| _ = sketch.add(&random.next().to_le_bytes()[..], random.number()));
        let right = sketch.to_bytes().unwrap();
        let mut bytes = right.clone();
        damaged_bytes(&mut bytes, &mut random);
        let (loaded, peak) = peak_of(|| CountMin::read(&bytes[..], bytes.len() as u64));
        // A header may have 256 KiB.
        assert!(peak <= 2 * bytes.len() + (1 << 20), "round {round}: {peak} bytes");
        match loaded {
            // Checksums find what was changed; what is left are bytes behind the last one.
            Some(loaded) => assert!(bytes.starts_with(&right) && loaded == sketch, "round {round}"),
            None => refused += 1,
        }
    }
    assert!(refused > DAMAGED * 9 / 10, "{refused} refused");
}
