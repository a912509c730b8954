package manager

import (
	"errors"
	"slices"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// operation is a piece of queued work on blocks. The blocks that it uses and
// the transfers that it counts among each hold a reference; the last one to let
// go closes the event.
type operation struct {
	stream *stream
	// event is nil when none could be recorded after the work had been queued.
	// The work is then known to be done once the whole stream is idle.
	event  device.Event
	refs   atomic.Int32
	passed atomic.Bool
}

// done says without waiting whether the work is known to be done.
func (o *operation) done() bool {
	if o.passed.Load() {
		return true
	}
	var passed bool
	var err error
	if o.event != nil {
		passed, err = o.event.Done()
	} else {
		passed, err = o.stream.idle()
	}
	if err != nil || !passed {
		return false
	}
	o.passed.Store(true)
	return true
}

// wait returns when the work is done. The caller has a reference.
func (o *operation) wait() error {
	if o.done() {
		return nil
	}
	if o.event == nil {
		if err := o.stream.drain(); err != nil {
			return err
		}
	} else if err := o.event.Synchronize(device.Forever); err != nil {
		return err
	}
	o.passed.Store(true)
	return nil
}

// keep adds a reference to one that the caller knows to be held.
func (o *operation) keep() { o.refs.Add(1) }

// release lets a reference go.
func (o *operation) release() {
	if o.refs.Add(-1) > 0 || o.event == nil {
		return
	}
	o.stream.owner.closeEvents(o.event)
}

// closeEvents forgets events that nobody waits for any more. One that cannot be
// closed changes nothing for the caller: it is kept for another try.
func (d *openDevice) closeEvents(events ...device.Event) {
	for _, event := range events {
		if err := event.Close(); err != nil {
			d.unclosedMu.Lock()
			d.unclosed = append(d.unclosed, event)
			d.unclosedMu.Unlock()
		}
	}
}

// closeLeft tries again to close the events that could not be closed.
func (d *openDevice) closeLeft() error {
	d.unclosedMu.Lock()
	defer d.unclosedMu.Unlock()
	var failures error
	d.unclosed = slices.DeleteFunc(d.unclosed, func(event device.Event) bool {
		err := event.Close()
		failures = errors.Join(failures, err)
		return err == nil
	})
	return failures
}
