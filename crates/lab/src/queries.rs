//! Rates by real queries: absent keys asked, found ones counted.

use crate::Stream;
use gardenia::{Digest, Filter};

/// Keys asked at a time: their digests and answers stay in the cache.
const BATCH: u64 = 4096;

/// How many of `queries` random digests a filter finds. That one of them is that of a key happens
/// less often than once in 10⁷ runs of 10⁸ queries and 10,000 keys.
pub(crate) fn found(filter: &impl Filter, queries: u64, stream: &mut Stream) -> u64 {
    let mut digests = vec![Digest(0); BATCH as usize];
    let mut answers = vec![false; BATCH as usize];
    let (mut left, mut found) = (queries, 0);
    while left > 0 {
        let now = left.min(BATCH) as usize;
        digests[..now].fill_with(|| Digest(stream.word()));
        filter.contains_digests(&digests[..now], &mut answers[..now]);
        found += answers[..now].iter().map(|&found| u64::from(found)).sum::<u64>();
        left -= now as u64;
    }
    found
}

#[test]
fn what_is_found_is_what_was_asked_and_found() {
    let mut filter = gardenia::Bloom::builder().bits(1_000).hashes(1).build().unwrap();
    let stream = || Stream::new(1, "queries", "test", 0);
    assert_eq!(found(&filter, 10_000, &mut stream()), 0);
    let asked = stream().digests(10_000);
    asked[9_990..].iter().for_each(|digest| _ = filter.insert_digest(*digest));
    let expected = asked.iter().filter(|digest| filter.contains_digest(**digest)).count() as u64;
    assert!(expected >= 50 && found(&filter, 10_000, &mut stream()) == expected);
}
