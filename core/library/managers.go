package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// HandleInfo describes a live block of a manager.
type HandleInfo struct {
	// Memory, Manager and Device are handles.
	Memory, Manager, Device uint64
	Type                    manager.MemoryType
	// SizeBytes is as asked for, AllocatedBytes after rounding.
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
}

// ManagerCreate makes a memory manager on a device; nil is
// manager.DefaultConfig.
func (l *Library) ManagerCreate(deviceID uint64, c *manager.Config) (uint64, error) {
	config := manager.DefaultConfig()
	if c != nil {
		config = *c
	}
	return create(l, l.managers, "manager.create", deviceID, func(d *openDevice) (*openManager, error) {
		made, err := l.factory.CreateMemoryManager(d.engine, config)
		return &openManager{manager: made, device: d}, err
	}, func(id uint64, m *openManager) {
		m.manager.SetHandle(id)
		l.log.printf(LogDebug, "%v: manager made", m.device.engine.ID())
	})
}

// ManagerDestroy destroys a manager and gives its memory back. While blocks are
// live it is CodeBusy, unless forced; then it waits for their copies.
func (l *Library) ManagerDestroy(id uint64, force bool) error {
	return destroy(l, l.managers, "manager.destroy", id, force)
}

// ManagerConfigurePool sets the pool settings of a memory type from now on; nil
// is pool.DefaultConfig.
func (l *Library) ManagerConfigurePool(id uint64, t manager.MemoryType, c *pool.Config) error {
	entry, err := find(l, l.managers, "manager.configure_pool", id)
	if err != nil {
		return err
	}
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	return late(entry.manager.ConfigurePool(t, config), entry)
}

// ManagerGetStatistics is the books of a manager: the sum over its pools.
func (l *Library) ManagerGetStatistics(id uint64) (track.Statistics, error) {
	return tell(l, l.managers, "manager.statistics", id, func(m *openManager) track.Statistics { return m.manager.Statistics() })
}

// ManagerAlloc makes a block of type General and gives its handle.
func (l *Library) ManagerAlloc(id, sizeBytes uint64) (uint64, error) {
	return l.ManagerAllocWith(id, manager.Request{SizeBytes: sizeBytes})
}

// ManagerAllocWith makes a block as described and gives its handle.
func (l *Library) ManagerAllocWith(id uint64, r manager.Request) (uint64, error) {
	entry, err := find(l, l.managers, "manager.alloc", id)
	if err != nil {
		return 0, err
	}
	h, err := entry.manager.AllocTyped(r)
	if err != nil {
		return 0, late(err, entry)
	}
	return h.ID(), nil
}

// MemoryFree gives a block back; its handle is dead at once. Copies in flight
// finish undisturbed.
func (l *Library) MemoryFree(memory uint64) error {
	if _, err := l.started("manager.free"); err != nil {
		return err
	}
	return l.factory.Free(manager.MemoryHandle(memory))
}

// MemoryGetHandleInfo describes a live block.
func (l *Library) MemoryGetHandleInfo(memory uint64) (HandleInfo, error) {
	r, err := l.started("manager.handle_info")
	if err != nil {
		return HandleInfo{}, err
	}
	found, err := l.factory.HandleInfo(manager.MemoryHandle(memory))
	if err != nil {
		return HandleInfo{}, err
	}
	info := HandleInfo{
		Memory: memory, Type: found.Type,
		SizeBytes: found.SizeBytes, AllocatedBytes: found.AllocatedBytes,
		AlignmentBytes: found.AlignmentBytes, Addr: found.Addr, HostAddr: found.HostAddr,
		Mapped: found.IsMapped, OperationsInFlight: found.OperationsInFlight, Tag: found.Tag,
		Relocatable: found.Relocatable, Pins: found.Pins, Linked: found.Linked.ID(), Adopted: found.Adopted,
	}
	if found.AllocatedAt != 0 {
		info.AllocatedAt = max(found.AllocatedAt-r.startedClock, 0)
	}
	// One that ends at this moment has no handle any more.
	if entry, err := l.managers.Get(found.Manager.Handle()); err == nil {
		info.Manager, info.Device = found.Manager.Handle(), entry.device.id()
	}
	return info, nil
}

// MemoryCopy copies bytes between two blocks, or within one with the meaning of
// memmove, and returns when they are there.
func (l *Library) MemoryCopy(t manager.Transfer) error {
	if _, err := l.started("manager.copy"); err != nil {
		return err
	}
	return l.factory.Copy(t)
}

// MemoryCopyAsync queues a copy on a stream (0: the default one of the destination's
// device).
func (l *Library) MemoryCopyAsync(t manager.Transfer, stream uint64) error {
	if _, err := l.started("manager.copy_async"); err != nil {
		return err
	}
	return l.factory.CopyAsync(t, manager.StreamHandle(stream))
}

// MemoryWrite copies sizeBytes from the memory of this process into a block and
// returns when it is done.
func (l *Library) MemoryWrite(memory, offsetBytes uint64, source device.HostAddr, sizeBytes uint64) error {
	if _, err := l.started("manager.write"); err != nil {
		return err
	}
	return l.factory.Write(manager.MemoryHandle(memory), offsetBytes, source, sizeBytes)
}

// MemoryRead copies sizeBytes from a block into the memory of this process and
// returns when it is done.
func (l *Library) MemoryRead(memory, offsetBytes uint64, destination device.HostAddr, sizeBytes uint64) error {
	if _, err := l.started("manager.read"); err != nil {
		return err
	}
	return l.factory.Read(manager.MemoryHandle(memory), offsetBytes, destination, sizeBytes)
}

// MemoryFillAsync queues a fill on a stream (0: the default one of the block's
// device).
func (l *Library) MemoryFillAsync(f manager.Fill, stream uint64) error {
	if _, err := l.started("manager.fill_async"); err != nil {
		return err
	}
	return l.factory.FillAsync(f, manager.StreamHandle(stream))
}

// MemoryPin gives the address of a block and has it stay there until Unpin.
func (l *Library) MemoryPin(memory uint64) (device.Addr, error) {
	if _, err := l.started("manager.pin"); err != nil {
		return 0, err
	}
	return l.factory.Pin(manager.MemoryHandle(memory))
}

// MemoryUnpin ends one call of Pin.
func (l *Library) MemoryUnpin(memory uint64) error {
	if _, err := l.started("manager.unpin"); err != nil {
		return err
	}
	return l.factory.Unpin(manager.MemoryHandle(memory))
}

// ManagerDefragment is ManagerDefragmentWithin without a bound on the time.
func (l *Library) ManagerDefragment(id uint64) (manager.DefragmentationStats, error) {
	return l.ManagerDefragmentWithin(id, device.Forever)
}

// ManagerDefragmentWithin moves relocatable blocks of a manager so that pages come free,
// and gives back to the system what its pools hold without use.
func (l *Library) ManagerDefragmentWithin(id uint64, budget time.Duration) (manager.DefragmentationStats, error) {
	return ask(l, l.managers, "manager.defragment", id, func(m *openManager) (manager.DefragmentationStats, error) { return m.manager.DefragmentWithin(budget) })
}
