package manager

import (
	"fmt"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
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
	if o.stream.isClosed() {
		passed = true
	} else if o.event != nil {
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
	closeEvents(o.stream.owner.engine, []device.Event{o.event})
}

// closeEvents forgets events that nobody waits for any more. A failure changes
// nothing for the caller and goes to the log.
func closeEvents(e *engine.Engine, events []device.Event) {
	for _, event := range events {
		if err := event.Close(); err != nil {
			e.Log(engine.Warning, fmt.Sprintf("an event could not be closed: %v", err))
		}
	}
}
