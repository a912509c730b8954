package vmm

import (
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// usersOf lists the streams that use runs of pages.
func (s *space) usersOf(runs []pageset.Run) (streams []device.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		for _, stream := range s.table.users.Streams(r) {
			if !slices.Contains(streams, stream) {
				streams = append(streams, stream)
			}
		}
	}
	return streams
}

// beyondDevice returns the streams whose work the device does not fully know. A wait
// for the device does not wait for them.
func beyondDevice(streams []device.Stream) []device.Stream {
	return slices.DeleteFunc(streams, func(stream device.Stream) bool { return !device.TakesForeignWork(stream) })
}

// awaitUsers waits for queued work before pages go to sleep: the work of the streams
// that use the pages and of the requested stream, or all work.
func (s *space) awaitUsers(ctx context.Context, d *sleepCall) error {
	var runs []pageset.Run
	for _, j := range d.jobs {
		runs = append(runs, j.Runs...)
	}
	l := &deallocation{op: "sleep", stream: d.Stream}
	defer func() { s.closeMarks(l.marks) }()
	streams := s.usersOf(runs)
	if d.Stream == nil {
		streams = beyondDevice(streams)
	}
	err := l.markEnds(l.unmarked(streams))
	if err == nil && d.Stream == nil {
		err = s.awaitWork(ctx, d.NoWait, s.physical.engine.Synchronize)
	}
	for _, m := range l.marks {
		if err == nil && m.event != nil {
			err = s.awaitWork(ctx, d.NoWait, m.event.Synchronize)
		}
	}
	if err == nil {
		s.completeAll()
	}
	return err
}

// awaitForeign waits for external work that may use live pages and that the device does
// not know of.
func (s *space) awaitForeign() error {
	l := &deallocation{op: "close"}
	defer func() { s.closeMarks(l.marks) }()
	err := l.markEnds(beyondDevice(s.usersOf([]pageset.Run{{Start: 0, Pages: s.table.extent.Pages}})))
	for _, m := range l.marks {
		if err == nil && m.event != nil {
			err = m.event.Synchronize(device.Forever)
		}
	}
	return err
}
