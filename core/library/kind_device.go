package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
)

// Device is a device that somebody has opened. What it does without more is that of its
// engine.
type Device struct {
	object
	*engine.Engine
	streams *manager.StreamManager
	// gate is passed by whoever makes something on the device.
	gate *gate

	// All below is guarded by Library.mu. opens is the number of DeviceOpens
	// that have not been undone; closing says that one call is at it.
	opens   int
	closing bool
	closed  bool
}

// Device finds an open device.
func (l *Library) Device(op string, id uint64) (*Device, error) {
	return find(l, l.registry.devices, op, id)
}

// A device is over when nothing more is made on it.
func (d *Device) isOver() bool                    { return d.gate.isClosed() }
func (d *Device) known() (uint64, *engine.Engine) { return d.id(), d.Engine }
func (d *Device) of(parent *Device) bool          { return parent == nil }
func (d *Device) leak() leak                      { return d.alive("device", d.Engine) }

// ShowBooks has the books of an open device be shown where there is a place for them,
// until they change. A handle that is wrong does nothing.
func (l *Library) ShowBooks(id uint64) {
	if l.current.Load() == nil {
		return
	}
	d, ok := l.registry.devices.Near(id)
	if !ok {
		var err error
		if d, err = l.registry.devices.Get(id); err != nil {
			return
		}
	}
	d.Engine.Show()
}

// making finds an open device and passes its gate: the caller leaves it when
// what it makes is in its table.
func (l *Library) making(op string, id uint64) (*Device, error) {
	d, err := find(l, l.registry.devices, op, id)
	if err != nil {
		return nil, err
	}
	return d, d.pass(op)
}

func (d *Device) pass(op string) error {
	if !d.gate.enter() {
		return device.Errorf(device.CodeInvalidHandle, op,
			"device handle %#x: the device is being closed", d.handle.Load()).On(d.Engine.ID())
	}
	return nil
}
