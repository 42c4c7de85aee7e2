//! A secret leaves no trace in memory that is given back.

use crate::allocator::{SECRET as BYTES, traces_of};
use gardenia::{
    AnyFilter, BlockedBloom, Bloom, CountMin, Cuckoo, DistanceSensitiveBloom, KeyHasher, ReadOptions,
    ScalableBloom, SecretKey, format,
};

#[test]
fn memory_that_is_given_back_holds_no_secret() {
    // What the search would find.
    let found = traces_of(|| drop(std::hint::black_box(BYTES.to_vec())));
    assert_eq!(found, 1);
    assert_eq!(traces_of(|| drop(SecretKey::new(BYTES))), 0);
    let secret = SecretKey::new(BYTES);
    let work = || {
        let bloom = Bloom::builder().items(100).fpp(0.01).secret(secret.clone()).build().unwrap();
        let bytes = bloom.to_bytes().unwrap();
        let options = ReadOptions::new().secret(secret.clone());
        let read = AnyFilter::from_bytes_with(&bytes, &options).unwrap();
        assert!(read.hasher() == &KeyHasher::sip13(secret.clone()));
        let blocked = BlockedBloom::builder().items(100).fpp(0.01).secret(secret.clone()).build().unwrap();
        let cuckoo = Cuckoo::builder().items(100).fpp(0.01).secret(secret.clone()).build().unwrap();
        let scalable = ScalableBloom::builder().fpp(0.01).secret(secret.clone()).build().unwrap();
        let sketch = CountMin::builder().columns(100).rows(3).secret(secret.clone()).build().unwrap();
        // A vector of filters that moves them as it grows, and copies of them.
        let mut filters: Vec<AnyFilter> = Vec::new();
        for filter in [read, blocked.into(), cuckoo.into(), scalable.into(), sketch.into()] {
            filters.push(filter.clone());
            filters.shrink_to_fit();
            filters.push(filter);
        }
        let boxed: Vec<Box<AnyFilter>> = filters.into_iter().map(Box::new).collect();
        assert!(boxed.iter().all(|filter| !filter.to_bytes().unwrap().is_empty()));
        let points = DistanceSensitiveBloom::hamming(64).items(9).near(0.1).far(0.6);
        let mut points = Box::new(points.secret(secret.clone()).build().unwrap());
        points.insert_bits(&[7; 8]).unwrap();
        let header = format::header(&points.to_bytes().unwrap()[..]).unwrap();
        assert!(header.secret.is_none());
    };
    assert_eq!(traces_of(work), 0);
    // The last handle overwrites it; a file that was told to store it holds it, and so do its bytes.
    assert_eq!(traces_of(|| drop(secret)), 0);
    let stored = || {
        let builder = Bloom::builder().items(100).fpp(0.01).secret(SecretKey::new(BYTES));
        let mut filter = builder.build().unwrap();
        filter.about_mut().store_secret(true);
        drop(filter.to_bytes().unwrap());
    };
    assert!(traces_of(stored) > 0);
}
