//! Who takes part in `peers counting`: one small `impl` and one line in [`roster`] each.

use gardenia::CountMin;
use gardenia::cells::CellKind;
use gardenia::filter::Update;
use gardenia::index::Form;
use probabilistic_collections::count_min_sketch::{self as probabilistic, CountMinStrategy};

/// What all sketches are asked for: the memory of this many cells of 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) columns: usize,
    pub(super) rows: u32,
}

impl Shape {
    pub(super) fn bytes(self) -> usize {
        self.columns * self.rows as usize * 4
    }

    /// The tolerance from which a peer concludes this many columns, where these are two divided by
    /// it.
    fn tolerance(self) -> f64 {
        2.0 / self.columns as f64
    }

    /// The probability from which a peer concludes this many rows, where each fails in half of all
    /// cases.
    fn probability(self) -> f64 {
        1.0 - 0.5f64.powi(self.rows as i32) * 0.99
    }
}

/// A sketch of one library.
pub(super) trait Sketch {
    /// Counts each key once.
    fn update(&mut self, keys: &[u64]);
    /// The count of each key.
    fn counts(&self, keys: &[u64], counts: &mut [u64]);
    /// Bytes of cells.
    fn bytes(&self) -> usize;
}

/// A row of the table.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) ours: bool,
    pub(super) make: fn(Shape) -> Box<dyn Sketch>,
}

/// A peer whose calls take one key.
macro_rules! peer {
    ($name:ident, $type:ty, |$sketch:ident, $key:ident| $update:expr, $count:expr) => {
        struct $name($type, Shape);

        impl Sketch for $name {
            fn update(&mut self, keys: &[u64]) {
                let $sketch = &mut self.0;
                for $key in keys {
                    $update;
                }
            }
            fn counts(&self, keys: &[u64], counts: &mut [u64]) {
                let $sketch = &self.0;
                for ($key, count) in keys.iter().zip(counts) {
                    *count = $count as u64;
                }
            }
            fn bytes(&self) -> usize {
                self.1.bytes()
            }
        }
    };
}

peer!(DataSketches, datasketches::countmin::CountMinSketch<u32>, |s, key| s.update(key), s.estimate(key));
peer!(Streaming, streaming_algorithms::CountMinSketch<u64, u32>, |s, key| s.push(key, &1), s.get(key));
peer!(Amadeus, amadeus_streaming::CountMinSketch<u64, u32>, |s, key| s.push(key, &1), s.get(key));
peer!(Jedisct, count_min_sketch::CountMinSketch32<u64>, |s, key| s.increment(key), s.estimate(key));
peer!(PData, pdatastructs::countminsketch::CountMinSketch<u64, u32>, |s, key| s.add(key), s.query_point(key));
peer!(Probabilistic, probabilistic::CountMinSketch<CountMinStrategy, u64>, |s, key| s.insert(key, 1), s.count(key));
peer!(Oxide, sketch_oxide::frequency::CountMinSketch, |s, key| s.update(key), s.estimate(key));
peer!(
    OxideConservative,
    sketch_oxide::frequency::ConservativeCountMin,
    |s, key| s.update(key),
    s.estimate(key)
);

/// Ours, by batches or one call per key.
struct Ours<const BATCH: bool>(CountMin);

impl<const BATCH: bool> Sketch for Ours<BATCH> {
    fn update(&mut self, keys: &[u64]) {
        if BATCH {
            self.0.insert_many(keys);
        } else {
            keys.iter().for_each(|key| _ = self.0.insert(*key));
        }
    }
    fn counts(&self, keys: &[u64], counts: &mut [u64]) {
        if BATCH {
            counts.copy_from_slice(&self.0.count_many(keys));
        } else {
            keys.iter().zip(counts).for_each(|(key, count)| *count = self.0.count(*key));
        }
    }
    fn bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

/// A sketch of ours that fills the memory.
fn ours<const BATCH: bool>(
    shape: Shape,
    rows: u32,
    form: Form,
    update: Update,
    cells: CellKind,
) -> Box<dyn Sketch> {
    let builder =
        CountMin::builder().bytes(shape.bytes() as u64).rows(rows).form(form).update(update).cells(cells);
    Box::new(Ours::<BATCH>(builder.build().expect("the shape is possible")))
}

/// All sketches, in the order of the table.
pub(super) fn roster() -> Vec<Entry> {
    use CellKind::{Fixed32, Merging4, Merging8};
    use Form::{Modified, Original};
    use Update::{Conservative, Plain};
    macro_rules! ours {
        ($name:literal, $batch:literal, same, $form:ident, $update:ident, $cells:ident) => {
            Entry { name: $name, ours: true, make: |s| ours::<$batch>(s, s.rows, $form, $update, $cells) }
        };
        ($name:literal, $batch:literal, $rows:literal, $form:ident, $update:ident, $cells:ident) => {
            Entry { name: $name, ours: true, make: |s| ours::<$batch>(s, $rows, $form, $update, $cells) }
        };
    }
    let peer = |name, make| Entry { name, ours: false, make };
    vec![
        ours!("gardenia plain", true, same, Modified, Plain, Fixed32),
        ours!("gardenia plain, original form", true, same, Original, Plain, Fixed32),
        ours!("gardenia plain, one by one", false, same, Modified, Plain, Fixed32),
        ours!("gardenia conservative", true, same, Modified, Conservative, Fixed32),
        ours!("gardenia merging-8", true, same, Modified, Conservative, Merging8),
        ours!("gardenia merging-4", true, same, Modified, Conservative, Merging4),
        ours!("gardenia merging-4, one by one", false, same, Modified, Conservative, Merging4),
        ours!("gardenia merging-4, 3 rows", true, 3, Modified, Conservative, Merging4),
        ours!("gardenia merging-4, 2 rows", true, 2, Modified, Conservative, Merging4),
        peer("datasketches", |s| {
            let sketch = datasketches::countmin::CountMinSketch::new(s.rows as u8, s.columns as u32);
            Box::new(DataSketches(sketch.expect("the shape is possible"), s))
        }),
        peer("count-min-sketch (conservative)", |s| {
            let sketch = count_min_sketch::CountMinSketch32::new(1, s.probability(), s.tolerance());
            Box::new(Jedisct(sketch.expect("the shape is possible"), s))
        }),
        peer("streaming_algorithms (conservative)", |s| {
            Box::new(Streaming(
                streaming_algorithms::CountMinSketch::new(s.probability(), s.tolerance(), ()),
                s,
            ))
        }),
        peer("amadeus-streaming (conservative)", |s| {
            Box::new(Amadeus(amadeus_streaming::CountMinSketch::new(s.probability(), s.tolerance(), ()), s))
        }),
        peer("pdatastructs", |s| {
            Box::new(PData(
                pdatastructs::countminsketch::CountMinSketch::with_params(s.columns, s.rows as usize),
                s,
            ))
        }),
        // Cells of 64 bits: half as many fit.
        peer("probabilistic-collections", |s| {
            Box::new(Probabilistic(probabilistic::CountMinSketch::new(s.rows as usize, s.columns / 2), s))
        }),
        peer("sketch_oxide", |s| {
            let delta = (-f64::from(s.rows)).exp() * 1.01;
            let sketch = sketch_oxide::frequency::CountMinSketch::new(2.0 * s.tolerance(), delta);
            Box::new(Oxide(sketch.expect("the shape is possible"), s))
        }),
        peer("sketch_oxide (conservative)", |s| {
            let sketch = sketch_oxide::frequency::ConservativeCountMin::with_dimensions(
                s.columns / 2,
                s.rows as usize,
            );
            Box::new(OxideConservative(sketch.expect("the shape is possible"), s))
        }),
    ]
}
