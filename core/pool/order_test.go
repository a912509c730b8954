package pool

import (
	"fmt"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A test device that knows which event happens before which. Its streams are queues that
// the test advances piece by piece. Every piece of work has a vector clock. The host has
// one too, which it updates from every event that it sees completed. A use of memory by
// queued work is recorded with its stream and its position there. A later use of the same
// memory by another owner has to come after it: by the order of a stream, by an event
// that one stream waits for, or because the host saw it completed. That the work has
// completed by chance does not count.

// clock is the number of pieces of work that come before, by stream.
type clock []int

func (c *clock) join(other clock) {
	for len(*c) < len(other) {
		*c = append(*c, 0)
	}
	for i, n := range other {
		(*c)[i] = max((*c)[i], n)
	}
}

func (c clock) covers(stream, place int) bool { return stream < len(c) && c[stream] >= place }

// orderDevice is a test device with such streams.
type orderDevice struct {
	*devicetest.Device
	streams []*orderStream
	host    clock
	uses    []use
	// lies makes events report that they have completed before they have.
	lies bool
	// fails states after how many calls of a kind one call fails; 0 means none.
	fails map[string]int
}

// use is memory that a piece of queued work reads or writes.
type use struct {
	from, to      device.Addr
	owner         int
	stream, place int
}

func newOrderDevice(streams int, totalBytes uint64) *orderDevice {
	d := &orderDevice{
		Device: devicetest.Open(devicetest.Config{TotalBytes: totalBytes}), fails: map[string]int{},
	}
	for range streams {
		d.streams = append(d.streams, &orderStream{dev: d, number: len(d.streams)})
	}
	return d
}

func (d *orderDevice) DefaultStream() device.Stream { return d.streams[0] }

func (d *orderDevice) Synchronize(time.Duration) error {
	for _, s := range d.streams {
		s.runTo(len(s.queue))
		d.host.join(s.now)
	}
	return nil
}

// fail reports whether this call has to fail.
func (d *orderDevice) fail(call string) error {
	if d.fails[call] > 0 {
		if d.fails[call]--; d.fails[call] == 0 {
			return device.Errorf(device.CodeDevice, "order."+call, "asked for by the test")
		}
	}
	return nil
}

// touch queues work that uses memory, and returns the earlier use by another owner that
// it could run concurrently with.
func (d *orderDevice) touch(s *orderStream, owner int, from device.Addr, size uint64) error {
	place := s.push(orderWork{})
	mine := use{from: from, to: from + device.Addr(size), owner: owner, stream: s.number, place: place}
	kept := d.uses[:0]
	var err error
	for _, other := range d.uses {
		if other.owner != owner && other.from < mine.to && mine.from < other.to &&
			!s.now.covers(other.stream, other.place) {
			err = fmt.Errorf("block %d, used on stream %d at [%#x, %#x), may run beside piece %d of stream %d, which uses it for block %d",
				owner, s.number, uint64(mine.from), uint64(mine.to), other.place, other.stream, other.owner)
		}
		// Work that the host has seen completed comes before all work that is queued
		// later.
		if !d.host.covers(other.stream, other.place) {
			kept = append(kept, other)
		}
	}
	d.uses = append(kept, mine)
	return err
}

// orderStream is one queue. It has only the methods that the pool calls.
type orderStream struct {
	device.Stream
	dev    *orderDevice
	number int
	queue  []orderWork
	// done is the number of pieces that have run.
	done int
	// now is the clock of the last queued piece.
	now clock
}

type orderWork struct {
	// after has to complete first; nil means nothing.
	after *orderEvent
}

// push queues a piece of work and returns its position, from 1 on.
func (s *orderStream) push(w orderWork) int {
	s.queue = append(s.queue, w)
	s.now.join(s.dev.host)
	if w.after != nil {
		s.now.join(w.after.at)
	}
	mine := make(clock, s.number+1)
	mine[s.number] = len(s.queue)
	s.now.join(mine)
	return len(s.queue)
}

// step runs the next piece of work if it may run.
func (s *orderStream) step() bool {
	if s.done == len(s.queue) {
		return false
	}
	if after := s.queue[s.done].after; after != nil && !after.passed() {
		return false
	}
	s.done++
	return true
}

// runTo runs the queue up to a position, and first what it waits for in other queues.
func (s *orderStream) runTo(place int) {
	for s.done < place {
		if !s.step() {
			after := s.queue[s.done].after
			after.stream.runTo(after.place)
		}
	}
}

func (s *orderStream) Idle() (bool, error) {
	if err := s.dev.fail("idle"); err != nil {
		return false, err
	}
	idle := s.done == len(s.queue)
	if idle {
		s.dev.host.join(s.now)
	}
	return idle, nil
}

func (s *orderStream) RecordEvent() (device.Event, error) {
	if err := s.dev.fail("record"); err != nil {
		return nil, err
	}
	e := &orderEvent{stream: s, place: s.push(orderWork{})}
	e.at = slices.Clone(s.now)
	return e, nil
}

// waitFor makes later work of the stream wait for the present end of another one.
func (s *orderStream) waitFor(other *orderStream) {
	e := &orderEvent{stream: other, place: other.push(orderWork{})}
	e.at = slices.Clone(other.now)
	s.push(orderWork{after: e})
}

// orderEvent is a point in a queue.
type orderEvent struct {
	device.Event
	stream *orderStream
	place  int
	at     clock
	closed bool
}

func (e *orderEvent) passed() bool { return e.stream.done >= e.place }

func (e *orderEvent) Done() (bool, error) {
	if err := e.stream.dev.fail("query"); err != nil {
		return false, err
	}
	if e.passed() {
		e.stream.dev.host.join(e.at)
	}
	return e.passed() || e.stream.dev.lies, nil
}

func (e *orderEvent) Synchronize(time.Duration) error {
	e.stream.runTo(e.place)
	e.stream.dev.host.join(e.at)
	return nil
}

func (e *orderEvent) Close() error {
	if e.closed {
		return device.Errorf(device.CodeInvalidState, "order.close", "the event is closed")
	}
	e.closed = true
	return nil
}
