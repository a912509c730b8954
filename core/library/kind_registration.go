package library

import (
	"ferrum_mem/core/engine"
)

// registration is a registered callback.
type registration struct {
	object
	// token is the caller's mark of the callback. The thread that runs the callback
	// carries the same token.
	token uint64
	// reclaims is true for a reclaim callback and false for a pressure callback.
	reclaims bool
	callback interface {
		// Remove ends the registration. It waits for a running call, unless inside
		// states that it is called from that call.
		Remove(inside bool)
	}
	// device is that of the callback; nil: it belongs to none.
	device *Device
	// subject is the object of the callback, which may end before the registration;
	// nil: its device.
	subject subject
	// program is a compute backend, a layer type or a pass of the program, which has no
	// callback; nil: the registration is of a callback.
	program programObject
}

// programObject is an object of the program that the library uses until its
// registration ends.
type programObject interface {
	// remove ends the registration. Errors: CodeBusy while the library uses the object.
	remove(op string, of *registration) error
	// removeByForce ends the registration. The devices that use the object have ended.
	removeByForce(of *registration) error
}

// subject is the object of a callback, when it is not only a device.
type subject interface {
	// String describes the callback, such as: reclaim callback of model "chat" of
	// elastic pool "kv".
	String() string
	// hasEnded reports whether the object has ended. It does not wait.
	hasEnded() bool
}

// outlives reports whether the object of the registration has ended.
func (r *registration) outlives() bool { return r.subject != nil && r.subject.hasEnded() }

// about describes the object of a registration, and whether it has ended.
func (r *registration) about() string {
	switch {
	case r.subject == nil && r.reclaims:
		return "reclaim callback of the device"
	case r.subject == nil:
		return "pressure callback of the device"
	case r.subject.hasEnded():
		return r.subject.String() + ", which has ended"
	}
	return r.subject.String()
}

// A registration is over when its handle is removed.
func (r *registration) hasEnded() bool    { return false }
func (r *registration) of(d *Device) bool { return r.device == d }

func (r *registration) known() (uint64, *engine.Engine) {
	if r.device == nil {
		return r.id(), nil
	}
	return r.id(), r.device.Engine
}

func (r *registration) leak() leak {
	_, e := r.known()
	found := r.alive("registration", e)
	found.Callback = r.about()
	return found
}

// endByForce removes the callback. The handle is removed last: a program may free what
// the callback uses when the handle is invalid.
func (r *registration) endByForce(l *Library, id uint64) error {
	if r.program != nil {
		return r.program.removeByForce(r)
	}
	r.callback.Remove(r.token != 0 && l.running.insideCallback(r.token))
	_, err := l.registry.registrations.Remove(id)
	return err
}
