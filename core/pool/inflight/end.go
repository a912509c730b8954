package inflight

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// opFree is the call for which events are recorded.
const opFree = "pool.free"

// Deferred is an event that is not simply the end of a stream's queue at the time when
// the event was recorded.
type Deferred interface {
	device.Event
	// InOrder reports whether the event nevertheless completes after all earlier work of
	// its stream.
	InOrder() bool
	// IsMarked reports whether a thread can wait for the event by now.
	IsMarked() bool
}

// inOrder reports whether an event stands for the end of a stream's queue at the time
// when it was recorded.
func inOrder(event device.Event) bool {
	deferred, ok := event.(Deferred)
	return !ok || deferred.InOrder()
}

// isMarked reports whether a thread can wait for an event.
func isMarked(event device.Event) bool {
	deferred, ok := event.(Deferred)
	return !ok || deferred.IsMarked()
}

// EndOf records an event at the present end of the queue of a stream that used a freed
// block. It returns nil if no work is queued. A stream that was closed has no queued
// work. The call does not fail: an event that cannot be recorded now is recorded later.
func EndOf(stream device.Stream) device.Event {
	mark, err := device.MarkEnd(opFree, stream)
	if err != nil {
		return LaterEndOf(stream)
	}
	return mark
}

// LaterEndOf stands for the end of a stream's queue that cannot be recorded now, because
// the stream captures or its driver failed. The event is recorded when that is possible.
// It completes at once when the stream has no queued work.
func LaterEndOf(stream device.Stream) device.Event { return &laterEnd{stream: stream} }

type laterEnd struct {
	stream device.Stream

	mu   sync.Mutex
	mark device.Event
	over bool
}

var _ Deferred = (*laterEnd)(nil)

// InOrder is false: the event may be recorded behind later work.
func (e *laterEnd) InOrder() bool { return false }

// IsMarked records the event if that was not done yet.
func (e *laterEnd) IsMarked() bool { return e.marked() != nil }

// Done records the event if that was not done yet.
func (e *laterEnd) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over && e.mark == nil {
		mark, err := device.MarkEnd(opFree, e.stream)
		e.mark, e.over = mark, mark == nil && err == nil
	}
	if !e.over && e.mark != nil {
		e.over = Passed(e.mark)
	}
	return e.over, nil
}

// marked returns the recorded event, or nil if there is none or it has completed.
func (e *laterEnd) marked() device.Event {
	if done, _ := e.Done(); done {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mark
}

// Synchronize waits if the event is recorded. It returns CodeTimeout if it cannot be
// recorded.
func (e *laterEnd) Synchronize(timeout time.Duration) error {
	if mark := e.marked(); mark != nil {
		return mark.Synchronize(timeout)
	}
	if done, _ := e.Done(); done {
		return nil
	}
	return device.Errorf(device.CodeTimeout, opFree, "no event could be recorded at the end of the stream's queue within %v", timeout)
}

// PassedAt returns CodeUnsupported: no caller measures this event.
func (e *laterEnd) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, opFree, "an event that was recorded later has no time")
}

func (e *laterEnd) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mark == nil {
		return nil
	}
	err := e.mark.Close()
	if err == nil {
		e.mark, e.over = nil, true
	}
	return err
}

// PassAll waits for events and closes them. It returns false if the wait for one failed.
func PassAll(events []device.Event) bool {
	all := true
	for _, event := range events {
		err := event.Synchronize(device.Forever)
		all = all && (err == nil || errors.Is(err, device.CodeDeviceLost))
		// If the close fails, the event stays with the device.
		_ = event.Close()
	}
	return all
}

// Passed reports whether an event has completed. An event that cannot be queried has not
// completed. The events of a lost device have completed, because no work uses the memory
// any more.
func Passed(event device.Event) bool {
	done, err := event.Done()
	return done || errors.Is(err, device.CodeDeviceLost)
}

// Shared is an event that several fences use. Each use calls Close, and the last Close
// closes the event. It is created with one use, that of the caller of Share.
type Shared struct {
	device.Event
	uses atomic.Int32
}

var _ Deferred = (*Shared)(nil)

// Share returns an event that several fences may use.
func Share(event device.Event) *Shared {
	shared := &Shared{Event: event}
	shared.uses.Store(1)
	return shared
}

// Use adds one use, which ends with a Close.
func (s *Shared) Use() *Shared {
	s.uses.Add(1)
	return s
}

// InOrder returns the InOrder of the event.
func (s *Shared) InOrder() bool { return inOrder(s.Event) }

// IsMarked returns the IsMarked of the event.
func (s *Shared) IsMarked() bool { return isMarked(s.Event) }

// Close implements device.Event. After an error it may be called again.
func (s *Shared) Close() error {
	if s.uses.Add(-1) > 0 {
		return nil
	}
	err := s.Event.Close()
	if err != nil {
		s.uses.Add(1)
	}
	return err
}
