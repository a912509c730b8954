package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// kvHome is the memory of a new cache.
type kvHome struct {
	device *Device
	place  tensorPlace
	stream func() device.Stream
	// Of pool, vpool and elastic one is not nil. model is that of elastic.
	pool    *Pool
	vpool   *VPool
	elastic *ElasticPool
	model   *vmm.Model
	host    *pool.Pool
}

// homeOf finds the memory of a request, which names exactly one.
func (x *KVCaches) homeOf(op string, m *TensorMemory) (*kvHome, error) {
	l, place := x.library, tensorPlace{model: m.Model, tag: m.Tag}
	switch {
	case m.Pool != 0:
		p, err := l.Pool(op, m.Pool)
		if err != nil {
			return nil, err
		}
		if p.hasEnded() {
			return nil, endedError(p)
		}
		place.holder, place.isGone = &p.held, p.HasEnded
		return &kvHome{device: p.device, place: place, pool: p}, nil
	case m.VPool != 0:
		p, err := l.VPool(op, m.VPool)
		if err != nil {
			return nil, err
		}
		if p.hasEnded() {
			return nil, endedError(p)
		}
		place.holder, place.isGone = &p.held, p.HasEnded
		return &kvHome{device: p.device, place: place, vpool: p}, nil
	}
	p, err := l.ElasticPool(op, m.ElasticPool)
	if err != nil {
		return nil, err
	}
	model, err := p.held.callersModel(op, p.Elastic, m.Model)
	if err != nil {
		return nil, CallError(err, p)
	}
	place.holder = &p.held
	place.isGone = func() bool {
		now, err := p.Model(m.Model)
		return err != nil || now != model
	}
	return &kvHome{device: p.device, place: place, elastic: p, model: model}, nil
}

// host finds the pool for the blocks of the host.
func (x *KVCaches) host(op string, made *KVCache, home *kvHome, c *KVCacheConfig, id uint64) error {
	switch {
	case id == 0 && c.HostBlocks > 0:
		return device.Errorf(device.CodeInvalidArgument, op, "config->host_blocks is %d, and host_pool is {0}", c.HostBlocks)
	case id == 0:
		return nil
	case c.HostBlocks == 0:
		return device.Errorf(device.CodeInvalidArgument, op, "config->host_blocks is 0, and there is a host_pool")
	}
	p, err := x.library.Pool(op, id)
	if err != nil {
		return err
	}
	if !p.device.Engine.Info().HostAddressable {
		return device.Errorf(device.CodeUnsupportedDevice, op, "the host cannot address the memory of host_pool, which is on %s", p.device.Engine.ID())
	}
	home.host = p.Pool
	made.places = append(made.places, tensorPlace{holder: &p.held, isGone: p.HasEnded})
	return nil
}

// build allocates the memory and makes the cache.
func (c *KVCache) build(home *kvHome, config *KVCacheConfig, m *TensorMemory) (err error) {
	e := home.device.Engine
	switch {
	case home.pool != nil:
		c.planes, err = kvcache.InPool(config.Config, config.Layout, home.pool.Pool, m.Tag, home.stream, home.host)
	case home.vpool != nil:
		c.planes, err = kvcache.InRange(config.Config, config.Layout, e, home.vpool.Pool, m.OffsetBytes, m.Tag, home.stream, home.host)
	default:
		if err = c.reserve(home, config); err == nil {
			c.planes, err = kvcache.InRange(config.Config, config.Layout, e, home.model, c.offset, m.Tag, home.stream, home.host)
		}
	}
	if err != nil {
		return err
	}
	if c.cache, err = kvcache.New(config.Config, c.planes); err != nil {
		return c.planes.Discard(err)
	}
	if home.model != nil {
		c.reclaim, err = home.elastic.OnReclaim(home.model.ID(), reclaimDeadline, c.planes.Reclaimer(c.cache))
	}
	return err
}

// reserve chooses the place of a cache in the address space of its model: at the end, before that of the other
// caches there. The allocations of the model begin at the start.
func (c *KVCache) reserve(home *kvHome, config *KVCacheConfig) error {
	size, err := kvcache.RangeBytes(config.Config, config.Layout, home.device.Engine, home.model.PageBytes())
	if err != nil {
		return err
	}
	h := &home.elastic.held
	h.mu.Lock()
	defer h.mu.Unlock()
	end := home.model.CapacityBytes()
	for other := range h.caches {
		if other != c && other.model == home.model {
			end = min(end, other.offset)
		}
	}
	if size > end {
		return device.Errorf(device.CodeOutOfVirtualMemory, "kv_cache.create", "the cache has %v: the address space of model %q has %v without other caches",
			device.Size(size), home.model.ID(), device.Size(end)).OfModel(home.model.ID())
	}
	c.offset, c.model = end-size, home.model
	return nil
}
