package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// PoolCreate makes a pool on a device; nil is pool.DefaultConfig.
func (l *Library) PoolCreate(deviceID uint64, c *pool.Config) (uint64, error) {
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	return create(l, l.pools, "pool.create", deviceID, func(d *openDevice) (*openPool, error) {
		made, err := pool.New(d.engine, config)
		return &openPool{pool: made, device: d}, err
	}, func(id uint64, p *openPool) {
		l.openCaches(id, p.pool)
		l.log.printf(LogDebug, "%v: pool %q made, strategy %s", p.device.engine.ID(), config.Name, p.pool.Config().Strategy)
	})
}

// PoolDestroy destroys a pool and gives its memory back, after the work that
// uses its freed blocks. While blocks are live it is CodeBusy, unless forced.
func (l *Library) PoolDestroy(id uint64, force bool) error {
	return destroy(l, l.pools, "pool.destroy", id, force)
}

// pool is find for the calls that hand blocks out and take them back: one call fewer.
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
	return ask(l, l.pools, "pool.trim", id, func(p *openPool) (uint64, error) { return p.pool.Trim(keepBytes) })
}

// PoolSetLimit changes the pool's upper bound; 0 takes it away.
func (l *Library) PoolSetLimit(id, maxSizeBytes uint64) error {
	return do(l, l.pools, "pool.set_limit", id, func(p *openPool) error { return p.pool.SetLimit(maxSizeBytes) })
}

// PoolGetInfo is how a pool has its memory.
func (l *Library) PoolGetInfo(id uint64) (pool.Info, error) {
	return tell(l, l.pools, "pool.info", id, func(p *openPool) pool.Info { return p.pool.Info() })
}

// PoolGetStatistics is the books of a pool.
func (l *Library) PoolGetStatistics(id uint64) (track.Statistics, error) {
	return tell(l, l.pools, "pool.statistics", id, func(p *openPool) track.Statistics { return p.pool.Statistics() })
}
