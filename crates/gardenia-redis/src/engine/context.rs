//! A call of a command: its arguments, its replies, and what is passed on to replicas.

use super::ffi::{self, Ctx, Keys, Str};
use super::settings;
use std::ffi::{CStr, c_int};
use std::ops::Range;

/// The places of the keys that a command reads, among its arguments with the command's name: any
/// arguments.
pub type Sources = fn(&[Str<'_>]) -> Range<usize>;

/// A command of the module.
pub trait Command {
    /// Its name.
    const NAME: &'static CStr;
    /// The engine's flags.
    const FLAGS: &'static CStr;
    /// Categories for access control.
    const CATEGORIES: &'static CStr;
    /// First key, last key, step.
    const KEYS: (c_int, c_int, c_int) = (1, 1, 1);
    /// Where the arguments themselves say how many keys there are: which of them are read, beside
    /// the first argument, which is changed. The flags then have `getkeys-api`, the keys above are
    /// (0, 0, 0), and the engine asks before it checks access and slots.
    const SOURCES: Option<Sources> = None;
    /// How it is called (see [`syntax`](super::syntax)); `None` if it is not described.
    const SYNTAX: Option<&'static str> = None;
    /// What it does, and what that costs.
    const ABOUT: (&'static CStr, &'static CStr) = (c"", c"");

    /// Answers a call: one reply, or the error that becomes one. An error or a panic within a reply
    /// becomes the rest of it.
    fn run(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure>;
}

/// A command that was refused; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A wrong number of arguments.
    Arity,
    /// This text.
    Text(&'static CStr),
}

impl From<&'static CStr> for Failure {
    fn from(text: &'static CStr) -> Self {
        Self::Text(text)
    }
}

/// A value of another type is stored under the key.
pub const WRONG_TYPE: Failure =
    Failure::Text(c"WRONGTYPE Operation against a key holding the wrong kind of value");

/// A call of a command.
pub struct Context<'a> {
    ctx: Ctx<'a>,
    args: &'a [Str<'a>],
}

impl<'a> Context<'a> {
    pub(super) fn new(ctx: Ctx<'a>, args: &'a [Str<'a>]) -> Self {
        Self { ctx, args }
    }

    /// The arguments, the command's name first.
    #[inline]
    #[must_use]
    pub fn args(&self) -> &'a [Str<'a>] {
        self.args
    }

    /// The replies, and the rest of the engine's side.
    #[inline]
    #[must_use]
    pub fn engine(&self) -> Ctx<'a> {
        self.ctx
    }

    /// The most bytes that one object may take now. Commands that were accepted elsewhere have
    /// none: a replica, or a file, that refuses them would end in another state.
    #[must_use]
    pub fn limit(&self) -> u64 {
        if self.ctx.is_repeated() { u64::MAX } else { settings::memory_limit() }
    }

    /// Whether the command was accepted elsewhere before, and is not to be refused here.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.ctx.is_repeated()
    }

    /// Whether a value is to be made in RedisBloom's layout.
    ///
    /// Who makes values here passes them on with a seed. A creation without one, from a primary or
    /// a file, is RedisBloom's, and is done as it does it: then all that follows finds the cells
    /// that it has there.
    #[must_use]
    pub fn makes_redisbloom<T>(&self, seed: Option<T>) -> bool {
        seed.is_none() && self.ctx.is_repeated()
    }

    /// Passes a command on, with arguments that were made for it.
    pub fn replicate_made(&self, command: &CStr, key: Str<'_>, args: &[impl AsRef<[u8]>]) {
        let strings: Vec<_> = args.iter().filter_map(|arg| self.ctx.string(arg.as_ref())).collect();
        let args: Vec<Str<'_>> = strings.iter().map(ffi::OwnedStr::get).collect();
        self.ctx.replicate(command, key, &args);
    }

    /// A number for a new filter.
    #[must_use]
    pub fn random(&self) -> u64 {
        ffi::random()
    }

    /// Answers with truth values.
    pub fn reply_bools(&self, values: &[bool]) {
        self.ctx.reply_array(values.len());
        values.iter().for_each(|value| self.ctx.reply_bool(*value));
    }

    /// Answers OK.
    pub fn reply_ok(&self) {
        self.ctx.reply_status(c"OK");
    }
}
