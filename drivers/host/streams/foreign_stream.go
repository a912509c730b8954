package streams

import (
	"runtime"

	"ferrum_mem/core/device"
)

// foreignQueue runs the operations of an external stream. Each operation is announced by
// one piece of work in the external queue. Each piece of work runs the oldest operation,
// whichever operation announced it. So the order of the stream is the order of its own
// queue. stream.mu guards all fields except run.
type foreignQueue struct {
	run func(work func()) error
	// turns counts the pieces of work that have arrived and are not used yet.
	turns     int
	executing bool
	// announcing are the threads inside run, where the work may run at once.
	announcing map[int64]int
	// left marks the end of the queue when the stream was closed. nil before.
	left *mark
}

// TakesForeignWork returns true for an adopted stream: its owner may queue work that Idle
// does not report.
func (s *Stream) TakesForeignWork() bool { return s.foreign != nil }

// shutForeign marks the end of the external queue, accepts no more work, and returns when
// the operations queued here are done. Work of the owner may still run then. Until it has
// run, Idle returns false and RecordEvent returns the mark. If the external queue rejects
// the mark, there is no work of the owner to wait for.
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

// leftEvent returns an event for the work that was queued when the stream was closed. nil:
// the stream is open, or that work has completed.
func (s *Stream) leftEvent() device.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.foreign.left; left != nil && !left.passed.Load() {
		return &event{mark: left, stream: s}
	}
	return nil
}

// LeavesWork returns true for an adopted stream: Close waits only for operations queued
// here.
func (s *Stream) LeavesWork() bool { return s.foreign != nil }

// announce lets the external queue run a queued operation. If it rejects the work, the
// operation is cancelled. The stream is not locked, because the work may run at once.
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
	// The newest operation has the number of all submitted ones.
	taken := s.queue.at(s.queue.count - 1 - int(s.submitted.Load()-number))
	if taken != nil {
		taken.Release()
		s.queue.cancel(taken)
		s.skip()
	}
	s.mu.Unlock()
	if taken == nil {
		// The piece of work of another operation ran this one, so that other operation now
		// lacks one.
		device.Go(s.workerName(), s.takeTurn)
		return nil
	}
	return device.Errorf(device.CodeDevice, op, "stream %d: the adopted stream rejected the work: %w",
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

// takeTurn runs the oldest operation. If another operation runs, the turn is used after
// that. This happens when a turn arrives inside that operation, or when the external queue
// is not ordered.
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

// runTurns runs the waiting operations. A host function that would run at once, inside the
// call that queues it, runs on a worker instead: that call may hold locks that the function
// needs. The caller holds mu, and runTurns unlocks it.
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

// skip counts cancelled operations as done, once they are the oldest and nothing runs
// before them. The caller holds mu.
func (s *Stream) skip() {
	for !s.foreign.executing && s.queue.isAt(kindNothing) {
		s.queue.pop()
		s.finish(nil)
	}
}

// markEnd queues a mark in an external stream, so that a wait for the operations queued
// here also waits for the work that the owner queued before.
func (s *Stream) markEnd(op string) error {
	if s.foreign == nil {
		return nil
	}
	return s.push(op, operation{kind: kindRecord, mark: &mark{}})
}

// AdoptStream creates a stream whose operations run in an external queue.
func (t *Set) AdoptStream(foreign device.ForeignStream) (device.Stream, error) {
	const op = "host.adopt_stream"
	if foreign.Native != 0 {
		return nil, t.errorf(device.CodeUnsupported, op,
			"native handle %#x: streams of the host have no native handle; set enqueue instead", foreign.Native)
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
