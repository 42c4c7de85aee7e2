//! What `explain` says of a key is what the filter does with it, for every kind.

use gardenia::explain::Holds;
use gardenia::spec::Param;
use gardenia::{Ability, AnyFilter, Kind, Spec};

/// A small filter of every kind that answers for keys, with the digests of `0..keys` in it.
fn filters(keys: u64) -> impl Iterator<Item = (&'static str, AnyFilter)> {
    let specs = Kind::ALL.into_iter().filter(|kind| kind.holds_keys()).flat_map(move |kind| {
        let mut spec = Spec::new(kind);
        for (param, value) in [(Param::Items, keys as f64), (Param::Fpp, 0.05)] {
            if kind.params().contains(&param) {
                spec = if param == Param::Items { spec.items(keys) } else { spec.fpp(value) };
            }
        }
        let recurring = (kind == Kind::Spectral).then(|| "spectral-rm items=50 fpp=0.05".parse().unwrap());
        let partitions =
            (kind == Kind::Choice).then(|| "choice items=50 fpp=0.05 effort=partitioned".parse().unwrap());
        [Some(spec), recurring, partitions].into_iter().flatten()
    });
    specs.map(move |spec: Spec| {
        let digests: Vec<_> = (0..keys).map(|key| spec.hasher().digest_key(&key)).collect();
        let filter = match spec.needs_all_keys() {
            true => spec.build_from(&digests[..]).unwrap_or_else(|error| panic!("{spec}: {error}")),
            false => {
                let mut filter = spec.build().unwrap_or_else(|error| panic!("{spec}: {error}"));
                filter.insert_digests(&digests, &mut vec![false; digests.len()]).unwrap();
                filter
            }
        };
        (spec.kind().name(), filter)
    })
}

#[test]
fn the_cells_that_are_listed_decide_the_answer() {
    let (mut yes, mut no) = (0, 0);
    for (name, filter) in filters(50) {
        let tables = filter.tables();
        for key in 0..3_000u64 {
            let asked = filter.explain(key);
            assert_eq!(asked.bytes, key.to_le_bytes());
            assert_eq!(asked.digest, filter.hasher().digest_key(&key));
            assert_eq!(asked.present, filter.contains(key), "{name} {key}");
            assert_eq!(asked.count, filter.count(key), "{name} {key}");
            // Cells of a second table of a spectral filter refine counts alone.
            let own: Vec<_> = match name {
                "spectral" => asked.probes.iter().filter(|probe| probe.table == 0).collect(),
                _ => asked.probes.iter().collect(),
            };
            assert!(own.iter().all(|probe| probe.at < tables[probe.table as usize].cells), "{name}");
            let Some(holds) = own.first().map(|probe| tables[probe.table as usize].holds) else {
                assert!(!asked.present, "{name} {key}: present without a cell");
                continue;
            };
            let decided = match holds {
                Holds::Bits | Holds::Counters => own.iter().any(|one| {
                    own.iter()
                        .filter(|probe| probe.group == one.group)
                        .all(|probe| probe.agrees && probe.value > 0)
                }),
                Holds::Fingerprints => own.iter().any(|probe| probe.agrees),
                Holds::Code => asked.decoded.contains(&asked.fingerprint.unwrap()),
                Holds::Sums => {
                    let sum = own
                        .iter()
                        .filter(|probe| probe.table == own[0].table)
                        .fold(0, |sum, probe| sum ^ probe.value);
                    match name {
                        // The sum of a map is its value.
                        "bloomier" => asked.present,
                        _ => sum == asked.fingerprint.unwrap(),
                    }
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(decided, asked.present, "{name} {key} {asked:?}");
            if asked.present { yes += 1 } else { no += 1 }
        }
    }
    assert!(yes > 1_000 && no > 10_000, "{yes} {no}");
}

#[test]
fn what_a_cell_holds_afterwards_is_foretold() {
    for (name, mut filter) in filters(50) {
        if !filter.can(Ability::Insert) {
            assert!(filter.explain_insert(1u64).is_err(), "{name}");
            continue;
        }
        let before = filter.clone();
        let foretold = filter.explain_insert(77_777u64).unwrap();
        assert!(filter == before, "{name} changed");
        filter.insert(77_777u64).unwrap();
        assert!(filter.explain(77_777u64).present);
        let mut changed = false;
        for probe in &foretold.probes {
            let (table, at) = (probe.table as usize, probe.at);
            assert_eq!(before.cells(table, at..at + 1), [probe.value], "{name}");
            let after = filter.cells(table, at..at + 1).first().copied();
            assert_eq!(after, probe.after, "{name}");
            changed |= after != Some(probe.value);
        }
        // Filters that grow may have put it into a new table.
        assert!(changed || foretold.present || filter.can(Ability::Grow), "{name}: nothing changed");
    }
}

#[test]
fn pictures_of_the_fill_show_its_share() {
    for (name, filter) in filters(5_000) {
        for (number, table) in filter.tables().iter().enumerate() {
            let all = filter.cells(number, 0..table.cells);
            assert_eq!(all.len() as u64, table.cells, "{name}");
            let share = all.iter().filter(|value| **value > 0).count() as f64 / all.len() as f64;
            let picture = filter.fill_picture(number, 64, 1 << 20);
            let mean = picture.iter().map(|part| f64::from(*part)).sum::<f64>() / picture.len() as f64;
            assert!((mean - share).abs() < 0.01, "{name} table {number}: {mean} {share}");
            // Sampled: of each part the cells in its middle.
            let samples = (table.cells / 320).max(1);
            let some = filter.fill_picture(number, 16, samples as usize);
            for (part, found) in some.iter().enumerate().filter(|_| table.cells >= 16) {
                let [from, to] = [part, part + 1].map(|part| table.cells * part as u64 / 16);
                let first = from + (to - from - samples) / 2;
                let used = all[first as usize..(first + samples) as usize].iter().filter(|value| **value > 0);
                assert_eq!(*found, used.count() as f32 / samples as f32, "{name} table {number} part {part}");
            }
        }
        assert!(filter.fill_picture(99, 10, 10).is_empty());
        // One cell of each part, the middle one.
        let cells = filter.tables()[0].cells;
        let (one, middle) = (filter.fill_of(0, 10..11, 5, 1), filter.fill_of(0, 0..cells, 1, 1));
        assert_eq!(one, [f32::from(u8::from(filter.cells(0, 10..11)[0] > 0))], "{name}");
        let at = (cells - 1) / 2;
        assert_eq!(middle, [f32::from(u8::from(filter.cells(0, at..at + 1)[0] > 0))], "{name}");
    }
}

#[test]
fn an_empty_filter_and_a_mapped_one_can_be_explained() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.holds_keys()) {
        let mut spec = Spec::new(kind);
        if kind.params().contains(&Param::Items) {
            spec = spec.items(10);
        }
        let empty = if spec.needs_all_keys() { spec.build_from(&[][..]) } else { spec.build() };
        let Ok(empty) = empty else { continue };
        assert!(!empty.explain("rose").present, "{}", kind.name());
        let _ = empty.fill_picture(0, 10, 10);
    }
    for (name, filter) in filters(50) {
        let bytes = filter.to_bytes().unwrap();
        let view = AnyFilter::view(&bytes).ok();
        if let Some(view) = view {
            for key in 0..100u64 {
                let (seen, own) = (view.explain(key), filter.explain(key));
                // A file has the slots of a bucket in order.
                let same = if name == "infini" { seen.present == own.present } else { seen == own };
                assert!(same, "{name} {key}");
            }
        }
    }
}

#[test]
fn the_cells_of_foreign_files_have_the_fill_that_is_told() {
    let mut drawn = 0;
    for (name, format) in super::interop_files::FILES {
        if format.holds_many() || !format.can(gardenia::format::FormatAbility::Read) {
            continue;
        }
        let filter = format
            .read(&super::interop_files::bytes_of(name), &Default::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let tables = filter.tables();
        assert!(!tables.is_empty(), "{name}");
        let cells: u64 = tables.iter().map(|table| table.cells).sum();
        let of = |table: usize| (0..tables[table].cells).filter(|at| filter.cell(table, *at) > 0).count();
        let used: usize = (0..tables.len()).map(of).sum();
        assert!((used as f64 / cells as f64 - filter.fill()).abs() < 1e-9, "{name}: {used} of {cells}");
        let parts = filter.fill_of(0, 0..u64::MAX, 1, usize::MAX);
        assert!((f64::from(parts[0]) - of(0) as f64 / tables[0].cells as f64).abs() < 1e-6, "{name}");
        assert!(filter.fill_of(tables.len(), 0..u64::MAX, 4, 9).is_empty(), "{name}");
        drawn += 1;
    }
    assert!(drawn > 15, "{drawn}");
}

#[test]
fn the_keys_that_use_a_cell_are_those_whose_cells_it_is() {
    for (name, filter) in filters(50) {
        let keys: Vec<u64> = (0..50).collect();
        let asked = filter.explain(77u64);
        let users = filter.users(&asked, &keys);
        assert_eq!(users.len(), asked.probes.len(), "{name}");
        for (probe, users) in asked.probes.iter().zip(users) {
            let uses = |key: &u64| {
                let own = filter.explain(*key);
                own.probes.iter().any(|cell| (cell.table, cell.at) == (probe.table, probe.at))
            };
            assert_eq!(users, (0..50).filter(|at| uses(&keys[*at])).collect::<Vec<_>>(), "{name}");
        }
    }
}
