//! Tests that watch the memory of the library: how much it takes, and what it leaves behind.

mod allocator;
mod compact;
mod every_kind;
mod foreign;
mod formats;
mod hostile;
#[path = "../all/interop_files.rs"]
mod interop_files;
mod secret;
#[path = "../all/specs.rs"]
mod specs;
