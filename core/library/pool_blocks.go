package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// onStream finds a pool and a stream of its device; 0 is the default one, as nil.
func (l *Library) onStream(op string, id, streamID uint64) (*openPool, device.Stream, error) {
	entry, err := l.pool(op, id)
	if err != nil || streamID == 0 {
		return entry, nil, err
	}
	stream, err := l.streamOf(op, streamID, entry.device)
	return entry, stream, err
}

// PoolRequest is a block, as asked for.
type PoolRequest struct {
	pool.Request
	// StreamHandle takes the place of Stream: what uses the block first; 0: the default
	// stream of the pool's device.
	StreamHandle uint64
}

// PoolAllocWith takes a block as described.
func (l *Library) PoolAllocWith(id uint64, request PoolRequest) (device.Addr, error) {
	return l.poolAlloc(id, request.StreamHandle, &request.Request)
}

// PoolAllocBatch fills to with blocks of sizeBytes each: all of it, or nothing
// is taken and to has zeros.
func (l *Library) PoolAllocBatch(id, sizeBytes, stream uint64, to []device.Addr) error {
	entry, first, err := l.onStream("pool.alloc_batch", id, stream)
	if err != nil {
		return err
	}
	if err := entry.pool.AllocBatch(pool.Request{SizeBytes: sizeBytes, Stream: first}, to); err != nil {
		clear(to)
		return l.lateOn(stream, err, entry)
	}
	return nil
}

// PoolGetTag is the number of a tag, which stays while the pool lives.
func (l *Library) PoolGetTag(id uint64, name string) (uint32, error) {
	return ask(l, l.pools, "pool.tag", id, func(p *openPool) (uint32, error) { return p.pool.Tag(name) })
}

// PoolFreeSized is PoolFree with the size that was asked for as a check.
func (l *Library) PoolFreeSized(id uint64, addr device.Addr, sizeBytes, stream uint64) error {
	entry, last, err := l.onStream("pool.free_sized", id, stream)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.FreeSized(addr, sizeBytes, last), entry)
}

// PoolFreeBatch gives blocks back: all of them or none.
func (l *Library) PoolFreeBatch(id uint64, addrs []device.Addr, stream uint64) error {
	entry, last, err := l.onStream("pool.free_batch", id, stream)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.FreeBatch(addrs, last), entry)
}

// PoolRecordStream makes the free of a live block wait for a further stream.
func (l *Library) PoolRecordStream(id uint64, addr device.Addr, stream uint64) error {
	entry, user, err := l.onStream("pool.record_stream", id, stream)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.RecordStream(addr, user), entry)
}

// PoolUsableSize is how many bytes of a live block may be used.
func (l *Library) PoolUsableSize(id uint64, addr device.Addr) (uint64, error) {
	return ask(l, l.pools, "pool.usable_size", id, func(p *openPool) (uint64, error) { return p.pool.UsableSize(addr) })
}

// PoolReset gives back every live block, as freed on the stream.
func (l *Library) PoolReset(id, stream uint64) error {
	entry, last, err := l.onStream("pool.reset", id, stream)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.Reset(last), entry)
}

// PoolSetMinHeld changes what the pool keeps in any case.
func (l *Library) PoolSetMinHeld(id, minHeldBytes uint64) error {
	return do(l, l.pools, "pool.set_min_held", id, func(p *openPool) error { return p.pool.SetMinHeld(minHeldBytes) })
}

// PoolSetReleaseThreshold changes above what the pool gives empty segments back
// at once.
func (l *Library) PoolSetReleaseThreshold(id, thresholdBytes uint64) error {
	return do(l, l.pools, "pool.set_release_threshold", id, func(p *openPool) error { return p.pool.SetReleaseThreshold(thresholdBytes) })
}
