package cuda

import (
	"sync"

	"ferrum_mem/drivers/internal/dl"
)

// mostSpareEvents bounds the events of each sort that a device keeps: as many as are
// in use at once where blocks are freed behind running work.
const mostSpareEvents = 256

// spareEvents are events of the driver that nobody uses, to be recorded again: a wait
// for what one was recorded for before is not affected by that.
type spareEvents struct {
	mu sync.Mutex
	// timed and plain are handles with timing and without.
	timed, plain []uintptr
	closed       bool
}

func (s *spareEvents) list(timed bool) *[]uintptr {
	if timed {
		return &s.timed
	}
	return &s.plain
}

// put keeps an event; false: there is no room, and the caller still has it.
func (s *spareEvents) put(handle uintptr, timed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list(timed)
	if s.closed || len(*list) == mostSpareEvents {
		return false
	}
	*list = append(*list, handle)
	return true
}

func (s *spareEvents) take(timed bool) (handle uintptr, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list(timed)
	last := len(*list) - 1
	if last < 0 {
		return 0, false
	}
	handle = (*list)[last]
	*list = (*list)[:last]
	return handle, true
}

// end gives out all that is kept, and keeps nothing from now on.
func (s *spareEvents) end() []uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	all := append(s.plain, s.timed...)
	s.plain, s.timed = nil, nil
	return all
}

// deviceEvents are the events of a device: those that were recorded and are not closed, and
// the spare ones.
type deviceEvents struct {
	ctx *driverContext

	mu    sync.Mutex
	known map[*event]struct{}
	// last is the number of the event that was recorded last.
	last  uint64
	spare spareEvents
}

// take is an event that nobody else uses. The caller has the context.
func (d *deviceEvents) take(op string, timed bool) (handle uintptr, err error) {
	if handle, found := d.spare.take(timed); found {
		return handle, nil
	}
	flags := uintptr(eventBlockingSync)
	if !timed {
		flags |= eventDisableTiming
	}
	err = d.ctx.call(op, "", &d.ctx.api.eventCreate, dl.Pointer(&handle), flags)
	return handle, err
}

// leave destroys all events with their device, which the caller is about to
// close.
func (d *deviceEvents) leave(op string) {
	d.mu.Lock()
	open := make([]*event, 0, len(d.known))
	for e := range d.known {
		open = append(open, e)
	}
	d.mu.Unlock()
	handles := d.spare.end()
	for _, e := range open {
		e.using.Lock()
		if handle := e.release(); handle != 0 && !e.foreign {
			handles = append(handles, handle)
		}
		e.using.Unlock()
	}
	if len(handles) == 0 {
		return
	}
	_ = d.ctx.current(op, func() error {
		for _, handle := range handles {
			_ = d.ctx.takeBack(op, "", &d.ctx.api.eventDestroy, handle)
		}
		return nil
	})
}
