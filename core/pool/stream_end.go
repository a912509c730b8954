package pool

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
)

// endOf marks the present end of the queue of a stream that a freed block was used on;
// nil: no work is queued there. The stream may have been closed, and then it has run
// dry. It does not fail: a mark that cannot be made now is made later.
func endOf(stream device.Stream) device.Event {
	mark, err := device.MarkEnd(opFree, stream)
	if err != nil {
		return &lateEnd{stream: stream}
	}
	return mark
}

// lateEnd is an end of a queue that could not be marked when it should have been: the
// stream captures, or its driver failed. It is marked when that can be, or was passed
// when the stream is seen dry.
type lateEnd struct {
	stream device.Stream

	mu   sync.Mutex
	mark device.Event
	over bool
}

var _ device.Event = (*lateEnd)(nil)

// Done marks the end if it has to be.
func (e *lateEnd) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over && e.mark == nil {
		mark, err := device.MarkEnd(opFree, e.stream)
		e.mark, e.over = mark, mark == nil && err == nil
	}
	if !e.over && e.mark != nil {
		e.over = passed(e.mark)
	}
	return e.over, nil
}

// marked is the event that can be waited for, or nil.
func (e *lateEnd) marked() device.Event {
	if done, _ := e.Done(); done {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mark
}

// Synchronize waits as soon as there is a mark to wait for.
func (e *lateEnd) Synchronize(timeout time.Duration) error {
	if mark := e.marked(); mark != nil {
		return mark.Synchronize(timeout)
	}
	if done, _ := e.Done(); done {
		return nil
	}
	return device.Errorf(device.CodeTimeout, opFree, "the end of the stream's queue could not be marked within %v", timeout)
}

// PassedAt is CodeUnsupported: nobody measures it.
func (e *lateEnd) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, opFree, "a mark that was made later has no time")
}

func (e *lateEnd) Close() error {
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
