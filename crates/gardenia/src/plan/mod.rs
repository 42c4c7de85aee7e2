//! From a need to a design: which filter, how large, and what it promises.
//!
//! [`Need`] says what is wanted: how many keys, at which rate of errors, in how much memory, and
//! what must be possible with them. [`Need::plan`] answers with all designs that will do, the best
//! first, each with its size, its predicted rate, a bound on the rate of the filter that will be
//! built, and what a query costs. Whatever is in the answer can be built by one call. If no design
//! fits, the error says which needs conflict and offers the nearest design that works.
//!
//! ```
//! use gardenia::plan::Need;
//! use gardenia::{Digest, Filter, Kind};
//! // "10 million URLs, 0.1 %, must delete, 20 MB"
//! let plan = Need::of(10_000_000).fpp(0.001).remove().memory(20 << 20).plan().unwrap();
//! assert_eq!(plan.best().kind, Kind::Cuckoo);
//! assert!(plan.best().bytes <= 20 << 20 && plan.best().fpp <= 0.001);
//!
//! // A smaller one, to be built at once:
//! let mut urls = Need::of(1_000).fpp(0.001).remove().plan().unwrap().best().build().unwrap();
//! let digest = urls.hasher().digest_key("https://example.org/");
//! urls.insert_digests(&[digest], &mut [false]).unwrap();
//! assert!(urls.contains_digest(digest) && urls.can(gardenia::Ability::Remove));
//! ```
//!
//! # What the figures mean
//!
//! * `fpp` is the probability that an absent key is reported, once the planned keys are in: the
//!   exact law of each kind in [`theory`](crate::theory), finite-size excess and the floor of
//!   64-bit digests included.
//! * `bound` is what the rate of the *built* filter, which is fixed by the bits that happen to be
//!   set, stays below with probability [`Need::confidence`], 99.9 % unless said. For filters of
//!   bits and counters it is [`rate_at_most`](crate::theory::concentration::rate_at_most)
//!   (Bennett's inequality with the exact variance of the ones; proved for independent positions,
//!   and derived ones have the same mean and variance); for blocked, stable and choice filters a
//!   law of the same form that was checked by simulation; cuckoo, static and map filters have no
//!   spread: the bound holds for certain.
//! * `bytes` is the memory of the cells when the planned keys are in. That of static sets depends
//!   on their keys a little: there it is an upper estimate.
//! * `lines` are cache lines touched per query, for the given share of present keys; `ns`
//!   is what they take by a [`Calibration`], in batches.

mod calibration;
mod candidates;
mod design;
mod need;
pub(crate) mod sizes;

#[cfg(feature = "std")]
pub use calibration::time_queries;
pub use calibration::{Calibration, Cost};
pub use design::{Design, ErrorMeans, Plan};
pub use need::{Impossible, Need, NeedError, Prefer, Reason};
pub(crate) use sizes::{Figures, Goal};
