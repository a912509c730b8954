package fallback

import (
	"errors"
	"math"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
)

var (
	_ GpuMemoryPool = (*DevicePool)(nil)
	_ GpuMemoryPool = (*Manager)(nil)
)

// growthBytes is the size that the pool allocates from a device at a time, if it cannot
// allocate single pages.
const growthBytes = 64 * mib

// DevicePool is the GpuMemoryPool of any open device. All methods are safe for
// concurrent use. After Close, methods that allocate or free return CodeInvalidState.
type DevicePool struct {
	engine *engine.Engine
	config MemoryConfig
	inner  *pool.Pool
	free   *GenericMemoryPool[device.Addr]

	// growth is held while the bound of inner is computed, and while Shrink lowers the
	// values that it depends on. It is not held during the reclaim path, which runs
	// callbacks.
	growth sync.Mutex
	// bound is the last bound that was set for inner.
	bound uint64

	mu     sync.Mutex
	inUse  map[device.Addr]Lease[device.Addr]
	closed bool

	// ending is held while inner is being closed. It guards ended, which states that
	// inner is closed.
	ending sync.Mutex
	ended  bool
}

// NewDevicePool creates a pool on a device and preallocates the free buffers of the
// settings. Errors: CodeInvalidConfig, and those of Alloc for preallocated buffers;
// nothing is left then.
func NewDevicePool(e *engine.Engine, c MemoryConfig) (*DevicePool, error) {
	if err := c.Check(); err != nil {
		return nil, on(err, e)
	}
	info := e.Info()
	bound := c.bound(info.TotalBytes)
	if bound != math.MaxUint64 {
		bound = e.RoundDown(bound)
	}
	if bound < info.GranularityBytes {
		return nil, device.Errorf(device.CodeInvalidConfig, "fallback.new_pool",
			"gpu_memory_fraction %v of %v is less than the smallest segment of %v",
			c.GPUMemoryFraction, device.Size(info.TotalBytes), device.Size(info.GranularityBytes)).On(e.ID())
	}
	settings := pool.DefaultConfig()
	settings.Name = "fallback"
	settings.MaxSizeBytes = bound
	settings.GrowthIncrementBytes = min(growthBytes, bound)
	settings.InitialSizeBytes = settings.GrowthIncrementBytes
	settings.ThreadCacheBytes = 0
	inner, err := pool.New(e, settings)
	if err != nil {
		return nil, err
	}
	p := &DevicePool{engine: e, config: c, inner: inner, bound: bound, inUse: map[device.Addr]Lease[device.Addr]{}}
	p.free, err = NewGenericMemoryPool(c, p.giveBack)
	if err == nil {
		err = p.preAlloc()
	}
	if err != nil {
		return nil, errors.Join(err, inner.Close(true))
	}
	return p, nil
}

func on(err error, e *engine.Engine) error {
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Device != "" {
		return err
	}
	named := *typed
	return named.On(e.ID())
}

// giveBack frees a buffer that no queued work uses; this needs no driver call.
func (p *DevicePool) giveBack(addr device.Addr, _ uint64) error { return p.inner.FreeAfter(addr, nil) }

func (p *DevicePool) preAlloc() error {
	if !p.config.PreAllocate {
		return nil
	}
	for _, size := range p.config.PreAllocSizes {
		block, err := p.grow(size, nil)
		if err != nil {
			return err
		}
		if err := p.free.AddFree(block.Addr, block.SizeBytes); err != nil {
			return err
		}
	}
	return nil
}

// Engine returns the engine of the device.
func (p *DevicePool) Engine() *engine.Engine { return p.engine }

// Config returns the settings.
func (p *DevicePool) Config() MemoryConfig { return p.config }

// Tracker returns the records of the buffers in use; nil without tracking.
func (p *DevicePool) Tracker() *AllocationTracker { return p.free.Tracker() }

// Alloc allocates a buffer of at least that many bytes, which the stream (nil: the
// default one) uses first. It comes from its bucket, from memory that core/pool holds,
// or from the device as far as the settings allow. Before Alloc fails, it empties the
// buckets. A failed call does not change the buffers in use. Errors: CodeInvalidSize
// for 0, CodeOverflow, CodeOutOfMemory, and those of the device.
func (p *DevicePool) Alloc(bytes uint64, stream device.Stream, u Use) (Lease[device.Addr], error) {
	if u.Location.Device.Backend == "" {
		u.Location.Device = p.engine.ID()
	}
	if p.isClosed() {
		return Lease[device.Addr]{}, p.closedError("fallback.alloc")
	}
	lease, ok, err := p.free.TryGet(bytes, u)
	if err != nil {
		return lease, on(err, p.engine)
	}
	if !ok {
		if lease, err = p.fresh(bytes, stream, u); err != nil {
			return Lease[device.Addr]{}, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		// The memory is freed with core/pool.
		return Lease[device.Addr]{}, p.closedError("fallback.alloc")
	}
	p.inUse[lease.Buffer] = lease
	return lease, nil
}

// fresh allocates a buffer that comes from no bucket.
func (p *DevicePool) fresh(bytes uint64, stream device.Stream, u Use) (Lease[device.Addr], error) {
	block, err := p.grow(bytes, stream)
	if errors.Is(err, device.CodeOutOfMemory) && p.free.PooledCount() > 0 {
		if _, failure := p.free.Shrink(); failure != nil {
			return Lease[device.Addr]{}, errors.Join(err, failure)
		}
		block, err = p.grow(bytes, stream)
	}
	if err != nil {
		return Lease[device.Addr]{}, err
	}
	id, err := p.free.RecordAllocation(block.SizeBytes, u)
	if err != nil {
		return Lease[device.Addr]{}, errors.Join(on(err, p.engine), p.giveBack(block.Addr, block.SizeBytes))
	}
	return Lease[device.Addr]{Buffer: block.Addr, Bytes: block.SizeBytes, ID: id}, nil
}

// grow allocates a block from core/pool, which allocates memory from the device if the
// settings allow that now.
func (p *DevicePool) grow(bytes uint64, stream device.Stream) (pool.Block, error) {
	if _, err := p.decideBound(); err != nil {
		return pool.Block{}, err
	}
	block, err := p.inner.Alloc(pool.Request{SizeBytes: bytes, Stream: stream})
	if noRoom(err) {
		err = device.Errorf(device.CodeOutOfMemory, "fallback.alloc", "%v with gpu_memory_fraction %v and min_free_bytes %d: %w",
			device.Size(bytes), p.config.GPUMemoryFraction, p.config.MinFreeBytes, err).On(p.engine.ID())
	}
	return block, err
}

// decideBound sets the present bound of core/pool, and returns it.
func (p *DevicePool) decideBound() (uint64, error) {
	p.growth.Lock()
	defer p.growth.Unlock()
	bound, err := p.boundNow()
	if err != nil || bound == p.bound {
		return bound, err
	}
	if err := p.inner.SetLimit(bound); err != nil {
		return 0, err
	}
	p.bound = bound
	return bound, nil
}

// readings bounds how often the device is queried again because the pool grew during a
// query.
const readings = 8

// boundNow returns how much the pool may hold: its share of the device, or of its
// limit. It is not more than the pool holds now if fewer than MinFreeBytes would remain
// free on the device.
func (p *DevicePool) boundNow() (uint64, error) {
	share := p.config.bound(p.engine.TotalBytes())
	if share != math.MaxUint64 {
		share = p.engine.RoundDown(share)
	}
	// For core/pool 0 means no bound.
	share = max(share, 1)
	if p.config.MinFreeBytes == 0 {
		return share, nil
	}
	// The held and the free bytes are of one moment if nothing was allocated in
	// between.
	held := p.inner.HeldBytes()
	for range readings {
		reading, err := p.engine.Device().Memory()
		if err != nil {
			return 0, err
		}
		if reading.TotalBytes == 0 {
			return share, nil
		}
		now := p.inner.HeldBytes()
		if now == held {
			spare := reading.FreeBytes - min(p.config.MinFreeBytes, reading.FreeBytes)
			return max(min(share, capped(held, p.engine.RoundDown(spare))), 1), nil
		}
		held = now
	}
	// Other threads allocate and free all the time. The pool must not grow during that.
	return max(min(share, held), 1), nil
}

// hasRoom reports whether a buffer can be allocated without reclaiming memory: from a
// bucket, from free memory of core/pool, or from free memory of the device within the
// bound.
func (p *DevicePool) hasRoom(bytes uint64) (bool, error) {
	if p.free.has(bytes) || p.inner.Statistics().LargestFreeBytes >= bytes {
		return true, nil
	}
	needed, ok := p.engine.RoundUp(bytes)
	if !ok {
		return false, nil
	}
	bound, err := p.decideBound()
	if err != nil {
		return false, err
	}
	if held := p.inner.HeldBytes(); bound < held || bound-held < needed {
		return false, nil
	}
	info, err := p.engine.MemoryInfo()
	return info.LargestFreeBytes >= needed, err
}

// Free ends the use of a buffer. Work that is queued on the stream (nil: the default
// one) may still use it. The buffer goes to its bucket if no work is queued. Otherwise
// it goes to core/pool, which reuses it as its streams allow. Errors, after which it is
// in use as before: CodeInvalidAddress for an address without a buffer in use, those of
// the stream.
func (p *DevicePool) Free(addr device.Addr, stream device.Stream) error {
	if stream == nil {
		stream = p.engine.Device().DefaultStream()
	}
	lease, err := p.endUse(addr)
	if err != nil {
		return err
	}
	idle, err := device.Drained(stream)
	if err != nil {
		p.resume(lease)
		return err
	}
	if idle {
		return p.release(lease)
	}
	if err := p.inner.Free(addr, stream); err != nil {
		p.resume(lease)
		return err
	}
	return p.free.Discard(lease)
}

func (p *DevicePool) endUse(addr device.Addr) (Lease[device.Addr], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lease, ok := p.inUse[addr]
	if !ok {
		return lease, device.Errorf(device.CodeInvalidAddress, "fallback.free",
			"address %#x is not a buffer in use", uint64(addr)).On(p.engine.ID())
	}
	delete(p.inUse, addr)
	return lease, nil
}

func (p *DevicePool) resume(lease Lease[device.Addr]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse[lease.Buffer] = lease
}

// release frees a buffer whose use has ended and that no queued work uses.
func (p *DevicePool) release(lease Lease[device.Addr]) error {
	_, err := p.free.ReturnBuffer(lease)
	return err
}

// BackendName returns the backend of the device.
func (p *DevicePool) BackendName() string { return p.engine.ID().Backend }

// Stats returns the counters of the pool's buffers.
func (p *DevicePool) Stats() MemoryStats { return p.free.Stats() }

// TotalMemory returns the capacity of the device, or its limit if that is less; 0 means
// unknown.
func (p *DevicePool) TotalMemory() uint64 { return p.engine.TotalBytes() }

// FreeMemory queries the device for the bytes that any pool can still allocate. Buffers
// in buckets do not count as free.
func (p *DevicePool) FreeMemory() (uint64, error) {
	info, err := p.engine.MemoryInfo()
	return info.FreeBytes, err
}

// Pressure returns the level of the device by the profile pressure.Early.
func (p *DevicePool) Pressure() (pressure.Level, error) {
	info, err := p.engine.MemoryInfo()
	if err != nil {
		return pressure.Low, err
	}
	return pressure.Early.LevelOf(info.TotalBytes, info.FreeBytes), nil
}

// HeldBytes returns the bytes that the pool holds from the device, including unused
// ones.
func (p *DevicePool) HeldBytes() uint64 { return p.inner.HeldBytes() }

// ClearPool empties the buckets into core/pool.
func (p *DevicePool) ClearPool() error {
	if p.isClosed() {
		return p.closedError("fallback.clear_pool")
	}
	return p.free.Clear()
}

// Shrink empties the buckets and releases memory without a buffer to the device.
func (p *DevicePool) Shrink() (releasedBytes uint64, err error) {
	if p.isClosed() {
		return 0, p.closedError("fallback.shrink")
	}
	_, failure := p.free.Shrink()
	p.growth.Lock()
	defer p.growth.Unlock()
	released, err := p.inner.Trim(0)
	return released, errors.Join(failure, err)
}

// Close releases all memory to the device. Without force it returns CodeBusy, and
// changes nothing, while buffers are in use. If the device fails to release memory,
// Close may be called again. On a closed pool it returns nil.
func (p *DevicePool) Close(force bool) error {
	const op = "fallback.close"
	p.mu.Lock()
	if n := len(p.inUse); n > 0 && !force {
		p.mu.Unlock()
		return device.Errorf(device.CodeBusy, op, "%s still in use", device.Count(n, "buffer")).On(p.engine.ID())
	}
	p.closed = true
	p.mu.Unlock()
	p.ending.Lock()
	defer p.ending.Unlock()
	if p.ended {
		return nil
	}
	err := errors.Join(p.free.Clear(), p.inner.Close(true))
	p.ended = err == nil
	return err
}

func (p *DevicePool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *DevicePool) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the pool is closed").On(p.engine.ID())
}
