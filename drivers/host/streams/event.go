package streams

import (
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// event is a handle of a mark.
type event struct {
	*mark
	stream *Stream
	closed atomic.Bool
}

var _ device.Event = (*event)(nil)

func (e *event) check(op string) error {
	if e.closed.Load() {
		return e.stream.errorf(device.CodeInvalidState, op, "the event is closed")
	}
	return nil
}

func (e *event) Done() (bool, error) {
	if err := e.check("host.event_done"); err != nil {
		return false, err
	}
	return e.passed.Load(), nil
}

// Synchronize waits for the event. A host function that waits for an event queued behind
// itself gets CodeInvalidState (on Linux).
func (e *event) Synchronize(timeout time.Duration) error {
	const op = "host.synchronize_event"
	if err := e.check(op); err != nil {
		return err
	}
	wait, err := newDeadline(op, timeout)
	if err != nil {
		return device.About(e.stream.set.id, err)
	}
	if e.passed.Load() {
		return nil
	}
	if e.stream.insideHostFunction() {
		return e.stream.errorf(device.CodeInvalidState, op,
			"called from a host function of stream %d, and the event is recorded after that function", e.stream.number)
	}
	defer wait.stop()
	if !wait.wait(e.signalled()) {
		return e.stream.errorf(device.CodeTimeout, op,
			"stream %d: the event has not completed after %v", e.stream.number, timeout)
	}
	return nil
}

func (e *event) PassedAt() (time.Duration, error) {
	if err := e.check("host.event_passed_at"); err != nil {
		return 0, err
	}
	if !e.passed.Load() {
		return 0, e.stream.errorf(device.CodeInvalidState, "host.event_passed_at", "the event has not completed yet")
	}
	return e.at, nil
}

func (e *event) Close() error {
	if e.closed.Swap(true) {
		return e.stream.errorf(device.CodeInvalidState, "host.close_event", "the event is closed already")
	}
	return nil
}
