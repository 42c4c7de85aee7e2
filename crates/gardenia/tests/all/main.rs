//! All tests of the library that need no allocator of their own, in one program: linking many takes longer than running them.

mod bitwise_rates;
mod choice_rates;
mod choices;
mod coded;
mod common;
mod dcso;
mod distance;
mod every_rate;
mod fixed;
mod golden;
mod growing;
mod growing_rates;
mod laws;
mod libbf;
mod plan;
mod rates;
mod removal;
mod retouched;
mod ribbon;
mod sketch_laws;
mod sketch_rates;
mod sketches;
mod spectral_rates;
mod split;
mod stream_rates;
