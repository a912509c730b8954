//! Models: build an executor from files or from a definition, plan its memory, and run it.

mod build;
mod executor;
mod export;
mod names;
mod pass;
mod texts;

pub use build::{BuildProgress, BuildRequest, ModelSource};
pub use executor::Executor;
pub use export::OnnxFile;
pub use pass::{OptimizationPass, PassCall, RegisteredPass};
