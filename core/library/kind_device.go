package library

import (
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
func (l *Library) Device(op string, id uint64) (*Device, error) { return find(l, l.devices, op, id) }

// A device is over when nothing more is made on it.
func (d *Device) isOver() bool                    { return d.gate.isClosed() }
func (d *Device) known() (uint64, *engine.Engine) { return d.id(), d.Engine }
func (d *Device) of(parent *Device) bool          { return parent == nil }
func (d *Device) leak() leak                      { return d.alive("device", d.Engine) }

// endByForce closes the device, unless another call does so.
func (d *Device) endByForce(l *Library, _ uint64) error {
	if !l.claim(d) {
		return nil
	}
	return l.finishClose(d, true, nil)
}
