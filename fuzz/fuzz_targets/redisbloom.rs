//! Any bytes as what RedisBloom stores: the header and the chunks of a dump, and the fields of an
//! RDB file. The first byte chooses.
#![no_main]

use gardenia::format::redisbloom::bloom::BloomChain;
use gardenia::format::redisbloom::cuckoo::{CuckooChain, Limits};
use gardenia::format::redisbloom::layout::Bytes;
use libfuzzer_sys::fuzz_target;

const MAX: u64 = 1 << 20;

fn use_bloom(mut chain: BloomChain) {
    let _ = (chain.contains(b"rose"), chain.items(), chain.capacity(), chain.describe().count());
    if chain.insert(b"tulip", MAX).is_ok() {
        assert!(chain.contains(b"tulip"));
    }
    let mut stored = Bytes::new(Vec::new());
    chain.save(&mut stored);
    stored.finish().unwrap();
}

fn use_cuckoo(mut chain: CuckooChain) {
    let limits = Limits { max_bytes: MAX, ..Limits::default() };
    let _ = (chain.count(b"rose"), chain.items(), chain.size());
    if chain.insert(b"tulip", limits).is_ok() {
        assert!(chain.contains(b"tulip") && chain.remove(b"tulip"));
    }
    chain.compact();
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    // Of a dump, a second byte says how long the header is; chunks of 64 bytes follow.
    let dumped = |rest: &[u8]| {
        let (length, rest) =
            rest.split_first().map_or((0, rest), |(length, rest)| (usize::from(*length), rest));
        let (header, chunks) = rest.split_at(length.min(rest.len()));
        (header.to_vec(), chunks.chunks(64).map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    match first % 5 {
        0 => {
            let (header, chunks) = dumped(rest);
            let Ok(mut chain) = BloomChain::from_header(&header, MAX) else { return };
            let mut at = 1;
            for chunk in chunks {
                at += chunk.len() as u64;
                let _ = chain.load_chunk(at, &chunk);
            }
            use_bloom(chain);
        }
        1 => {
            let (header, chunks) = dumped(rest);
            let Ok(mut chain) = CuckooChain::from_header(&header, MAX) else { return };
            let mut at = 1;
            for chunk in chunks {
                at += chunk.len() as u64;
                let _ = chain.load_chunk(at, &chunk);
            }
            use_cuckoo(chain);
        }
        2 => {
            if let Ok(chain) = BloomChain::load(4, &mut Bytes::new(rest), MAX) {
                use_bloom(chain);
            }
        }
        3 => {
            if let Ok(chain) = CuckooChain::load(4, &mut Bytes::new(rest), MAX) {
                use_cuckoo(chain);
            }
        }
        _ => {
            if let Ok(chain) = CuckooChain::load_file(4, &mut Bytes::new(rest), MAX) {
                use_cuckoo(chain);
            }
        }
    }
});
