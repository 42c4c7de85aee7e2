//! Gardenia inside Redis and Valkey: a module with RedisBloom's commands, and commands for all
//! other filters.
//!
//! Build it with `cargo build --release -p gardenia-redis` and load it with
//! `loadmodule target/release/libgardenia_redis.so`; the engine then has `BF.*`, `CF.*`, `CMS.*`,
//! `TOPK.*` and `GD.*`. For users there is `docs/redis.md`.
//!
//! * [`engine`]: everything that touches the engine, of which `ffi.rs` alone holds pointers;
//! * [`values`]: what is stored under keys, most of it by [`values::stored`];
//! * [`redisbloom`]: RedisBloom's own layouts, to take its filters over;
//! * [`commands`]: arguments, errors and replies, a file for each family.

pub mod commands;
pub mod engine;
pub mod redisbloom;
pub mod values;

use engine::ffi::{self, Loading, Module, RawCtx, RawString, Str};

/// The name and the version by which clients know that these commands are there.
const MODULE: Module = Module { name: c"bf", version: 20_800, load };

/// Gardenia's own version. That of the module tells clients which of RedisBloom's commands are
/// there.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which build of that version it is: what `GARDENIA_BUILD` said when it was compiled, as
/// `package/build` sets it.
pub const BUILD: &str = match option_env!("GARDENIA_BUILD") {
    Some(build) => build,
    None => "unknown",
};

/// Registers everything.
fn load(loading: &Loading<'_>, args: &[Str<'_>]) -> Result<(), &'static str> {
    engine::settings::take_arguments(args)?;
    loading.add_type::<values::bloom::Bloom>()?;
    loading.add_type::<values::cuckoo::Cuckoos>()?;
    loading.add_type::<values::count_min::Counts>()?;
    loading.add_type::<values::top_k::Top>()?;
    loading.add_type::<values::any::Any>()?;
    loading.add_type::<redisbloom::bloom::BloomChain>()?;
    loading.add_type::<values::redisbloom::StoredCuckooChain>()?;
    loading.add_type::<redisbloom::cuckoo::CuckooChain>()?;
    loading.add_type::<redisbloom::count_min::CountMinTable>()?;
    loading.add_type::<values::redisbloom::TopKTable>()?;
    // Another module may have t-digests, and load them.
    if loading.add_type::<values::redisbloom::TDigest>().is_ok() {
        loading.before_synchronisation::<values::redisbloom::TDigest>();
    }
    commands::bf::register(loading)?;
    commands::cf::register(loading)?;
    commands::cms::register(loading)?;
    commands::topk::register(loading)?;
    commands::gd::register(loading)?;
    loading.add_info();
    engine::settings::register(loading)
}

/// What the engine calls when it loads the module.
///
/// # Safety
/// For the engine alone.
#[allow(unsafe_code)] // the engine finds it by its name
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RawCtx,
    argv: *mut *mut RawString,
    argc: std::ffi::c_int,
) -> std::ffi::c_int {
    // SAFETY: the engine calls with its own arguments.
    unsafe { ffi::load(&MODULE, ctx, argv, argc) }
}
