//! The commands: arguments, exact error texts, replies.
//!
//! Arguments are parsed by functions that know nothing of the engine. A command that changes
//! something replies, passes on what it accepted (never a command that could fail elsewhere), and
//! tells those who listen.

pub mod bf;
pub mod cf;
pub mod chunks;
pub mod cms;
pub mod found;
pub mod gd;
pub mod topk;

/// Commands by name, flags, syntax, what they do, what that costs, and function; and the function
/// that registers them. Where the key is not the first argument alone, the first, the last and the
/// step of them stand behind the flags, or the function that finds them.
macro_rules! commands {
    ($categories:literal: $(
        $name:ident $text:literal $flags:literal $(keys $keys:tt)? $(sources $sources:path)?
            , $syntax:literal, $summary:literal, $cost:literal => $run:path;
    )+) => {
        $(
            struct $name;
            impl $crate::engine::context::Command for $name {
                const NAME: &'static std::ffi::CStr = $text;
                const FLAGS: &'static std::ffi::CStr = $flags;
                const CATEGORIES: &'static std::ffi::CStr = $categories;
                const SYNTAX: Option<&'static str> = Some($syntax);
                const ABOUT: (&'static std::ffi::CStr, &'static std::ffi::CStr) = ($summary, $cost);
                $(const KEYS: (std::ffi::c_int, std::ffi::c_int, std::ffi::c_int) = $keys;)?
                $(
                    const KEYS: (std::ffi::c_int, std::ffi::c_int, std::ffi::c_int) = (0, 0, 0);
                    const SOURCES: Option<$crate::engine::context::Sources> = Some($sources);
                )?
                #[inline]
                fn run(
                    ctx: &$crate::engine::context::Context<'_>,
                    keys: &mut $crate::engine::ffi::Keys<'_>,
                ) -> Result<(), $crate::engine::context::Failure> {
                    $run(ctx, keys)
                }
            }
        )+

        /// Registers them all.
        pub fn register(loading: &$crate::engine::ffi::Loading<'_>) -> Result<(), &'static str> {
            loading.add_category($categories);
            $(loading.add_command::<$name>()?;)+
            Ok(())
        }
    };
}
pub(crate) use commands;

/// A whole number, written as the engine writes it: digits, of which the first is 0 only if it is
/// the only one, and a sign before them if it is negative.
#[must_use]
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-").unwrap_or(text) {
        [b'1'..=b'9', ..] => str::from_utf8(text).ok()?.parse().ok(),
        _ => (text == b"0").then_some(0),
    }
}

/// A number that is not NaN.
#[must_use]
pub fn parse_number(text: &[u8]) -> Option<f64> {
    str::from_utf8(text).ok()?.parse().ok().filter(|number: &f64| !number.is_nan())
}

#[test]
fn numbers_are_those_of_the_engine() {
    let cases: [(&str, Option<i64>); 14] = [
        ("0", Some(0)),
        ("007", None),
        ("00", None),
        ("-0", None),
        ("-07", None),
        ("--7", None),
        ("7", Some(7)),
        ("-7", Some(-7)),
        ("+7", None),
        (" 7", None),
        ("", None),
        ("7.0", None),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
    ];
    for (text, number) in cases {
        assert_eq!(parse_integer(text.as_bytes()), number, "{text}");
    }
    assert_eq!(
        (parse_number(b"1e-3"), parse_number(b"nan"), parse_number(b"rose")),
        (Some(1e-3), None, None)
    );
    assert_eq!(parse_integer(b"\xff"), None);
}
