package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
)

// Device is an open device. The other methods are those of its engine.
type Device struct {
	object
	*engine.Engine
	streams *manager.StreamManager
	// gate is entered by every call that creates an object on the device.
	gate *gate

	// Library.mu guards the fields below. opens counts the DeviceOpens that have not
	// been undone. closing states that a call is closing the device.
	opens   int
	closing bool
	closed  bool
}

// Device finds an open device by its handle.
func (l *Library) Device(op string, id uint64) (*Device, error) {
	return find(l, l.registry.devices, op, id)
}

// A device is over when it rejects new objects.
func (d *Device) hasEnded() bool                  { return d.gate.isClosed() }
func (d *Device) known() (uint64, *engine.Engine) { return d.id(), d.Engine }
func (d *Device) of(parent *Device) bool          { return parent == nil }
func (d *Device) leak() leak                      { return d.alive("device", d.Engine) }

// PublishCounters publishes the counters of an open device, if they have a place, until they
// change. It ignores an invalid handle.
func (l *Library) PublishCounters(id uint64) {
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
	d.Engine.Publish()
}

// making finds an open device and enters its gate. The caller leaves the gate when the
// new object is in its table.
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
