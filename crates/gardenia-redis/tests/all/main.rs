//! All tests of the module's values, in one program: linking many takes longer than running them.
//! The engine of our own is another, because its memory is that of its process.

mod common;
mod cuckoo_chain;
mod damaged_filters;
mod damaged_values;
mod redisbloom;
