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
	entry := &openGenericPool{pool: made}
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
	handle, err := insert(l.genericPools, entry)
	if err != nil {
		l.forgetTracker(entry.tracker)
	}
	return handle, err
}

// GenericPoolDestroy destroys a pool; CodeBusy, unless forced, while it has buffers
// or buffers of it are in use.
func (l *Library) GenericPoolDestroy(id uint64, force bool) error {
	const op = "generic_pool.destroy"
	entry, err := find(l, l.genericPools, op, id)
	if err != nil {
		return err
	}
	if err := entry.end(op, force); err != nil {
		return err
	}
	return l.forgetGenericPool(id, entry)
}

// forgetGenericPool takes away the handles of a pool that has ended, and of its tracker.
func (l *Library) forgetGenericPool(id uint64, entry *openGenericPool) error {
	if _, err := l.genericPools.Remove(id); err != nil {
		return err
	}
	l.forgetTracker(entry.tracker)
	return nil
}

// end has nothing more done with a pool.
func (p *openGenericPool) end(op string, force bool) error {
	p.using.Lock()
	defer p.using.Unlock()
	if p.ended.Load() {
		return over(p)
	}
	if stats := p.pool.Stats(); !force && stats.TotalAllocatedBytes > 0 {
		return device.Errorf(device.CodeBusy, op, "%d buffers of %d bytes are in use and %d of %d bytes are pooled",
			stats.ActiveBuffers, stats.InUseBytes, p.pool.PooledCount(), stats.PooledBytes)
	}
	p.ended.Store(true)
	return nil
}

// inGenericPool calls fn with a pool that does not end meanwhile.
func (l *Library) inGenericPool(op string, id uint64, fn func(*openGenericPool) error) error {
	entry, err := find(l, l.genericPools, op, id)
	if err != nil {
		return err
	}
	entry.using.RLock()
	defer entry.using.RUnlock()
	if entry.ended.Load() {
		return over(entry)
	}
	return fn(entry)
}

// checkUse refuses a side that is none.
func checkUse(u *fallback.Use) error {
	if side := u.Location.Side; side != fallback.GPU && side != fallback.CPU {
		return device.Errorf(device.CodeInvalidArgument, "generic_pool.use", "use->location is %d: none of 0 and 1", int32(side))
	}
	return nil
}

// GenericPoolRecordAllocation accounts for a buffer that the caller has made and uses.
func (l *Library) GenericPoolRecordAllocation(id, bytes uint64, u fallback.Use) (made fallback.BufferID, err error) {
	if err := checkUse(&u); err != nil {
		return 0, err
	}
	err = l.inGenericPool("generic_pool.record_allocation", id, func(p *openGenericPool) (err error) {
		made, err = p.pool.RecordAllocation(bytes, u)
		return err
	})
	return made, err
}

// GenericPoolTryGet takes a free buffer of at least so many bytes, if there is one.
func (l *Library) GenericPoolTryGet(id, minBytes uint64, u fallback.Use) (lease Lease, got bool, err error) {
	if err := checkUse(&u); err != nil {
		return lease, false, err
	}
	err = l.inGenericPool("generic_pool.try_get", id, func(p *openGenericPool) (err error) {
		lease, got, err = p.pool.TryGet(minBytes, u)
		return err
	})
	return lease, got, err
}

// GenericPoolReturn ends the use of a buffer; not kept, it is the caller's to end.
func (l *Library) GenericPoolReturn(id uint64, lease Lease) (kept bool, err error) {
	err = l.inGenericPool("generic_pool.return", id, func(p *openGenericPool) (err error) {
		kept, err = p.pool.ReturnBuffer(lease)
		return err
	})
	return kept, err
}

// GenericPoolAddFree files a buffer that nobody has used yet.
func (l *Library) GenericPoolAddFree(id, buffer, bytes uint64) error {
	return l.inGenericPool("generic_pool.add_free", id, func(p *openGenericPool) error {
		return p.pool.AddFree(buffer, bytes)
	})
}

// GenericPoolDrain takes up to most free buffers out of the pool; they are the
// caller's to end. count is how many they are.
func (l *Library) GenericPoolDrain(id, most uint64) (drained []Lease, count uint64, err error) {
	err = l.inGenericPool("generic_pool.drain", id, func(p *openGenericPool) error {
		drained = p.pool.Drain(int(min(most, math.MaxInt32)))
		return nil
	})
	return drained, uint64(len(drained)), err
}

// GenericPoolGetStats is the counters of a pool.
func (l *Library) GenericPoolGetStats(id uint64) (stats fallback.MemoryStats, err error) {
	err = l.inGenericPool("generic_pool.stats", id, func(p *openGenericPool) error {
		stats = p.pool.Stats()
		return nil
	})
	return stats, err
}

// GenericPoolGetPooledCount is how many free buffers a pool has.
func (l *Library) GenericPoolGetPooledCount(id uint64) (count uint64, err error) {
	err = l.inGenericPool("generic_pool.pooled_count", id, func(p *openGenericPool) error {
		count = uint64(p.pool.PooledCount())
		return nil
	})
	return count, err
}

// GenericPoolRecordCPUFallback counts a request that was served on the host.
func (l *Library) GenericPoolRecordCPUFallback(id uint64) error {
	return l.inGenericPool("generic_pool.record_cpu_fallback", id, func(p *openGenericPool) error {
		p.pool.RecordCPUFallback()
		return nil
	})
}

// GenericPoolGetTracker is the handle of a pool's tracker; CodeInvalidState when it
// does not track.
func (l *Library) GenericPoolGetTracker(id uint64) (tracker uint64, err error) {
	const op = "generic_pool.tracker"
	err = l.inGenericPool(op, id, func(p *openGenericPool) error {
		if p.tracker == 0 {
			return device.Errorf(device.CodeInvalidState, op, "the pool does not track")
		}
		tracker = p.tracker
		return nil
	})
	return tracker, err
}
