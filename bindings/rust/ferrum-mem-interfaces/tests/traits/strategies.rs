//! Strategies of the library through the trait alone.

use std::collections::HashMap;
use std::time::Duration;

use ferrum_interfaces::memory::*;
use ferrum_mem::PlacementStrategy;
use ferrum_types::Device;

use crate::support::*;

fn anything() -> AllocationRequirements {
    AllocationRequirements {
        preferred_devices: Vec::new(),
        memory_type: MemoryType::General,
        alignment: None,
        is_critical: false,
        expected_lifetime: None,
    }
}

/// The numbers that the caller of the trait passes, from managers of both devices.
fn known(manager: &dyn DeviceMemoryManager, devices: &[Device]) -> HashMap<Device, MemoryInfo> {
    let info = |device: &Device| block_on(manager.memory_info(device)).unwrap();
    devices
        .iter()
        .map(|device| (device.clone(), info(device)))
        .collect()
}

fn strategies(engine: &Engine) -> Vec<Box<dyn AllocationStrategy>> {
    PlacementStrategy::ALL
        .into_iter()
        .map(|strategy| engine.factory.create_strategy(strategy).unwrap())
        .map(|made| Box::new(made) as Box<dyn AllocationStrategy>)
        .collect()
}

#[test]
fn test_every_strategy_keeps_the_contract_of_the_trait() {
    let engine = engine();
    let manager = engine.manager();
    let both = [Device::CPU, OTHER];
    let infos = known(&*manager, &both);
    let names: Vec<String> = strategies(&engine)
        .iter()
        .map(|s| s.name().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "best_fit",
            "best_fit_original",
            "spread",
            "pack",
            "round_robin"
        ]
    );
    for strategy in strategies(&engine) {
        let name = strategy.name().to_owned();
        let select = |size, devices: &[Device], infos: &HashMap<Device, MemoryInfo>| {
            strategy.select_device(size, &anything(), devices, infos)
        };
        let chosen = select(MIB, &both, &infos).unwrap();
        assert!(both.contains(&chosen), "{name}");
        assert_eq!(select(MIB, &[], &infos), None, "{name}");
        assert_eq!(select(MIB, &both, &HashMap::new()), None, "{name}");
        // Only a device that is available and known, with enough free bytes by the caller's
        // numbers.
        assert_eq!(select(MIB, &[OTHER], &infos), Some(OTHER), "{name}");
        let mut one = infos.clone();
        one.remove(&OTHER);
        assert_eq!(select(MIB, &both, &one), Some(Device::CPU), "{name}");
        let mut full = infos.clone();
        full.get_mut(&Device::CPU).unwrap().free_bytes = (MIB - 1) as u64;
        assert_eq!(select(MIB, &both, &full), Some(OTHER), "{name}");
        let much = usize::try_from(infos[&OTHER].total_bytes).unwrap() + 1;
        assert_eq!(select(much, &both, &infos), None, "{name}");
        // A device that the library does not have.
        let nowhere = HashMap::from([(NOWHERE, infos[&OTHER].clone())]);
        assert_eq!(select(MIB, &[NOWHERE], &nowhere), None, "{name}");
    }
}

#[test]
fn test_the_requirements_reach_the_library() {
    let engine = engine();
    let manager = engine.manager();
    let both = [Device::CPU, OTHER];
    let infos = known(&*manager, &both);
    let fit = engine
        .factory
        .create_strategy(PlacementStrategy::BestFit)
        .unwrap();
    let select =
        |requirements: &AllocationRequirements| fit.select_device(MIB, requirements, &both, &infos);
    assert_eq!(select(&anything()), Some(Device::CPU));
    let prefers = AllocationRequirements {
        preferred_devices: vec![NOWHERE, OTHER],
        ..anything()
    };
    assert_eq!(select(&prefers), Some(OTHER));
    // The library rejects an alignment that is no power of two, a size of 0, and a type that a
    // device lacks.
    let odd = AllocationRequirements {
        alignment: Some(3),
        ..anything()
    };
    assert_eq!(select(&odd), None);
    assert_eq!(fit.select_device(0, &anything(), &both, &infos), None);
    let managed = AllocationRequirements {
        alignment: Some(4096),
        expected_lifetime: Some(Duration::from_secs(3600)),
        is_critical: true,
        memory_type: MemoryType::Cache,
        ..anything()
    };
    assert_eq!(select(&managed), Some(Device::CPU));
}

/// With the formula of the trait's own crate both choose the same device.
#[test]
fn test_the_original_formula_is_that_of_the_crate() {
    let engine = engine();
    let manager = engine.manager();
    let both = [Device::CPU, OTHER];
    let ours = engine
        .factory
        .create_strategy(PlacementStrategy::BestFitOriginal)
        .unwrap();
    let mut held = Vec::new();
    for step in 0..24 {
        let infos = known(&*manager, &both);
        let size = (step * 7 % 30 + 1) * MIB;
        let requirements = AllocationRequirements {
            preferred_devices: [vec![], vec![OTHER], vec![Device::CPU, OTHER]][step % 3].clone(),
            ..anything()
        };
        let theirs = BestFitStrategy.select_device(size, &requirements, &both, &infos);
        let mine = ours.select_device(size, &requirements, &both, &infos);
        assert_eq!(mine, theirs, "step {step}, {size} bytes");
        let Some(device) = mine else { continue };
        held.push(block_on(manager.allocate(size, &device)).unwrap());
        if step % 4 == 3 {
            block_on(manager.deallocate(held.remove(0))).unwrap();
        }
    }
    assert!(held.len() > 10);
}
