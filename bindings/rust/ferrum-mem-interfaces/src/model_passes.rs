//! Passes of the traits as passes of the library.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ferrum_interfaces::model_builder::{ModelIR, OptimizationPass};
use ferrum_mem::{ErrorKind, Library, PassCall, ProgramFailure, RegisteredPass};
use ferrum_types::{FerrumError, Result};

use crate::error::error_of;
use crate::hub::locked;
use crate::model_ir::{definition_of, ir_of};
use crate::model_texts::{parsed, text};

/// The passes of a build, registered under names of their own until this is dropped.
pub(crate) struct Pipeline {
    _registered: Vec<RegisteredPass>,
    /// The names for the option "passes".
    pub names: Vec<String>,
    failed: Failure,
}

/// The first error of a pass.
type Failure = Arc<Mutex<Option<FerrumError>>>;

/// A pass of the traits with the names that the library has.
struct Adapter {
    pass: Box<dyn OptimizationPass>,
    dependencies: Vec<String>,
    failed: Failure,
}

impl Adapter {
    fn fail(&self, error: FerrumError) -> ProgramFailure {
        let message = error.to_string();
        locked(&self.failed).get_or_insert(error);
        ProgramFailure::new(ErrorKind::Model, message)
    }

    fn definition(&self, call: &PassCall<'_>) -> std::result::Result<ModelIR, ProgramFailure> {
        let definition = serde_json::from_str(call.definition_json());
        let definition =
            definition.map_err(|error| self.fail(FerrumError::internal(error.to_string())))?;
        Ok(ir_of(&definition, None))
    }
}

impl ferrum_mem::OptimizationPass for Adapter {
    fn dependencies(&self) -> Vec<String> {
        self.dependencies.clone()
    }

    fn is_applicable(&self, call: &PassCall<'_>) -> std::result::Result<bool, ProgramFailure> {
        Ok(self.pass.is_applicable(&self.definition(call)?))
    }

    fn apply(&self, call: &PassCall<'_>) -> std::result::Result<Option<String>, ProgramFailure> {
        let mut ir = self.definition(call)?;
        let done = self.pass.apply(&mut ir).map_err(|error| self.fail(error))?;
        for warning in &done.warnings {
            call.warn(warning)?;
        }
        if !done.applied {
            return Ok(None);
        }
        let changed = definition_of(&ir).map_err(|error| self.fail(error))?;
        Ok(Some(changed))
    }
}

/// A name that the library takes, and that no other pass has.
fn unique(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    const MOST: usize = 40;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let name: String = name.chars().filter(|c| plain(*c)).take(MOST).collect();
    format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Pipeline {
    /// Registers passes. A dependency on a pass of the library adds that pass.
    pub fn new(library: &Library, passes: Vec<Box<dyn OptimizationPass>>) -> Result<Self> {
        let given: Vec<String> = passes.iter().map(|it| it.name().to_owned()).collect();
        if let Some(twice) = given
            .iter()
            .enumerate()
            .find(|(at, name)| given[..*at].contains(name))
        {
            return Err(FerrumError::already_exists(format!(
                "two passes have the name {:?}",
                twice.1
            )));
        }
        let own: Vec<String> = given.iter().map(|name| unique(name)).collect();
        let info = parsed(library.builder_info_json())?;
        let known: Vec<String> = info["passes"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .map(|it| text(&it["name"]))
            .collect();
        let (mut names, failed) = (Vec::new(), Failure::default());
        let mut registered = Vec::new();
        for (pass, name) in passes.into_iter().zip(&own) {
            let mut dependencies = Vec::new();
            for need in pass.dependencies() {
                if let Some(at) = given.iter().position(|it| *it == need) {
                    dependencies.push(own[at].clone());
                } else if known.contains(&need) {
                    if !names.contains(&need) {
                        names.push(need.clone());
                    }
                    dependencies.push(need);
                } else {
                    return Err(FerrumError::not_found(format!(
                        "pass {:?} depends on {need:?}, which is not in the pipeline",
                        pass.name()
                    )));
                }
            }
            let adapter = Adapter {
                pass,
                dependencies,
                failed: failed.clone(),
            };
            registered.push(library.register_pass(name, adapter).map_err(error_of)?);
            names.push(name.clone());
        }
        Ok(Self {
            _registered: registered,
            names,
            failed,
        })
    }

    /// The error of a pass in place of that of the build.
    pub fn error_of(&self, of_build: FerrumError) -> FerrumError {
        locked(&self.failed).take().unwrap_or(of_build)
    }
}
