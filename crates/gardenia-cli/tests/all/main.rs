//! All tests of the command, in one program: linking many takes longer than running them.

mod bench;
mod build;
mod change;
mod choice;
mod common;
mod conformance;
mod convert;
mod cookbook;
mod count;
mod dedup;
mod diff;
mod disk;
mod every_kind;
mod files;
mod first_hour;
mod fixed;
mod generate;
mod hostile;
mod improve;
mod info;
mod keys;
mod lock;
mod merge;
mod million;
mod permission;
mod plan;
mod query;
mod relatives;
mod removal;
mod special;
mod split;
mod top;
mod tour;
#[path = "../../../gardenia/tests/all/vectors.rs"]
mod vectors;
