package inflight

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// opFree is the call that marks queues.
const opFree = "pool.free"

// Deferred is an event that is not simply the end of a stream's queue as it was when the
// event was recorded.
type Deferred interface {
	device.Event
	// InOrder says that it is all the same behind what its stream queued before.
	InOrder() bool
	// IsMarked says that it can be waited for by now.
	IsMarked() bool
}

// inOrder says that an event stands for the end of a stream's queue, at the time that it
// was recorded.
func inOrder(event device.Event) bool {
	deferred, ok := event.(Deferred)
	return !ok || deferred.InOrder()
}

// isMarked is false for an event that nobody can wait for yet.
func isMarked(event device.Event) bool {
	deferred, ok := event.(Deferred)
	return !ok || deferred.IsMarked()
}

// EndOf marks the present end of the queue of a stream that a freed block was used on;
// nil: no work is queued there. The stream may have been closed, and then it has run
// dry. It does not fail: a mark that cannot be made now is made later.
func EndOf(stream device.Stream) device.Event {
	mark, err := device.MarkEnd(opFree, stream)
	if err != nil {
		return LaterEndOf(stream)
	}
	return mark
}

// LaterEndOf is an end of the queue of a stream that cannot be marked now: the stream
// captures, or its driver failed. It is marked when that can be, or has passed when the
// stream is seen dry.
func LaterEndOf(stream device.Stream) device.Event { return &laterEnd{stream: stream} }

type laterEnd struct {
	stream device.Stream

	mu   sync.Mutex
	mark device.Event
	over bool
}

var _ Deferred = (*laterEnd)(nil)

// InOrder is false: work that came later may be before it.
func (e *laterEnd) InOrder() bool { return false }

// IsMarked marks the end if it has to be.
func (e *laterEnd) IsMarked() bool { return e.marked() != nil }

// Done marks the end if it has to be.
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

// marked is the event that can be waited for, or nil.
func (e *laterEnd) marked() device.Event {
	if done, _ := e.Done(); done {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mark
}

// Synchronize waits as soon as there is a mark to wait for.
func (e *laterEnd) Synchronize(timeout time.Duration) error {
	if mark := e.marked(); mark != nil {
		return mark.Synchronize(timeout)
	}
	if done, _ := e.Done(); done {
		return nil
	}
	return device.Errorf(device.CodeTimeout, opFree, "the end of the stream's queue could not be marked within %v", timeout)
}

// PassedAt is CodeUnsupported: nobody measures it.
func (e *laterEnd) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, opFree, "a mark that was made later has no time")
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

// PassAll waits for events, and closes them; false: one could not be waited for.
func PassAll(events []device.Event) bool {
	all := true
	for _, event := range events {
		err := event.Synchronize(device.Forever)
		all = all && (err == nil || errors.Is(err, device.CodeDeviceLost))
		// What is left of it is the device's.
		_ = event.Close()
	}
	return all
}

// Passed asks whether an event has passed. One that cannot be asked has not;
// those of a lost device have: no work uses the memory any more.
func Passed(event device.Event) bool {
	done, err := event.Done()
	return done || errors.Is(err, device.CodeDeviceLost)
}

// Shared is an event that several fences stand on. Each closes it, and the last does so
// in truth. It begins with one use, its maker's.
type Shared struct {
	device.Event
	uses atomic.Int32
}

var _ Deferred = (*Shared)(nil)

// Share makes an event one that several fences may stand on.
func Share(event device.Event) *Shared {
	shared := &Shared{Event: event}
	shared.uses.Store(1)
	return shared
}

// Use counts one use more, which ends with a Close.
func (s *Shared) Use() *Shared {
	s.uses.Add(1)
	return s
}

// InOrder is what the event says.
func (s *Shared) InOrder() bool { return inOrder(s.Event) }

// IsMarked is what the event says.
func (s *Shared) IsMarked() bool { return isMarked(s.Event) }

// Close implements device.Event. One that fails may be called again.
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
