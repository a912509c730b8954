use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use ferrum_interfaces::TensorRef;
use ferrum_mem::{Compute, ComputeConfig, Op, OpInput, OpOutput, Stream, Tensor};
use ferrum_types::{Device, FerrumError, Result};
use serde_json::Value;

use crate::error::error_of;
use crate::hub::{locked, read, written};
use crate::pools::Pools;
use crate::tensor::FerrumTensor;
use crate::tensor_factory::FerrumTensorFactory;

/// An initialised backend: an open [`Compute`] on a device, and its prepared operations.
pub(crate) struct Running {
    pub(crate) compute: Compute,
    pub(crate) device: Device,
    /// The default stream of the device, which orders all operations.
    stream: Stream,
    pub(crate) pools: Arc<Pools>,
    /// The operations by name and attributes.
    prepared: Mutex<HashMap<(&'static str, String), Arc<Op>>>,
}

impl Running {
    /// Opens the backend. This may take long.
    pub(crate) fn open(
        config: &ComputeConfig,
        opened: &ferrum_mem::Device,
        device: Device,
        pools: Arc<Pools>,
    ) -> ferrum_mem::Result<Self> {
        Ok(Self {
            compute: Compute::open(opened, config)?,
            device,
            stream: opened.default_stream()?,
            pools,
            prepared: Mutex::default(),
        })
    }

    /// Waits for all operations.
    pub(crate) fn settle(&self) -> Result<()> {
        self.stream.synchronize(None).map_err(error_of)
    }

    fn op(&self, name: &'static str, attributes: &Value) -> Result<Arc<Op>> {
        let text = match attributes {
            Value::Null => String::new(),
            given => given.to_string(),
        };
        let key = (name, text);
        if let Some(known) = locked(&self.prepared).get(&key) {
            return Ok(known.clone());
        }
        let op = self.compute.prepare(name, &key.1, None).map_err(error_of)?;
        Ok(locked(&self.prepared)
            .entry(key)
            .or_insert(Arc::new(op))
            .clone())
    }
}

/// The engine behind the operations of a backend, which exists while the backend is initialised.
#[derive(Default)]
pub(crate) struct Slot(RwLock<Option<Arc<Running>>>);

impl Slot {
    pub(crate) fn get(&self) -> Option<Arc<Running>> {
        read(&self.0).clone()
    }

    /// Puts another engine into the slot, and returns the former one.
    pub(crate) fn replace(&self, running: Option<Arc<Running>>) -> Option<Arc<Running>> {
        std::mem::replace(&mut *written(&self.0), running)
    }

    pub(crate) fn running(&self) -> Result<Arc<Running>> {
        let found = self.get();
        found.ok_or_else(|| FerrumError::backend("the backend is not initialised"))
    }
}

/// What the operations of a backend share.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) slot: Arc<Slot>,
    pub(crate) factory: Arc<FerrumTensorFactory>,
}

impl Engine {
    /// The tensor as one of ferrum_mem.
    pub(crate) fn known(&self, tensor: &TensorRef) -> Result<FerrumTensor> {
        self.factory.known(tensor)
    }

    /// Runs an operation, and returns its outputs when they are computed. An input that is `None` is
    /// absent.
    pub(crate) fn run(
        &self,
        name: &'static str,
        attributes: Value,
        inputs: &[Option<&Tensor>],
        outputs: usize,
    ) -> Result<Vec<FerrumTensor>> {
        let running = self.slot.running()?;
        let op = running.op(name, &attributes)?;
        let inputs: &[OpInput<'_>] = inputs;
        let wanted = vec![OpOutput::New; outputs];
        let made = op.run(inputs, &wanted, None).map_err(error_of)?;
        running.settle()?;
        let made = made.into_iter().flatten();
        made.map(|it| FerrumTensor::new(it, &running.pools, &running.device))
            .collect()
    }

    /// Runs an operation with one output.
    pub(crate) fn one(
        &self,
        name: &'static str,
        attributes: Value,
        inputs: &[Option<&Tensor>],
    ) -> Result<FerrumTensor> {
        let mut made = self.run(name, attributes, inputs, 1)?;
        made.pop()
            .ok_or_else(|| FerrumError::internal(format!("{name} has no output")))
    }

    /// Runs an operation of tensors of any implementation, with one output.
    pub(crate) fn of(
        &self,
        name: &'static str,
        attributes: Value,
        inputs: &[&TensorRef],
    ) -> Result<TensorRef> {
        let known = inputs.iter().map(|it| self.known(it));
        let known = known.collect::<Result<Vec<_>>>()?;
        let inputs: Vec<_> = known.iter().map(|it| Some(&**it.tensor())).collect();
        Ok(Arc::new(self.one(name, attributes, &inputs)?))
    }

    /// Numbers of 64 bits for an operation, in memory of its device.
    pub(crate) fn numbers(&self, numbers: Vec<i64>, shape: &[u64]) -> Result<Tensor> {
        let running = self.slot.running()?;
        Tensor::from_vec(running.compute.device(), numbers, shape).map_err(error_of)
    }
}
