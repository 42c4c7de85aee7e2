//! The subcommands, one file each.

pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod change;
pub(crate) mod count;
pub(crate) mod eval;
pub(crate) mod info;
pub(crate) mod lab;
pub(crate) mod map;
pub(crate) mod points;
pub(crate) mod query;
pub(crate) mod relatives;
pub(crate) mod sketch;
pub(crate) mod top;
pub(crate) mod tour;
