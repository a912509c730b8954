package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

// HandleInfo describes a live block of a manager.
type HandleInfo struct {
	// Memory, Manager and Device are handles.
	Memory, Manager, Device uint64
	Type                    manager.MemoryType
	// SizeBytes is the requested size, AllocatedBytes the size after rounding.
	SizeBytes, AllocatedBytes uint64
	// AlignmentBytes is the largest power of two that divides the address.
	AlignmentBytes uint64
	Addr           device.Addr
	// HostAddr is 0 on a device that the host cannot address.
	HostAddr device.HostAddr
	// AllocatedAt is the time since Init; 0 without tracking.
	AllocatedAt        time.Duration
	Mapped             bool
	OperationsInFlight uint32
	Tag                string
	Relocatable        bool
	Pins               uint32
	// Linked is the block of another device that is the same memory, or 0.
	Linked  uint64
	Adopted bool
	// ReadOnly states that the memory was adopted read-only.
	ReadOnly bool
}

// ManagerCreate creates a memory manager on a device; nil selects
// manager.DefaultConfig.
func (l *Library) ManagerCreate(deviceID uint64, c *manager.Config) (uint64, error) {
	config := manager.DefaultConfig()
	if c != nil {
		config = *c
	}
	return create(l, l.registry.managers, "manager.create", deviceID, func(d *Device) (*Manager, error) {
		made, err := l.registry.factory.CreateMemoryManager(d.Engine, config)
		return &Manager{Manager: made, device: d, using: newGate()}, err
	}, func(id uint64, m *Manager) {
		m.SetHandle(id)
		l.log.printf(LogDebug, "%v: manager created", m.device.Engine.ID())
	})
}

// Destroy destroys the manager and releases its memory. Without force it returns
// CodeBusy while blocks are live. With force it waits for their copies. It returns
// CodeInvalidState for the manager of a compute backend.
func (m *Manager) Destroy(force bool) error {
	if err := m.mayChange("manager.destroy"); err != nil {
		return CallError(err, m)
	}
	return destroy(m.library.registry.managers, "manager.destroy", m, force)
}

// ConfigurePool sets the pool settings for later allocations of a memory type; nil
// selects pool.DefaultConfig. It returns CodeInvalidState for the manager of a compute backend.
func (m *Manager) ConfigurePool(t manager.MemoryType, c *pool.Config) error {
	if err := m.mayChange("manager.configure_pool"); err != nil {
		return err
	}
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	return m.Manager.ConfigurePool(t, config)
}

// MemoryGetHandleInfo describes a live block.
func (l *Library) MemoryGetHandleInfo(memory uint64) (HandleInfo, error) {
	r, err := l.started("manager.handle_info")
	if err != nil {
		return HandleInfo{}, err
	}
	found, err := l.registry.factory.HandleInfo(manager.MemoryHandle(memory))
	if err != nil {
		return HandleInfo{}, err
	}
	info := HandleInfo{
		Memory: memory, Type: found.Type,
		SizeBytes: found.SizeBytes, AllocatedBytes: found.AllocatedBytes,
		AlignmentBytes: found.AlignmentBytes, Addr: found.Addr, HostAddr: found.HostAddr,
		Mapped: found.IsMapped, OperationsInFlight: found.OperationsInFlight, Tag: found.Tag,
		Relocatable: found.Relocatable, Pins: found.Pins, Linked: found.Linked.ID(), Adopted: found.Adopted, ReadOnly: found.ReadOnly,
	}
	if found.AllocatedAt != 0 {
		info.AllocatedAt = max(found.AllocatedAt-r.startedClock, 0)
	}
	// A manager that is being destroyed has no handle any more.
	if entry, err := l.registry.managers.Get(found.Manager.Handle()); err == nil {
		info.Manager, info.Device = found.Manager.Handle(), entry.device.id()
	}
	return info, nil
}
