//! Enums whose variants have a number in files and a name for people, written once.

/// Declares such an enum with `ALL`, `number`, `from_number`, `name` and `from_name`. Variants
/// under `foreign` are known by number and name, but are not in `ALL`: they belong to other
/// programs' formats and are not offered for new filters.
macro_rules! numbered {
    (
        $(#[$attribute:meta])*
        pub enum $enum:ident: $int:ty {
            $($(#[$doc:meta])* $variant:ident = $number:literal $name:literal,)+
        }
        $(foreign { $($(#[$foreign_doc:meta])* $foreign:ident = $foreign_number:literal $foreign_name:literal,)+ })?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr($int)]
        #[non_exhaustive]
        pub enum $enum {
            $($(#[$doc])* $variant = $number,)+
            $($($(#[$foreign_doc])* $foreign = $foreign_number,)+)?
        }

        impl $enum {
            #[doc = concat!("All that can be chosen, by number. `from_number` and `from_name` of [`", stringify!($enum), "`] know them.")]
            ///
            /// ```
            /// # #[allow(unused_imports)]
            /// # use gardenia::{*, filter::*, hash::*, index::*};
            #[doc = concat!("type Numbered = ", stringify!($enum), ";")]
            /// for one in Numbered::ALL { assert_eq!(Numbered::from_number(one.number()),
            /// Some(one)); assert_eq!(Numbered::from_name(one.name()), Some(one)); }
            /// assert!(Numbered::from_number(200).is_none() &&
            /// Numbered::from_name("rose").is_none());
            /// ```
            pub const ALL: [Self; [$($number as $int),+].len()] = [$(Self::$variant),+];

            /// The one with this number, if there is one.
            #[must_use]
            pub const fn from_number(number: $int) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    $($($foreign_number => Some(Self::$foreign),)+)?
                    _ => None,
                }
            }

            /// The one with this name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    $($($foreign_name => Some(Self::$foreign),)+)?
                    _ => None,
                }
            }

            /// The number stored in files.
            #[must_use]
            pub const fn number(self) -> $int {
                self as $int
            }

            /// Name for people and for the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    $($(Self::$foreign => $foreign_name,)+)?
                }
            }
        }
    };
}
pub(crate) use numbered;
