package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

// registration is a registered callback.
type registration struct {
	object
	callback *engine.Registration
	device   *openDevice
}

// PressureCallbackAdd makes fn hear of every change of the device's pressure
// level from now on. It runs on a worker, one call at a time, with no lock held.
func (l *Library) PressureCallbackAdd(deviceID uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "callback.pressure_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	return l.register(op, deviceID, func(d *openDevice) (*engine.Registration, error) {
		return d.engine.OnPressure(func(level pressure.Level) { fn(deviceID, int32(level)) })
	})
}

// ReclaimCallbackAdd makes fn be asked to free memory before an allocation on
// the device fails; it returns the bytes that it has freed. It runs on a worker
// with no lock held, and may not wait for memory.
func (l *Library) ReclaimCallbackAdd(deviceID uint64, c engine.ReclaimConfig, fn func(device, needed uint64) uint64) (uint64, error) {
	const op = "callback.reclaim_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	return l.register(op, deviceID, func(d *openDevice) (*engine.Registration, error) {
		return d.engine.OnReclaim(c, func(needed uint64) uint64 { return fn(deviceID, needed) })
	})
}

func (l *Library) register(op string, deviceID uint64, add func(*openDevice) (*engine.Registration, error)) (uint64, error) {
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	callback, err := add(d)
	if err != nil {
		return 0, on(err, d.engine)
	}
	entry := &registration{callback: callback, device: d}
	entry.createdAt = time.Now()
	handle, err := l.registrations.Insert(entry)
	if err != nil {
		callback.Remove(false)
		return 0, on(err, d.engine)
	}
	entry.handle.Store(handle)
	return handle, nil
}

// RegistrationRemove removes a callback: it is not called again. It waits for a
// running call, unless inside says that it is called from that call.
func (l *Library) RegistrationRemove(id uint64, inside bool) error {
	if _, err := l.started("callback.remove"); err != nil {
		return err
	}
	entry, err := l.registrations.Remove(id)
	if err != nil {
		return err
	}
	entry.callback.Remove(inside)
	return nil
}
