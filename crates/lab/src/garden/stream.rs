//! Streams of keys that come as often as Zipf's law says.

use crate::Stream;

impl Stream {
    /// A number from 0 to 1, without the 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// How often each of `items` keys comes among `draws` by Zipf's law with this exponent; 0 makes
    /// all alike. The key of rank r is drawn with a probability in proportion to r^-`skew`.
    pub(crate) fn zipf(&mut self, items: usize, draws: u64, skew: f64) -> Vec<u64> {
        let mut sum = 0.0;
        let upto: Vec<f64> = (1..=items)
            .map(|rank| {
                sum += libm::pow(rank as f64, -skew);
                sum
            })
            .collect();
        let mut counts = vec![0; items];
        for _ in 0..draws {
            let point = self.unit() * sum;
            counts[upto.partition_point(|&upto| upto <= point).min(items - 1)] += 1;
        }
        counts
    }

    /// Each key as often as its count says, in random order.
    pub(crate) fn shuffled(&mut self, counts: &[u64]) -> Vec<u32> {
        let repeat = |(key, count): (u32, &u64)| std::iter::repeat_n(key, *count as usize);
        let mut keys: Vec<u32> = (0..).zip(counts).flat_map(repeat).collect();
        for last in (1..keys.len()).rev() {
            keys.swap(last, self.below(last as u64 + 1) as usize);
        }
        keys
    }

    /// Random positions of `keys` keys, `hashes` each, one key after the other.
    pub(crate) fn positions(&mut self, keys: u64, cells: u64, hashes: u32) -> Vec<u32> {
        (0..keys * u64::from(hashes)).map(|_| self.below(cells) as u32).collect()
    }
}

#[test]
fn keys_come_as_often_as_their_rank_says() {
    let mut stream = Stream::new(1, "garden", "zipf", 0);
    let counts = stream.zipf(3, 11_000, 1.0);
    // 6/11, 3/11 and 2/11 of all; five standard errors.
    for (count, expected) in counts.iter().zip([6_000.0, 3_000.0, 2_000.0]) {
        assert!((*count as f64 - expected).abs() < 5.0 * (expected * (1.0 - expected / 11_000.0)).sqrt());
    }
    let keys = stream.shuffled(&counts);
    assert_ne!(keys[..20], [0; 20]);
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..3).flat_map(|key| vec![key; counts[key as usize] as usize]).collect::<Vec<_>>());
    assert!(stream.zipf(10, 1_000, 0.0).iter().all(|count| (50..150).contains(count)));
}
