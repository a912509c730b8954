package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool/inflight"
)

// pendingFree is a free that has begun.
type pendingFree struct {
	addrs []device.Addr
	// stream is the stream on which the blocks are freed. If it is nil, the blocks wait
	// only for events and for the streams to which they belong.
	stream device.Stream
	idle   bool
	events []device.Event
	batch  bool
	// size is the size with which the blocks were requested, or anySize.
	size uint64
	// sliced is set if the events in marks are for the blocks of several slices. The lock
	// is released between slices.
	sliced bool

	// streams are the streams whose queued work must complete, and marks are events at
	// the ends of their queues. This call owns the events until the blocks are in flight.
	streams []device.Stream
	marks   []device.Event
	// fences are the fences of marks, and own are the fences of events, once they exist.
	fences []inflight.Fence
	own    []inflight.Fence
	// missing are streams for which an event has to be recorded first.
	missing []device.Stream
	// completed is set when all blocks whose events have completed were taken in, because
	// the table of blocks in flight was full.
	completed bool
	// graphs are the graphs that use the blocks; captured are the streams of captures,
	// other than the freeing one, on which that happened.
	graphs   []*graph
	captured []device.Stream

	// reports are the findings of the debug mode; they are about the address with index
	// wrong if the free is rejected. foreign is set if that address is not of this pool.
	reports []*memcheck.Report
	wrong   int
	foreign bool
}

// mark records an event at the present end of a stream's queue.
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

// lend passes the event of a stream to a fence. With several slices, the fence gets a
// shared use of the event, and the free keeps its own.
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

// closeShared ends the free's own use of every shared event.
func (j *pendingFree) closeShared() {
	for _, mark := range j.marks {
		if shared, ok := mark.(*inflight.Shared); ok && j.sliced {
			_ = shared.Close() // never the last use
		}
	}
}

// waits reports whether blocks of the free may have to wait.
func (j *pendingFree) waits() bool {
	return len(j.events) > 0 || slices.ContainsFunc(j.marks, func(e device.Event) bool { return e != nil })
}
