//! The published traits with the real library. All tests use only the traits, as an engine does,
//! except for the constructor in `support`.

mod cancellation;
mod compute;
mod custom_layers;
mod kv_caches;
mod managers;
mod mapped;
mod model_passes;
mod models;
mod monitor;
mod registry;
mod strategies;
mod streams;
mod support;
mod tensors;
mod threads;
mod weights;
