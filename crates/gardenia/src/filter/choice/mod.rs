//! Filters whose keys have a choice: of several groups of positions a key needs only one, so that
//! few bits get set.
//!
//! | effort | how the groups are chosen | file |
//! | --- | --- | --- |
//! | 0 | one key at a time: the group that sets the fewest new bits | `groups` |
//! | 1 | the same, again and again over all keys | `rounds` |
//! | 2 | for a few keys together, out of 256, and stored: a query looks at one group only | `partitions` |
//! | 3 | by belief propagation over keys and bits, then rounds | `propagation` |
//!
//! Sources: Lumetta and Mitzenmacher (2007) for efforts 0 and 1; Hao, Kodialam and Lakshman (2007)
//! for the partitions; the way in which partitions are searched, and the propagation, are ours.

mod blocks;
pub(super) mod bloom;
pub(super) mod builder;
mod groups;
mod lanes;
pub(super) mod offline;
mod partitions;
mod probe;
pub(super) mod propagation;
mod rate;
mod rounds;
mod store;
mod tally;
