//! The published traits over the real library. Everything here is written against the
//! traits, as an engine is, but for the one constructor in `support`.

mod cancellation;
mod managers;
mod mapped;
mod monitor;
mod strategies;
mod streams;
mod support;
mod threads;
