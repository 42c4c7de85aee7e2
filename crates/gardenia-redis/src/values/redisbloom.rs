//! Values in RedisBloom's layout, under RedisBloom's names: what its servers wrote, in files and to replicas, is read here, and
//! what is written here they read.

use super::stored::{Stored, Whole};
use crate::engine::ffi::{DigestOf, Io, Rewrite};
use crate::engine::types::{TypeHandle, Value};
use crate::redisbloom::bloom::{self, BloomChain};
use crate::redisbloom::cuckoo::{self, CuckooChain};
use crate::redisbloom::layout::Bytes;
use std::ffi::CStr;
use std::io::{self, Read, Write};

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

/// A cuckoo filter from RedisBloom. How that writes one to a file is not known here: this is a type of our own, and such a
/// filter comes by `CF.LOADCHUNK`.
pub type StoredCuckooChain = Stored<CuckooChain>;

static CUCKOO: TypeHandle = TypeHandle::new();

/// Written as its fields, numbers of 8 bytes and strings behind their length.
impl Whole for CuckooChain {
    const NAME: &'static CStr = c"gdn-rb-cf";
    const MARK: [u8; 8] = *b"\x89GDN-RC\xff";
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";

    fn handle() -> &'static TypeHandle {
        &CUCKOO
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        let mut fields = Bytes::new(to);
        self.save(&mut fields);
        fields.finish()
    }

    fn read(from: impl Read, len: u64) -> Option<Self> {
        // A table is counted with 16 bytes beside its slots, and is written with 8.
        let limit = len.saturating_mul(2);
        CuckooChain::load(cuckoo::RDB_VERSION, &mut Bytes::new(from), limit).ok()
    }

    fn memory(&self) -> usize {
        self.size() as usize
    }

    fn copy(&self) -> Option<Self> {
        let mut copy = CuckooChain::from_header(&self.header(), u64::MAX).ok()?;
        let mut at = 1;
        while let Some((next, bytes)) = self.chunk(at) {
            copy.load_chunk(next, bytes).ok()?;
            at = next;
        }
        Some(copy)
    }
}
