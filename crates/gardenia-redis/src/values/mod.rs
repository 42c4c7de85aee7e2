//! What is stored under keys.

pub mod bloom;
