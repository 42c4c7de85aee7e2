//! The 64 bits that stand for a key.

/// A hashed key. All schemes, filters and engines start from these 64 bits.
///
/// Two keys with one digest cannot be told apart, so no filter of `n` keys has a
/// false-positive probability below `n / 2^64`; sizing adds that floor.
///
/// ```
/// use gardenia::{Digest, KeyHasher};
/// let digest = KeyHasher::default().digest(b"rose");
/// assert_eq!(digest, Digest(0xd6ea_2b8b_8a72_aca7)); // XXH3-64, seed 0, in any language
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Digest(pub u64);

impl Digest {
    /// Word `i` derived from this digest: word 0 is the digest itself, word `i` the `i`-th output
    /// of SplitMix64 (Steele, Lea and Flood 2014) started from it.
    ///
    /// Schemes that need several hash values take them from here. SplitMix64's finaliser is a
    /// bijection with full avalanche, so that words behave as independent functions of the key, and
    /// it is short and published, so that another language can follow.
    ///
    /// ```
    /// # use gardenia::Digest;
    /// assert_eq!(Digest(0).word(0), 0);
    /// assert_eq!(Digest(0).word(1), 0xe220_a839_7b1d_cdaf); // Java's `new SplittableRandom(0).nextLong()`
    /// ```
    #[inline]
    #[must_use]
    pub const fn word(self, i: u32) -> u64 {
        if i == 0 {
            return self.0;
        }
        let mut z = self.0.wrapping_add((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
