package pool

import (
	"fmt"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A driver that knows what happens before what. Its streams are queues that the
// test moves on piece by piece; every piece of work has a vector clock, and so
// has the host, which learns from every event that it sees passed. A use of
// memory by queued work is written down with its stream and its place there; a
// later use of the same memory by another owner has to come after it, by the
// order of a stream, by an event that one stream waits for, or because the host
// saw it done. That the work is in fact done by then is luck, and does not count.

// clock is, by stream, how many pieces of its work come before.
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
	// lies has events say that they have passed before they have.
	lies bool
	// fails is how many calls on from now one call of the kind fails; 0: none.
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

// fail says whether this call is the one that fails.
func (d *orderDevice) fail(call string) error {
	if d.fails[call] > 0 {
		if d.fails[call]--; d.fails[call] == 0 {
			return device.Errorf(device.CodeDevice, "order."+call, "asked for by the test")
		}
	}
	return nil
}

// touch queues work that uses memory, and says which earlier use by another
// owner it may run beside.
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
		// What the host has seen done comes before all that is queued later.
		if !d.host.covers(other.stream, other.place) {
			kept = append(kept, other)
		}
	}
	d.uses = append(kept, mine)
	return err
}

// orderStream is one queue. Methods that the pool does not call are missing.
type orderStream struct {
	device.Stream
	dev    *orderDevice
	number int
	queue  []orderWork
	// done is how many pieces have run.
	done int
	// now is the clock of what is queued last.
	now clock
}

type orderWork struct {
	// after has to have passed first; nil: nothing.
	after *orderEvent
}

// push queues a piece of work and gives its place, from 1 on.
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

// step runs the next piece of work if it may.
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

// runTo runs the queue up to a place, and first what it waits for elsewhere.
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

// waitFor has later work of the stream wait for the present end of another.
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
