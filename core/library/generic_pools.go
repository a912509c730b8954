package library

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

// Lease is a buffer of a generic pool.
type Lease = fallback.Lease[uint64]

// GenericPoolCreate creates an empty pool. It belongs to no device.
func (l *Library) GenericPoolCreate(c fallback.MemoryConfig) (uint64, error) {
	const op = "generic_pool.create"
	made, err := fallback.NewGenericMemoryPool[uint64](c, nil)
	if err != nil {
		return 0, err
	}
	entry := &GenericPool{pool: made}
	// The stop of the library has already listed the objects, so no object may be
	// created then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	if t := made.Tracker(); t != nil {
		if entry.tracker, err = l.insertTracker(t, entry); err != nil {
			return 0, err
		}
	}
	handle, err := insert(l, l.registry.genericPools, entry)
	if err != nil {
		l.registry.forgetTracker(entry.tracker)
	}
	return handle, err
}

// Destroy destroys the pool. Without force it returns CodeBusy while the pool has
// buffers, or buffers of it are in use.
func (p *GenericPool) Destroy(force bool) error {
	if err := p.end(force); err != nil {
		return err
	}
	if _, err := p.library.registry.genericPools.Remove(p.id()); err != nil {
		return err
	}
	p.library.registry.forgetTracker(p.tracker)
	return nil
}

// end ends the pool: later calls on it fail.
func (p *GenericPool) end(force bool) error {
	p.using.Lock()
	defer p.using.Unlock()
	if p.ended.Load() {
		return endedError(p)
	}
	if stats := p.pool.Stats(); !force && stats.TotalAllocatedBytes > 0 {
		return device.Errorf(device.CodeBusy, "generic_pool.destroy", "%s of %v in use, and %d of %v pooled",
			device.Count(stats.ActiveBuffers, "buffer"), device.Size(stats.InUseBytes), p.pool.PooledCount(), device.Size(stats.PooledBytes))
	}
	p.ended.Store(true)
	return nil
}

// use calls fn, and the pool cannot end during the call.
func (p *GenericPool) use(fn func() error) error {
	p.using.RLock()
	defer p.using.RUnlock()
	if p.ended.Load() {
		return endedError(p)
	}
	return fn()
}

// checkUse rejects an unknown side.
func checkUse(u *fallback.Use) error {
	if side := u.Location.Side; side != fallback.GPU && side != fallback.CPU {
		return device.Errorf(device.CodeInvalidArgument, "generic_pool.use", "use->location is %d: want 0 or 1", int32(side))
	}
	return nil
}

// RecordAllocation counts a buffer that the caller has created and uses.
func (p *GenericPool) RecordAllocation(bytes uint64, u fallback.Use) (made fallback.BufferID, err error) {
	if err := checkUse(&u); err != nil {
		return 0, err
	}
	err = p.use(func() (err error) {
		made, err = p.pool.RecordAllocation(bytes, u)
		return err
	})
	return made, err
}

// TryGet takes a free buffer of at least that many bytes, if there is one.
func (p *GenericPool) TryGet(minBytes uint64, u fallback.Use) (lease Lease, got bool, err error) {
	if err := checkUse(&u); err != nil {
		return lease, false, err
	}
	err = p.use(func() (err error) {
		lease, got, err = p.pool.TryGet(minBytes, u)
		return err
	})
	return lease, got, err
}

// Return ends the use of a buffer. If it is not kept, the caller has to free it.
func (p *GenericPool) Return(lease Lease) (kept bool, err error) {
	err = p.use(func() (err error) {
		kept, err = p.pool.ReturnBuffer(lease)
		return err
	})
	return kept, err
}

// AddFree adds a buffer that was not used yet.
func (p *GenericPool) AddFree(buffer, bytes uint64) error {
	return p.use(func() error {
		return p.pool.AddFree(buffer, bytes)
	})
}

// Drain removes up to most free buffers from the pool; the caller has to free them.
// count is their number.
func (p *GenericPool) Drain(most uint64) (drained []Lease, count uint64, err error) {
	err = p.use(func() error {
		drained = p.pool.Drain(int(min(most, math.MaxInt32)))
		return nil
	})
	return drained, uint64(len(drained)), err
}

// Stats returns the counters of the pool.
func (p *GenericPool) Stats() (stats fallback.MemoryStats, err error) {
	err = p.use(func() error {
		stats = p.pool.Stats()
		return nil
	})
	return stats, err
}

// PooledCount returns the number of free buffers in the pool.
func (p *GenericPool) PooledCount() (count uint64, err error) {
	err = p.use(func() error {
		count = uint64(p.pool.PooledCount())
		return nil
	})
	return count, err
}

// RecordCPUFallback counts a request that was served on the host.
func (p *GenericPool) RecordCPUFallback() error {
	return p.use(func() error {
		p.pool.RecordCPUFallback()
		return nil
	})
}

// Tracker returns the handle of the pool's tracker. It returns CodeInvalidState if the
// pool does not track.
func (p *GenericPool) Tracker() (tracker uint64, err error) {
	err = p.use(func() error {
		if p.tracker == 0 {
			return device.Errorf(device.CodeInvalidState, "generic_pool.tracker", "the pool was created without tracking")
		}
		tracker = p.tracker
		return nil
	})
	return tracker, err
}

func (p *GenericPool) endByForce(*Library, uint64) error { return p.Destroy(true) }
