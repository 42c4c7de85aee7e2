//! Values in RedisBloom's layout, under RedisBloom's names: what its servers wrote, in files and to replicas, is read here, and
//! what is written here they read.

use crate::engine::ffi::{DigestOf, Io, Rewrite};
use crate::engine::types::{TypeHandle, Value};
use crate::redisbloom::bloom::{self, BloomChain};
use std::ffi::CStr;

static BLOOM: TypeHandle = TypeHandle::new();

impl Value for BloomChain {
    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: i32 = bloom::RDB_VERSION as i32;

    fn handle() -> &'static TypeHandle {
        &BLOOM
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        // Without a limit: strings are there before memory is taken for them.
        BloomChain::load(u64::try_from(version).ok()?, io, u64::MAX).ok()
    }

    fn save(&self, io: &mut Io<'_>) {
        BloomChain::save(self, io);
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        const LOADCHUNK: &CStr = c"BF.LOADCHUNK";
        file.emit(LOADCHUNK, 1, &self.header());
        let mut at = 1;
        while let Some((next, bytes)) = self.chunk(at) {
            file.emit(LOADCHUNK, next as i64, bytes);
            at = next;
        }
    }

    fn memory(&self) -> usize {
        self.size() as usize
    }

    fn digest(&self, digest: &mut DigestOf<'_>) {
        digest.add(&self.header());
        let mut at = 1;
        while let Some((next, bytes)) = self.chunk(at) {
            digest.add(bytes);
            at = next;
        }
    }

    fn copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }
}
