//! All tests of the library that need no allocator of their own, in one program: linking many takes
//! longer than running them.

mod bitwise_rates;
mod choice_rates;
mod choices;
mod coded;
mod common;
mod conformance;
mod dcso;
#[cfg(feature = "derive")]
mod derived_keys;
mod distance;
mod documents;
mod every_kind;
mod every_rate;
mod explain;
mod fixed;
mod golden;
mod growing;
mod growing_rates;
mod interface;
mod interop;
mod interop_files;
mod laws;
mod libbf;
mod messages;
mod parquet;
mod plan;
mod rates;
mod removal;
mod retouched;
mod ribbon;
mod sketch_laws;
mod sketch_rates;
mod sketches;
mod spec;
mod specs;
mod spectral_rates;
mod split;
mod split_block;
mod stream_rates;
mod vectors;
