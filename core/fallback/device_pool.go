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

// growthBytes is what the pool takes from a device at a time where it cannot take
// single pages.
const growthBytes = 64 * mib

// DevicePool is the GpuMemoryPool of any open device. All methods are safe for
// concurrent use; after Close those that take or give memory are CodeInvalidState.
type DevicePool struct {
	engine *engine.Engine
	config MemoryConfig
	inner  *pool.Pool
	free   *GenericMemoryPool[device.Addr]

	// growth is held while the bound of inner is decided, and while Shrink lowers what
	// it is decided by. It is not held while memory is looked for: that runs callbacks.
	growth sync.Mutex
	// bound is what inner may hold, as it was told last.
	bound uint64

	mu     sync.Mutex
	inUse  map[device.Addr]Lease[device.Addr]
	closed bool

	// ending is held while inner is closed, and guards ended, which says that it is.
	ending sync.Mutex
	ended  bool
}

// NewDevicePool makes a pool on a device, with its free buffers if the settings ask
// for any ahead. Errors: CodeInvalidConfig, and for what is allocated ahead those of
// Alloc; nothing is left then.
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
			"gpu_memory_fraction %v of %d bytes is less than the smallest segment of %d",
			c.GPUMemoryFraction, info.TotalBytes, info.GranularityBytes).On(e.ID())
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

// giveBack is the end of a buffer that no queued work uses: it needs no call of the
// device.
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

// Engine is the device.
func (p *DevicePool) Engine() *engine.Engine { return p.engine }

// Config is the settings.
func (p *DevicePool) Config() MemoryConfig { return p.config }

// Tracker is the records of the buffers in use; nil when the settings ask for none.
func (p *DevicePool) Tracker() *AllocationTracker { return p.free.Tracker() }

// Alloc takes a buffer of at least so many bytes, to be used first by the stream
// (nil: the default one): from its bucket, from what core/pool holds, or from the
// device as far as the settings allow. Before it fails the buckets are emptied. A
// failed call leaves the buffers in use as they were. Errors: CodeInvalidSize for 0,
// CodeOverflow, CodeOutOfMemory, and those of the device.
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
		// The memory goes with core/pool.
		return Lease[device.Addr]{}, p.closedError("fallback.alloc")
	}
	p.inUse[lease.Buffer] = lease
	return lease, nil
}

// fresh makes a buffer that comes from no bucket.
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

// grow takes a block from core/pool, which takes memory from the device for it if
// the settings allow that now.
func (p *DevicePool) grow(bytes uint64, stream device.Stream) (pool.Block, error) {
	if _, err := p.decideBound(); err != nil {
		return pool.Block{}, err
	}
	block, err := p.inner.Alloc(pool.Request{SizeBytes: bytes, Stream: stream})
	if noRoom(err) {
		err = device.Errorf(device.CodeOutOfMemory, "fallback.alloc", "%d bytes with gpu_memory_fraction %v and min_free_bytes %d: %w",
			bytes, p.config.GPUMemoryFraction, p.config.MinFreeBytes, err).On(p.engine.ID())
	}
	return block, err
}

// decideBound tells core/pool what it may hold now, and gives that.
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

// readings bounds how often the device is asked because the pool grew meanwhile.
const readings = 8

// boundNow is what the pool may hold: its share of the device, or of its limit, and no
// more than it holds already where less than the wanted minimum would be left free in the
// device.
func (p *DevicePool) boundNow() (uint64, error) {
	share := p.config.bound(p.engine.TotalBytes())
	if share != math.MaxUint64 {
		share = p.engine.RoundDown(share)
	}
	// To core/pool 0 is no bound.
	share = max(share, 1)
	if p.config.MinFreeBytes == 0 {
		return share, nil
	}
	// What is held and what is free are of one moment when nothing was taken between.
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
	// Others take and give without a pause: nothing more, until that is over.
	return max(min(share, held), 1), nil
}

// hasRoom says that a buffer can be made without anybody having to give something
// up for it: from a bucket, from what core/pool holds free, or from what is free in
// the device and within the bound.
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

// Free ends the use of a buffer by what is queued on the stream (nil: the default
// one) until now. It goes into its bucket when nothing is queued; else core/pool has
// it, and hands it out as its streams allow. Errors, after which it is as much in
// use as before: CodeInvalidAddress for what is no buffer in use, those of the
// stream.
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
			"address %#x is no buffer in use", uint64(addr)).On(p.engine.ID())
	}
	delete(p.inUse, addr)
	return lease, nil
}

func (p *DevicePool) resume(lease Lease[device.Addr]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse[lease.Buffer] = lease
}

// release is Free of a buffer whose use has been ended and that nothing queued uses.
func (p *DevicePool) release(lease Lease[device.Addr]) error {
	_, err := p.free.ReturnBuffer(lease)
	return err
}

// BackendName is the backend of the device.
func (p *DevicePool) BackendName() string { return p.engine.ID().Backend }

// Stats is the counters of the pool's buffers.
func (p *DevicePool) Stats() MemoryStats { return p.free.Stats() }

// TotalMemory is the capacity of the device, or its limit where that is less; 0 means
// unknown.
func (p *DevicePool) TotalMemory() uint64 { return p.engine.TotalBytes() }

// FreeMemory asks the device what can still be had, by any pool. Buffers in buckets
// are not free in that sense.
func (p *DevicePool) FreeMemory() (uint64, error) {
	info, err := p.engine.MemoryInfo()
	return info.FreeBytes, err
}

// Pressure is the level of the device by the profile pressure.Early.
func (p *DevicePool) Pressure() (pressure.Level, error) {
	info, err := p.engine.MemoryInfo()
	if err != nil {
		return pressure.Low, err
	}
	return pressure.Early.LevelOf(info.TotalBytes, info.FreeBytes), nil
}

// HeldBytes is what the pool has from the device, with what no buffer uses.
func (p *DevicePool) HeldBytes() uint64 { return p.inner.HeldBytes() }

// ClearPool empties the buckets into core/pool.
func (p *DevicePool) ClearPool() error {
	if p.isClosed() {
		return p.closedError("fallback.clear_pool")
	}
	return p.free.Clear()
}

// Shrink empties the buckets and gives what holds no buffer back to the device.
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

// Close gives everything back to the device. Without force it is CodeBusy, and
// changes nothing, while buffers are in use. When the device fails to take memory
// back, Close may be called again. Closed, it is nil.
func (p *DevicePool) Close(force bool) error {
	const op = "fallback.close"
	p.mu.Lock()
	if n := len(p.inUse); n > 0 && !force {
		p.mu.Unlock()
		return device.Errorf(device.CodeBusy, op, "%d buffers are in use", n).On(p.engine.ID())
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
