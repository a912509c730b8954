package sleep

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// Turn lets one thread at a time put pages to sleep or wake them. It comes before all
// locks.
type Turn struct {
	// taken is full while a thread holds the turn.
	taken chan struct{}
}

// NewTurn returns a turn that no thread holds.
func NewTurn() Turn { return Turn{taken: make(chan struct{}, 1)} }

// Take gives the turn to the calling thread. If another thread has it, the call returns
// CodeTimeout with noWait, and CodeBusy if mayWait reports that the thread may not
// wait.
func (t Turn) Take(ctx context.Context, e *extent.Extent, op string, noWait bool, mayWait func() bool) error {
	select {
	case t.taken <- struct{}{}:
		return nil
	default:
	}
	if noWait {
		return e.Fault(device.CodeTimeout, op, "another sleep or wake of %s is running, and the call must not wait for it", e.Title())
	}
	if !mayWait() {
		return e.Fault(device.CodeBusy, op, "another sleep or wake of %s is running, and this thread must not wait for it", e.Title())
	}
	select {
	case t.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return Ended(ctx, e, op)
	}
}

// End releases the turn.
func (t Turn) End() { <-t.taken }

// Ended returns the error of a call whose context has ended.
func Ended(ctx context.Context, e *extent.Extent, op string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return e.Fault(device.CodeTimeout, op, "%s: the timeout of the call has expired", e.Title())
	}
	return e.Fault(device.CodeCancelled, op, "%s: the call was cancelled", e.Title())
}
