//! The C ABI of ferrum_mem. `bindings` is generated from the public header with its comments. The
//! layouts are asserted when this crate is compiled.
//!
//! The build searches the library in this order: the folder in `FERRUM_MEM_LIB_DIR`, pkg-config
//! (`ferrum_mem`), the build folder of a checkout. The documentation builds without it
//! (`DOCS_RS=1`). At run time the system's loader must find `libferrum_mem.so.0`; see the README of
//! the bindings. Most programs need the safe crate, `ferrum-mem`.

#![no_std]

mod bindings;

pub use bindings::*;
