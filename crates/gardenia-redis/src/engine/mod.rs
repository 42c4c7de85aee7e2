//! Everything that touches the engine.

pub mod alloc;
pub mod arrival;
pub mod context;
pub mod ffi;
pub mod rdb;
pub mod settings;
pub mod stats;
pub mod syntax;
pub mod types;
