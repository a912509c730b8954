use std::sync::Arc;

use crate::{Compute, Device, KvCache, Memory, Model, Pool, TensorSet, VirtualPool};

/// The owner of the memory of tensors. Whatever uses the memory keeps the owner alive.
#[derive(Clone, Debug)]
#[allow(dead_code)] // It is only kept.
pub(crate) enum Parent {
    Pool(Pool),
    VirtualPool(VirtualPool),
    Model(Model),
    Device(Device),
    Memory(Arc<Memory>),
    Set(Arc<TensorSet>),
    Compute(Compute),
    KvCache(Arc<KvCache>),
}
