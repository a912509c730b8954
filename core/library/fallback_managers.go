package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/pressure"
)

// FallbackManagerCreate creates a manager whose buffers fall back to a second device.
// hostID is the handle of that device, or 0 for none.
func (l *Library) FallbackManagerCreate(deviceID, hostID uint64, c fallback.MemoryConfig) (uint64, error) {
	const op = "fallback_manager.create"
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	entry := &FallbackManager{device: d}
	var hostEngine *engine.Engine
	if hostID != 0 {
		host, err := l.making(op, hostID)
		if err != nil {
			return 0, err
		}
		defer host.gate.exit()
		if c.CPUFallback {
			entry.host, hostEngine = host, host.Engine
		}
	}
	if entry.Manager, err = fallback.NewManager(d.Engine, hostEngine, c); err != nil {
		return 0, on(err, d.Engine)
	}
	handle, err := l.insertFallbackManager(entry)
	if err != nil {
		if closeErr := entry.Close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing a fallback manager without a handle: %v", d.Engine.ID(), closeErr)
		}
		return 0, on(err, d.Engine)
	}
	l.log.printf(LogDebug, "%v: fallback manager created", d.Engine.ID())
	return handle, nil
}

// insertFallbackManager assigns handles to a manager and its tracker.
func (l *Library) insertFallbackManager(entry *FallbackManager) (uint64, error) {
	if t := entry.Manager.Tracker(); t != nil {
		handle, err := l.insertTracker(t, entry)
		if err != nil {
			return 0, err
		}
		entry.tracker = handle
	}
	handle, err := insert(l, l.registry.fallbackManagers, entry)
	if err != nil {
		l.registry.forgetTracker(entry.tracker)
	}
	return handle, err
}

// Destroy destroys the manager and releases its memory on both devices. Without force
// it returns CodeBusy while buffers are live or storage is taken.
func (m *FallbackManager) Destroy(force bool) error {
	return destroy(m.library.registry.fallbackManagers, "fallback_manager.destroy", m, force)
}

// Memory returns the capacity of the device (0: unknown) and its free memory.
func (m *FallbackManager) Memory() (totalBytes, freeBytes uint64, err error) {
	free, err := m.FreeMemory()
	return m.TotalMemory(), free, err
}

// ReturnBuffers moves buffers that fell back to the device, and returns their number.
func (m *FallbackManager) ReturnBuffers() (moved uint64, err error) {
	n, err := m.Return()
	return uint64(n), err
}

// Tracker returns the handle of the manager's tracker. It returns CodeInvalidState if
// the manager was created without tracking.
func (m *FallbackManager) Tracker() (uint64, error) {
	if m.tracker == 0 {
		return 0, device.Errorf(device.CodeInvalidState, "fallback_manager.tracker", "the manager was created without tracking")
	}
	return m.tracker, nil
}

// PressureCallbackAdd is Library.PressureCallbackAdd for the device of the manager,
// with the profile pressure.Early.
func (m *FallbackManager) PressureCallbackAdd(token uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "fallback_manager.on_pressure"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	l, deviceID := m.library, m.device.handle.Load()
	made := &registration{token: token, subject: m}
	return l.register(op, deviceID, made, func(d *Device) (*engine.Registration, error) {
		r, _, err := m.OnPressure(func(level pressure.Level) {
			l.running.during(d, func() { fn(deviceID, int32(level)) })
		})
		return r, err
	})
}

// BufferRequest is the request for a buffer.
type BufferRequest struct {
	fallback.Request
	// StreamHandle replaces Stream; 0: the default stream of the device.
	StreamHandle uint64
}

// Alloc allocates a buffer and returns its handle.
func (m *FallbackManager) Alloc(r BufferRequest) (uint64, error) {
	var err error
	if r.Stream, err = m.library.registry.streamOrDefault("fallback_manager.alloc", r.StreamHandle, m.device); err != nil {
		return 0, err
	}
	made, err := m.Manager.Alloc(r.Request)
	if err != nil {
		return 0, m.library.registry.callErrorOn(r.StreamHandle, err, m)
	}
	return m.library.insertBuffer(m, made)
}

// Adopt makes a buffer from storage that FallbackBuffer.Take has returned. It ignores
// the stream of the request.
func (m *FallbackManager) Adopt(side fallback.Side, addr device.Addr, r BufferRequest) (uint64, error) {
	made, err := m.Manager.Adopt(fallback.Taken{Side: side, Addr: addr}, r.Request)
	if err != nil {
		return 0, err
	}
	return m.library.insertBuffer(m, made)
}

// Release frees storage that FallbackBuffer.Take has returned.
func (m *FallbackManager) Release(side fallback.Side, addr device.Addr, stream uint64) error {
	used, err := m.library.registry.streamOrDefault("fallback_manager.release", stream, m.device)
	if err != nil {
		return err
	}
	return m.library.registry.callErrorOn(stream, m.Manager.Release(fallback.Taken{Side: side, Addr: addr}, used), m)
}
