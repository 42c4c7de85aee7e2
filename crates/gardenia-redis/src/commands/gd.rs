//! `GD.*`: what RedisBloom has no commands for.

use super::chunks::{self, Words};
use super::commands;
use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::Key;
use crate::values::bloom::Scaling;
use crate::values::stored::Stored;

commands! { c"gardenia":
    ScanDump c"gd.scandump" c"readonly" => scandump;
    LoadChunk c"gd.loadchunk" c"write deny-oom" => loadchunk;
}

const NOT_FOUND: Failure = Failure::Text(c"ERR not found");

const WORDS: Words = Words {
    not_found: c"ERR not found",
    bad_data: c"ERR received bad data",
    offset: c"ERR invalid offset - it is not the next chunk",
    too_big: c"ERR invalid chunk - more bytes than were announced",
    no_memory: c"ERR Insufficient memory to create the key",
    not_made: c"ERR could not create the key",
};

/// Does the same with the type of our own that fits: the one place that lists them.
macro_rules! each {
    ($fits:ident => $work:expr) => {
        each!(@ $fits => $work; Scaling)
    };
    (@ $fits:ident => $work:expr; $($kind:ty),+) => {
        $({
            type $fits = $kind;
            if let Some(result) = $work {
                return result;
            }
        })+
    };
}

fn scandump(ctx: &Context<'_>) -> Result<(), Failure> {
    let [_, name, at] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = ctx.open(*name).ok_or(NOT_FOUND)?;
    each!(T => key.value::<Stored<T>>().map(|value| chunks::scandump(ctx, value, at, &WORDS)));
    Err(WRONG_TYPE)
}

/// Takes any value of our own: by its mark, and then by what is there.
fn load(ctx: &Context<'_>, key: &mut Key<'_>, at: i64, bytes: &[u8]) -> Result<(), Failure> {
    if at == 1 {
        each!(T => Stored::<T>::is_announced(bytes).then(|| {
            chunks::loadchunk::<T>(ctx, key, at, bytes, &WORDS, |key| key.value::<Stored<T>>().is_some())
        }));
        return Err(WORDS.bad_data.into());
    }
    if key.is_empty() {
        return Err(NOT_FOUND);
    }
    each!(T => key.value::<Stored<T>>().is_some().then(|| {
        chunks::loadchunk::<T>(ctx, key, at, bytes, &WORDS, |_| false)
    }));
    Err(WRONG_TYPE)
}

fn loadchunk(ctx: &Context<'_>) -> Result<(), Failure> {
    let [_, name, at, bytes] = ctx.args() else { return Err(Failure::Arity) };
    let at = chunks::iterator(*at, c"ERR Second argument must be numeric")?;
    let mut key = ctx.open_mut(*name)?;
    load(ctx, &mut key, at, bytes.bytes())?;
    chunks::loaded(ctx, *name, c"gd.loadchunk");
    Ok(())
}
