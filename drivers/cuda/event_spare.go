package cuda

import (
	"sync"

	"ferrum_mem/drivers/internal/gpu/events"
	"ferrum_mem/internal/dl"
)

// deviceEvents are the events of a device: the recorded events that are not closed, and the
// spare events.
type deviceEvents struct {
	ctx *driverContext

	mu    sync.Mutex
	known map[*event]struct{}
	// last is the number of the event that was recorded last.
	last  uint64
	spare events.Spare
}

// take returns an event that nothing else uses. The caller has the context current.
func (d *deviceEvents) take(op string, timed bool) (handle uintptr, err error) {
	if handle, found := d.spare.Take(timed); found {
		return handle, nil
	}
	flags := uintptr(eventBlockingSync)
	if !timed {
		flags |= eventDisableTiming
	}
	err = d.ctx.call(op, "", &d.ctx.api.eventCreate, dl.Pointer(&handle), flags)
	return handle, err
}

// end destroys all events together with their device, which the caller is closing.
func (d *deviceEvents) end() {
	d.mu.Lock()
	open := make([]*event, 0, len(d.known))
	for e := range d.known {
		open = append(open, e)
	}
	d.mu.Unlock()
	handles := d.spare.End()
	for _, e := range open {
		e.using.Lock()
		if handle := e.release(); handle != 0 && !e.foreign {
			handles = append(handles, handle)
		}
		e.using.Unlock()
	}
	for _, handle := range handles {
		d.ctx.owe("an event", &d.ctx.api.eventDestroy, handle)
	}
}
