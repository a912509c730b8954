package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// openPool is a pool that was made by PoolCreate.
type openPool struct {
	object
	pool   *pool.Pool
	device *openDevice
}

// PoolCreate makes a pool on a device; nil is pool.DefaultConfig.
func (l *Library) PoolCreate(deviceID uint64, c *pool.Config) (uint64, error) {
	const op = "pool.create"
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	made, err := pool.New(d.engine, config)
	if err != nil {
		return 0, on(err, d.engine)
	}
	entry := &openPool{pool: made, device: d}
	entry.createdAt = time.Now()
	handle, err := l.pools.Insert(entry)
	if err != nil {
		if closeErr := made.Close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing a pool that got no handle: %v", d.engine.ID(), closeErr)
		}
		return 0, on(err, d.engine)
	}
	entry.handle.Store(handle)
	l.openCaches(handle, made)
	l.log.printf(LogDebug, "%v: pool %q made, strategy %s", d.engine.ID(), config.Name, made.Config().Strategy)
	return handle, nil
}

// PoolDestroy destroys a pool and gives its memory back, after the work that
// uses its freed blocks. While blocks are live it is CodeBusy, unless forced.
func (l *Library) PoolDestroy(id uint64, force bool) error {
	const op = "pool.destroy"
	entry, err := l.pool(op, id)
	if err != nil {
		return err
	}
	if !entry.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, op,
			"pool handle %#x: another call is destroying the pool", id).On(entry.device.engine.ID())
	}
	defer entry.destroying.Unlock()
	leaks := newLeakReport()
	if force {
		leaks.addBlocks(entry)
	}
	if err := l.dropPool(id, entry, force); err != nil {
		return l.orLog(err, force, id)
	}
	l.logLeaks("pool destroyed by force", leaks)
	return nil
}

// dropPool closes a pool and takes its handle away; entry.destroying is held.
func (l *Library) dropPool(id uint64, entry *openPool, force bool) error {
	if _, err := l.pools.Get(id); err != nil {
		return err
	}
	if err := entry.pool.Close(force); err != nil {
		return on(err, entry.device.engine)
	}
	_, err := l.pools.Remove(id)
	return err
}

// pool finds a pool. It costs two atomic loads and no allocation.
func (l *Library) pool(op string, id uint64) (*openPool, error) {
	if l.current.Load() == nil {
		return nil, notStarted(op)
	}
	return l.pools.Get(id)
}

// PoolAlloc takes a block of sizeBytes from a pool, to be used first by the
// stream (0: the default one of the pool's device).
func (l *Library) PoolAlloc(id, sizeBytes, stream uint64) (device.Addr, error) {
	if stream == 0 && l.current.Load() != nil {
		if entry, ok := l.pools.Near(id); ok {
			if addr, ok := entry.pool.AllocNow(sizeBytes); ok {
				return addr, nil
			}
		}
	}
	return l.poolAlloc(id, stream, &pool.Request{SizeBytes: sizeBytes})
}

// PoolAllocAligned is PoolAlloc with the address a multiple of alignmentBytes,
// a power of two; 0 is CodeInvalidAlignment.
func (l *Library) PoolAllocAligned(id, sizeBytes, alignmentBytes, stream uint64) (device.Addr, error) {
	if alignmentBytes == 0 {
		return 0, l.noAlignment("pool.alloc_aligned", func() (mortal, error) { return l.pools.Get(id) })
	}
	return l.poolAlloc(id, stream, &pool.Request{SizeBytes: sizeBytes, AlignmentBytes: alignmentBytes})
}

// noAlignment is the error for an alignment of 0, unless the call would fail
// before it came to that.
func (l *Library) noAlignment(op string, find func() (mortal, error)) error {
	if _, err := l.started(op); err != nil {
		return err
	}
	object, err := find()
	if err != nil {
		return err
	}
	return late(device.Errorf(device.CodeInvalidAlignment, op, "alignment_bytes is 0: want a power of two"), object)
}

func (l *Library) poolAlloc(id, stream uint64, request *pool.Request) (device.Addr, error) {
	entry, first, err := l.onStream("pool.alloc", id, stream)
	if err != nil {
		return 0, err
	}
	request.Stream = first
	addr, err := entry.pool.AllocAddr(request)
	if err != nil {
		return 0, l.lateOn(stream, err, entry)
	}
	return addr, nil
}

// PoolFree gives a block back; its memory is used again once the work that is
// queued on the stream now (0: the default one) is done.
func (l *Library) PoolFree(id uint64, addr device.Addr, stream uint64) error {
	if stream == 0 && l.current.Load() != nil {
		if entry, ok := l.pools.Near(id); ok && entry.pool.FreeNow(addr) {
			return nil
		}
	}
	entry, last, err := l.onStream("pool.free", id, stream)
	if err != nil {
		return err
	}
	if err := entry.pool.Free(addr, last); err != nil {
		return l.lateOn(stream, err, entry)
	}
	return nil
}

// streamOf finds a stream, which must be of the device of the pool.
func (l *Library) streamOf(op string, id uint64, d *openDevice) (device.Stream, error) {
	stream, e, err := l.factory.Stream(manager.StreamHandle(id))
	if err != nil {
		return nil, err
	}
	if e != d.engine {
		return nil, device.Errorf(device.CodeInvalidArgument, op,
			"stream %#x is of device %v, the pool of %v", id, e.ID(), d.engine.ID()).On(d.engine.ID())
	}
	return stream, nil
}

// streamOrDefault is streamOf, and nil, which is the default one, for 0.
func (l *Library) streamOrDefault(op string, id uint64, d *openDevice) (device.Stream, error) {
	if id == 0 {
		return nil, nil
	}
	return l.streamOf(op, id, d)
}

// PoolTrim gives segments without live blocks back to the system until at most
// keepBytes are held, and says how much was given.
func (l *Library) PoolTrim(id, keepBytes uint64) (releasedBytes uint64, err error) {
	entry, err := l.pool("pool.trim", id)
	if err != nil {
		return 0, err
	}
	released, err := entry.pool.Trim(keepBytes)
	return released, late(err, entry)
}

// PoolSetLimit changes the pool's upper bound; 0 takes it away.
func (l *Library) PoolSetLimit(id, maxSizeBytes uint64) error {
	entry, err := l.pool("pool.set_limit", id)
	if err != nil {
		return err
	}
	return late(entry.pool.SetLimit(maxSizeBytes), entry)
}

// PoolInfo is how a pool has its memory.
func (l *Library) PoolInfo(id uint64) (pool.Info, error) {
	entry, err := l.pool("pool.info", id)
	if err != nil {
		return pool.Info{}, err
	}
	return entry.pool.Info(), nil
}

// PoolStatistics is the books of a pool.
func (l *Library) PoolStatistics(id uint64) (track.Statistics, error) {
	entry, err := l.pool("pool.statistics", id)
	if err != nil {
		return track.Statistics{}, err
	}
	return entry.pool.Statistics(), nil
}
