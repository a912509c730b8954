//! What is generated from the header: see scripts/genabi.py.

pub(crate) mod enums;
pub(crate) mod records;
