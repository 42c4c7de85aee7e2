//! What the engine can tell about the module: commands in `COMMAND DOCS`, with their keys for
//! access control, and counts in `INFO`.

use super::{Api, Command, Loading, OK, RawInfo, api};
use crate::engine::stats::{self, Counter};
use crate::engine::syntax::{Arg, Type, arity, parse};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// The structures of the engine's header, for its first version of them.
#[repr(C)]
struct Version {
    version: c_int,
    history_entry: usize,
    key_spec: usize,
    arg: usize,
}

#[repr(C)]
pub(super) struct CommandInfo {
    version: *const Version,
    summary: *const c_char,
    complexity: *const c_char,
    since: *const c_char,
    history: *const c_char,
    tips: *const c_char,
    arity: c_int,
    key_specs: *const KeySpec,
    args: *const CommandArg,
}

#[repr(C)]
struct KeySpec {
    notes: *const c_char,
    flags: u64,
    begin: c_int,
    /// A union: the place of the first word.
    begins_at: BeginsAt,
    find: c_int,
    /// A union: last key, step and limit; or where the number of keys is, the first of them, and
    /// the step.
    finds: [c_int; 3],
}

#[repr(C)]
struct BeginsAt {
    word: c_int,
    rest: u64,
}

#[repr(C)]
struct CommandArg {
    name: *const c_char,
    kind: c_int,
    key_spec: c_int,
    token: *const c_char,
    summary: *const c_char,
    since: *const c_char,
    flags: c_int,
    deprecated_since: *const c_char,
    parts: *const CommandArg,
    display_text: *const c_char,
}

const VERSION: Version = Version {
    version: 1,
    history_entry: 2 * size_of::<*const c_char>(),
    key_spec: size_of::<KeySpec>(),
    arg: size_of::<CommandArg>(),
};

/// What is done with keys.
const READS: u64 = 1 | 1 << 4;
const CHANGES: u64 = 1 << 1 | 1 << 4 | 1 << 5;
const OVERWRITES: u64 = 1 << 2 | 1 << 5;

impl KeySpec {
    const END: Self = Self {
        notes: ptr::null(),
        flags: 0,
        begin: 0,
        begins_at: BeginsAt { word: 0, rest: 0 },
        find: 0,
        finds: [0; 3],
    };

    /// Keys from a word on: the last of them, counted from the first, or from the end if it is
    /// negative.
    fn range(flags: u64, word: c_int, last: c_int) -> Self {
        const INDEX: c_int = 2;
        const RANGE: c_int = 2;
        let begins_at = BeginsAt { word, rest: 0 };
        Self { flags, begin: INDEX, begins_at, find: RANGE, finds: [last, 1, 0], ..Self::END }
    }

    /// As many keys as a word says, behind it.
    fn counted(flags: u64, word: c_int) -> Self {
        const COUNTED: c_int = 3;
        Self { find: COUNTED, finds: [0, 1, 1], ..Self::range(flags, word, 0) }
    }

    /// The keys of a command.
    fn of<C: Command>() -> Vec<Self> {
        let reads = C::FLAGS.to_bytes().starts_with(b"readonly");
        let mut specs = match (C::KEYS, C::SOURCES) {
            (_, Some(_)) => vec![Self::range(OVERWRITES, 1, 0), Self::counted(READS, 2)],
            ((0, ..), None) => vec![],
            ((_, 1, _), None) => vec![Self::range(if reads { READS } else { CHANGES }, 1, 0)],
            // The first is changed by the others.
            (_, None) => vec![Self::range(CHANGES, 1, 0), Self::range(READS, 2, -1)],
        };
        specs.push(Self::END);
        specs
    }
}

/// Arguments as the engine wants them, and what they point to.
struct Args {
    args: Vec<CommandArg>,
    _texts: Vec<CString>,
    _parts: Vec<Args>,
}

impl Args {
    fn new(args: &[Arg]) -> Self {
        let (mut texts, mut parts): (Vec<CString>, Vec<Args>) = (Vec::new(), Vec::new());
        let mut text = |text: &str| {
            // The text stays where it is when the list of them grows.
            texts.push(CString::new(text).unwrap_or_default());
            texts.last().map_or(ptr::null(), |text| text.as_ptr())
        };
        let mut out: Vec<CommandArg> = Vec::new();
        for arg in args {
            let inner = (!arg.parts.is_empty()).then(|| Args::new(&arg.parts));
            out.push(CommandArg {
                name: text(&arg.name),
                kind: match arg.kind {
                    Type::Text => 0,
                    Type::Integer => 1,
                    Type::Number => 2,
                    Type::Key(_) => 3,
                    Type::Word => 6,
                    Type::OneOf => 7,
                    Type::Block => 8,
                },
                key_spec: if let Type::Key(spec) = arg.kind { spec.into() } else { -1 },
                token: arg.token.as_deref().map_or(ptr::null(), &mut text),
                flags: c_int::from(arg.optional) | c_int::from(arg.multiple) << 1,
                parts: inner.as_ref().map_or(ptr::null(), |inner| inner.args.as_ptr()),
                ..CommandArg::END
            });
            parts.extend(inner);
        }
        out.push(CommandArg::END);
        Self { args: out, _texts: texts, _parts: parts }
    }
}

impl CommandArg {
    const END: Self = Self {
        name: ptr::null(),
        kind: 0,
        key_spec: -1,
        token: ptr::null(),
        summary: ptr::null(),
        since: ptr::null(),
        flags: 0,
        deprecated_since: ptr::null(),
        parts: ptr::null(),
        display_text: ptr::null(),
    };
}

impl Loading<'_> {
    /// Tells the engine how a command is called, what it does, and what it does with its keys.
    pub(super) fn describe<C: Command>(&self) {
        let api: &Api = self.ctx.api;
        let (Some(syntax), Some(get), Some(set)) = (C::SYNTAX, api.GetCommand, api.SetCommandInfo) else {
            return;
        };
        let args = parse(syntax);
        let (version, specs, given) = (VERSION, KeySpec::of::<C>(), Args::new(&args));
        let (summary, complexity) = C::ABOUT;
        let info = CommandInfo {
            version: &raw const version,
            summary: summary.as_ptr(),
            complexity: complexity.as_ptr(),
            since: ptr::null(),
            history: ptr::null(),
            tips: ptr::null(),
            arity: arity(&args),
            key_specs: specs.as_ptr(),
            args: given.args.as_ptr(),
        };
        // SAFETY: the context is that of the call. The engine copies what it is told, and reads lists up to their ends.
        let status = unsafe {
            let command = get(self.ctx.raw, C::NAME.as_ptr());
            if command.is_null() { OK } else { set(command, &raw const info) }
        };
        if status != OK {
            let name = C::NAME.to_string_lossy();
            super::log(super::Level::Warning, &format!("{name} has no description: the engine refused it"));
        }
    }

    /// Registers what the module adds to `INFO`.
    pub fn add_info(&self) {
        if let Some(register) = self.ctx.api.RegisterInfoFunc {
            // SAFETY: the context is that of the call.
            unsafe { register(self.ctx.raw, info) };
        }
    }
}

/// Writes the sections of `INFO`. It allocates nothing: the engine also calls it for a crash
/// report.
unsafe extern "C" fn info(to: *mut RawInfo, _for_crash_report: c_int) {
    let api = api();
    let (Some(section), Some(number), Some(text)) =
        (api.InfoAddSection, api.InfoAddFieldULongLong, api.InfoAddFieldCString)
    else {
        return;
    };
    let (begin, end) = (api.InfoBeginDictField, api.InfoEndDictField);
    // SAFETY: the engine's stream lives for the call, and names end in a zero byte. A section that was not asked for is refused,
    // and its fields are not written.
    unsafe {
        if section(to, c"gardenia".as_ptr()) == OK {
            text(to, c"version".as_ptr(), VERSION_TEXT.as_ptr());
            text(to, c"build".as_ptr(), BUILD_TEXT.as_ptr().cast());
            Counter::ALL.iter().for_each(|(counter, name)| _ = number(to, name.as_ptr(), counter.get()));
        }
        if section(to, c"objects".as_ptr()) == OK {
            let (mut objects, mut bytes) = (0, 0);
            stats::types(|name, tally| {
                let (some, taken) = tally.get();
                (objects, bytes) = (objects + some, bytes + taken);
                if let (Some(begin), Some(end)) = (begin, end) {
                    begin(to, name.as_ptr());
                    number(to, c"objects".as_ptr(), some);
                    number(to, c"bytes".as_ptr(), taken);
                    end(to);
                }
            });
            number(to, c"objects".as_ptr(), objects);
            number(to, c"bytes".as_ptr(), bytes);
        }
    }
}

/// Gardenia's version, for the engine.
const VERSION_TEXT: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// The build with a zero byte, for the engine.
static BUILD_TEXT: [u8; crate::BUILD.len() + 1] = {
    let mut text = [0; crate::BUILD.len() + 1];
    text.split_at_mut(crate::BUILD.len()).0.copy_from_slice(crate::BUILD.as_bytes());
    text
};

/// The function that the engine calls for `INFO`.
pub(super) type InfoFn = unsafe extern "C" fn(*mut RawInfo, c_int);
