package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/unified"
)

// openGenericPool is a pool of the caller's own buffers, which are words to us.
type openGenericPool struct {
	object
	pool *unified.GenericMemoryPool[uint64]
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64
}

// Lease is a buffer of a generic pool.
type Lease = unified.Lease[uint64]

// GenericPoolCreate makes an empty pool. It belongs to no device.
func (l *Library) GenericPoolCreate(c unified.MemoryConfig) (uint64, error) {
	const op = "generic_pool.create"
	made, err := unified.NewGenericMemoryPool[uint64](c, nil)
	if err != nil {
		return 0, err
	}
	entry := &openGenericPool{pool: made}
	entry.createdAt = time.Now()
	// Not while the library stops: it has listed what there is by then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	if t := made.Tracker(); t != nil {
		if entry.tracker, err = l.insertTracker(t, false); err != nil {
			return 0, err
		}
	}
	handle, err := insert(l.genericPools, entry, &entry.object)
	if err != nil {
		l.forgetTracker(entry.tracker)
	}
	return handle, err
}

// GenericPoolDestroy destroys a pool; CodeBusy, unless forced, while it has buffers
// or buffers of it are in use.
func (l *Library) GenericPoolDestroy(id uint64, force bool) error {
	const op = "generic_pool.destroy"
	entry, err := l.genericPool(op, id)
	if err != nil {
		return err
	}
	if stats := entry.pool.Stats(); !force && stats.TotalAllocatedBytes > 0 {
		return device.Errorf(device.CodeBusy, op, "%d buffers of %d bytes are in use and %d of %d bytes are pooled",
			stats.ActiveBuffers, stats.InUseBytes, entry.pool.PooledCount(), stats.PooledBytes)
	}
	if _, err := l.genericPools.Remove(id); err != nil {
		return err
	}
	l.forgetTracker(entry.tracker)
	return nil
}

func (l *Library) genericPool(op string, id uint64) (*openGenericPool, error) {
	if _, err := l.started(op); err != nil {
		return nil, err
	}
	return l.genericPools.Get(id)
}

// GenericPoolRecord accounts for a buffer that the caller has made and uses.
func (l *Library) GenericPoolRecord(id, bytes uint64, u unified.Use) (unified.BufferID, error) {
	entry, err := l.genericPool("generic_pool.record_allocation", id)
	if err != nil {
		return 0, err
	}
	return entry.pool.RecordAllocation(bytes, u)
}

// GenericPoolTryGet takes a free buffer of at least so many bytes, if there is one.
func (l *Library) GenericPoolTryGet(id, minBytes uint64, u unified.Use) (Lease, bool, error) {
	entry, err := l.genericPool("generic_pool.try_get", id)
	if err != nil {
		return Lease{}, false, err
	}
	return entry.pool.TryGet(minBytes, u)
}

// GenericPoolReturn ends the use of a buffer; not kept, it is the caller's to end.
func (l *Library) GenericPoolReturn(id uint64, lease Lease) (kept bool, err error) {
	entry, err := l.genericPool("generic_pool.return", id)
	if err != nil {
		return false, err
	}
	return entry.pool.ReturnBuffer(lease)
}

// GenericPoolAddFree files a buffer that nobody has used yet.
func (l *Library) GenericPoolAddFree(id, buffer, bytes uint64) error {
	entry, err := l.genericPool("generic_pool.add_free", id)
	if err != nil {
		return err
	}
	return entry.pool.AddFree(buffer, bytes)
}

// GenericPoolDrain takes up to count free buffers out of the pool; they are the
// caller's to end.
func (l *Library) GenericPoolDrain(id uint64, count int) ([]Lease, error) {
	entry, err := l.genericPool("generic_pool.drain", id)
	if err != nil {
		return nil, err
	}
	return entry.pool.Drain(count), nil
}

// GenericPoolStats is the counters of a pool.
func (l *Library) GenericPoolStats(id uint64) (unified.MemoryStats, error) {
	entry, err := l.genericPool("generic_pool.stats", id)
	if err != nil {
		return unified.MemoryStats{}, err
	}
	return entry.pool.Stats(), nil
}

// GenericPoolPooled is how many free buffers a pool has.
func (l *Library) GenericPoolPooled(id uint64) (int, error) {
	entry, err := l.genericPool("generic_pool.pooled_count", id)
	if err != nil {
		return 0, err
	}
	return entry.pool.PooledCount(), nil
}

// GenericPoolRecordFallback counts a request that was served on the host.
func (l *Library) GenericPoolRecordFallback(id uint64) error {
	entry, err := l.genericPool("generic_pool.record_cpu_fallback", id)
	if err != nil {
		return err
	}
	entry.pool.RecordCPUFallback()
	return nil
}

// GenericPoolTracker is the handle of a pool's tracker; CodeInvalidState when it
// does not track.
func (l *Library) GenericPoolTracker(id uint64) (uint64, error) {
	const op = "generic_pool.tracker"
	entry, err := l.genericPool(op, id)
	if err != nil {
		return 0, err
	}
	if entry.tracker == 0 {
		return 0, device.Errorf(device.CodeInvalidState, op, "the pool does not track")
	}
	return entry.tracker, nil
}
