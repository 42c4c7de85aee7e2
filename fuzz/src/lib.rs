//! What several targets share.

use gardenia::KeyHasher;

/// These bytes with the checksums that a writer would have given them, as far as they have places
/// for them: otherwise nothing but the checksums would ever be tried.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let sum = |bytes: &[u8]| KeyHasher::xxh3(0).digest(bytes).0.to_le_bytes();
    if bytes.len() < 112 {
        return bytes;
    }
    let field = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let end = 104usize.saturating_add(field(&bytes, 80)).saturating_add(field(&bytes, 84));
    if end.saturating_add(8) <= bytes.len() {
        let header = sum(&bytes[..end]);
        bytes[end..end + 8].copy_from_slice(&header);
    }
    let (payload, len) = (field(&bytes, 12).next_multiple_of(64), bytes.len());
    if payload.saturating_add(24) < len {
        let first = sum(&bytes[payload..len - 24]);
        bytes[len - 24..len - 16].copy_from_slice(&first);
        let second = sum(&first);
        bytes[len - 16..len - 8].copy_from_slice(&second);
    }
    bytes
}
