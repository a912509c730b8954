package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

// MemoryMap makes a range of a block addressable by the host.
func (l *Library) MemoryMap(r manager.MapRequest) (manager.Mapping, error) {
	if _, err := l.started("manager.map"); err != nil {
		return manager.Mapping{}, err
	}
	return l.factory.Map(r)
}

// MemoryUnmap ends one call of Map; 0 is the block's mapping that was made last.
func (l *Library) MemoryUnmap(memory, mapping uint64) error {
	if _, err := l.started("manager.unmap"); err != nil {
		return err
	}
	return l.factory.Unmap(manager.MemoryHandle(memory), mapping)
}

// ManagerCreateMapping makes two blocks, of managers of two devices, that are the same
// memory.
func (l *Library) ManagerCreateMapping(first, second uint64, r manager.LinkRequest) (firstMemory, secondMemory uint64, err error) {
	const op = "manager.create_mapping"
	src, err := find(l, l.managers, op, first)
	if err != nil {
		return 0, 0, err
	}
	dst, err := find(l, l.managers, op, second)
	if err != nil {
		return 0, 0, err
	}
	a, b, err := l.factory.CreateMapping(src.manager, dst.manager, r)
	return a.ID(), b.ID(), late(err, src, dst)
}

// MemoryPrefetch queues that a block is brought near a device.
func (l *Library) MemoryPrefetch(memory, target, stream uint64) error {
	d, err := find(l, l.devices, "manager.prefetch", target)
	if err != nil {
		return err
	}
	return late(l.factory.Prefetch(manager.MemoryHandle(memory), d.engine, manager.StreamHandle(stream)), d)
}

// MemorySetUsageHint keeps a hint with a block.
func (l *Library) MemorySetUsageHint(memory uint64, hint manager.UsageHint) error {
	if _, err := l.started("manager.set_usage_hint"); err != nil {
		return err
	}
	return l.factory.SetUsageHint(manager.MemoryHandle(memory), hint)
}

// MemoryGetUsageHints gives the hints of a block.
func (l *Library) MemoryGetUsageHints(memory uint64) (manager.Hints, error) {
	if _, err := l.started("manager.usage_hints"); err != nil {
		return manager.Hints{}, err
	}
	return l.factory.UsageHints(manager.MemoryHandle(memory))
}

// AccessStats is the access statistics of a block; nothing else is in them unless it is
// tracked. The time of the last access is since Init.
type AccessStats struct {
	manager.AccessStats
	Tracked bool
}

// MemoryGetAccessStats gives the access statistics of a block.
func (l *Library) MemoryGetAccessStats(memory uint64) (stats AccessStats, err error) {
	r, err := l.started("manager.access_stats")
	if err != nil {
		return stats, err
	}
	stats.AccessStats, stats.Tracked, err = l.factory.AccessStats(manager.MemoryHandle(memory))
	if stats.Accessed {
		stats.LastAccess = max(stats.LastAccess-r.startedClock, 0)
	}
	return stats, err
}

// ManagerAdopt gives a handle to memory that somebody else owns.
func (l *Library) ManagerAdopt(id uint64, a manager.Adoption) (uint64, error) {
	entry, err := find(l, l.managers, "manager.adopt", id)
	if err != nil {
		return 0, err
	}
	h, err := entry.manager.Adopt(a)
	return h.ID(), late(err, entry)
}

// StreamAdopt gives a handle to a stream that somebody else made.
func (l *Library) StreamAdopt(deviceID uint64, foreign device.ForeignStream) (uint64, error) {
	d, err := l.making("stream.adopt", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.AdoptStream(foreign)
	return h.ID(), late(err, d)
}

// EventAdopt gives a handle to an event of the vendor's runtime that somebody else made.
func (l *Library) EventAdopt(deviceID, native uint64) (uint64, error) {
	d, err := l.making("event.adopt", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.AdoptEvent(native)
	return h.ID(), late(err, d)
}
