package pool

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// CompleteFrees takes in every freed block whose queued work has completed.
func (p *Pool) CompleteFrees() {
	p.family.sweepGraphs()
	p.heap.lockCompleted()
	p.heap.mu.Unlock()
	p.heap.changed()
}

// The time that a wait spends on one stream before it turns to the others.
const (
	firstTurn = 100 * time.Microsecond
	lastTurn  = 5 * time.Millisecond
)

// WaitForFlight waits until an event for which freed blocks wait has completed, and takes
// in all blocks whose events have completed. If blocks wait for several streams, it waits
// for each in turn, so that a stream that does not progress does not delay the others. It
// returns false if no block is in flight, and CodeTimeout after timeout; device.Forever
// means no limit.
func (p *Pool) WaitForFlight(timeout time.Duration) (bool, error) {
	return p.supply.waitForFlight(timeout)
}

// waitForFlight implements WaitForFlight.
func (u *supply) waitForFlight(timeout time.Duration) (bool, error) {
	f := &u.heap.inFlight
	start, turn := track.Now(), firstTurn
	u.heap.lock()
	before := f.Passes()
	for round := 0; ; round++ {
		wait, ok := f.BeginWait(round)
		completed := f.Passes() != before
		if !ok {
			u.heap.mu.Unlock()
			u.heap.changed()
			return completed, nil
		}
		u.heap.mu.Unlock()

		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		span := left
		if wait.Several && (left == device.Forever || left > turn) {
			span = turn
			turn = min(turn+turn/4, lastTurn)
		}
		err := wait.Event.Synchronize(span)

		u.heap.lock()
		f.EndWait(wait, err == nil || errors.Is(err, device.CodeDeviceLost))
		u.heap.completeAll()
		if f.Passes() != before {
			u.heap.mu.Unlock()
			u.heap.changed()
			return true, nil
		}
		if err != nil && (span == left || !errors.Is(err, device.CodeTimeout)) {
			u.heap.mu.Unlock()
			return false, err
		}
	}
}
