package streams

import (
	"runtime"

	"ferrum_mem/core/device"
)

// foreignQueue is what runs the operations of a stream that somebody else made. Each
// operation is announced by one piece of work in the foreign queue, and each piece of
// work runs the oldest operation, whichever announced it: the order of the stream is
// that of its own queue. All but run is guarded by stream.mu.
type foreignQueue struct {
	run func(work func()) error
	// turns counts the pieces of work that came and have not been used.
	turns     int
	executing bool
	// announcing are the threads that are in run, on which work may come at once.
	announcing map[int64]int
	// left marks what was queued when the stream was closed; nil before.
	left *mark
}

// TakesForeignWork: what the owner of an adopted stream queues in it Idle does not tell.
func (s *Stream) TakesForeignWork() bool { return s.foreign != nil }

// shutForeign marks the end of the foreign queue, takes no more work, and returns when what
// was queued here is done. What its owner has queued may still run then: until it has, Idle
// is false and RecordEvent gives the mark, as before. A queue that refuses the mark has
// nobody's work to wait for.
func (s *Stream) shutForeign(op string) error {
	left := &mark{}
	s.mu.Lock()
	if err := s.check(op); err != nil {
		s.mu.Unlock()
		return err
	}
	queued := s.submitted.Load()
	number := s.submitted.Add(1)
	s.queue.push(operation{kind: kindRecord, mark: left})
	s.foreign.left = left
	s.shutting.Store(true)
	s.mu.Unlock()
	if s.announce(op, number) != nil {
		left.pass(s.set.start)
	}
	return s.await(queued, &deadline{op: op, timeout: device.Forever})
}

// leftEvent is an event for what was queued when the stream was closed; nil: it is open,
// or that has ended.
func (s *Stream) leftEvent() device.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.foreign.left; left != nil && !left.passed.Load() {
		return &event{mark: left, stream: s}
	}
	return nil
}

// LeavesWork: Close waits only for what was queued here.
func (s *Stream) LeavesWork() bool { return s.foreign != nil }

// announce has the foreign queue run an operation that was queued. When it refuses,
// the operation is taken back. The stream is not locked: it may be run at once.
func (s *Stream) announce(op string, number uint64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := threadID()
	s.countAnnouncing(thread, 1)
	refused := s.foreign.run(s.takeTurn)
	s.countAnnouncing(thread, -1)
	if refused == nil {
		return nil
	}
	s.mu.Lock()
	// The newest has the number of all that were submitted.
	taken := s.queue.at(s.queue.count - 1 - int(s.submitted.Load()-number))
	if taken != nil {
		taken.Release()
		s.queue.takeBack(taken)
		s.skip()
	}
	s.mu.Unlock()
	if taken == nil {
		// A piece of work for another operation ran this one: that other has none now.
		device.Go(s.workerName(), s.takeTurn)
		return nil
	}
	return device.Errorf(device.CodeDevice, op, "stream %d: the adopted stream refused the work: %w",
		s.number, refused).On(s.set.id)
}

func (s *Stream) countAnnouncing(thread int64, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.foreign
	if f.announcing[thread] += by; f.announcing[thread] == 0 {
		delete(f.announcing, thread)
	}
}

// takeTurn runs the oldest operation. One that comes while another runs, from inside
// of it or because the foreign queue is not ordered, is run after that one.
func (s *Stream) takeTurn() {
	s.mu.Lock()
	f := s.foreign
	f.turns++
	if f.executing {
		s.mu.Unlock()
		return
	}
	f.executing = true
	s.runTurns(f.announcing[threadID()] > 0)
}

// runTurns runs what waits. A host function that comes at once, inside of the call that
// queues it, is left to a worker: that call may hold what the function wants. The caller
// holds mu, which it lets go of.
func (s *Stream) runTurns(atOnce bool) {
	f := s.foreign
	for ; f.turns > 0; f.turns-- {
		if atOnce && s.queue.isAt(kindHost) {
			s.mu.Unlock()
			device.Go(s.workerName(), func() {
				s.mu.Lock()
				s.runTurns(false)
			})
			return
		}
		if s.queue.count == 0 {
			continue
		}
		s.runNext()
		f.executing = false
		s.skip()
		f.executing = true
	}
	f.executing = false
	s.mu.Unlock()
}

// skip counts operations that were taken back as done, once they are the oldest and
// nothing runs before them. The caller holds mu.
func (s *Stream) skip() {
	for !s.foreign.executing && s.queue.isAt(kindNothing) {
		s.queue.pop()
		s.finish(nil)
	}
}

// markEnd queues a mark in a stream of somebody else's, so that who waits for what
// was queued here waits for what its owner queued as well.
func (s *Stream) markEnd(op string) error {
	if s.foreign == nil {
		return nil
	}
	return s.push(op, operation{kind: kindRecord, mark: &mark{}})
}

// AdoptStream gives a stream whose operations run in somebody else's queue.
func (t *Set) AdoptStream(foreign device.ForeignStream) (device.Stream, error) {
	const op = "host.adopt_stream"
	if foreign.Native != 0 {
		return nil, t.errorf(device.CodeUnsupported, op,
			"native handle %#x: streams of the host have none, they are functions that queue work", foreign.Native)
	}
	if foreign.Enqueue == nil {
		return nil, t.errorf(device.CodeNullPointer, op, "enqueue: must not be nil")
	}
	made, err := t.NewStream()
	if err != nil {
		return nil, err
	}
	s := made.(*Stream)
	s.foreign = &foreignQueue{run: foreign.Enqueue, announcing: map[int64]int{}}
	return s, nil
}
