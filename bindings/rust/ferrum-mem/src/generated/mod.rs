//! What is generated from the header: see scripts/genabi.py.

mod calls;
pub(crate) mod enums;
pub(crate) mod records;
