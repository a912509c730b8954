package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
)

// openDevice is a device that somebody has opened.
type openDevice struct {
	object
	engine  *engine.Engine
	streams *manager.StreamManager
	// gate is passed by whoever makes something on the device.
	gate *gate

	// All below is guarded by Library.mu. opens is the number of DeviceOpens
	// that have not been undone; closing says that one call is at it.
	opens   int
	closing bool
	closed  bool
}

// A device is over when nothing more is made on it.
func (d *openDevice) isOver() bool                    { return d.gate.isClosed() }
func (d *openDevice) known() (uint64, *engine.Engine) { return d.id(), d.engine }
func (d *openDevice) of(parent *openDevice) bool      { return parent == nil }
func (d *openDevice) leak() leak                      { return d.alive("device", d.engine) }

// endByForce closes the device, unless another call does so.
func (d *openDevice) endByForce(l *Library, _ uint64) error {
	if !l.claim(d) {
		return nil
	}
	return l.finishClose(d, true, nil)
}
