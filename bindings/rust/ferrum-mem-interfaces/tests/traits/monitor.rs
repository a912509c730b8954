use std::collections::HashMap;
use std::sync::mpsc::channel;

use async_trait::async_trait;
use ferrum_interfaces::memory::*;
use ferrum_types::{Device, FerrumError, Result};

use crate::support::*;

#[test]
fn test_a_monitor_of_two_devices() {
    let engine = engine();
    let manager = engine.manager();
    let mut monitor = engine.factory.create_monitor().unwrap();
    assert!(monitor.global_memory_info().is_empty());
    let (tell, hear) = channel();
    monitor.set_global_pressure_callback(Box::new(move |levels| {
        let _ = tell.send(levels);
    }));
    monitor.register_manager(Device::CPU, &*manager);
    monitor.register_manager(OTHER, &*manager);
    monitor.register_manager(OTHER, &*manager);
    let handle = block_on(manager.allocate(250 * MIB, &OTHER)).unwrap();
    let all = monitor.global_memory_info();
    assert_eq!(all.len(), 2);
    assert_eq!(
        (all[&Device::CPU].used_bytes, all[&OTHER].active_allocations),
        (0, 1)
    );
    assert!(all[&OTHER].used_bytes >= 250 * MIB as u64);
    assert_eq!(monitor.global_memory_pressure(), MemoryPressure::Critical);
    let told =
        |wanted: &HashMap<Device, MemoryPressure>| hear.iter().any(|levels| levels == *wanted);
    assert!(told(&HashMap::from([
        (Device::CPU, MemoryPressure::Low),
        (OTHER, MemoryPressure::Critical)
    ])));
    block_on(manager.deallocate(handle)).unwrap();
    let collected = block_on(monitor.global_gc()).unwrap();
    assert_eq!(collected.len(), 2);
    assert!(collected.values().all(|stats| stats.time_taken_ms >= 1));
    monitor.unregister_manager(&OTHER);
    monitor.unregister_manager(&NOWHERE);
    assert_eq!(
        monitor.global_memory_info().into_keys().collect::<Vec<_>>(),
        [Device::CPU]
    );
    // The monitor does not keep a manager, and a dropped one is unregistered.
    drop(manager);
    assert!(monitor.global_memory_info().is_empty());
    assert_eq!(monitor.global_memory_pressure(), MemoryPressure::Low);
    assert!(block_on(monitor.global_gc()).unwrap().is_empty());
}

#[test]
fn test_a_dropped_collection_is_finished() {
    let engine = engine();
    let manager = engine.manager();
    let mut monitor = engine.factory.create_monitor().unwrap();
    monitor.register_manager(Device::CPU, &*manager);
    for polls in [0, 1, 3, 100] {
        give_up_after(polls, monitor.global_gc());
    }
    assert_eq!(block_on(monitor.global_gc()).unwrap().len(), 1);
}

/// A manager of another crate.
struct Foreign;

#[async_trait]
impl DeviceMemoryManager for Foreign {
    async fn allocate(&self, _: usize, _: &Device) -> Result<MemoryHandle> {
        Err(FerrumError::unsupported("allocate"))
    }
    async fn allocate_aligned(&self, _: usize, _: usize, _: &Device) -> Result<MemoryHandle> {
        Err(FerrumError::unsupported("allocate_aligned"))
    }
    async fn deallocate(&self, _: MemoryHandle) -> Result<()> {
        Err(FerrumError::unsupported("deallocate"))
    }
    async fn copy(
        &self,
        _: MemoryHandle,
        _: MemoryHandle,
        _: usize,
        _: usize,
        _: usize,
    ) -> Result<()> {
        Err(FerrumError::unsupported("copy"))
    }
    async fn copy_async(&self, _: MemoryTransfer, _: Option<StreamHandle>) -> Result<()> {
        Err(FerrumError::unsupported("copy_async"))
    }
    async fn memory_info(&self, _: &Device) -> Result<MemoryInfo> {
        Err(FerrumError::unsupported("memory_info"))
    }
    fn handle_info(&self, _: MemoryHandle) -> Option<MemoryHandleInfo> {
        None
    }
    async fn configure_pool(&self, _: &Device, _: MemoryPoolConfig) -> Result<()> {
        Err(FerrumError::unsupported("configure_pool"))
    }
    async fn defragment(&self, _: &Device) -> Result<DefragmentationStats> {
        Err(FerrumError::unsupported("defragment"))
    }
    fn set_pressure_callback(&self, _: Box<dyn Fn(MemoryPressure) + Send + Sync>) {}
}

#[test]
fn test_manager_of_another_crate_is_ignored() {
    let engine = engine();
    let manager = engine.manager();
    let mut monitor = engine.factory.create_monitor().unwrap();
    monitor.register_manager(Device::CPU, &Foreign);
    monitor.register_manager(NOWHERE, &*manager);
    assert!(monitor.global_memory_info().is_empty());
    monitor.register_manager(Device::CPU, &*manager);
    assert_eq!(monitor.global_memory_info().len(), 1);
}
