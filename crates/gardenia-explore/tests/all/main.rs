//! The explorer over HTTP: its numbers are the library's, and it refuses what it must.

mod client;
mod numbers;
mod program;
mod safety;
