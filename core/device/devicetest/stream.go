package devicetest

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
)

// within returns a range of the stream's own device.
func (s *Stream) within(addr device.Addr, size uint64) use {
	return use{dev: s.dev, addr: addr, size: size}
}

// Hold makes the stream hold the work that is queued from now on.
func (s *Stream) Hold() {
	s.dev.driver.mu.Lock()
	defer s.dev.driver.mu.Unlock()
	s.hold = true
}

// Step runs up to n pieces of held work, as far as they are ready, and returns how many
// have run.
func (s *Stream) Step(n int) int {
	d := s.dev.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	before := s.finished
	s.steps = n
	d.advance()
	s.steps = 0
	return int(s.finished - before)
}

// Release runs all held work and ends the hold.
func (s *Stream) Release() {
	d := s.dev.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	s.hold = false
	d.advance()
}

// Queued returns the number of pieces of work that have not run.
func (s *Stream) Queued() int {
	s.dev.driver.mu.Lock()
	defer s.dev.driver.mu.Unlock()
	return len(s.queue)
}

// advance runs all work that may run on any stream. The caller holds mu.
func (d *Driver) advance() {
	for again := true; again; {
		again = false
		// A host function may open and close streams during the loop.
		for _, s := range slices.Clone(d.streams) {
			again = s.doNext() || again
		}
	}
}

// doNext runs the stream's next piece of work if it may run. A host function runs
// without the lock.
func (s *Stream) doNext() bool {
	if s.running || len(s.queue) == 0 || (s.hold && s.steps <= 0) {
		return false
	}
	next := s.queue[0]
	if next.ready != nil && !next.ready() {
		return false
	}
	s.running = true
	if next.host != nil {
		s.dev.driver.mu.Unlock()
		next.host()
		s.dev.driver.mu.Lock()
	}
	s.dev.clock += next.cost
	if next.run != nil {
		if err := next.run(); err != nil && s.failure == nil {
			s.failure = err
		}
	}
	s.running = false
	s.queue = s.queue[1:]
	s.finished++
	s.steps--
	s.dev.driver.progress.Broadcast()
	return true
}

// enter takes the lock, counts the call and returns an error if the call fails. The
// caller unlocks in any case.
func (s *Stream) enter(call Call) error {
	if err := s.dev.enter(call); err != nil {
		return err
	}
	if s.closed {
		return device.Errorf(device.CodeInvalidState, "devicetest."+string(call),
			"the stream is closed").On(s.dev.info.ID)
	}
	return nil
}

func (s *Stream) push(call Call, w work) error {
	err := s.enter(call)
	defer s.dev.driver.mu.Unlock()
	if err != nil {
		return err
	}
	s.pushLocked(w)
	return nil
}

// pushLocked queues work, or records it if the stream captures. The caller holds the
// driver's mu.
func (s *Stream) pushLocked(w work) {
	if s.graph != nil {
		s.graph.work = append(s.graph.work, w)
		return
	}
	s.queue = append(s.queue, w)
	s.queued++
	s.dev.driver.advance()
}

// Copy queues a copy within the device.
func (s *Stream) Copy(dst, src device.Addr, size uint64) error {
	return s.push(Copy, work{
		cost: time.Duration(size), uses: [2]use{s.within(src, size), s.within(dst, size)},
		run: func() error { return s.dev.transfer("devicetest.copy", dst, s.dev, src, size) },
	})
}

// CopyBatch queues copies within the device, one after the other.
func (s *Stream) CopyBatch(copies []device.Move) error {
	err := s.enter(CopyBatch)
	defer s.dev.driver.mu.Unlock()
	if err != nil {
		return err
	}
	for _, c := range copies {
		s.pushLocked(work{
			cost: time.Duration(c.SizeBytes), uses: [2]use{s.within(c.Src, c.SizeBytes), s.within(c.Dst, c.SizeBytes)},
			run: func() error { return s.dev.transfer("devicetest.copy_batch", c.Dst, s.dev, c.Src, c.SizeBytes) },
		})
	}
	return nil
}

// CopyFromHost queues a copy from a buffer of Device.HostBuffer.
func (s *Stream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	return s.push(CopyFromHost, work{
		cost: time.Duration(size), uses: [2]use{s.within(dst, size)},
		run: func() error { return s.dev.moveFromHost(dst, src, size) },
	})
}

// CopyToHost queues a copy to a buffer of Device.HostBuffer.
func (s *Stream) CopyToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	return s.push(CopyToHost, work{
		cost: time.Duration(size), uses: [2]use{s.within(src, size)},
		run: func() error { return s.dev.moveToHost(dst, src, size) },
	})
}

// Fill queues a fill.
func (s *Stream) Fill(dst device.Addr, pattern device.Pattern, size uint64) error {
	return s.push(Fill, work{
		cost: time.Duration(size), uses: [2]use{s.within(dst, size)},
		run: func() error { return s.dev.fill(dst, pattern, size) },
	})
}

// HostFunction queues a call of fn.
func (s *Stream) HostFunction(fn func()) error {
	return s.push(HostFunction, work{cost: 1, host: fn})
}

// RecordEvent records an event at the present end of the queue; the result is an
// *Event.
func (s *Stream) RecordEvent() (device.Event, error) {
	err := s.enter(RecordEvent)
	defer s.dev.driver.mu.Unlock()
	if err != nil {
		return nil, err
	}
	event := &Event{dev: s.dev}
	s.dev.openEvents++
	if event.graph = s.graph; s.graph != nil {
		return event, nil
	}
	s.pushLocked(work{cost: 1, run: func() error {
		event.passed, event.at = true, s.dev.clock
		return nil
	}})
	return event, nil
}

// WaitEvent makes later work wait for an *Event of the same driver.
func (s *Stream) WaitEvent(event device.Event) error {
	other, ok := event.(*Event)
	if !ok || other.dev.driver != s.dev.driver {
		return device.Errorf(device.CodeUnsupported, "devicetest.wait_event",
			"the event is of another backend").On(s.dev.info.ID)
	}
	err := s.enter(WaitEvent)
	defer s.dev.driver.mu.Unlock()
	if err != nil {
		return err
	}
	if other.graph != nil {
		other.graph.join(s)
		return nil
	}
	s.pushLocked(work{cost: 1, ready: func() bool { return other.passed }})
	return nil
}

// Idle reports whether nothing is queued.
func (s *Stream) Idle() (bool, error) {
	err := s.enter(StreamIdle)
	defer s.dev.driver.mu.Unlock()
	if err == nil {
		err = s.uncaptured(StreamIdle)
	}
	if err != nil {
		return false, err
	}
	if s.mayCapture {
		s.dev.forbidden++
	}
	return len(s.queue) == 0, nil
}

// Synchronize waits for the work that is queued now.
func (s *Stream) Synchronize(timeout time.Duration) error {
	err := s.enter(StreamSynchronize)
	defer s.dev.driver.mu.Unlock()
	if err == nil {
		err = s.uncaptured(StreamSynchronize)
	}
	if err != nil {
		return err
	}
	goal := s.queued
	err = s.dev.driver.wait(timeout, "devicetest.stream_synchronize", func() bool {
		return s.finished >= goal
	})
	if err != nil {
		return err
	}
	err, s.failure = s.failure, nil
	return err
}

// Close drains the queue, even if it is held, and destroys the stream.
func (s *Stream) Close() error {
	err := s.enter(StreamClose)
	defer s.dev.driver.mu.Unlock()
	if err == nil {
		err = s.uncaptured(StreamClose)
	}
	if err != nil {
		return err
	}
	if s == s.dev.defaultStream {
		return device.Errorf(device.CodeInvalidArgument, "devicetest.stream_close",
			"the default stream ends when its device closes").On(s.dev.info.ID)
	}
	s.hold = false
	s.dev.driver.advance()
	if err := s.dev.driver.wait(device.Forever, "devicetest.stream_close", func() bool {
		return len(s.queue) == 0
	}); err != nil {
		return err
	}
	s.closed = true
	s.dev.openStreams--
	s.dev.driver.dropStream(s)
	return nil
}
