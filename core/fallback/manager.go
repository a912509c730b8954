package fallback

import (
	"errors"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
)

// Manager allocates buffers on a device, and on the host while the device has no
// memory. All methods are safe for concurrent use. After Close, methods that need its
// memory return CodeInvalidState.
type Manager struct {
	config  MemoryConfig
	gpu     *DevicePool
	tracker *AllocationTracker
	// host and cpu are nil without fallback.
	host *engine.Engine
	cpu  *pool.Pool

	active, cpuBytes, cpuBuffers, toCPU, toGPU atomic.Uint64
	// displaced counts the movable buffers that fell back and are on the CPU.
	displaced atomic.Int64

	// returning is held while buffers move back to the device.
	returning sync.Mutex
	// ending is held while the pools are being closed. It guards cpuEnded, which states
	// that cpu is closed.
	ending   sync.Mutex
	cpuEnded bool

	mu sync.Mutex
	// idle is signalled when no call is in progress.
	idle   *sync.Cond
	calls  int
	closed bool
	live   map[BufferID]*Buffer
	// taken has the storage that the caller has taken.
	taken map[place]storage
	// stranded has memory that a copy may still write to, because the wait for it
	// failed.
	stranded map[place]bool
}

// storage is the memory of a buffer on one side.
type storage struct {
	gpu Lease[device.Addr]
	cpu pool.Block
}

// Stats has the counters of a manager.
type Stats struct {
	// MemoryStats counts the buffers on the device, except ActiveBuffers, which counts
	// all.
	MemoryStats
	// CPUBytes and CPUBuffers count what is on the host now.
	CPUBytes   uint64 `json:"cpu_bytes"`
	CPUBuffers uint64 `json:"cpu_buffers"`
	// MovedToCPU and MovedToGPU count moves.
	MovedToCPU uint64 `json:"moved_to_cpu"`
	MovedToGPU uint64 `json:"moved_to_gpu"`
}

// NewManager creates a manager on a device. Buffers for which the device has no memory
// go to host; host may be nil only if the settings forbid the fallback. Errors:
// CodeInvalidConfig if host is needed and nil, CodeInvalidArgument if host is the
// device itself or the process cannot address its memory, those of NewDevicePool.
func NewManager(gpu, host *engine.Engine, c MemoryConfig) (*Manager, error) {
	const op = "fallback.new_manager"
	if c.CPUFallback {
		switch {
		case host == nil:
			return nil, device.Errorf(device.CodeInvalidConfig, op, "cpu_fallback_enabled is set and there is no host device").On(gpu.ID())
		case host.ID() == gpu.ID():
			return nil, device.Errorf(device.CodeInvalidArgument, op, "host device %v is the device itself", host.ID()).On(gpu.ID())
		case !host.Info().HostAddressable:
			return nil, device.Errorf(device.CodeInvalidArgument, op, "host device %v is not in the memory of the process", host.ID()).On(gpu.ID())
		}
	}
	m := &Manager{config: c, live: map[BufferID]*Buffer{}, taken: map[place]storage{}, stranded: map[place]bool{}}
	m.idle = sync.NewCond(&m.mu)
	if c.TrackAllocations {
		m.tracker = NewAllocationTracker()
	}
	var err error
	// The manager has the records of both sides.
	if m.gpu, err = NewDevicePool(gpu, c.WithTracking(false)); err != nil {
		return nil, err
	}
	if !c.CPUFallback {
		return m, nil
	}
	settings := pool.DefaultConfig()
	settings.Name = "fallback host"
	settings.InitialSizeBytes, settings.GrowthIncrementBytes = growthBytes, growthBytes
	settings.ThreadCacheBytes = 0
	m.host = host
	if m.cpu, err = pool.New(host, settings); err != nil {
		return nil, errors.Join(err, m.gpu.Close(true))
	}
	return m, nil
}

// Config returns the settings.
func (m *Manager) Config() MemoryConfig { return m.config }

// Pool returns the pool of the device.
func (m *Manager) Pool() GpuMemoryPool { return m.gpu }

// Engines returns the engines of the device and of the host; the latter is nil without
// fallback.
func (m *Manager) Engines() (gpu, host *engine.Engine) { return m.gpu.engine, m.host }

// PoolOn returns the manager's pool on a device; nil: none.
func (m *Manager) PoolOn(e *engine.Engine) *pool.Pool {
	switch e {
	case m.gpu.engine:
		return m.gpu.inner
	case m.host:
		return m.cpu
	}
	return nil
}

// Tracker returns the records of the buffers on both sides; nil without tracking.
func (m *Manager) Tracker() *AllocationTracker { return m.tracker }

// FallbackStats returns the counters. It takes no lock.
func (m *Manager) FallbackStats() Stats {
	return Stats{
		MemoryStats: m.Stats(), CPUBytes: m.cpuBytes.Load(), CPUBuffers: m.cpuBuffers.Load(),
		MovedToCPU: m.toCPU.Load(), MovedToGPU: m.toGPU.Load(),
	}
}

// Stats returns the counters of the device's pool, with the active buffers of both
// sides.
func (m *Manager) Stats() MemoryStats {
	stats := m.gpu.Stats()
	stats.ActiveBuffers = m.active.Load()
	return stats
}

// BackendName returns the backend of the device.
func (m *Manager) BackendName() string { return m.gpu.BackendName() }

// TotalMemory returns the total memory of the device.
func (m *Manager) TotalMemory() uint64 { return m.gpu.TotalMemory() }

// FreeMemory returns the free memory of the device.
func (m *Manager) FreeMemory() (uint64, error) { return m.gpu.FreeMemory() }

// Pressure returns the pressure level of the device.
func (m *Manager) Pressure() (pressure.Level, error) { return m.gpu.Pressure() }

// ClearPool empties the buckets of the device's pool.
func (m *Manager) ClearPool() error { return m.gpu.ClearPool() }

// Shrink releases memory without a buffer on both sides. It returns the bytes that were
// released to the device.
func (m *Manager) Shrink() (releasedBytes uint64, err error) {
	released, err := m.gpu.Shrink()
	if m.cpu == nil || errors.Is(err, device.CodeInvalidState) {
		return released, err
	}
	_, failure := m.cpu.Trim(0)
	return released, errors.Join(err, failure)
}

// OnPressure registers a callback for changes of the device's level by the profile
// pressure.Early; see engine.OnPressureBy. The device cannot be closed before the
// registration is removed.
func (m *Manager) OnPressure(fn func(pressure.Level)) (*engine.Registration, pressure.Level, error) {
	return m.gpu.engine.OnPressureBy(pressure.Early, fn)
}

// HasEnded reports whether the manager is closed or closing. Close accepts a manager in
// these states.
func (m *Manager) HasEnded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// begin counts a call that uses the manager's memory. After success the caller must
// call end.
func (m *Manager) begin(op string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return device.Errorf(device.CodeInvalidState, op, "the manager is closed").On(m.gpu.engine.ID())
	}
	m.calls++
	return nil
}

func (m *Manager) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls--
	m.idle.Broadcast()
}

// Close releases all memory. Without force it returns CodeBusy, and changes nothing,
// while buffers are live or storage is taken. With force it waits for the queues of the
// device and of the host and ends the buffers, even pinned ones. It waits for calls in
// progress. If a device fails, Close may be called again. On a closed manager it
// returns nil.
func (m *Manager) Close(force bool) error {
	m.mu.Lock()
	for m.calls > 0 {
		m.idle.Wait()
	}
	if live, taken := len(m.live), len(m.taken); live+taken > 0 && !force {
		m.mu.Unlock()
		return device.Errorf(device.CodeBusy, "fallback.close", "%s still live, and the detached storage of %d is not freed",
			device.Count(live, "buffer"), taken).On(m.gpu.engine.ID())
	}
	m.closed = true
	m.mu.Unlock()
	m.ending.Lock()
	defer m.ending.Unlock()
	for _, e := range []*engine.Engine{m.gpu.engine, m.host} {
		if e == nil {
			continue
		}
		if err := e.Synchronize(device.Forever); err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	m.dropAll()
	err := m.gpu.Close(true)
	if m.cpu != nil && !m.cpuEnded {
		failure := m.cpu.Close(true)
		m.cpuEnded = failure == nil
		err = errors.Join(err, failure)
	}
	return err
}

// dropAll ends all buffers; their memory is freed with the pools.
func (m *Manager) dropAll() {
	m.mu.Lock()
	live := m.live
	// Replace the maps, because clearing large maps would hold the lock for long.
	m.live, m.taken, m.stranded = map[BufferID]*Buffer{}, map[place]storage{}, map[place]bool{}
	m.mu.Unlock()
	for _, b := range live {
		b.end()
	}
	if m.tracker != nil {
		m.tracker.Clear()
	}
	m.active.Store(0)
	m.cpuBytes.Store(0)
	m.cpuBuffers.Store(0)
	m.displaced.Store(0)
}
