package manager

import (
	"errors"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// streamState is the state of a stream.
type streamState int

const (
	streamOpen streamState = iota
	// streamDraining rejects the caller's work while the queue drains.
	streamDraining
	streamClosed
)

// stream is a stream with a handle.
type stream struct {
	owner     *openDevice
	dev       device.Stream
	isDefault bool
	// adopted states that the stream is external: its owner may queue work that the
	// device does not report.
	adopted bool
	// madeAt is on the clock of track. For the default stream it is the time when it
	// got its handle.
	madeAt time.Duration

	// mu is held for reading while work is being queued, and for writing when the state
	// changes.
	mu     sync.RWMutex
	handle StreamHandle
	state  streamState

	// endMu guards end: an event at an end of the queue that had not completed when
	// settled last looked; nil if there is none.
	endMu sync.Mutex
	end   device.Event

	failureMu sync.Mutex
	// failure is the first failure of work that this package ran in a host function of
	// the stream. The next query of the stream returns it.
	failure error
}

// queue calls fn to queue work, unless the stream is destroyed.
func (s *stream) queue(op string, fn func(device.Stream) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state != streamOpen {
		return destroyed(op, handle.Stream, uint64(s.handle)).On(s.owner.engine.ID())
	}
	return fn(s.dev)
}

func (s *stream) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state == streamClosed
}

// idle reports whether no work is queued. A closed stream is drained, except that work
// of the owner of an adopted stream may still be queued.
func (s *stream) idle() (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.idleLocked()
}

// idleLocked is idle. The caller holds s.mu.
func (s *stream) idleLocked() (bool, error) {
	if s.state != streamClosed {
		return s.dev.Idle()
	}
	if !device.LeavesWork(s.dev) {
		return true, nil
	}
	idle, err := s.dev.Idle()
	return idle || err != nil, nil
}

// settleTime is the longest time that settled waits for an event that it has just
// recorded. An idle device completes such an event within this time.
const settleTime = 200 * time.Microsecond

// settled is idle for a caller that did not name the stream. If other code can begin a
// capture on the stream, settled does not query the stream: it records an event at the end
// of the queue. It returns false if that event does not complete within settleTime.
func (s *stream) settled() (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state == streamClosed || !device.MayCapture(s.dev) {
		return s.idleLocked()
	}
	s.endMu.Lock()
	defer s.endMu.Unlock()
	if s.end != nil {
		if done, err := s.end.Done(); err != nil || !done {
			return false, err
		}
		s.owner.closeEvents(s.end)
		s.end = nil
	}
	end, err := device.MarkEnd("manager.settled", s.dev)
	if err != nil || end == nil {
		return err == nil, err
	}
	err = end.Synchronize(settleTime)
	if errors.Is(err, device.CodeTimeout) {
		s.end = end
		return false, nil
	}
	s.owner.closeEvents(end)
	return err == nil, err
}

// forgetEnd closes the event of settled. The caller has closed the stream.
func (s *stream) forgetEnd() {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	if s.end != nil {
		s.owner.closeEvents(s.end)
		s.end = nil
	}
}

// fence records an event at the present end of the queue; nil if there is nothing to
// wait for.
func (s *stream) fence() (device.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state == streamClosed {
		return device.MarkEnd("manager.fence", s.dev)
	}
	if !s.adopted && !device.MayCapture(s.dev) {
		if idle, err := s.dev.Idle(); err == nil && idle {
			return nil, nil
		}
	}
	return device.Mark("manager.fence", s.dev)
}

// fail stores a failure for the next query of the stream.
func (s *stream) fail(err error) {
	if err == nil {
		return
	}
	s.failureMu.Lock()
	defer s.failureMu.Unlock()
	if s.failure == nil {
		s.failure = err
	}
}

func (s *stream) takeFailure() error {
	s.failureMu.Lock()
	defer s.failureMu.Unlock()
	err := s.failure
	s.failure = nil
	return err
}

// drain waits until the stream is idle. A failure of its work is stored for the next
// query.
func (s *stream) drain() error {
	waited := s.dev.Synchronize(device.Forever)
	if waited == nil {
		return nil
	}
	idle, err := s.settled()
	if err == nil && idle {
		s.fail(waited)
		return nil
	}
	return errors.Join(waited, err)
}

// destroy closes the stream if it is idle or, with force, after it has drained. No lock
// is held while it waits, because its host functions may call the library.
func (s *stream) destroy(force bool) error {
	const op = "stream.destroy"
	s.mu.Lock()
	if s.state != streamOpen {
		defer s.mu.Unlock()
		return destroyed(op, handle.Stream, uint64(s.handle)).On(s.owner.engine.ID())
	}
	if !force {
		defer s.mu.Unlock()
		idle, err := s.dev.Idle()
		if err != nil && !isLost(err) {
			return err
		}
		if err == nil && !idle {
			return device.Errorf(device.CodeBusy, op,
				"work is queued on the stream").On(s.owner.engine.ID())
		}
		return s.closeLocked()
	}
	s.state = streamDraining
	s.mu.Unlock()
	if err := s.awaitIdle(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.closeLocked()
}

// runDry drains the default stream and ends its use by this package; its device closes
// it.
func (s *stream) runDry() error {
	s.mu.Lock()
	s.state = streamDraining
	s.mu.Unlock()
	if err := s.awaitIdle(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.state = streamClosed
	s.forgetEnd()
	return nil
}

// awaitIdle returns with the lock held when a draining stream is idle. If the wait
// fails, the stream is open again and the lock is not held.
func (s *stream) awaitIdle() error {
	for {
		waited := s.dev.Synchronize(device.Forever)
		s.mu.Lock()
		idle, err := s.dev.Idle()
		if err == nil && idle || isLost(err) {
			return nil
		}
		if err == nil {
			err = waited
		}
		if err != nil {
			s.state = streamOpen
			s.mu.Unlock()
			return err
		}
		s.mu.Unlock()
	}
}

// isLost reports whether no more work of a stream will run because its device is lost.
func isLost(err error) bool { return device.CodeOf(err) == device.CodeDeviceLost }

// closeLocked closes an idle stream. The caller holds s.mu.
func (s *stream) closeLocked() error {
	if err := s.dev.Close(); err != nil {
		s.state = streamOpen
		return err
	}
	s.state = streamClosed
	s.forgetEnd()
	return nil
}
