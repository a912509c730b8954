package library

import (
	"fmt"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/unified"
)

// openFallbackManager is a manager that was made by FallbackManagerCreate.
type openFallbackManager struct {
	object
	manager *unified.Manager
	// host is nil without falling back.
	device, host *openDevice
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64

	mu sync.Mutex
	// buffers are the handles of its buffers: it ends without a look at those of others.
	buffers map[uint64]struct{}
}

func (m *openFallbackManager) note(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buffers == nil {
		m.buffers = make(map[uint64]struct{})
	}
	m.buffers[buffer] = struct{}{}
}

func (m *openFallbackManager) forget(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.buffers, buffer)
}

func (m *openFallbackManager) takeBuffers() map[uint64]struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	handles := m.buffers
	m.buffers = nil
	return handles
}

func (m *openFallbackManager) uses(d *openDevice) bool { return m.device == d || m.host == d }

// FallbackManagerConfig is what a manager is made of.
type FallbackManagerConfig struct {
	// Device is a handle, and Host that of the device that buffers fall back to; 0:
	// none.
	Device, Host uint64
	Memory       unified.MemoryConfig
}

// FallbackManagerCreate makes a manager whose buffers fall back to a second device.
func (l *Library) FallbackManagerCreate(c FallbackManagerConfig) (uint64, error) {
	const op = "fallback_manager.create"
	d, err := l.making(op, c.Device)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	entry := &openFallbackManager{device: d}
	var hostEngine *engine.Engine
	if c.Host != 0 {
		host, err := l.making(op, c.Host)
		if err != nil {
			return 0, err
		}
		defer host.gate.leave()
		if c.Memory.CPUFallbackEnabled {
			entry.host, hostEngine = host, host.engine
		}
	}
	if entry.manager, err = unified.NewManager(d.engine, hostEngine, c.Memory); err != nil {
		return 0, on(err, d.engine)
	}
	entry.createdAt = time.Now()
	handle, err := l.insertFallbackManager(entry)
	if err != nil {
		if closeErr := entry.manager.Close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing a fallback manager that got no handle: %v", d.engine.ID(), closeErr)
		}
		return 0, on(err, d.engine)
	}
	l.log.printf(LogDebug, "%v: fallback manager made", d.engine.ID())
	return handle, nil
}

// insertFallbackManager gives a manager and its tracker their handles.
func (l *Library) insertFallbackManager(entry *openFallbackManager) (uint64, error) {
	if t := entry.manager.Tracker(); t != nil {
		handle, err := l.insertTracker(t, entry)
		if err != nil {
			return 0, err
		}
		entry.tracker = handle
	}
	handle, err := insert(l.fallbackManagers, entry, &entry.object)
	if err != nil {
		l.forgetTracker(entry.tracker)
	}
	return handle, err
}

// FallbackManagerDestroy destroys a manager and gives its memory back, on both devices.
// While buffers are live or storage is taken it is CodeBusy, unless forced.
func (l *Library) FallbackManagerDestroy(id uint64, force bool) error {
	const op = "fallback_manager.destroy"
	entry, err := l.fallbackManager(op, id)
	if err != nil {
		return err
	}
	if !entry.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, op,
			"fallback manager handle %#x: another call is destroying the manager", id).On(entry.device.engine.ID())
	}
	defer entry.destroying.Unlock()
	leaks := newLeakReport()
	if force {
		l.addBuffers(&leaks, entry)
	}
	if err := l.dropFallbackManager(id, entry, force); err != nil {
		return l.orLog(err, force, id)
	}
	l.logLeaks("fallback manager destroyed by force", leaks)
	return nil
}

// dropFallbackManager closes a manager and takes its handle away, with those of its
// buffers and of its tracker; entry.destroying is held.
func (l *Library) dropFallbackManager(id uint64, entry *openFallbackManager, force bool) error {
	if _, err := l.fallbackManagers.Get(id); err != nil {
		return err
	}
	if err := entry.manager.Close(force); err != nil {
		return on(err, entry.device.engine)
	}
	_, err := l.fallbackManagers.Remove(id)
	l.forgetTracker(entry.tracker)
	for handle := range entry.takeBuffers() {
		// One that was freed a moment ago may be gone.
		_, _ = l.buffers.Remove(handle)
	}
	return err
}

func (l *Library) fallbackManager(op string, id uint64) (*openFallbackManager, error) {
	if l.current.Load() == nil {
		return nil, notStarted(op)
	}
	return l.fallbackManagers.Get(id)
}

// FallbackManagerBackend is the name of the backend that the device is of.
func (l *Library) FallbackManagerBackend(id uint64) (string, error) {
	entry, err := l.fallbackManager("fallback_manager.backend_name", id)
	if err != nil {
		return "", err
	}
	return entry.manager.BackendName(), nil
}

// FallbackManagerStats is the counters of a manager.
func (l *Library) FallbackManagerStats(id uint64) (unified.Stats, error) {
	entry, err := l.fallbackManager("fallback_manager.stats", id)
	if err != nil {
		return unified.Stats{}, err
	}
	return entry.manager.ManagerStats(), nil
}

// FallbackManagerMemory is the capacity of the device, 0 for unknown, and what is free.
func (l *Library) FallbackManagerMemory(id uint64) (totalBytes, freeBytes uint64, err error) {
	entry, err := l.fallbackManager("fallback_manager.memory", id)
	if err != nil {
		return 0, 0, err
	}
	free, err := entry.manager.FreeMemory()
	return entry.manager.TotalMemory(), free, late(err, entry)
}

// FallbackManagerPressure is the level of the device by the profile pressure.Early.
func (l *Library) FallbackManagerPressure(id uint64) (pressure.Level, error) {
	entry, err := l.fallbackManager("fallback_manager.pressure", id)
	if err != nil {
		return pressure.Low, err
	}
	level, err := entry.manager.Pressure()
	return level, late(err, entry)
}

// FallbackManagerClearPool empties the buckets of a manager.
func (l *Library) FallbackManagerClearPool(id uint64) error {
	entry, err := l.fallbackManager("fallback_manager.clear_pool", id)
	if err != nil {
		return err
	}
	return late(entry.manager.ClearPool(), entry)
}

// FallbackManagerShrink gives what holds no buffer back, and says what the device got.
func (l *Library) FallbackManagerShrink(id uint64) (releasedBytes uint64, err error) {
	entry, err := l.fallbackManager("fallback_manager.shrink", id)
	if err != nil {
		return 0, err
	}
	released, err := entry.manager.Shrink()
	return released, late(err, entry)
}

// FallbackManagerReturn brings buffers that fell back to the device, and says how many.
func (l *Library) FallbackManagerReturn(id uint64) (moved uint64, err error) {
	entry, err := l.fallbackManager("fallback_manager.return", id)
	if err != nil {
		return 0, err
	}
	n, err := entry.manager.Return()
	return uint64(n), late(err, entry)
}

// FallbackManagerTracker is the handle of a manager's tracker; CodeInvalidState when it
// does not track.
func (l *Library) FallbackManagerTracker(id uint64) (uint64, error) {
	const op = "fallback_manager.tracker"
	entry, err := l.fallbackManager(op, id)
	if err != nil {
		return 0, err
	}
	if entry.tracker == 0 {
		return 0, late(device.Errorf(device.CodeInvalidState, op, "the manager does not track"), entry)
	}
	return entry.tracker, nil
}

// String names the pressure callbacks of a manager.
func (m *openFallbackManager) String() string {
	return fmt.Sprintf("pressure callback of fallback manager %#x", m.id())
}

// hasEnded says that nothing is done with the manager any more.
func (m *openFallbackManager) hasEnded() bool { return m.isOver() }

// FallbackManagerOnPressure is PressureCallbackAdd for the device of a manager, by the
// profile pressure.Early.
func (l *Library) FallbackManagerOnPressure(id, token uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "fallback_manager.on_pressure"
	entry, err := l.fallbackManager(op, id)
	if err != nil {
		return 0, err
	}
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	deviceID := entry.device.handle.Load()
	made := &registration{token: token, of: entry}
	return l.register(op, deviceID, made, func(d *openDevice) (*engine.Registration, error) {
		r, _, err := entry.manager.OnPressure(func(level pressure.Level) {
			l.running.during(d, func() { fn(deviceID, int32(level)) })
		})
		return r, err
	})
}

// FallbackManagerAlloc makes a buffer and gives its handle. stream is a handle of the
// device's; 0: the default one.
func (l *Library) FallbackManagerAlloc(id, stream uint64, r unified.Request) (uint64, error) {
	const op = "fallback_manager.alloc"
	entry, err := l.fallbackManager(op, id)
	if err != nil {
		return 0, err
	}
	if r.Stream, err = l.streamOrDefault(op, stream, entry.device); err != nil {
		return 0, err
	}
	made, err := entry.manager.Alloc(r)
	if err != nil {
		return 0, l.lateOn(stream, err, entry)
	}
	return l.insertBuffer(id, entry, made)
}

// FallbackManagerAdopt makes a buffer of storage that BufferTake has given.
func (l *Library) FallbackManagerAdopt(id uint64, t unified.Taken, r unified.Request) (uint64, error) {
	entry, err := l.fallbackManager("fallback_manager.adopt", id)
	if err != nil {
		return 0, err
	}
	made, err := entry.manager.Adopt(t, r)
	if err != nil {
		return 0, late(err, entry)
	}
	return l.insertBuffer(id, entry, made)
}

// FallbackManagerRelease ends storage that BufferTake has given.
func (l *Library) FallbackManagerRelease(id, stream uint64, t unified.Taken) error {
	const op = "fallback_manager.release"
	entry, err := l.fallbackManager(op, id)
	if err != nil {
		return err
	}
	used, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.manager.Release(t, used), entry)
}

// countUnified counts managers and buffers of a device or, with nil, of all.
func (l *Library) countUnified(only *openDevice) (managers, buffers int) {
	l.fallbackManagers.Each(func(_ uint64, m *openFallbackManager) bool {
		if only == nil || m.uses(only) {
			managers++
		}
		return true
	})
	l.buffers.Each(func(_ uint64, b *openBuffer) bool {
		if only == nil || b.owner.uses(only) {
			buffers++
		}
		return true
	})
	return managers, buffers
}

func (l *Library) ownerInFallbackManagers(d *openDevice, addr device.Addr) (owner Owner, found bool) {
	l.fallbackManagers.Each(func(_ uint64, m *openFallbackManager) bool {
		if p := m.manager.PoolOn(d.engine); p != nil {
			owner, found = ownerIn(p, addr)
		}
		return !found
	})
	return owner, found
}

// snapshotUnified adds the managers of a device, and what managers hold of it.
func (l *Library) snapshotUnified(d *openDevice, s *deviceSnapshot) {
	l.fallbackManagers.Each(func(_ uint64, m *openFallbackManager) bool {
		if p := m.manager.PoolOn(d.engine); p != nil {
			s.Pools = append(s.Pools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "fallback_manager"})
		}
		if m.device == d {
			s.Unified = append(s.Unified, m.manager.ManagerStats())
		}
		return true
	})
}
