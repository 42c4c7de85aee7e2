//! The binary fuse layout: k cells per key in neighbouring segments, chosen so that all keys can be
//! told apart at once.
//!
//! [`Layout`] says which cells a key has; [`peel`] finds an order in which every key has a cell of
//! its own.
//!
//! Source: Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022).

mod layout;
mod peel;

pub(super) use layout::Layout;
pub(super) use peel::{Cell, Peeled, Picked, build};
