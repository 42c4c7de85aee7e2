//! All tests of the lab, in one program.

mod command;
#[path = "../../../gardenia-cli/tests/all/common.rs"]
mod common;
mod experiments;
mod garden;
mod schemes;
