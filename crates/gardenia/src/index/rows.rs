//! One position in each row of a sketch, from one digest.
//!
//! The *original* form has a function for every row. The *modified* form needs two for all of them:
//! row j takes h1 + j·h2 modulo a prime w, so that two keys either meet in at most one row or in
//! all (h2 = 0 is as good as any step: each row is a table of its own). The modified form may have
//! several copies, each with two functions.
//!
//! Sources: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min sketch"
//! (2005); Kirsch and Mitzenmacher, "Less hashing, same performance" (2008), section 9.

use super::linear::{Linear, Modulus, folded};
use super::{MAX_HASHES, wrap};
use crate::hash::Digest;
use crate::numbered::numbered;
use alloc::vec::Vec;

/// Keys whose positions are computed at a time: few enough that those of some rows stay in the
/// first-level cache.
pub(crate) const CHUNK: usize = 256;

/// Rows of most sketches.
const FEW: usize = 8;

/// Rows of all.
const MOST: usize = MAX_HASHES as usize;

numbered! {
    /// How a sketch finds its cells: a function per row, or two for all.
    #[derive(Default)]
    pub enum Form: u8 {
        /// One pairwise independent function per row (Cormode and Muthukrishnan 2005).
        #[default]
        Original = 1 "original",
        /// Two functions for all rows of a copy, modulo a prime (Kirsch and Mitzenmacher 2008):
        /// faster.
        Modified = 2 "modified",
    }
}

/// The rows of a sketch: how many, how long, and their functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    form: Form,
    /// Rows of all copies together.
    rows: u32,
    copies: u32,
    /// Rows of each copy.
    depth: usize,
    columns: Modulus,
    /// Positions of a row begin at a multiple of this.
    stride: u64,
    functions: Vec<Linear>,
}

impl Rows {
    /// `rows` rows (those of `copies` together) of `columns` columns, the functions drawn from
    /// `seed`.
    pub(crate) fn new(form: Form, rows: u32, copies: u32, columns: u64, stride: u64, seed: u64) -> Self {
        let functions = match form {
            Form::Original => rows,
            Form::Modified => 2 * copies,
        };
        let functions = (0..functions).map(|i| Linear::drawn(seed, i)).collect();
        let depth = (rows / copies.max(1)).max(1) as usize;
        Self { form, rows, copies, depth, columns: Modulus::new(columns), stride, functions }
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    pub(crate) fn copies(&self) -> u32 {
        self.copies
    }

    pub(crate) fn columns(&self) -> u64 {
        self.columns.get()
    }

    /// Calls `visit` with the position of `digest` in each row, in order.
    #[inline(always)]
    pub(crate) fn each(&self, digest: Digest, mut ask: impl FnMut(u64)) {
        let (x, columns, stride) = (folded(digest), self.columns, self.stride);
        let mut base = 0;
        match self.form {
            Form::Original => {
                for function in &self.functions {
                    ask(base + by_words(columns, *function, x));
                    base += stride;
                }
            }
            Form::Modified => {
                for pair in self.functions.as_chunks::<2>().0 {
                    let [mut now, step] = pair.map(|function| by_words(columns, function, x));
                    for _ in 0..self.depth {
                        ask(base + now);
                        now = wrap(now + step, columns.get());
                        base += stride;
                    }
                }
            }
        }
    }

    /// Calls `work` with all positions of `digest`.
    #[inline(always)]
    pub(crate) fn all<R>(&self, digest: Digest, work: impl FnOnce(&[u64]) -> R) -> R {
        // Clearing room for the most rows would cost more than a few of them do.
        if self.rows as usize <= FEW {
            self.all_in::<FEW, R>(digest, work)
        } else {
            self.all_in::<MOST, R>(digest, work)
        }
    }

    #[inline(always)]
    fn all_in<const N: usize, R>(&self, digest: Digest, work: impl FnOnce(&[u64]) -> R) -> R {
        let (mut room, mut filled) = ([0; N], 0);
        self.each(digest, |at| {
            if let Some(place) = room.get_mut(filled) {
                *place = at;
                filled += 1;
            }
        });
        work(&room[..filled])
    }

    /// The positions of digests, at most [`CHUNK`]: row j of digest i at `out[j][i]`. `value` is
    /// [`by_words`], or what agrees with it.
    #[inline(always)]
    pub(crate) fn fill(
        &self,
        digests: &[Digest],
        out: &mut [[u64; CHUNK]],
        value: impl Fn(Modulus, Linear, u64) -> u64,
    ) {
        let mut x = [0; CHUNK];
        x.iter_mut().zip(digests).for_each(|(x, digest)| *x = folded(*digest));
        let x = &x[..digests.len().min(CHUNK)];
        match self.form {
            Form::Original => {
                for (row, (function, out)) in self.functions.iter().zip(out).enumerate() {
                    let base = row as u64 * self.stride;
                    out.iter_mut().zip(x).for_each(|(at, x)| *at = base + value(self.columns, *function, *x));
                }
            }
            Form::Modified => {
                let pairs = self.functions.as_chunks::<2>().0;
                for (copy, (pair, out)) in pairs.iter().zip(out.chunks_exact_mut(self.depth)).enumerate() {
                    self.fill_copy(copy * self.depth, *pair, x, out, &value);
                }
            }
        }
    }

    /// The rows of one copy of the modified form, the first of which is row `first`.
    #[inline(always)]
    fn fill_copy(
        &self,
        first: usize,
        [start, step]: [Linear; 2],
        x: &[u64],
        out: &mut [[u64; CHUNK]],
        value: impl Fn(Modulus, Linear, u64) -> u64,
    ) {
        let (mut now, mut steps) = ([0; CHUNK], [0; CHUNK]);
        for ((now, steps), x) in now.iter_mut().zip(&mut steps).zip(x) {
            (*now, *steps) = (value(self.columns, start, *x), value(self.columns, step, *x));
        }
        let w = self.columns.get();
        for (row, out) in (first..).zip(out) {
            let base = row as u64 * self.stride;
            for (((at, now), step), _) in out.iter_mut().zip(&mut now).zip(&steps).zip(x) {
                *at = base + *now;
                *now = wrap(*now + *step, w);
            }
        }
    }
}

/// A position in its row, by multiplication of whole words.
#[inline(always)]
pub(crate) fn by_words(columns: Modulus, function: Linear, x: u64) -> u64 {
    columns.of(function.at(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_modified_form_meet_in_one_row_or_in_all() {
        let rows = Rows::new(Form::Modified, 6, 1, 101, 101, 3);
        let walks: Vec<Vec<u64>> =
            (0..2_000).map(|i| rows.all(Digest(Digest(9).word(i)), <[u64]>::to_vec)).collect();
        let mut meetings = [0; 7];
        for (i, a) in walks.iter().enumerate() {
            for b in &walks[..i] {
                meetings[a.iter().zip(b).filter(|(a, b)| a == b).count()] += 1;
            }
        }
        assert!(meetings[1] > 100_000 && meetings[6] > 100, "{meetings:?}");
        assert_eq!(meetings[2..6], [0; 4]);
    }
}
