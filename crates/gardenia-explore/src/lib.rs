//! The explorer: a page in the browser that plans, draws, probes and inspects filters with the
//! library itself.
//!
//! [`Server`] answers on a loopback address. The page is embedded; its data is JSON from the
//! library. The page holds no algorithm: which cells a key uses is what
//! [`gardenia::AnyFilter::explain`] says.

mod api;
mod assets;
mod guard;
mod http;
mod job;
mod server;
mod store;

pub use assets::weight;
pub use guard::{Guard, Refusal};
pub use server::{Options, Server, listen};

/// The program in the guide must compile, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/explorer.md")]
struct Guide;
