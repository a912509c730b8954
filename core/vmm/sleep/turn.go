package sleep

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// Turn lets one thread at a time put to sleep or wake. It stands above all locks.
type Turn struct {
	// taken is full while a thread has it.
	taken chan struct{}
}

// NewTurn is one that nobody has.
func NewTurn() Turn { return Turn{taken: make(chan struct{}, 1)} }

// Take makes the calling thread the one that puts to sleep or wakes. With noWait it does not
// wait for another one (CodeTimeout), and where mayWait says that the thread may not, neither
// (CodeBusy).
func (t Turn) Take(ctx context.Context, e *extent.Extent, op string, noWait bool, mayWait func() bool) error {
	select {
	case t.taken <- struct{}{}:
		return nil
	default:
	}
	if noWait {
		return e.Fault(device.CodeTimeout, op, "another sleep or wake of %q is under way, and the call is not to wait for it", e.Name)
	}
	if !mayWait() {
		return e.Fault(device.CodeBusy, op, "another sleep or wake of %q is under way, and this thread may not wait for it", e.Name)
	}
	select {
	case t.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return Ended(ctx, e, op)
	}
}

// End lets the next one have it.
func (t Turn) End() { <-t.taken }

// Ended is the error of a call whose context is over.
func Ended(ctx context.Context, e *extent.Extent, op string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return e.Fault(device.CodeTimeout, op, "%q: the time that the call had is over", e.Name)
	}
	return e.Fault(device.CodeCancelled, op, "%q: the call was cancelled", e.Name)
}
