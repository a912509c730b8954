use std::collections::btree_map::Entry;
use std::collections::BTreeMap;

use ferrum_interfaces::model_builder::ModelRegistry;
use ferrum_interfaces::ModelExecutor;
use ferrum_types::{FerrumError, ModelId, ModelInfo, Result};

/// [`ModelRegistry`] for executors of any implementation. It owns each executor until
/// [`remove_model`](ModelRegistry::remove_model) returns it.
#[derive(Default)]
pub struct FerrumModelRegistry {
    models: BTreeMap<String, Box<dyn ModelExecutor>>,
}

impl std::fmt::Debug for FerrumModelRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumModelRegistry")
            .field("models", &self.models.keys())
            .finish()
    }
}

impl FerrumModelRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }
}

impl ModelRegistry for FerrumModelRegistry {
    /// [`FerrumError::AlreadyExists`] for an id that is registered, which keeps its executor.
    fn register_model(&mut self, id: &ModelId, executor: Box<dyn ModelExecutor>) -> Result<()> {
        match self.models.entry(id.0.clone()) {
            Entry::Occupied(_) => Err(FerrumError::already_exists(format!(
                "the model {:?} is registered",
                id.0
            ))),
            Entry::Vacant(place) => {
                place.insert(executor);
                Ok(())
            }
        }
    }

    fn get_model(&self, id: &ModelId) -> Option<&dyn ModelExecutor> {
        self.models.get(&id.0).map(|it| &**it)
    }

    fn remove_model(&mut self, id: &ModelId) -> Option<Box<dyn ModelExecutor>> {
        self.models.remove(&id.0)
    }

    /// In alphabetical order.
    fn list_models(&self) -> Vec<ModelId> {
        self.models.keys().map(ModelId::new).collect()
    }

    fn get_model_info(&self, id: &ModelId) -> Option<&ModelInfo> {
        self.models.get(&id.0).map(|it| it.info())
    }

    fn contains_model(&self, id: &ModelId) -> bool {
        self.models.contains_key(&id.0)
    }
}
