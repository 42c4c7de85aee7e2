//! The subcommands, one file each.

pub(crate) mod bench;
pub(crate) mod beside;
pub(crate) mod build;
pub(crate) mod calibration;
pub(crate) mod change;
pub(crate) mod collected;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod dedup;
pub(crate) mod diff;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod improve;
pub(crate) mod info;
pub(crate) mod kinds;
pub(crate) mod lab;
pub(crate) mod map;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod points;
pub(crate) mod query;
pub(crate) mod recover;
pub(crate) mod sketch;
pub(crate) mod top;
pub(crate) mod tour;
