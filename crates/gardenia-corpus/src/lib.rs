//! Deduplicate text corpora: documents, paragraphs, n-grams, near-duplicates.
//!
//! Files of JSON lines go through five stages ([`pipeline`]): they are read in chunks ([`input`]),
//! turned into digests ([`analyse`]), compared with what was seen before ([`decide`]), rendered,
//! and written ([`output`]). What was seen is held by the filters of the `gardenia` library
//! ([`seen`]). The result is that of the files in their order, with any number of threads. A
//! [`run::Job`] ties them together, and gives a [`report::Report`].
//!
//! `docs/corpus.md` is the guide for users of the command.

pub mod analyse;
pub mod apply;
pub mod args;
pub mod decide;
pub mod generate;
pub mod html;
pub mod input;
pub mod json;
pub mod minhash;
pub mod normalise;
pub mod options;
pub mod output;
pub mod pairs;
pub mod pipeline;
pub mod report;
pub mod run;
pub mod seen;
pub mod sizing;
pub mod state;
pub mod texts;
pub mod units;
