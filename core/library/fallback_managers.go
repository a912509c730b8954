package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/pressure"
)

// FallbackManagerCreate makes a manager whose buffers fall back to a second device, whose
// handle is 0 for none.
func (l *Library) FallbackManagerCreate(deviceID, hostID uint64, c fallback.MemoryConfig) (uint64, error) {
	const op = "fallback_manager.create"
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	entry := &openFallbackManager{device: d}
	var hostEngine *engine.Engine
	if hostID != 0 {
		host, err := l.making(op, hostID)
		if err != nil {
			return 0, err
		}
		defer host.gate.leave()
		if c.CPUFallback {
			entry.host, hostEngine = host, host.engine
		}
	}
	if entry.manager, err = fallback.NewManager(d.engine, hostEngine, c); err != nil {
		return 0, on(err, d.engine)
	}
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
	handle, err := insert(l.fallbackManagers, entry)
	if err != nil {
		l.forgetTracker(entry.tracker)
	}
	return handle, err
}

// FallbackManagerDestroy destroys a manager and gives its memory back, on both devices.
// While buffers are live or storage is taken it is CodeBusy, unless forced.
func (l *Library) FallbackManagerDestroy(id uint64, force bool) error {
	return destroy(l, l.fallbackManagers, "fallback_manager.destroy", id, force)
}

// FallbackManagerGetBackendName is the name of the backend that the device is of.
func (l *Library) FallbackManagerGetBackendName(id uint64) (string, error) {
	return tell(l, l.fallbackManagers, "fallback_manager.backend_name", id, func(m *openFallbackManager) string { return m.manager.BackendName() })
}

// FallbackManagerGetStats is the counters of a manager's pool.
func (l *Library) FallbackManagerGetStats(id uint64) (fallback.MemoryStats, error) {
	return tell(l, l.fallbackManagers, "fallback_manager.stats", id, func(m *openFallbackManager) fallback.MemoryStats { return m.manager.ManagerStats().MemoryStats })
}

// FallbackManagerGetFallbackStats is the counters of a manager, those of its pool and what
// went to the host.
func (l *Library) FallbackManagerGetFallbackStats(id uint64) (fallback.Stats, error) {
	return tell(l, l.fallbackManagers, "fallback_manager.stats", id, func(m *openFallbackManager) fallback.Stats { return m.manager.ManagerStats() })
}

// FallbackManagerGetMemory is the capacity of the device, 0 for unknown, and what is free.
func (l *Library) FallbackManagerGetMemory(id uint64) (totalBytes, freeBytes uint64, err error) {
	entry, err := find(l, l.fallbackManagers, "fallback_manager.memory", id)
	if err != nil {
		return 0, 0, err
	}
	free, err := entry.manager.FreeMemory()
	return entry.manager.TotalMemory(), free, late(err, entry)
}

// FallbackManagerGetPressure is the level of the device by the profile pressure.Early.
func (l *Library) FallbackManagerGetPressure(id uint64) (pressure.Level, error) {
	return ask(l, l.fallbackManagers, "fallback_manager.pressure", id, func(m *openFallbackManager) (pressure.Level, error) { return m.manager.Pressure() })
}

// FallbackManagerClearPool empties the buckets of a manager.
func (l *Library) FallbackManagerClearPool(id uint64) error {
	return do(l, l.fallbackManagers, "fallback_manager.clear_pool", id, func(m *openFallbackManager) error { return m.manager.ClearPool() })
}

// FallbackManagerShrink gives what holds no buffer back, and says what the device got.
func (l *Library) FallbackManagerShrink(id uint64) (releasedBytes uint64, err error) {
	return ask(l, l.fallbackManagers, "fallback_manager.shrink", id, func(m *openFallbackManager) (uint64, error) { return m.manager.Shrink() })
}

// FallbackManagerReturnBuffers brings buffers that fell back to the device, and says how many.
func (l *Library) FallbackManagerReturnBuffers(id uint64) (moved uint64, err error) {
	entry, err := find(l, l.fallbackManagers, "fallback_manager.return", id)
	if err != nil {
		return 0, err
	}
	n, err := entry.manager.Return()
	return uint64(n), late(err, entry)
}

// FallbackManagerGetTracker is the handle of a manager's tracker; CodeInvalidState when it
// does not track.
func (l *Library) FallbackManagerGetTracker(id uint64) (uint64, error) {
	const op = "fallback_manager.tracker"
	entry, err := find(l, l.fallbackManagers, op, id)
	if err != nil {
		return 0, err
	}
	if entry.tracker == 0 {
		return 0, late(device.Errorf(device.CodeInvalidState, op, "the manager does not track"), entry)
	}
	return entry.tracker, nil
}

// FallbackManagerOnPressure is PressureCallbackAdd for the device of a manager, by the
// profile pressure.Early.
func (l *Library) FallbackManagerOnPressure(id, token uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "fallback_manager.on_pressure"
	entry, err := find(l, l.fallbackManagers, op, id)
	if err != nil {
		return 0, err
	}
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	deviceID := entry.device.handle.Load()
	made := &registration{token: token, subject: entry}
	return l.register(op, deviceID, made, func(d *openDevice) (*engine.Registration, error) {
		r, _, err := entry.manager.OnPressure(func(level pressure.Level) {
			l.running.during(d, func() { fn(deviceID, int32(level)) })
		})
		return r, err
	})
}

// BufferRequest is a buffer, as asked for.
type BufferRequest struct {
	fallback.Request
	// StreamHandle takes the place of Stream; 0: the default stream of the device.
	StreamHandle uint64
}

// FallbackManagerAlloc makes a buffer and gives its handle.
func (l *Library) FallbackManagerAlloc(id uint64, r BufferRequest) (uint64, error) {
	const op = "fallback_manager.alloc"
	entry, err := find(l, l.fallbackManagers, op, id)
	if err != nil {
		return 0, err
	}
	if r.Stream, err = l.streamOrDefault(op, r.StreamHandle, entry.device); err != nil {
		return 0, err
	}
	made, err := entry.manager.Alloc(r.Request)
	if err != nil {
		return 0, l.lateOn(r.StreamHandle, err, entry)
	}
	return l.insertBuffer(id, entry, made)
}

// FallbackManagerAdopt makes a buffer of storage that FallbackBufferTake has given; the
// stream of the request is not used.
func (l *Library) FallbackManagerAdopt(id uint64, side fallback.Side, addr device.Addr, r BufferRequest) (uint64, error) {
	entry, err := find(l, l.fallbackManagers, "fallback_manager.adopt", id)
	if err != nil {
		return 0, err
	}
	made, err := entry.manager.Adopt(fallback.Taken{Side: side, Addr: addr}, r.Request)
	if err != nil {
		return 0, late(err, entry)
	}
	return l.insertBuffer(id, entry, made)
}

// FallbackManagerRelease ends storage that FallbackBufferTake has given.
func (l *Library) FallbackManagerRelease(id uint64, side fallback.Side, addr device.Addr, stream uint64) error {
	const op = "fallback_manager.release"
	entry, err := find(l, l.fallbackManagers, op, id)
	if err != nil {
		return err
	}
	used, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.manager.Release(fallback.Taken{Side: side, Addr: addr}, used), entry)
}
