//! Values in RedisBloom's layout, under RedisBloom's names: what its servers wrote, in files and to
//! replicas, is read here, and what is written here they read.

use super::stored::{DUMP_HEADER, Stored, Whole};
use super::top_k::{self, TopK};
use crate::engine::arrival::arrived;
use crate::engine::ffi::{DigestOf, Io, Level, Look, Rewrite, log};
use crate::engine::types::{TypeHandle, Value};
use crate::redisbloom::bloom::{self, BloomChain};
use crate::redisbloom::count_min::{self, CountMinTable};
use crate::redisbloom::cuckoo::{self, CuckooChain};
use crate::redisbloom::layout::Bytes;
use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};

static BLOOM: TypeHandle<BloomChain> = TypeHandle::new();

impl Value for BloomChain {
    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: i32 = bloom::RDB_VERSION as i32;

    fn handle() -> &'static TypeHandle<Self> {
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

static CUCKOO_CHAIN: TypeHandle<CuckooChain> = TypeHandle::new();

impl Value for CuckooChain {
    const NAME: &'static CStr = c"MBbloomCF";
    const VERSION: i32 = cuckoo::FILE_VERSION as i32;

    fn handle() -> &'static TypeHandle<Self> {
        &CUCKOO_CHAIN
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        // Without a limit, as above.
        CuckooChain::load_file(u64::try_from(version).ok()?, io, u64::MAX).ok()
    }

    fn save(&self, io: &mut Io<'_>) {
        self.save_file(io);
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        const LOADCHUNK: &CStr = c"CF.LOADCHUNK";
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
        Whole::copy(self)
    }
}

/// A table of the most frequent items from RedisBloom.
#[derive(Debug, PartialEq)]
pub struct TopKTable(pub TopK);

static TOP_K: TypeHandle<TopKTable> = TypeHandle::new();

/// What the dump of such a table begins with. RedisBloom has no such dump: this one is ours.
pub const TOP_K_MARK: [u8; 8] = *b"\x89RBL-TK\xff";

impl TopKTable {
    /// The dump, all in one: the mark, the bytes that follow, and the fields of the database's
    /// file.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let mut dump = [&TOP_K_MARK[..], &[0; 8]].concat();
        self.0.save_file(&mut Bytes::new(&mut dump));
        let length = (dump.len() - DUMP_HEADER) as u64;
        dump[8..DUMP_HEADER].copy_from_slice(&length.to_le_bytes());
        dump
    }

    /// The table of a dump, if it is one; the bytes may be anybody's.
    #[must_use]
    pub fn undump(dump: &[u8]) -> Option<Self> {
        let (header, mut body) = dump.split_first_chunk::<DUMP_HEADER>()?;
        let (mark, length) = header.split_first_chunk::<8>()?;
        if *mark != TOP_K_MARK || *length != (body.len() as u64).to_le_bytes() {
            return None;
        }
        // A stream does not tell how long it is: what its first numbers ask for must be among the bytes.
        let mut numbers = body.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        let (k, width, depth) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let asked = width.checked_mul(depth)?.checked_mul(8)?.checked_add(k.checked_mul(24)?)?;
        if asked > body.len() as u64 {
            return None;
        }
        let table = TopK::load_file(top_k::FILE_VERSION, &mut Bytes::new(&mut body)).ok()?;
        body.is_empty().then_some(Self(table))
    }
}

impl Value for TopKTable {
    const NAME: &'static CStr = c"TopK-TYPE";
    const VERSION: i32 = top_k::FILE_VERSION as i32;

    fn handle() -> &'static TypeHandle<Self> {
        &TOP_K
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        TopK::load_file(u64::try_from(version).ok()?, io).ok().map(Self)
    }

    fn save(&self, io: &mut Io<'_>) {
        self.0.save_file(io);
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        file.emit(c"GD.LOADCHUNK", 1, &self.dump());
    }

    fn memory(&self) -> usize {
        self.0.memory_bytes() as usize
    }

    fn digest(&self, digest: &mut DigestOf<'_>) {
        digest.add(&self.dump());
    }

    fn copy(&self) -> Option<Self> {
        self.0.try_clone().ok().map(Self)
    }
}

/// A t-digest of RedisBloom's, which is no filter: there is none here, and one in a file is
/// refused. The name is registered because an engine that meets an unknown one ends, while it
/// survives a refusal where it can.
#[derive(Debug)]
pub enum TDigest {}

static T_DIGEST: TypeHandle<TDigest> = TypeHandle::new();

impl Value for TDigest {
    const NAME: &'static CStr = c"TDIS-TYPE";
    const VERSION: i32 = 0;

    fn handle() -> &'static TypeHandle<Self> {
        &T_DIGEST
    }

    fn load(_: &mut Io<'_>, _: i32) -> Option<Self> {
        log(
            Level::Warning,
            "refused: a t-digest (TDIS-TYPE), which this module does not have. hint: find them on the primary with \
             'redis-cli --scan' or SCAN 0 TYPE TDIS-TYPE, and delete them there; with repl-diskless-load swapdb a replica \
             keeps its data when a synchronisation is refused",
        );
        None
    }

    fn save(&self, _: &mut Io<'_>) {
        match *self {}
    }

    fn rewrite(&self, _: &mut Rewrite<'_>) {
        match *self {}
    }

    fn memory(&self) -> usize {
        match *self {}
    }

    fn digest(&self, _: &mut DigestOf<'_>) {
        match *self {}
    }

    fn copy(&self) -> Option<Self> {
        match *self {}
    }
}

/// Ends the server while its data are whole if the file of its primary has a t-digest: it would end
/// at that value, with the file in the place of its own.
impl Look for TDigest {
    fn look(save: impl FnOnce()) {
        let Some(found) = arrived().find(|file| file.holds(Self::NAME) == Some(true)) else { return };
        log(
            Level::Warning,
            "synchronisation refused: the primary has a t-digest (TDIS-TYPE), which this module does not have. The server ends, and \
             keeps its own data. hint: find t-digests with redis-cli --scan --type TDIS-TYPE on the primary, and delete them there",
        );
        match found.temporary {
            Some(path) => _ = fs::remove_file(path),
            // Valkey 9.1 has put the file into the place of its own before it comes here.
            None => save(),
        }
        std::process::exit(1);
    }
}

/// A cuckoo filter from RedisBloom, as it was stored here before its own layout in files was known:
/// such keys are still read.
pub type StoredCuckooChain = Stored<CuckooChain>;

static CUCKOO: TypeHandle<StoredCuckooChain> = TypeHandle::new();

/// Written as its fields, numbers of 8 bytes and strings behind their length.
impl Whole for CuckooChain {
    const NAME: &'static CStr = c"gdn-rb-cf";
    const MARK: [u8; 8] = *b"\x89GDN-RC\xff";
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
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

static COUNT_MIN: TypeHandle<CountMinTable> = TypeHandle::new();

/// What the dump of a sketch begins with. RedisBloom has no such dump: this one is ours.
pub const COUNT_MIN_MARK: [u8; 8] = *b"\x89RBL-CM\xff";

impl Value for CountMinTable {
    const NAME: &'static CStr = c"CMSk-TYPE";
    const VERSION: i32 = count_min::RDB_VERSION as i32;

    fn handle() -> &'static TypeHandle<Self> {
        &COUNT_MIN
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        // Without a limit, as above.
        CountMinTable::load(u64::try_from(version).ok()?, io, u64::MAX).ok()
    }

    fn save(&self, io: &mut Io<'_>) {
        CountMinTable::save(self, io);
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        let mut dump = Vec::with_capacity(DUMP_HEADER + count_min_len(self));
        dump_count_min(self, &mut dump);
        file.emit(c"GD.LOADCHUNK", 1, &dump);
    }

    fn memory(&self) -> usize {
        self.counters().len()
    }

    fn digest(&self, digest: &mut DigestOf<'_>) {
        [self.width(), self.depth(), self.total()].into_iter().for_each(|number| digest.add_number(number));
        digest.add(self.counters());
    }

    fn copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }
}

/// Bytes of a sketch's dump behind its header.
#[must_use]
pub fn count_min_len(table: &CountMinTable) -> usize {
    32 + table.counters().len()
}

/// Appends the dump of a sketch, all in one: the mark, the bytes that follow, and the fields of the
/// database's file.
pub fn dump_count_min(table: &CountMinTable, to: &mut Vec<u8>) {
    to.extend_from_slice(&COUNT_MIN_MARK);
    to.extend_from_slice(&(count_min_len(table) as u64).to_le_bytes());
    table.save(&mut Bytes::new(to));
}

/// The sketch of a dump, if it is one; the bytes may be anybody's.
#[must_use]
pub fn undump_count_min(dump: &[u8]) -> Option<CountMinTable> {
    let (header, mut body) = dump.split_first_chunk::<DUMP_HEADER>()?;
    let (mark, len) = header.split_first_chunk::<8>()?;
    let total = body.len() as u64;
    if *mark != COUNT_MIN_MARK || *len != total.to_le_bytes() {
        return None;
    }
    // The counters are among the bytes, so that it takes no more than these.
    let table = CountMinTable::load(count_min::RDB_VERSION, &mut Bytes::new(&mut body), total).ok()?;
    body.is_empty().then_some(table)
}

#[test]
fn a_sketch_is_read_from_its_dump_and_from_nothing_else() {
    let mut table = CountMinTable::new(7, 3, u64::MAX).unwrap();
    table.add(b"rose", 5);
    let mut dump = vec![];
    dump_count_min(&table, &mut dump);
    assert_eq!(dump.len(), DUMP_HEADER + count_min_len(&table));
    assert_eq!(undump_count_min(&dump), Some(table));
    assert!((0..dump.len()).all(|end| undump_count_min(&dump[..end]).is_none()));
    for (at, byte) in [(0, 0x88), (8, 0), (16, 8), (19, 1), (24, 4), (40, 0)] {
        let mut other = dump.clone();
        other[at] = byte;
        assert_eq!(undump_count_min(&other), None, "{at}");
    }
    // A length that is right, and bytes that are too many.
    dump.push(0);
    dump[8] += 1;
    assert_eq!(undump_count_min(&dump), None);
}
