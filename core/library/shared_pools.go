package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// openSharedPool is a shared pool that was made by SharedPoolCreate.
type openSharedPool struct {
	object
	pool   *vmm.Shared
	device *openDevice
}

// SharedPoolCreate makes a shared pool on a device.
func (l *Library) SharedPoolCreate(deviceID uint64, c vmm.SharedConfig) (uint64, error) {
	const op = "shared_pool.create"
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	made, err := vmm.NewShared(d.engine, c)
	if err != nil {
		return 0, on(err, d.engine)
	}
	entry := &openSharedPool{pool: made, device: d}
	entry.createdAt = time.Now()
	handle, err := l.sharedPools.Insert(entry)
	if err != nil {
		if closeErr := made.Close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing a shared pool that got no handle: %v", d.engine.ID(), closeErr)
		}
		return 0, on(err, d.engine)
	}
	entry.handle.Store(handle)
	l.log.printf(LogDebug, "%v: shared pool %q made, limit %d bytes in pages of %d", d.engine.ID(), c.Name,
		made.Limit(), made.PageBytes())
	return handle, nil
}

// SharedPoolDestroy destroys a shared pool with its models. While one of them has
// ranges, or allocations that wait, it is CodeBusy, unless forced.
func (l *Library) SharedPoolDestroy(id uint64, force bool) error {
	const op = "shared_pool.destroy"
	entry, err := l.sharedPool(op, id)
	if err != nil {
		return err
	}
	if !entry.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, op,
			"shared pool handle %#x: another call is destroying the pool", id).On(entry.device.engine.ID())
	}
	defer entry.destroying.Unlock()
	leaks := newLeakReport()
	if force {
		leaks.addRanges(entry.device, id, entry.pool.EachRange)
	}
	if err := l.dropSharedPool(id, entry, force); err != nil {
		return l.orLog(err, force, id)
	}
	l.logLeaks("shared pool destroyed by force", leaks)
	return nil
}

// dropSharedPool closes a shared pool and takes its handle away; entry.destroying
// is held.
func (l *Library) dropSharedPool(id uint64, entry *openSharedPool, force bool) error {
	if _, err := l.sharedPools.Get(id); err != nil {
		return err
	}
	if err := entry.pool.Close(force); err != nil {
		return on(err, entry.device.engine)
	}
	_, err := l.sharedPools.Remove(id)
	return err
}

func (l *Library) sharedPool(op string, id uint64) (*openSharedPool, error) {
	if l.current.Load() == nil {
		return nil, notStarted(op)
	}
	return l.sharedPools.Get(id)
}

// SharedPoolInfo is the numbers of a shared pool, and its page size.
func (l *Library) SharedPoolInfo(id uint64) (stats vmm.GlobalStats, pageBytes uint64, err error) {
	entry, err := l.sharedPool("shared_pool.info", id)
	if err != nil {
		return vmm.GlobalStats{}, 0, err
	}
	return entry.pool.GlobalStats(), entry.pool.PageBytes(), nil
}

// SharedPoolStatistics is the books of a shared pool.
func (l *Library) SharedPoolStatistics(id uint64) (track.Statistics, error) {
	entry, err := l.sharedPool("shared_pool.statistics", id)
	if err != nil {
		return track.Statistics{}, err
	}
	return entry.pool.Physical().Statistics(), nil
}

type modelsReport struct {
	Models []modelInfo `json:"models"`
}

// SharedPoolModelsJSON describes all models of one moment, in the form that the
// public header gives.
func (l *Library) SharedPoolModelsJSON(id uint64) ([]byte, error) {
	const op = "shared_pool.models"
	entry, err := l.sharedPool(op, id)
	if err != nil {
		return nil, err
	}
	return encode(op, modelsReport{Models: modelInfos(entry.pool, entry.pool.Stats())})
}

// SharedPoolSetLimit changes the limit of all models together; 0: what the device
// has.
func (l *Library) SharedPoolSetLimit(id, limitBytes uint64) error {
	entry, err := l.sharedPool("shared_pool.set_limit", id)
	if err != nil {
		return err
	}
	return late(entry.pool.SetLimit(limitBytes), entry)
}

// SharedPoolCompact brings together what nobody uses.
func (l *Library) SharedPoolCompact(id uint64) (vmm.CompactReport, error) {
	entry, err := l.sharedPool("shared_pool.compact", id)
	if err != nil {
		return vmm.CompactReport{}, err
	}
	report, err := entry.pool.Physical().Compact()
	return report, late(err, entry)
}

// SharedPoolTrim gives free pages back to the device until at most keepBytes of
// them are held, and says how much was given.
func (l *Library) SharedPoolTrim(id, keepBytes uint64) (releasedBytes uint64, err error) {
	entry, err := l.sharedPool("shared_pool.trim", id)
	if err != nil {
		return 0, err
	}
	released, err := entry.pool.Physical().Trim(keepBytes / entry.pool.PageBytes())
	return released, late(err, entry)
}

// SharedPoolSynchronize waits until no range of any model is retiring any more, at
// most timeout (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (l *Library) SharedPoolSynchronize(id uint64, timeout time.Duration) error {
	entry, err := l.sharedPool("shared_pool.synchronize", id)
	if err != nil {
		return err
	}
	return late(awaitFlights(entry.pool.Physical(), timeout), entry)
}

// SharedPoolPause has the worker of a shared pool make no more pages ready.
func (l *Library) SharedPoolPause(id uint64) error {
	entry, err := l.sharedPool("shared_pool.pause", id)
	if err != nil {
		return err
	}
	entry.pool.Physical().Pause()
	return nil
}

// SharedPoolResume ends a SharedPoolPause.
func (l *Library) SharedPoolResume(id uint64) error {
	entry, err := l.sharedPool("shared_pool.resume", id)
	if err != nil {
		return err
	}
	entry.pool.Physical().Resume()
	return nil
}
