//! All digests of some inputs, for subcommands that need them at once.

use crate::input::{Batch, Block, Keys, Reading};
use crate::message::hinted;
use crate::{human, memory};
use gardenia::{Digest, KeyHasher};

/// All digests, in pieces, so that growing never needs twice the memory.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) pieces: Vec<Vec<Digest>>,
    pub(crate) len: u64,
}

impl Collected {
    /// Digests per piece: 8 MiB.
    const PIECE: usize = 1 << 20;

    /// The digests of all inputs, in order; `hint` says what to do if there are too many.
    pub(crate) fn read(reading: &Reading<'_>, hasher: KeyHasher, hint: &str) -> anyhow::Result<Self> {
        let mut collected = Self::default();
        let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
        reading.run(look, &mut |_: Block<'_>, batch: &mut Batch| collected.extend(&batch.digests, hint))?;
        Ok(collected)
    }

    pub(crate) fn extend(&mut self, mut digests: &[Digest], hint: &str) -> anyhow::Result<()> {
        self.len += digests.len() as u64;
        while !digests.is_empty() {
            if self.pieces.last().is_none_or(|piece| piece.len() == Self::PIECE) {
                let what = format!("holding {} keys in memory", human::count(self.len));
                memory::require(8 * Self::PIECE as u64, &what, hint)?;
                let mut piece = Vec::new();
                piece
                    .try_reserve_exact(Self::PIECE)
                    .map_err(|_| hinted(format!("no memory for {what}"), hint))?;
                self.pieces.push(piece);
            }
            if let Some(piece) = self.pieces.last_mut() {
                let (now, later) = digests.split_at(digests.len().min(Self::PIECE - piece.len()));
                piece.extend_from_slice(now);
                digests = later;
            }
        }
        Ok(())
    }
}
