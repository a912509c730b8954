package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

// CreateMapping creates two blocks that are the same memory: the first in this manager,
// the second in a manager of another device.
func (m *Manager) CreateMapping(second uint64, r manager.LinkRequest) (firstMemory, secondMemory manager.MemoryHandle, err error) {
	other, err := m.library.Manager("manager.create_mapping", second)
	if err != nil {
		return 0, 0, err
	}
	firstMemory, secondMemory, err = m.library.registry.factory.CreateMapping(m.Manager, other.Manager, r)
	return firstMemory, secondMemory, CallError(err, m, other)
}

// MemoryPrefetch queues the move of a block near a device.
func (l *Library) MemoryPrefetch(memory, target, stream uint64) error {
	d, err := find(l, l.registry.devices, "manager.prefetch", target)
	if err != nil {
		return err
	}
	return CallError(l.registry.factory.Prefetch(manager.MemoryHandle(memory), d.Engine, manager.StreamHandle(stream)), d)
}

// AccessStats has the access statistics of a block. If the block is not tracked, all
// other fields are 0. The time of the last access counts from Init.
type AccessStats struct {
	manager.AccessStats
	Tracked bool
}

// MemoryGetAccessStats returns the access statistics of a block.
func (l *Library) MemoryGetAccessStats(memory uint64) (stats AccessStats, err error) {
	r, err := l.started("manager.access_stats")
	if err != nil {
		return stats, err
	}
	stats.AccessStats, stats.Tracked, err = l.registry.factory.AccessStats(manager.MemoryHandle(memory))
	if stats.Accessed {
		stats.LastAccess = max(stats.LastAccess-r.startedClock, 0)
	}
	return stats, err
}

// StreamAdopt registers an external stream under a handle.
func (l *Library) StreamAdopt(deviceID uint64, foreign device.ForeignStream) (uint64, error) {
	d, err := l.making("stream.adopt", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	h, err := d.streams.AdoptStream(foreign)
	return h.ID(), CallError(err, d)
}

// EventAdopt registers an external event of the vendor's runtime under a handle.
func (l *Library) EventAdopt(deviceID, native uint64) (uint64, error) {
	d, err := l.making("event.adopt", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	h, err := d.streams.AdoptEvent(native)
	return h.ID(), CallError(err, d)
}
