//! All tests of the program, in one binary: linking many takes longer than running them.

mod bad;
mod common;
mod exact;
mod guide;
mod machines;
mod near;
mod ngrams;
mod paragraphs;
mod resume;
