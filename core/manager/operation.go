package manager

import (
	"errors"
	"slices"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// operation is a piece of queued work on blocks. Each of its blocks holds a reference,
// and so do the transfers that count it. The last release closes the event.
type operation struct {
	stream *stream
	// event is nil if no event could be recorded after the work was queued. The work is
	// then known to have completed when the whole stream is idle.
	event  device.Event
	refs   atomic.Int32
	passed atomic.Bool
}

// done reports, without waiting, whether the work is known to have completed.
func (o *operation) done() bool {
	if o.passed.Load() {
		return true
	}
	var passed bool
	var err error
	if o.event != nil {
		passed, err = o.event.Done()
	} else {
		passed, err = o.stream.settled()
	}
	if err != nil || !passed {
		return false
	}
	o.passed.Store(true)
	return true
}

// wait waits until the work has completed. The caller has a reference.
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

// keep adds a reference. The caller knows that another one is held.
func (o *operation) keep() { o.refs.Add(1) }

// release releases a reference.
func (o *operation) release() {
	if o.refs.Add(-1) > 0 || o.event == nil {
		return
	}
	o.stream.owner.closeEvents(o.event)
}

// closeEvents closes events that are not needed any more. An event whose close fails is
// kept for another attempt; the caller does not see the error.
func (d *openDevice) closeEvents(events ...device.Event) {
	for _, event := range events {
		if err := event.Close(); err != nil {
			d.unclosedMu.Lock()
			d.unclosed = append(d.unclosed, event)
			d.unclosedMu.Unlock()
		}
	}
}

// closeLeft tries again to close the events whose close failed.
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
