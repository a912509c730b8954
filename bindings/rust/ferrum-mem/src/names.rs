//! Names of the values of enumerations.

use crate::{Error, Result};

/// The value with a name. Upper and lower case are the same.
pub(crate) fn parse<T: Copy>(
    what: &str,
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T> {
    let found = all.iter().find(|it| name(**it).eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|it| name(*it)).collect();
        Error::argument(
            &format!("{what}::from_str"),
            format!("{text:?} is not one of {}", names.join(", ")),
        )
    })
}

/// Gives an enumeration its names: `ALL`, `name` and `FromStr`, and `Display` if it is listed.
macro_rules! named {
    ($type:ident, Display: $($variant:ident = $name:literal),+ $(,)?) => {
        named!($type: $($variant = $name),+);

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
    ($type:ident: $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name, which [`str::parse`] reads.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::Error;

            /// The value with that name. Upper and lower case are the same. An unknown name is
            /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument); the message lists
            /// the names.
            fn from_str(text: &str) -> crate::Result<Self> {
                crate::names::parse(stringify!($type), text, &Self::ALL, Self::name)
            }
        }
    };
}

pub(crate) use named;
