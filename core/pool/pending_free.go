package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool/inflight"
)

// pendingFree is a free under way.
type pendingFree struct {
	addrs []device.Addr
	// stream is what the blocks were freed on; nil: only events count, and the streams
	// that the blocks are of.
	stream device.Stream
	idle   bool
	events []device.Event
	batch  bool
	// size is what the blocks were asked for with, or anySize.
	size uint64
	// sliced says that the marks are for the blocks of several slices, between which
	// others have the lock.
	sliced bool

	// streams are those whose work has to pass, and marks their events, which
	// are this call's until the blocks are in flight.
	streams []device.Stream
	marks   []device.Event
	// fences are those of the marks, and own those of the events, once there are any.
	fences []inflight.Fence
	own    []inflight.Fence
	// missing are streams that have to be marked first.
	missing []device.Stream
	// landed says that everything was taken in that is ready: there was no room to note
	// blocks in flight.
	landed bool
	// graphs use the blocks, which were captured on other streams of captures.
	graphs   []*graph
	captured []device.Stream

	// reports are what the debug mode has found, of the address of that index if
	// the free is refused; foreign says that it is not the pool's.
	reports []*memcheck.Report
	wrong   int
	foreign bool
}

// mark records the present end of a stream's queue.
func (j *pendingFree) mark(stream device.Stream) error {
	event, err := device.Mark(opFree, stream)
	if err != nil {
		return err
	}
	j.streams, j.marks = append(j.streams, stream), append(j.marks, event)
	return nil
}

func (j *pendingFree) closeMarks() error {
	var failures error
	for _, event := range j.marks {
		if event != nil {
			failures = errors.Join(failures, event.Close())
		}
	}
	return failures
}

// lend gives a mark of a free to a fence. One of several slices stays that free's.
func (j *pendingFree) lend(i int) device.Event {
	if !j.sliced {
		return j.marks[i]
	}
	shared, ok := j.marks[i].(*inflight.Shared)
	if !ok {
		shared = inflight.Share(j.marks[i])
		j.marks[i] = shared
	}
	return shared.Use()
}

// takeBack ends a loan of every mark.
func (j *pendingFree) takeBack() {
	for _, mark := range j.marks {
		if shared, ok := mark.(*inflight.Shared); ok && j.sliced {
			_ = shared.Close() // never the last use
		}
	}
}

// waits says that blocks of a free may have to wait for something.
func (j *pendingFree) waits() bool {
	return len(j.events) > 0 || slices.ContainsFunc(j.marks, func(e device.Event) bool { return e != nil })
}
