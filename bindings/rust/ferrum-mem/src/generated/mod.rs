//! Code that scripts/genabi.py generates from the header.

mod calls;
pub(crate) mod enums;
pub(crate) mod records;
