package library

import (
	"ferrum_mem/core/engine"
)

// registration is a registered callback.
type registration struct {
	object
	// token is the caller's mark of the callback: the thread that runs it
	// carries the same one.
	token uint64
	// reclaims says that it is a reclaim callback, and not a pressure callback.
	reclaims bool
	callback interface {
		// Remove ends it, and waits for a running call unless inside says that it is
		// called from that call.
		Remove(inside bool)
	}
	device *Device
	// subject is what it was made for, which it may outlive; nil: its device.
	subject subject
}

// subject is what a callback is of besides its device.
type subject interface {
	// String names it, such as: reclaim callback of model "chat" of elastic pool "kv".
	String() string
	// hasEnded says that it is no more. It waits for nothing.
	hasEnded() bool
}

// outlives says that the registration is left of something that has ended.
func (r *registration) outlives() bool { return r.subject != nil && r.subject.hasEnded() }

// about says what a registration is of, and whether that has ended.
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

// A registration is over with its handle.
func (r *registration) isOver() bool                    { return false }
func (r *registration) known() (uint64, *engine.Engine) { return r.id(), r.device.Engine }
func (r *registration) of(d *Device) bool               { return r.device == d }

func (r *registration) leak() leak {
	found := r.alive("registration", r.device.Engine)
	found.Callback = r.about()
	return found
}

// endByForce removes the callback. The handle goes last: who hears that it is invalid may
// free what the callback uses.
func (r *registration) endByForce(l *Library, id uint64) error {
	r.callback.Remove(r.token != 0 && l.running.insideCallback(r.token))
	_, err := l.registry.registrations.Remove(id)
	return err
}
