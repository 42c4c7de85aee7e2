//! What tests of damaged values share: seeded damage.

use gardenia_redis::redisbloom::layout::Field;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        gardenia::Digest(self.0.wrapping_sub(0x9e37_79b9_7f4a_7c15)).word(1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number of any size, often at the edge of what a field holds.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => 0u64.wrapping_sub(self.below(3)),
            1 => (1 << self.below(64)) - self.below(2),
            2 => self.below(300),
            _ => self.next() >> self.below(64),
        }
    }
}

/// Changes, cuts or lengthens bytes, in one to three places.
pub(crate) fn damaged_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 if !bytes.is_empty() => _ = bytes.remove(at),
            3 => {
                // A whole number, little-endian, over what was there.
                let number = random.number().to_le_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
            }
            4 => {
                let number = float(random).to_le_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        }
    }
}

fn float(random: &mut Random) -> f64 {
    let known =
        [0.0, -0.0, 1.0, 0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 1e-320, 1e300];
    match random.below(2) {
        0 => known[random.below(known.len() as u64) as usize],
        _ => f64::from_bits(random.next()),
    }
}

/// Changes, drops, doubles or swaps fields, in one to three places.
pub(crate) fn damaged_fields(fields: &mut Vec<Field>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if fields.is_empty() {
            return;
        }
        let at = random.below(fields.len() as u64) as usize;
        match random.below(12) {
            0 => fields.truncate(at),
            1 => _ = fields.remove(at),
            2 => fields.insert(at, fields[at].clone()),
            3 => {
                let other = random.below(fields.len() as u64) as usize;
                fields.swap(at, other);
            }
            4 => fields[at] = Field::U64(random.number()),
            _ => match &mut fields[at] {
                Field::U64(number) if random.below(2) == 0 => *number = random.number(),
                Field::U64(number) => *number ^= 1 << random.below(64),
                Field::F64(number) => *number = float(random),
                Field::Bytes(bytes) => damaged_bytes(bytes, random),
            },
        }
    }
}
