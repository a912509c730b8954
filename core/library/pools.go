package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// PoolCreate creates a pool on a device; nil selects pool.DefaultConfig.
func (l *Library) PoolCreate(deviceID uint64, c *pool.Config) (uint64, error) {
	config := pool.DefaultConfig()
	if c != nil {
		config = *c
	}
	return create(l, l.registry.pools, "pool.create", deviceID, func(d *Device) (*Pool, error) {
		made, err := pool.New(d.Engine, config)
		return &Pool{Pool: made, device: d, using: newGate()}, err
	}, func(id uint64, p *Pool) {
		l.openCaches(id, p.Pool)
		if l.options.Lending != nil {
			pool.LendTo(p.Pool, l.options.Lending.Of(id), id)
		}
		l.log.printf(LogDebug, "%v: pool %q created, strategy %s", p.device.Engine.ID(), config.Name, p.Config().Strategy)
	})
}

// Destroy destroys the pool and releases its memory, after the work that uses its freed
// blocks. Without force it returns CodeBusy while blocks are live.
func (p *Pool) Destroy(force bool) error {
	return destroy(p.library.registry.pools, "pool.destroy", p, force)
}

// PoolAlloc allocates a block of sizeBytes from a pool. The stream (0: the default one
// of the pool's device) uses it first.
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

// PoolFree frees a block. Its memory is reused after the work that is queued on the
// stream now (0: the default one).
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
