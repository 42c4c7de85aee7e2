//! Laws of sketches.

use crate::common::*;
use gardenia::cells::CellKind;
use gardenia::filter::Update;
use gardenia::index::Form;
use gardenia::{AnyFilter, CountMin, CountSketch, KeyHasher, Merge, SecretKey};
use proptest::prelude::*;

/// Count-Min sketches of both forms and updates and all kinds of cells; some with very few cells,
/// some beyond the core's cache, some with more rows than have a loop of their own.
fn count_mins() -> impl Strategy<Value = CountMin> {
    let shapes = prop_oneof![(1u64..40, 1u32..12), (1_000u64..5_000, 1u32..6), Just((70_000, 3))];
    let cells = proptest::sample::select(CellKind::ALL.to_vec());
    let choices = (any::<bool>(), any::<bool>(), 1u32..3, any::<bool>());
    (shapes, cells, choices, any::<u64>()).prop_map(|((columns, rows), cells, choices, seed)| {
        let (modified, conservative, copies, keyed) = choices;
        let secret = SecretKey::new((u128::from(seed) << 7).to_le_bytes());
        let hasher = if keyed { KeyHasher::sip13(secret) } else { KeyHasher::xxh3(seed) };
        let (form, copies) = if modified { (Form::Modified, copies) } else { (Form::Original, 1) };
        let update = if conservative { Update::Conservative } else { Update::Plain };
        let builder = CountMin::builder().columns(columns).rows(rows).copies(copies).hasher(hasher);
        builder.form(form).update(update).cells(cells).build().unwrap()
    })
}

fn count_sketches() -> impl Strategy<Value = CountSketch> {
    (1u64..2_000, 0u32..5, any::<u64>()).prop_map(|(columns, half, seed)| {
        CountSketch::builder().columns(columns).rows(2 * half + 1).seed(seed).build().unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn count_min_keeps_the_laws(sketch in count_mins(), a in keys(), b in keys()) {
        // A tenth of the keys comes dozens of times, so that cells of four bits overflow.
        let few: Vec<Vec<u8>> = (0..30).flat_map(|_| &a[..a.len() / 10]).chain(&a).cloned().collect();
        inserted_keys_are_found(sketch.clone(), &few);
        batches_agree(sketch.clone(), &few, &b);
        counts_agree(sketch.clone(), &few, &b);
        counts_are_never_too_small(sketch.clone(), &few, sketch.top());
        batches_insert_alike(sketch.clone(), &few, |sketch, digests, new| sketch.insert_digests(digests, new));
        if sketch.update() == Update::Plain {
            merge_is_insertion_of_both(sketch, &few, &b);
        } else {
            // Without the law, what a union counts is still never too little.
            let (mut ours, mut theirs) = (sketch.clone(), sketch);
            ours.extend(&few);
            theirs.extend(b.iter().chain(&few));
            ours.merge(&theirs).unwrap();
            prop_assert_eq!(ours.total(), (2 * few.len() + b.len()) as u64);
            for key in few.iter().chain(&b) {
                let count = 2 * few.iter().filter(|other| *other == key).count();
                prop_assert!(ours.count(key) as usize >= count + b.iter().filter(|other| *other == key).count());
            }
        }
    }

    #[test]
    fn count_min_survives_encoding(sketch in count_mins(), a in keys()) {
        let mut sketch = sketch;
        sketch.about_mut().store_secret(true);
        sketch.extend((0..30).flat_map(|_| &a[..a.len() / 10]).chain(&a));
        sketch.add("rose", 100_000);
        let bytes = sketch.to_bytes().unwrap();
        let copy = CountMin::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &sketch);
        prop_assert_eq!((copy.total(), copy.epsilon(), copy.delta()), (sketch.total(), sketch.epsilon(), sketch.delta()));
        let view = CountMin::view(&bytes).unwrap();
        prop_assert!(view == sketch && view.try_to_owned().unwrap() == sketch);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert_eq!(sketch.count_many(&a), view.count_many(&a));
        prop_assert_eq!(any.as_count().unwrap().count_digest(any.hasher().digest(b"rose")), sketch.count("rose"));
        prop_assert!((0.0..=1.0).contains(&any.fpp()) && (0.0..=1.0).contains(&any.fill()));
        let mut again = copy;
        again.clear();
        prop_assert_eq!((again.total(), again.count("rose"), again.fill()), (0, 0, 0.0));
    }

    #[test]
    fn weights_are_repetitions(sketch in count_mins(), a in keys(), weights in proptest::collection::vec(0u64..40, 400)) {
        let (mut weighted, mut repeated) = (sketch.clone(), sketch);
        for (key, weight) in a.iter().zip(weights) {
            let before = weighted.count(key);
            let after = weighted.add(key, weight);
            prop_assert_eq!(after, weighted.count(key));
            prop_assert!(after >= before + weight);
            (0..weight).for_each(|_| _ = repeated.insert(key));
        }
        prop_assert_eq!(weighted, repeated);
    }

    #[test]
    fn minimum_increase_never_counts_more_than_plain_update(sketch in count_mins(), a in keys(), b in keys()) {
        let twin = |update| {
            let builder = CountMin::builder().columns(sketch.columns()).rows(sketch.rows() / sketch.copies());
            let builder = builder.copies(sketch.copies()).form(sketch.form()).hasher(sketch.hasher().clone());
            let mut twin = builder.cells(sketch.cell_kind()).update(update).build().unwrap();
            twin.extend((0..20).flat_map(|_| &a[..a.len() / 10]).chain(&a));
            twin
        };
        let (plain, conservative) = (twin(Update::Plain), twin(Update::Conservative));
        for key in a.iter().chain(&b) {
            prop_assert!(conservative.count(key) <= plain.count(key));
        }
    }

    #[test]
    fn merging_cells_never_count_less_than_cells_of_64_bits(sketch in count_mins(), a in keys(), b in keys()) {
        let twin = |cells| {
            let builder = CountMin::builder().columns(sketch.columns()).rows(sketch.rows() / sketch.copies());
            let builder = builder.copies(sketch.copies()).form(sketch.form()).hasher(sketch.hasher().clone());
            let mut twin = builder.update(sketch.update()).cells(cells).build().unwrap();
            twin.extend((0..40).flat_map(|_| &a[..a.len() / 10]).chain(&a));
            twin
        };
        let [four, eight, wide] = [CellKind::Merging4, CellKind::Merging8, CellKind::Fixed64].map(twin);
        for key in a.iter().chain(&b) {
            prop_assert!(eight.count(key) >= wide.count(key) && four.count(key) >= wide.count(key));
        }
    }

    #[test]
    fn count_sketch_keeps_the_laws(sketch in count_sketches(), a in keys(), b in keys()) {
        let with = |keys: &[Vec<u8>], weight| {
            let mut filled = sketch.clone();
            keys.iter().for_each(|key| filled.add(key, weight));
            filled
        };
        let (ours, theirs, mut both) = (with(&a, 3), with(&b, -5), with(&a, 3));
        both.merge(&theirs).unwrap();
        let mut direct = with(&a, 3);
        b.iter().for_each(|key| direct.add(key, -5));
        prop_assert_eq!(&both, &direct);
        both.subtract(&theirs).unwrap();
        prop_assert_eq!(&both, &ours);
        both.subtract(&ours).unwrap();
        prop_assert_eq!((both.second_moment().value, &both), (0.0, &sketch));
        let bytes = theirs.to_bytes().unwrap();
        prop_assert_eq!(&CountSketch::from_bytes(&bytes).unwrap(), &theirs);
        let view = CountSketch::view(&bytes).unwrap();
        prop_assert!(view == theirs && b.iter().all(|key| view.count(key) == theirs.count(key)));
        prop_assert_eq!(view.to_bytes().unwrap(), &bytes[..]);
        prop_assert!(AnyFilter::from_bytes(&bytes).unwrap_err().to_string().contains("count-sketch"));
    }
}
