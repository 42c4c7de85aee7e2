//! Tests that watch the memory of the library: how much it takes, and what it leaves behind.

mod allocator;
mod compact;
mod every_kind;
mod formats;
mod hostile;
mod secret;
#[path = "../all/specs.rs"]
mod specs;
