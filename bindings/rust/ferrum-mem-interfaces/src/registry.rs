use std::collections::btree_map::Entry;
use std::collections::BTreeMap;

use ferrum_interfaces::backend::{
    BackendRegistry, BackendRequirements, ComputeBackend, WeightLoader,
};
use ferrum_types::{FerrumError, Result};

use crate::requirements::{merit, unmet};

/// [`BackendRegistry`] for backends and loaders of any implementation, by name. A backend that is
/// registered can still be started and stopped: through a clone of a
/// [`FerrumBackend`](crate::FerrumBackend), or after
/// [`unregister_compute_backend`](FerrumBackendRegistry::unregister_compute_backend).
#[derive(Default)]
pub struct FerrumBackendRegistry {
    backends: BTreeMap<String, Box<dyn ComputeBackend>>,
    loaders: BTreeMap<String, Box<dyn WeightLoader>>,
}

impl std::fmt::Debug for FerrumBackendRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumBackendRegistry")
            .field("backends", &self.backends.keys())
            .field("loaders", &self.loaders.keys())
            .finish()
    }
}

/// A backend that was compared with requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendCandidate {
    /// Its name in the registry.
    pub name: String,
    /// What it lacks. A backend that lacks nothing meets the requirements.
    pub reasons: Vec<String>,
}

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 63;

fn register<T: ?Sized>(map: &mut BTreeMap<String, Box<T>>, name: &str, it: Box<T>) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(FerrumError::invalid_parameter(format!(
            "the name {name:?} has {} bytes, and not 1 to {MAX_NAME_BYTES}",
            name.len()
        )));
    }
    match map.entry(name.to_owned()) {
        Entry::Occupied(_) => Err(FerrumError::already_exists(format!(
            "the name {name:?} is registered"
        ))),
        Entry::Vacant(place) => {
            place.insert(it);
            Ok(())
        }
    }
}

fn unregister<T: ?Sized>(map: &mut BTreeMap<String, Box<T>>, name: &str) -> Result<Box<T>> {
    let found = map.remove(name);
    found.ok_or_else(|| FerrumError::not_found(format!("the name {name:?} is not registered")))
}

impl FerrumBackendRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes a backend and returns it.
    ///
    /// # Errors
    ///
    /// [`FerrumError::NotFound`] for an unknown name.
    pub fn unregister_compute_backend(&mut self, name: &str) -> Result<Box<dyn ComputeBackend>> {
        unregister(&mut self.backends, name)
    }

    /// Removes a loader and returns it.
    ///
    /// # Errors
    ///
    /// [`FerrumError::NotFound`] for an unknown name.
    pub fn unregister_weight_loader(&mut self, name: &str) -> Result<Box<dyn WeightLoader>> {
        unregister(&mut self.loaders, name)
    }

    /// All backends, the best one first. Those that do not meet the requirements follow in
    /// alphabetical order, with what they lack.
    ///
    /// A backend with a device other than the CPU is better; then one with more extra capabilities;
    /// then one with the larger `max_sequence_length`, then `max_batch_size`, then
    /// `max_tensor_dims`; then the first name in alphabetical order.
    pub fn candidates(&self, required: &BackendRequirements) -> Vec<BackendCandidate> {
        let compared = self.backends.iter().map(|(name, backend)| {
            let has = backend.capabilities();
            let candidate = BackendCandidate {
                name: name.clone(),
                reasons: unmet(&has, required),
            };
            (candidate, has)
        });
        let (mut fit, other): (Vec<_>, Vec<_>) =
            compared.partition(|(candidate, _)| candidate.reasons.is_empty());
        // The sort keeps the order of equal ones, which is alphabetical.
        fit.sort_by(|(_, a), (_, b)| merit(b, a));
        let all = fit.into_iter().chain(other);
        all.map(|(candidate, _)| candidate).collect()
    }
}

impl BackendRegistry for FerrumBackendRegistry {
    fn register_compute_backend(
        &mut self,
        name: &str,
        backend: Box<dyn ComputeBackend>,
    ) -> Result<()> {
        register(&mut self.backends, name, backend)
    }

    fn register_weight_loader(&mut self, name: &str, loader: Box<dyn WeightLoader>) -> Result<()> {
        register(&mut self.loaders, name, loader)
    }

    fn get_compute_backend(&self, name: &str) -> Option<&dyn ComputeBackend> {
        self.backends.get(name).map(|it| &**it)
    }

    fn get_weight_loader(&self, name: &str) -> Option<&dyn WeightLoader> {
        self.loaders.get(name).map(|it| &**it)
    }

    /// The first one of [`FerrumBackendRegistry::candidates`] that meets the requirements.
    fn find_best_compute_backend(
        &self,
        requirements: &BackendRequirements,
    ) -> Option<&dyn ComputeBackend> {
        let best = self.candidates(requirements).into_iter().next()?;
        if !best.reasons.is_empty() {
            return None;
        }
        self.get_compute_backend(&best.name)
    }

    /// The names of backends and those of loaders, each in alphabetical order.
    fn list_backend_names(&self) -> (Vec<String>, Vec<String>) {
        let backends = self.backends.keys().cloned();
        (backends.collect(), self.loaders.keys().cloned().collect())
    }
}
