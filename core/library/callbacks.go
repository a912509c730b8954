package library

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

// PressureCallbackAdd registers fn for every change of the device's pressure level. fn
// runs on a worker, one call at a time, with no lock held. RegistrationRemove uses
// token, which must not be 0, to recognize a call from inside fn.
func (l *Library) PressureCallbackAdd(deviceID, token uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "callback.pressure_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	return l.register(op, deviceID, &registration{token: token}, func(d *Device) (*engine.Registration, error) {
		return d.Engine.OnPressure(func(level pressure.Level) {
			l.running.during(d, func() { fn(deviceID, int32(level)) })
		})
	})
}

// ReclaimCallbackAdd registers fn to free memory before an allocation on the device
// fails. fn returns the bytes that it has freed. It runs on a worker with no lock held,
// and must not wait for memory. token is as for PressureCallbackAdd.
func (l *Library) ReclaimCallbackAdd(deviceID, token uint64, c engine.ReclaimConfig, fn func(device, needed uint64) uint64) (uint64, error) {
	const op = "callback.reclaim_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	entry := &registration{token: token, reclaims: true}
	return l.register(op, deviceID, entry, func(d *Device) (*engine.Registration, error) {
		return d.Engine.OnReclaim(c, func(needed uint64) (freed uint64) {
			l.running.during(d, func() { freed = fn(deviceID, needed) })
			return freed
		})
	})
}

// register assigns a handle to a callback; add activates it.
func (l *Library) register(
	op string, deviceID uint64, entry *registration, add func(*Device) (*engine.Registration, error),
) (uint64, error) {
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	callback, err := add(d)
	if err != nil {
		return 0, CallError(err, d)
	}
	entry.callback, entry.device = callback, d
	handle, err := insert(l, l.registry.registrations, entry)
	if err != nil {
		callback.Remove(false)
		return 0, on(err, d.Engine)
	}
	return handle, nil
}

// RegistrationRemove removes a callback: it is not called again. It waits for a running
// call, unless the call comes from inside that callback. running has the tokens of the
// callbacks that the calling thread runs. It returns CodeBusy for a compute
// backend that is open, for a layer type that models and operations use, and for a pass
// that a build uses.
func (l *Library) RegistrationRemove(id uint64, running []uint64) error {
	const op = "callback.remove"
	if _, err := l.started(op); err != nil {
		return err
	}
	if entry, err := l.registry.registrations.Get(id); err == nil && entry.program != nil {
		return entry.program.remove(op, entry)
	}
	entry, err := l.registry.registrations.Remove(id)
	if err != nil {
		return err
	}
	entry.callback.Remove(slices.Contains(running, entry.token))
	return nil
}
