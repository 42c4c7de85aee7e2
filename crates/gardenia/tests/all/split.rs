//! The split form: the same answers as in memory over restarts, deaths of real processes, damaged
//! and foreign files.
#![cfg(feature = "mmap")]

use gardenia::filter::{SplitFiles, SplitOpening, SplitState};
use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::{
    AnyFilter, Bloom, Builder, CountingBloom, DecodeError, Digest, EncodeError, Error, Kind, ReadOptions,
    RemoveError, SecretKey, Spec, SplitBloom,
};
use proptest::prelude::*;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bed.gdn");
    (directory, path)
}

fn small() -> Builder<CountingBloom> {
    CountingBloom::builder().items(100).fpp(0.01)
}

/// A closed filter with some keys in it.
fn closed() -> (TempDir, PathBuf, CountingBloom) {
    let (directory, path) = directory();
    let mut bed = SplitBloom::create(&path, small()).unwrap();
    bed.insert_many(&["rose", "tulip", "rose"]);
    let model = bed.to_counting().unwrap();
    bed.close().unwrap();
    (directory, path, model)
}

fn counters(bits: &Path) -> PathBuf {
    bits.with_extension("counters")
}

/// Counters and bits are those of `model`.
fn assert_is(bed: &SplitBloom, model: &CountingBloom) {
    assert!(bed.to_counting().unwrap() == *model, "the counters differ");
    assert!(*bed.bloom() == model.to_bloom().unwrap(), "the bits differ");
}

/// What is done to a filter in the property test.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8),
    InsertMany(Vec<u8>),
    Remove(u8),
    Flush,
    Close,
    Drop,
    Sync,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => any::<u8>().prop_map(Step::Insert),
        5 => proptest::collection::vec(any::<u8>(), 0..80).prop_map(Step::InsertMany),
        20 => any::<u8>().prop_map(Step::Remove),
        1 => Just(Step::Flush),
        1 => Just(Step::Close),
        2 => Just(Step::Drop),
        1 => Just(Step::Sync),
    ];
    proptest::collection::vec(step, 0..100)
}

/// Numbers that a position, a value or a count cannot be, and some that they can.
fn hostile() -> impl Strategy<Value = u64> {
    prop_oneof![0..16u64, 900..1_000u64, any::<u64>(), (0..64u32).prop_map(|shift| 1 << shift)]
}

fn builders() -> impl Strategy<Value = Builder<CountingBloom>> {
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..50_000, 1u32..30)];
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    (scheme, shapes, any::<u64>(), 1u32..=32).prop_map(|(scheme, (cells, hashes), seed, width)| {
        CountingBloom::builder().cells(cells).hashes(hashes).seed(seed).width(width).scheme(scheme)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever is done, and however it is opened again: the cells of a counting filter in memory.
    #[test]
    fn a_split_filter_is_the_counting_filter_in_memory(builder in builders(), steps in steps()) {
        let (_folder, path) = directory();
        let mut model = builder.clone().build().unwrap();
        let mut bed = SplitBloom::create(&path, builder).unwrap();
        let mut operations = 0;
        for step in steps {
            match step {
                Step::Insert(key) => {
                    prop_assert_eq!(bed.insert(key), model.insert(key));
                    operations += 1;
                }
                Step::InsertMany(keys) => {
                    prop_assert_eq!(bed.insert_many(&keys), model.insert_many(&keys));
                    operations += keys.len() as u64;
                }
                Step::Remove(key) => {
                    let removed = model.remove(key);
                    prop_assert_eq!(bed.remove(key), removed);
                    operations += u64::from(removed.is_ok());
                }
                Step::Flush => {
                    bed.flush().unwrap();
                    let options = ReadOptions::new();
                    prop_assert_eq!(&Bloom::load_as::<AnyScheme>(&path, &options).unwrap(), bed.bloom());
                }
                Step::Close => {
                    bed.close().unwrap();
                    bed = SplitBloom::open(&path).unwrap();
                    prop_assert_eq!(bed.opening(), SplitOpening::Clean);
                }
                Step::Drop => {
                    drop(bed);
                    bed = SplitBloom::open(&path).unwrap();
                }
                Step::Sync => bed.sync().unwrap(),
            }
            prop_assert_eq!(bed.operations(), operations);
        }
        let keys: Vec<u8> = (0..=255).collect();
        prop_assert_eq!(bed.contains_many(&keys), model.contains_many(&keys));
        prop_assert_eq!(bed.count_many(&keys), model.count_many(&keys));
        for key in keys {
            let digest = bed.hasher().digest(&u64::from(key).to_le_bytes());
            prop_assert_eq!((bed.contains(key), bed.count(key)), (model.contains(key), model.count(key)));
            prop_assert_eq!(bed.contains_digest(digest), model.contains_digest(digest));
        }
        assert_is(&bed, &model);
    }

    /// Any bytes in the first pages: a filter or an error, no panic; after an error both files are
    /// as before.
    #[test]
    fn a_damaged_counter_file_does_no_harm(
        changes in prop_oneof![
            Just(Vec::new()),
            proptest::collection::vec((prop_oneof![0..700usize, 0..16_384usize], any::<u8>()), 1..6),
        ],
        journal in proptest::option::of((hostile(), proptest::collection::vec((hostile(), hostile()), 0..9))),
        reseal in any::<bool>(),
        cut in prop_oneof![3 => Just(0usize), 1 => 1..20_000usize],
    ) {
        let (_folder, path, _) = closed();
        let mut bytes = std::fs::read(counters(&path)).unwrap();
        changes.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        if reseal {
            let sum = xxhash_rust::xxh3::xxh3_64(&bytes[64..64 + 104]);
            bytes[64 + 104..64 + 112].copy_from_slice(&sum.to_le_bytes());
        }
        if let Some((count, cells)) = journal {
            // An operation that was begun, with a seal that is right for as many cells as there are.
            let cells: Vec<u64> = cells.iter().flat_map(|(at, value)| [*at, *value]).collect();
            let count = if count & 1 == 0 { cells.len() as u64 / 2 } else { count };
            let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            put(512, 0);
            [3, 4, count].into_iter().enumerate().for_each(|(i, word)| put(4096 + 8 * i, word));
            cells.iter().enumerate().for_each(|(i, word)| put(4128 + 8 * i, *word));
            let sealed = [&bytes[4104..4120], &bytes[4128..4128 + 8 * cells.len()]].concat();
            bytes[4120..4128].copy_from_slice(&xxhash_rust::xxh3::xxh3_64(&sealed).to_le_bytes());
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        std::fs::write(counters(&path), &bytes).unwrap();
        let plain = std::fs::read(&path).unwrap();
        let options = ReadOptions::new().max_bytes(1 << 20);
        match SplitBloom::open_with(&path, &options) {
            Ok(mut bed) => {
                bed.insert("iris");
                prop_assert!(bed.contains("iris") && bed.count("iris") > 0);
            }
            Err(_) => prop_assert!(std::fs::read(counters(&path)).unwrap() == bytes),
        }
        prop_assert!(std::fs::read(&path).unwrap() == plain);
    }
}

#[test]
fn the_bits_are_a_plain_filter_that_any_program_opens() {
    let (_folder, path, model) = closed();
    let plain = Bloom::load(&path).unwrap();
    assert_eq!(plain.contains_many(&["rose", "tulip", "thistle"]), [true, true, false]);
    let any = AnyFilter::load(&path).unwrap();
    assert_eq!(any.to_bytes().unwrap(), model.to_bloom().unwrap().to_bytes().unwrap());
}

#[test]
fn the_counter_file_is_laid_out_as_documented() {
    let (_folder, path, model) = closed();
    let bytes = std::fs::read(counters(&path)).unwrap();
    assert_eq!(bytes[..16], *b"\x89GDC\r\n\x1a\n\x01\0\0\0\0\0\0\0");
    let header = gardenia::format::header(&bytes[64..]).unwrap();
    assert_eq!(header.identity, model.identity());
    assert_eq!((header.identity.kind, header.planned_items, header.planned_fpp), (Kind::Counting, 100, 0.01));
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(bytes[512..520], *b"closed\r\n");
    let native = model.to_bloom().unwrap().to_bytes().unwrap();
    let payload = &native[128..native.len() - 24];
    assert_eq!(word(520), xxhash_rust::xxh3::xxh3_64(payload), "the fingerprint");
    let unused = [10..64, 192..512, 536..4096];
    assert!(unused.into_iter().all(|range| bytes[range].iter().all(|byte| *byte == 0)));
    // The journal of the last operation, the third: it added "rose" for the second time.
    let hashes = model.hashes() as usize;
    assert_eq!([word(4096), word(4104), word(4112)], [3, 3, hashes as u64]);
    let cells = &bytes[4128..4128 + 16 * hashes];
    let sealed = [&bytes[4104..4112], &bytes[4112..4120], cells].concat();
    assert_eq!(word(4120), xxhash_rust::xxh3::xxh3_64(&sealed));
    let rose = model.hasher().digest_key("rose");
    let scheme = AnyScheme::new(SchemeId::Fractional, model.hashes());
    for (i, at) in scheme.positions(rose, model.cells()).enumerate() {
        let value = word(4128 + 16 * i + 8);
        assert_eq!(word(4128 + 16 * i), at);
        assert_eq!(bytes[16_384 + at as usize / 2] >> (at % 2 * 4) & 15, value as u8, "four bits a cell");
    }
    let stored = model.to_bytes().unwrap();
    assert!(bytes[16_384..] == stored[128..stored.len() - 24], "the counters are packed as in a native file");
}

#[test]
fn after_closing_the_counters_are_not_looked_at() {
    let (_folder, path, model) = closed();
    let mut bytes = std::fs::read(counters(&path)).unwrap();
    bytes[16_384..].fill(0); // a scan would find an empty filter
    std::fs::write(counters(&path), &bytes).unwrap();
    let bed = SplitBloom::open(&path).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Clean);
    assert!(*bed.bloom() == model.to_bloom().unwrap());
}

#[test]
fn opening_and_asking_leaves_a_closed_filter_closed() {
    let (_folder, path, model) = closed();
    for _ in 0..2 {
        let bed = SplitBloom::open(&path).unwrap();
        assert_eq!(bed.opening(), SplitOpening::Clean);
        assert!(bed.contains("rose"));
    }
    // Dropped after a flush it is closed too; dropped with changes it is not.
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.insert("iris");
    bed.flush().unwrap();
    drop(bed);
    let mut bed = SplitBloom::open(&path).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Clean);
    bed.remove("iris").unwrap();
    drop(bed);
    let bed = SplitBloom::open(&path).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Killed { replayed: false });
    assert_is(&bed, &model);
}

#[test]
fn a_note_of_the_user_is_saved_with_the_bits() {
    let (_folder, path, _) = closed();
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.about_mut().set_metadata(b"spring").unwrap();
    bed.close().unwrap();
    assert_eq!(Bloom::load(&path).unwrap().about().metadata(), b"spring");
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.insert("iris");
    drop(bed); // not closed: the bits come from the counters, the note from the file
    let bed = SplitBloom::open(&path).unwrap();
    assert_eq!((bed.about().metadata(), bed.about().planned_items()), (&b"spring"[..], 100));
}

#[test]
fn bits_that_are_gone_damaged_or_other_ones_are_made_anew() {
    let (_folder, path, model) = closed();
    let bits = std::fs::read(&path).unwrap();
    let mut flipped = bits.clone();
    flipped[140] ^= 1;
    let mut older = model.to_bloom().unwrap();
    older.clear();
    let cases: [(Option<&[u8]>, SplitOpening); 5] = [
        (None, SplitOpening::BitsMissing),
        (Some(&flipped), SplitOpening::BitsDamaged),
        (Some(&bits[..bits.len() - 1]), SplitOpening::BitsDamaged),
        (Some(&[&bits[..], b"x"].concat()), SplitOpening::BitsDamaged),
        (Some(&older.to_bytes().unwrap()), SplitOpening::BitsDiffer),
    ];
    for (bytes, why) in cases {
        match bytes {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let bed = SplitBloom::open(&path).unwrap();
        assert_eq!(bed.opening(), why);
        assert_is(&bed, &model);
        bed.close().unwrap();
        assert!(std::fs::read(&path).unwrap() == bits, "repaired");
        assert_eq!(SplitBloom::open(&path).unwrap().opening(), SplitOpening::Clean);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stop_of_the_system_is_told_until_the_counters_are_synced() {
    let (_folder, path, _) = closed();
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.insert("iris");
    drop(bed);
    let mut bytes = std::fs::read(counters(&path)).unwrap();
    bytes[512 + 16] ^= 1; // the run of the system in which the counters were last on the disk
    std::fs::write(counters(&path), &bytes).unwrap();
    for _ in 0..2 {
        let bed = SplitBloom::open(&path).unwrap();
        assert_eq!(bed.opening(), SplitOpening::Stopped);
    }
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.sync().unwrap();
    drop(bed);
    let bed = SplitBloom::open(&path).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Killed { replayed: false });
}

/// Opening fails with an error that `expected` knows, and no file changes.
fn refused(path: &Path, expected: impl Fn(&Error) -> bool) {
    let files = || [path.to_owned(), counters(path)].map(|file| std::fs::read(file).ok());
    let before = files();
    let error = SplitBloom::open(path).unwrap_err();
    assert!(expected(&error), "{error:?}");
    assert!(files() == before, "a file was changed");
}

#[test]
fn absent_foreign_newer_and_damaged_counter_files_are_refused() {
    let (_folder, path, _) = closed();
    let file = counters(&path);
    let good = std::fs::read(&file).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
    };
    std::fs::remove_file(&file).unwrap();
    let named = |error: &Error| error.to_string().contains("bed.counters");
    refused(&path, |e| {
        matches!(e, Error::Decode(DecodeError::Io(io)) if io.kind() == ErrorKind::NotFound) && named(e)
    });
    std::fs::create_dir(&file).unwrap();
    assert!(matches!(
        SplitBloom::open(&path),
        Err(Error::Decode(DecodeError::Io(_) | DecodeError::Damaged(_)))
    ));
    std::fs::remove_dir(&file).unwrap();
    with(&|bytes| bytes.clear());
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Truncated { found: 0, .. })));
    with(&|bytes| *bytes = b"a note of mine".to_vec());
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Magic { .. })));
    with(&|bytes| *bytes = std::fs::read(&path).unwrap());
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Magic { .. })));
    with(&|bytes| bytes[8] = 2);
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Version { found: 2, known: 1 })));
    with(&|bytes| bytes[64 + 8] = 2);
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Version { found: 2, known: 1 })));
    for len in [100, 4_095, 4_096, 16_000, 16_384, good.len() - 1] {
        with(&|bytes| bytes.truncate(len));
        refused(&path, |e| matches!(e, Error::Decode(DecodeError::Truncated { .. })));
    }
    with(&|bytes| bytes.push(0));
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Trailing { extra: 1 })));
    for at in (10..512).chain((536..4096).step_by(61)) {
        with(&|bytes| bytes[at] ^= 4);
        refused(&path, |e| matches!(e, Error::Decode(_)));
    }
    with(&|_| ());
    assert_eq!(SplitBloom::open(&path).unwrap().opening(), SplitOpening::Clean);
}

#[test]
fn bits_of_another_filter_are_refused() {
    let (_folder, path, _) = closed();
    let differs = |what: &'static str| move |e: &Error| matches!(e, Error::Mismatch(m) if m.what == what);
    let others = [
        ("seed", small().seed(1)),
        ("cells", CountingBloom::builder().items(101).fpp(0.01)),
        ("scheme", small().scheme(SchemeId::Triple)),
        ("hasher", small().secret(SecretKey::new([7; 16]))),
    ];
    for (what, other) in others {
        other.build().unwrap().to_bloom().unwrap().save(&path).unwrap();
        refused(&path, differs(what));
    }
    small().build().unwrap().save(&path).unwrap();
    refused(&path, differs("kind"));
    std::fs::write(&path, "a note of mine").unwrap();
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::Magic { .. })));
}

/// What a look at the files finds, which leaves them as they are.
fn inspected(path: &Path) -> Result<SplitState, Error> {
    let bytes = || [path, &counters(path)].map(|file| std::fs::read(file).ok());
    let before = bytes();
    let state = SplitBloom::inspect(path, &ReadOptions::new());
    assert!(before == bytes(), "nothing changes");
    state
}

#[test]
fn a_look_finds_what_opening_finds_and_changes_nothing() {
    type Spoil = fn(&Path);
    let spoil: [(&str, Spoil, SplitOpening); 6] = [
        ("nothing", |_| {}, SplitOpening::Clean),
        (
            "killed",
            |path| _ = SplitBloom::open(path).unwrap().insert("iris"),
            SplitOpening::Killed { replayed: false },
        ),
        ("missing", |path| std::fs::remove_file(path).unwrap(), SplitOpening::BitsMissing),
        (
            "short",
            |path| File::options().write(true).open(path).unwrap().set_len(200).unwrap(),
            SplitOpening::BitsDamaged,
        ),
        (
            "others",
            |path| small().build().unwrap().to_bloom().unwrap().save(path).unwrap(),
            SplitOpening::BitsDiffer,
        ),
        (
            "stopped",
            |path| {
                SplitBloom::open(path).unwrap().insert("iris");
                let mut bytes = std::fs::read(counters(path)).unwrap();
                bytes[528] ^= 1; // another run of the system
                std::fs::write(counters(path), bytes).unwrap();
            },
            SplitOpening::Stopped,
        ),
    ];
    for (what, spoil, expected) in spoil {
        let (_folder, path, _) = closed();
        spoil(&path);
        let state = inspected(&path).unwrap();
        let bed = SplitBloom::open(&path).unwrap();
        assert_eq!((state.opening, bed.opening()), (expected, expected), "{what}");
        assert_eq!(
            (state.operations, state.cells, state.width),
            (bed.operations(), bed.cells(), bed.width())
        );
        assert!(matches!(inspected(&path), Err(Error::InUse)), "{what}");
    }
    let (_folder, path, _) = closed();
    Bloom::new(5, 0.5).unwrap().save(&path).unwrap();
    assert!(matches!(inspected(&path), Err(Error::Mismatch(_))));
    std::fs::write(counters(&path), "a note of mine").unwrap();
    assert!(inspected(&path).is_err() && SplitFiles::find(&path).is_none());
    std::fs::write(counters(&path), []).unwrap();
    assert!(inspected(&path).is_err() && SplitFiles::find(&path).is_some(), "it may have been cut short");
}

#[test]
fn a_spec_describes_a_split_filter_by_its_bits() {
    for text in [
        "split items=500",
        "split items=500 memory=1024",
        "split bits=9000 hashes=3 width=8 scheme=double seed=7",
    ] {
        let spec: Spec = text.parse().unwrap();
        let filled = spec.filled().unwrap();
        assert_eq!((&filled.filled().unwrap(), &filled.to_string().parse().unwrap()), (&filled, &filled));
        let made = [&spec, &filled].map(|spec| {
            let (_folder, path) = directory();
            let bed = SplitBloom::create(&path, spec.split_builder().unwrap()).unwrap();
            let plan = (bed.about().planned_items(), bed.about().planned_fpp());
            let bytes = [&path, &counters(&path)].map(|file| std::fs::metadata(file).unwrap().len());
            (bed.bloom().identity(), bed.width(), plan, bed.bloom().memory_bytes() as u64, bytes)
        });
        assert_eq!(made[0], made[1], "{text}");
        let (id, width, (items, _), memory, [_, counters]) = made[0];
        assert_eq!(memory, spec.size().unwrap().bytes, "{text}");
        let payload = id.cells.div_ceil(64 / u64::from(width)) * 8;
        assert!(counters == 16_384 + payload && spec.size().unwrap().file_bytes > memory + payload);
        assert_eq!(items, if text.contains("items") { 500 } else { 0 });
        assert!(spec.build().is_err(), "it lives in files");
    }
    assert_eq!("split bits=9000 hashes=3".parse::<Spec>().unwrap().size().unwrap().bytes, 1_128);
    assert!("counting items=9".parse::<Spec>().unwrap().split_builder().is_err());
}

#[test]
fn what_was_done_since_the_filter_was_closed_is_told_apart() {
    let (_folder, path, _) = closed();
    let mut killed = SplitBloom::open(&path).unwrap();
    assert_eq!((killed.operations(), killed.closed_operations()), (3, 3));
    killed.insert_many(&["iris", "lily"]);
    drop(killed);
    let mut again = SplitBloom::open(&path).unwrap();
    again.insert("aster");
    drop(again);
    let state = inspected(&path).unwrap();
    assert_eq!((state.operations, state.closed_operations), (6, 3), "since then nobody closed it");
    SplitBloom::open(&path).unwrap().close().unwrap();
    assert_eq!(SplitBloom::open(&path).unwrap().closed_operations(), 6);
}

#[test]
fn a_draft_appears_as_a_whole_or_not_at_all() {
    let (directory, path) = directory();
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    let draft = |replace| {
        let mut bed = SplitBloom::draft(&path, small(), replace).unwrap();
        bed.insert("iris");
        bed
    };
    drop(draft(false));
    drop(draft(true));
    assert_eq!(files(), 0);
    let late = draft(false);
    draft(false).close().unwrap();
    let bytes = || [&path, &counters(&path)].map(|file| std::fs::read(file).unwrap());
    let before = bytes();
    assert!(late.close().is_err(), "another was faster");
    std::fs::remove_file(counters(&path)).unwrap();
    assert!(draft(false).close().is_err() && files() == 1, "its bits are there");
    std::fs::write(counters(&path), &before[1]).unwrap();
    assert!(bytes() == before);
    let mut other = draft(true);
    other.insert("rose");
    other.close().unwrap();
    let bed = SplitBloom::open(&path).unwrap();
    assert!(bed.opening() == SplitOpening::Clean && bed.contains("rose") && files() == 2);
}

#[test]
fn a_filter_is_open_once() {
    let (_folder, path, model) = closed();
    let mut bed = SplitBloom::open(&path).unwrap();
    bed.insert("iris");
    refused(&path, |e| matches!(e, Error::InUse));
    let other = SplitFiles::new(path.with_file_name("other.gdn")).counters(counters(&path));
    assert!(matches!(SplitBloom::open(other), Err(Error::InUse)));
    assert!(matches!(
        SplitBloom::create(&path, small()),
        Err(Error::Encode(EncodeError::Io(e))) if e.kind() == ErrorKind::AlreadyExists
    ));
    bed.remove("iris").unwrap();
    drop(bed);
    assert_is(&SplitBloom::open(&path).unwrap(), &model);
    // A filter that was just created is locked, too.
    let (_folder, path) = directory();
    let _bed = SplitBloom::create(&path, small()).unwrap();
    assert!(matches!(SplitBloom::open(&path), Err(Error::InUse)));
}

#[test]
#[cfg(unix)]
fn a_filter_that_was_dropped_is_free_at_once_also_while_processes_are_started() {
    // A process that is being started has the files of this one for a moment, and their locks.
    let (_folder, path, _) = closed();
    let enough = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !enough.load(Relaxed) {
                Command::new("sh").args(["-c", ":"]).status().unwrap();
            }
        });
        let opened = (0..500).map(|_| SplitBloom::open(&path).map(drop));
        let all: Result<(), Error> = opened.collect();
        enough.store(true, Relaxed);
        all.unwrap();
    });
}

#[test]
fn creating_replaces_no_file_and_leaves_none_behind() {
    let (directory, path) = directory();
    let exists = |made: Result<SplitBloom, Error>| matches!(made, Err(Error::Encode(EncodeError::Io(e))) if e.kind() == ErrorKind::AlreadyExists);
    for file in [&path, &counters(&path)] {
        std::fs::write(file, "mine").unwrap();
        assert!(exists(SplitBloom::create(&path, small())));
        assert_eq!(std::fs::read(file).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "only the old file is there");
        std::fs::remove_file(file).unwrap();
    }
    // Both paths are one file, by one name or by two.
    let twice = directory.path().join("x").join("..").join("bed.gdn");
    std::fs::create_dir(directory.path().join("x")).unwrap();
    for one in [path.clone(), twice] {
        assert!(exists(SplitBloom::create(SplitFiles::new(&path).counters(one), small())));
    }
    let nowhere = directory.path().join("nowhere").join("bed.gdn");
    assert!(SplitBloom::create(nowhere, small()).is_err());
    assert!(matches!(SplitBloom::create(&path, small().width(33)), Err(Error::Size(_))));
    std::fs::remove_dir(directory.path().join("x")).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
#[cfg(unix)]
fn the_room_for_all_counters_is_taken_at_creation() {
    // A page without room on the disk would end the process later on.
    use std::os::unix::fs::MetadataExt;
    let (_folder, path) = directory();
    let _bed = SplitBloom::create(&path, CountingBloom::builder().items(1_000_000).fpp(0.01)).unwrap();
    let metadata = std::fs::metadata(counters(&path)).unwrap();
    assert!(metadata.len() > 4_000_000 && metadata.blocks() * 512 >= metadata.len(), "{metadata:?}");
}

#[test]
fn a_flush_that_fails_loses_nothing() {
    let (directory, path) = directory();
    let inner = directory.path().join("bits");
    std::fs::create_dir(&inner).unwrap();
    let files = SplitFiles::new(inner.join("bed.gdn")).counters(counters(&path));
    let mut bed = SplitBloom::create(files.clone(), small()).unwrap();
    bed.insert("rose");
    let old = std::fs::read(inner.join("bed.gdn")).unwrap();
    std::fs::remove_dir_all(&inner).unwrap();
    assert!(matches!(bed.flush(), Err(EncodeError::Io(_))));
    assert!(matches!(bed.close(), Err(EncodeError::Io(_))));
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("bed.gdn"), old).unwrap();
    let bed = SplitBloom::open(files).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Killed { replayed: false });
    assert!(bed.contains("rose"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_may_not_be_written_is_refused() {
    // A program that runs cannot be opened for writing, not even by root.
    let (_folder, path) = directory();
    let program = std::env::current_exe().unwrap();
    let error = SplitBloom::open(SplitFiles::new(&path).counters(&program)).unwrap_err();
    let busy = |e: &std::io::Error| e.kind() == ErrorKind::ExecutableFileBusy;
    assert!(matches!(&error, Error::Decode(DecodeError::Io(e)) if busy(e)), "{error:?}");
}

#[test]
fn counters_may_live_elsewhere() {
    let (directory, path) = directory();
    let slow = tempfile::tempdir().unwrap();
    let files = SplitFiles::new(&path).counters(slow.path().join("of bed"));
    let mut bed = SplitBloom::create(files.clone(), small()).unwrap();
    bed.extend(["rose", "tulip"]);
    bed.close().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let mut bed = SplitBloom::open(files).unwrap();
    assert_eq!(bed.opening(), SplitOpening::Clean);
    assert_eq!((bed.remove("rose"), bed.remove("rose")), (Ok(()), Err(RemoveError::Absent)));
    assert!(bed.contains("tulip") && !bed.contains("rose"));
}

#[test]
fn a_key_whose_cells_are_all_stuck_stays() {
    let (_folder, path) = directory();
    let mut bed = SplitBloom::create(&path, CountingBloom::builder().cells(9).hashes(3).width(2)).unwrap();
    bed.insert_many(&["rose"; 9]);
    assert_eq!((bed.remove("rose"), bed.count("rose"), bed.operations()), (Err(RemoveError::Stuck), 3, 9));
    assert!(bed.contains("rose"));
}

#[test]
fn a_keyed_filter_needs_its_secret() {
    let (_folder, path) = directory();
    let secret = SecretKey::new([7; 16]);
    let mut bed = SplitBloom::create(&path, small().secret(secret.clone())).unwrap();
    bed.insert("rose");
    bed.close().unwrap();
    refused(&path, |e| matches!(e, Error::Decode(DecodeError::SecretMissing { .. })));
    let with = |secret| SplitBloom::open_with(&path, &ReadOptions::new().secret(secret));
    assert!(matches!(with(SecretKey::new([8; 16])), Err(Error::Decode(DecodeError::SecretWrong { .. }))));
    let mut bed = with(secret).unwrap();
    assert!(bed.contains("rose") && bed.opening() == SplitOpening::Clean);
    // Once the bits may hold the secret, they bring it.
    bed.about_mut().store_secret(true);
    bed.close().unwrap();
    assert!(SplitBloom::open(&path).unwrap().contains("rose"));
    let bytes = std::fs::read(counters(&path)).unwrap();
    assert!(!bytes.windows(16).any(|window| window == [7; 16]), "the counters never hold it");
}

#[test]
fn more_memory_than_allowed_is_refused() {
    let (_folder, path, _) = closed();
    let options = ReadOptions::new().max_bytes(100);
    for _ in ["closed", "unclosed"] {
        let error = SplitBloom::open_with(&path, &options).unwrap_err();
        assert!(matches!(error, Error::Decode(DecodeError::TooLarge { max: 100, .. })), "{error:?}");
        SplitBloom::open(&path).unwrap().insert("iris");
    }
}

// Deaths of real processes. The test starts itself again as a child that carries out a stream of changes, kills it
// at any moment, and looks at what is in the files.

/// What a child is to do: "PATH LOG HASHES EVERY"; see [`child`].
const CHILD: &str = "GARDENIA_SPLIT_CHILD";

/// Keys that are in and out again and again.
const KEYS: u64 = 200;

/// Change number `i` of the stream: the key that goes in if it is out, and out if it is in.
fn key(i: u64) -> u64 {
    Digest(7).word(1 + (i % u64::from(u32::MAX - 1)) as u32) % KEYS
}

/// Which keys are in after so many changes.
fn after(changes: u64) -> Vec<bool> {
    let mut present = vec![false; KEYS as usize];
    (0..changes).for_each(|i| present[key(i) as usize] ^= true);
    present
}

/// The tests of this file within their program.
fn module() -> &'static str {
    module_path!().split_once("::").map_or("", |(_, module)| module)
}

/// Starts this program again to run one test of it with `task`.
fn start(test: &str, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("{}::{test}", module()), "--exact", "--nocapture"]).env(CHILD, task);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Does nothing, unless it is started by another test: then it carries out changes until it is
/// killed, and writes to its log how many were acknowledged, every now and then.
#[test]
fn child() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let [path, log, every] = task.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let every: u64 = every.parse().unwrap();
    let mut log = File::options().append(true).open(log).unwrap();
    let mut bed = SplitBloom::open(path).unwrap();
    let mut present = after(bed.operations());
    for i in bed.operations().. {
        let key = key(i);
        match present[key as usize] {
            true => bed.remove(key).unwrap(),
            false => _ = bed.insert(key),
        }
        present[key as usize] ^= true;
        if i % every == 0 {
            log.write_all(&(i + 1).to_le_bytes()).unwrap();
        }
    }
}

/// Kills children again and again; how many of them were in the middle of an operation.
fn kill_and_look(builder: Builder<CountingBloom>, every: u64, kills: u32) -> u32 {
    let (directory, path) = directory();
    let mut model = builder.clone().build().unwrap();
    SplitBloom::create(&path, builder).unwrap().close().unwrap();
    let log = directory.path().join("log");
    std::fs::write(&log, []).unwrap();
    let task = [path.to_str().unwrap(), log.to_str().unwrap(), &every.to_string()].join("\n");
    let (mut done, mut acknowledged, mut replays) = (0, 0, 0);
    for kill in 1..=kills {
        let logged = std::fs::metadata(&log).unwrap().len();
        let mut child: Child = start("child", &task).spawn().unwrap();
        // Of four children three are killed at work and one while it opens, or a moment later.
        let draw = Digest(13).word(kill);
        while kill % 4 != 0 && std::fs::metadata(&log).unwrap().len() == logged {
            assert!(child.try_wait().unwrap().is_none(), "the child failed");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(draw % 10_000));
        child.kill().unwrap();
        child.wait().unwrap();

        let entries = std::fs::read(&log).unwrap();
        if let Some(last) = entries.as_chunks::<8>().0.last() {
            acknowledged = u64::from_le_bytes(*last);
        }
        let bed = SplitBloom::open(&path).unwrap();
        let now = bed.operations();
        assert!(
            // A child that is killed before it acknowledges leaves no entry, and the next one starts behind it.
            (acknowledged..=acknowledged.max(done) + every).contains(&now),
            "{now} done, {acknowledged} acknowledged"
        );
        assert!(now >= done);
        replays += u32::from(bed.opening() == SplitOpening::Killed { replayed: true });
        let mut present = after(done);
        for i in done..now {
            match present[key(i) as usize] {
                true => model.remove(key(i)).unwrap(),
                false => _ = model.insert(key(i)),
            }
            present[key(i) as usize] ^= true;
        }
        for (key, present) in (0u64..).zip(present) {
            assert!(!present || bed.contains(key), "kill {kill}: {key} is lost after {now} changes");
        }
        assert_is(&bed, &model);
        done = now;
    }
    assert!(done >= u64::from(kills / 2), "the children worked");
    replays
}

#[test]
fn a_killed_process_loses_no_acknowledged_key() {
    // Every change is acknowledged before the next: of what is in the files at most one is not.
    kill_and_look(CountingBloom::builder().cells(2_000).hashes(7), 1, 32);
}

#[test]
fn a_process_killed_inside_an_operation_leaves_no_half_of_it() {
    // Many hashes and few cells: most of the time is spent inside operations, and keys share all their cells, so that
    // half a removal, repeated by the next child, would take cells from others.
    let inside = kill_and_look(CountingBloom::builder().cells(1_000).hashes(200).width(16), 256, 32);
    assert!(inside > 0, "no child was killed inside an operation");
}

#[test]
fn two_processes_do_not_open_one_filter() {
    let (directory, path, _) = closed();
    let log = directory.path().join("log");
    std::fs::write(&log, []).unwrap();
    let task = [path.to_str().unwrap(), log.to_str().unwrap(), "1"].join("\n");
    let bed = SplitBloom::open(&path).unwrap();
    let mut child = start("child", &task).spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if std::fs::metadata(&log).unwrap().len() > 0 {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(status.is_some_and(|status| !status.success()), "the child got it as well");
    drop(bed);
    assert_eq!(SplitBloom::open(&path).unwrap().opening(), SplitOpening::Clean);
}

/// Does nothing, unless it is started by another test: then it cannot make a large file, and says
/// so.
#[test]
fn child_on_a_full_disk() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let large = CountingBloom::builder().items(1_000_000).fpp(0.01);
    let error = SplitBloom::create(&*path, large).unwrap_err();
    assert!(
        matches!(&error, Error::Encode(EncodeError::Io(e)) if e.kind() == ErrorKind::FileTooLarge),
        "{error:?}"
    );
    assert!(error.to_string().contains("bed.counters"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_disk_that_is_too_full_is_an_error_at_creation() {
    // A limit on the size of files stands for a full disk.
    let (directory, path) = directory();
    let program = start("child_on_a_full_disk", path.to_str().unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "sh"]).arg(program.get_program());
    shell.args(program.get_args()).env(CHILD, &path);
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}
