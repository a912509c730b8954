package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// PoolCreate makes a pool on a device; nil is pool.DefaultConfig.
func (l *Library) PoolCreate(deviceID uint64, c *pool.Config) (uint64, error) {
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	return create(l, l.registry.pools, "pool.create", deviceID, func(d *Device) (*Pool, error) {
		made, err := pool.New(d.Engine, config)
		return &Pool{Pool: made, device: d}, err
	}, func(id uint64, p *Pool) {
		l.openCaches(id, p.Pool)
		if l.options.Lending != nil {
			pool.LendTo(p.Pool, l.options.Lending.Of(id), id)
		}
		l.log.printf(LogDebug, "%v: pool %q made, strategy %s", p.device.Engine.ID(), config.Name, p.Config().Strategy)
	})
}

// Destroy destroys the pool and gives its memory back, after the work that
// uses its freed blocks. While blocks are live it is CodeBusy, unless forced.
func (p *Pool) Destroy(force bool) error {
	return destroy(p.library.registry.pools, "pool.destroy", p, force)
}

// PoolAlloc takes a block of sizeBytes from a pool, to be used first by the
// stream (0: the default one of the pool's device).
func (l *Library) PoolAlloc(id, sizeBytes, stream uint64) (device.Addr, error) {
	if stream == 0 && l.current.Load() != nil {
		if entry, ok := l.registry.pools.Near(id); ok {
			if addr, ok := entry.AllocNow(sizeBytes); ok {
				return addr, nil
			}
		}
	}
	p, err := l.Pool("pool.alloc", id)
	if err != nil {
		return 0, err
	}
	return p.AllocWith(PoolRequest{Request: pool.Request{SizeBytes: sizeBytes}, StreamHandle: stream})
}

// PoolFree gives a block back; its memory is used again once the work that is
// queued on the stream now (0: the default one) is done.
func (l *Library) PoolFree(id uint64, addr device.Addr, stream uint64) error {
	if stream == 0 && l.current.Load() != nil {
		if entry, ok := l.registry.pools.Near(id); ok && entry.FreeNow(addr) {
			return nil
		}
	}
	entry, last, err := l.onStream("pool.free", id, stream)
	if err != nil {
		return err
	}
	if err := entry.Pool.Free(addr, last); err != nil {
		return l.registry.callErrorOn(stream, err, entry)
	}
	return nil
}
