package library

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

// Lease is a buffer of a generic pool.
type Lease = fallback.Lease[uint64]

// GenericPoolCreate makes an empty pool. It belongs to no device.
func (l *Library) GenericPoolCreate(c fallback.MemoryConfig) (uint64, error) {
	const op = "generic_pool.create"
	made, err := fallback.NewGenericMemoryPool[uint64](c, nil)
	if err != nil {
		return 0, err
	}
	entry := &GenericPool{pool: made}
	// Not while the library stops: it has listed what there is by then.
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

// Destroy destroys the pool; CodeBusy, unless forced, while it has buffers or buffers of it
// are in use.
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

// end has nothing more done with a pool.
func (p *GenericPool) end(force bool) error {
	p.using.Lock()
	defer p.using.Unlock()
	if p.ended.Load() {
		return over(p)
	}
	if stats := p.pool.Stats(); !force && stats.TotalAllocatedBytes > 0 {
		return device.Errorf(device.CodeBusy, "generic_pool.destroy", "%d buffers of %d bytes are in use and %d of %d bytes are pooled",
			stats.ActiveBuffers, stats.InUseBytes, p.pool.PooledCount(), stats.PooledBytes)
	}
	p.ended.Store(true)
	return nil
}

// use calls fn while the pool does not end.
func (p *GenericPool) use(fn func() error) error {
	p.using.RLock()
	defer p.using.RUnlock()
	if p.ended.Load() {
		return over(p)
	}
	return fn()
}

// checkUse refuses a side that is none.
func checkUse(u *fallback.Use) error {
	if side := u.Location.Side; side != fallback.GPU && side != fallback.CPU {
		return device.Errorf(device.CodeInvalidArgument, "generic_pool.use", "use->location is %d: none of 0 and 1", int32(side))
	}
	return nil
}

// RecordAllocation accounts for a buffer that the caller has made and uses.
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

// TryGet takes a free buffer of at least so many bytes, if there is one.
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

// Return ends the use of a buffer; not kept, it is the caller's to end.
func (p *GenericPool) Return(lease Lease) (kept bool, err error) {
	err = p.use(func() (err error) {
		kept, err = p.pool.ReturnBuffer(lease)
		return err
	})
	return kept, err
}

// AddFree files a buffer that nobody has used yet.
func (p *GenericPool) AddFree(buffer, bytes uint64) error {
	return p.use(func() error {
		return p.pool.AddFree(buffer, bytes)
	})
}

// Drain takes up to most free buffers out of the pool; they are the
// caller's to end. count is how many they are.
func (p *GenericPool) Drain(most uint64) (drained []Lease, count uint64, err error) {
	err = p.use(func() error {
		drained = p.pool.Drain(int(min(most, math.MaxInt32)))
		return nil
	})
	return drained, uint64(len(drained)), err
}

// Stats is the counters of a pool.
func (p *GenericPool) Stats() (stats fallback.MemoryStats, err error) {
	err = p.use(func() error {
		stats = p.pool.Stats()
		return nil
	})
	return stats, err
}

// PooledCount is how many free buffers a pool has.
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

// Tracker is the handle of a pool's tracker; CodeInvalidState when it
// does not track.
func (p *GenericPool) Tracker() (tracker uint64, err error) {
	err = p.use(func() error {
		if p.tracker == 0 {
			return device.Errorf(device.CodeInvalidState, "generic_pool.tracker", "the pool does not track")
		}
		tracker = p.tracker
		return nil
	})
	return tracker, err
}

func (p *GenericPool) endByForce(*Library, uint64) error { return p.Destroy(true) }
