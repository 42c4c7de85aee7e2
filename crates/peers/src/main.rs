//! scratch
#![allow(missing_docs)]
use gardenia::*;
use std::hint::black_box;
use std::time::Instant;

fn keys(n: usize, seed: u64) -> Vec<u64> {
    (0..n as u32).map(|i| Digest(seed).word(i + 1)).collect()
}
fn best(n: usize, mut f: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed().as_secs_f64() * 1e9 / n as f64
        })
        .fold(f64::MAX, f64::min)
}
fn main() {
    for n in [1_000_000usize, 10_000_000] {
        let ins = keys(n, 1);
        let q = n.min(2_000_000);
        let miss = keys(q, 2);
        let mut hit = ins.clone();
        for i in 0..q {
            let j = (Digest(9).word(i as u32 + 1) % n as u64) as usize;
            hit.swap(i, j);
        }
        hit.truncate(q);
        println!("n = {n}");
        {
            let mut f = Bloom::new(n as u64, 0.01).unwrap();
            let i = best(n, || {
                f.clear();
                for k in &ins {
                    black_box(f.insert(*k));
                }
            });
            let ib = best(n, || {
                f.clear();
                black_box(f.insert_many(ins.iter()));
            });
            let h = best(q, || {
                for k in &hit {
                    black_box(f.contains(*k));
                }
            });
            let m = best(q, || {
                for k in &miss {
                    black_box(f.contains(*k));
                }
            });
            let hb = best(q, || {
                black_box(f.contains_many(hit.iter()));
            });
            let mb = best(q, || {
                black_box(f.contains_many(miss.iter()));
            });
            println!(
                "gardenia   insert {i:.1} batch {ib:.1} hit {h:.1} miss {m:.1} bhit {hb:.1} bmiss {mb:.1}  k {}",
                f.hashes()
            );
            let fp = miss.iter().filter(|k| f.contains(**k)).count();
            println!("  fpr {:.4}%", fp as f64 / q as f64 * 100.0);
        }
        macro_rules! fb {
            ($name:expr, $h:expr) => {{
                let i = (0..3)
                    .map(|_| {
                        let mut f = fastbloom::BloomFilter::with_false_pos(0.01).hasher($h).expected_items(n);
                        let t = Instant::now();
                        for k in &ins {
                            black_box(f.insert(k));
                        }
                        t.elapsed().as_secs_f64() * 1e9 / n as f64
                    })
                    .fold(f64::MAX, f64::min);
                let mut f = fastbloom::BloomFilter::with_false_pos(0.01).hasher($h).expected_items(n);
                for k in &ins {
                    f.insert(k);
                }
                let h = best(q, || {
                    for k in &hit {
                        black_box(f.contains(k));
                    }
                });
                let m = best(q, || {
                    for k in &miss {
                        black_box(f.contains(k));
                    }
                });
                println!("{}  insert {i:.1} hit {h:.1} miss {m:.1} k {}", $name, f.num_hashes());
            }};
        }
        fb!("fastbloom/default", fastbloom::DefaultHasher::default());
        fb!("fastbloom/fold", foldhash::fast::RandomState::default());
    }
}
