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

// Manager makes buffers on a device, and on the host while the device has no room.
// All methods are safe for concurrent use; after Close those that need its memory
// are CodeInvalidState.
type Manager struct {
	config  MemoryConfig
	gpu     *DevicePool
	tracker *AllocationTracker
	// host and cpu are nil where there is no falling back.
	host *engine.Engine
	cpu  *pool.Pool

	active, cpuBytes, cpuBuffers, toCPU, toGPU atomic.Uint64
	// displaced counts the movable buffers that fell back and are on the CPU.
	displaced atomic.Int64

	// returning is held while buffers are brought back.
	returning sync.Mutex
	// ending is held while the pools are closed, and guards cpuEnded, which says that
	// cpu is.
	ending   sync.Mutex
	cpuEnded bool

	mu sync.Mutex
	// idle is signalled when no call is under way any more.
	idle   *sync.Cond
	calls  int
	closed bool
	live   map[BufferID]*Buffer
	// taken is the storage that the caller has.
	taken map[place]storage
	// stranded is memory that a copy which could not be waited for may still write to.
	stranded map[place]bool
}

// storage is what a buffer is made of, on one side.
type storage struct {
	gpu Lease[device.Addr]
	cpu pool.Block
}

// Stats is the counters of a manager.
type Stats struct {
	// MemoryStats is of the device's buffers, but for ActiveBuffers, which is of all.
	MemoryStats
	// CPUBytes and CPUBuffers are what is on the host now.
	CPUBytes   uint64 `json:"cpu_bytes"`
	CPUBuffers uint64 `json:"cpu_buffers"`
	// MovedToCPU and MovedToGPU count moves.
	MovedToCPU uint64 `json:"moved_to_cpu"`
	MovedToGPU uint64 `json:"moved_to_gpu"`
}

// NewManager makes a manager on a device. host is where buffers go that the device
// has no room for; nil only with settings that forbid to fall back. Errors:
// CodeInvalidConfig without a host that is needed, CodeInvalidArgument for one that is
// the device itself or that the process cannot address, those of NewDevicePool.
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
	// The records are the manager's, of both sides.
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

// Config is the settings.
func (m *Manager) Config() MemoryConfig { return m.config }

// Pool is the pool of the device.
func (m *Manager) Pool() GpuMemoryPool { return m.gpu }

// Engines are the device's and the host's; the latter is nil without falling back.
func (m *Manager) Engines() (gpu, host *engine.Engine) { return m.gpu.engine, m.host }

// PoolOn is what the manager holds of a device; nil: nothing.
func (m *Manager) PoolOn(e *engine.Engine) *pool.Pool {
	switch e {
	case m.gpu.engine:
		return m.gpu.inner
	case m.host:
		return m.cpu
	}
	return nil
}

// Tracker is the records of the buffers on both sides; nil when the settings ask
// for none.
func (m *Manager) Tracker() *AllocationTracker { return m.tracker }

// FallbackStats is the counters. It takes no lock.
func (m *Manager) FallbackStats() Stats {
	return Stats{
		MemoryStats: m.Stats(), CPUBytes: m.cpuBytes.Load(), CPUBuffers: m.cpuBuffers.Load(),
		MovedToCPU: m.toCPU.Load(), MovedToGPU: m.toGPU.Load(),
	}
}

// Stats is the counters of the device's pool, with the buffers of both sides.
func (m *Manager) Stats() MemoryStats {
	stats := m.gpu.Stats()
	stats.ActiveBuffers = m.active.Load()
	return stats
}

// BackendName is that of the device.
func (m *Manager) BackendName() string { return m.gpu.BackendName() }

// TotalMemory is that of the device.
func (m *Manager) TotalMemory() uint64 { return m.gpu.TotalMemory() }

// FreeMemory is that of the device.
func (m *Manager) FreeMemory() (uint64, error) { return m.gpu.FreeMemory() }

// Pressure is that of the device.
func (m *Manager) Pressure() (pressure.Level, error) { return m.gpu.Pressure() }

// ClearPool is that of the device's pool.
func (m *Manager) ClearPool() error { return m.gpu.ClearPool() }

// Shrink gives what holds no buffer back, on both sides. The result is what the
// device has taken back.
func (m *Manager) Shrink() (releasedBytes uint64, err error) {
	released, err := m.gpu.Shrink()
	if m.cpu == nil || errors.Is(err, device.CodeInvalidState) {
		return released, err
	}
	_, failure := m.cpu.Trim(0)
	return released, errors.Join(err, failure)
}

// OnPressure registers a callback for changes of the device's level by the profile
// pressure.Early; see engine.OnPressureBy. The device cannot be closed before
// the registration is removed.
func (m *Manager) OnPressure(fn func(pressure.Level)) (*engine.Registration, pressure.Level, error) {
	return m.gpu.engine.OnPressureBy(pressure.Early, fn)
}

// IsOver says that the manager has ended or is ending: what Close does not refuse.
func (m *Manager) IsOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// begin announces a call that uses the manager's memory; true is followed by end.
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

// Close gives everything back. Without force it is CodeBusy, and changes nothing,
// while buffers are live or storage is taken; with force it waits for the device's
// and the host's queues and ends them, pinned or not. Calls under way are waited for.
// When a device fails, Close may be called again. Closed, it is nil.
func (m *Manager) Close(force bool) error {
	m.mu.Lock()
	for m.calls > 0 {
		m.idle.Wait()
	}
	if live, taken := len(m.live), len(m.taken); live+taken > 0 && !force {
		m.mu.Unlock()
		return device.Errorf(device.CodeBusy, "fallback.close", "%d buffers are live, and the storage of %d is taken",
			live, taken).On(m.gpu.engine.ID())
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

// dropAll forgets all buffers: their memory goes with the pools.
func (m *Manager) dropAll() {
	m.mu.Lock()
	live := m.live
	// New ones: to empty large ones takes its time, in which others would wait.
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
