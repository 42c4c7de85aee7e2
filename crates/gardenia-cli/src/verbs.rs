//! What all kinds of filter can do, for code that compares them. As the library's own methods,
//! which are what people call: its traits speak digests.

use gardenia::theory::bloom::Shape;
use gardenia::{BlockedBloom, Bloom, EncodeError, Filter, Key, SizeError};
use std::path::Path;

/// A kind of filter with its verbs.
pub(crate) trait Verbs: Filter + Sized {
    /// As files and the command line call it.
    const KIND: &'static str;

    /// The shape for this many items at this probability; takes no memory.
    fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError>;
    fn new(items: u64, fpp: f64) -> Result<Self, SizeError>;
    fn clear(&mut self);
    fn insert(&mut self, key: impl Key) -> bool;
    fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64;
    fn contains(&self, key: impl Key) -> bool;
    fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool>;
    fn bits(&self) -> u64;
    fn hashes(&self) -> u32;
    fn memory_bytes(&self) -> u64;
    fn fpp(&self) -> f64;
    fn save(&self, path: &Path) -> Result<(), EncodeError>;
}

macro_rules! verbs {
    ($type:ident, $kind:expr) => {
        impl Verbs for $type {
            const KIND: &'static str = $kind.name();

            fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError> {
                $type::builder().items(items).fpp(fpp).shape()
            }
            fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
                $type::new(items, fpp)
            }
            fn clear(&mut self) {
                self.clear();
            }
            #[inline]
            fn insert(&mut self, key: impl Key) -> bool {
                self.insert(key)
            }
            fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
                self.insert_many(keys)
            }
            #[inline]
            fn contains(&self, key: impl Key) -> bool {
                self.contains(key)
            }
            fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
                self.contains_many(keys)
            }
            fn bits(&self) -> u64 {
                self.bits()
            }
            fn hashes(&self) -> u32 {
                self.hashes()
            }
            fn memory_bytes(&self) -> u64 {
                self.memory_bytes() as u64
            }
            fn fpp(&self) -> f64 {
                self.fpp()
            }
            fn save(&self, path: &Path) -> Result<(), EncodeError> {
                self.save(path)
            }
        }
    };
}
verbs!(Bloom, gardenia::Kind::Bloom);
verbs!(BlockedBloom, gardenia::Kind::Blocked);
