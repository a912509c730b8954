package engine

import (
	"cmp"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/notify"
)

// ReclaimConfig has the settings of a reclaim callback.
type ReclaimConfig struct {
	// Priority sets the order: lower values are called first, and equal ones in order
	// of registration.
	Priority int32
	// Deadline is the longest time that an allocation waits for a call; 0: 100 ms.
	Deadline time.Duration
}

const defaultReclaimDeadline = 100 * time.Millisecond

// reclaimQueue bounds the calls that wait for a call that exceeds its deadline.
const reclaimQueue = 64

// OnReclaim registers a callback that is called to free memory before an allocation
// fails. It runs on a worker with no lock held and returns the bytes that it freed. It
// returns CodeInvalidArgument for a negative deadline.
func (e *Engine) OnReclaim(c ReclaimConfig, fn func(neededBytes uint64) uint64) (*Registration, error) {
	r, err := e.NewReclaim(c, fn)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, e.closedError("engine.on_reclaim")
	}
	e.subscribers.reclaims.Add(r)
	return r, nil
}

// NewReclaim creates a reclaim callback that the engine's reclaim path does not call.
// Its owner calls it with Ask, and removes it before the engine is closed. It returns
// CodeInvalidArgument for a negative deadline.
func (e *Engine) NewReclaim(c ReclaimConfig, fn func(neededBytes uint64) uint64) (*Registration, error) {
	if c.Deadline < 0 {
		return nil, device.Errorf(device.CodeInvalidArgument, "engine.on_reclaim",
			"deadline %v is negative", c.Deadline).On(e.ID())
	}
	r := newRegistration(e)
	r.reclaim, r.priority, r.deadline = fn, c.Priority, c.Deadline
	if r.deadline == 0 {
		r.deadline = defaultReclaimDeadline
	}
	r.worker = notify.New("reclaim "+e.ID().String(), reclaimQueue)
	return r, nil
}

// listReclaims lists the callbacks in the order in which they are called.
func (s *subscribers) listReclaims() []*Registration {
	s.mu.Lock()
	reclaims := s.reclaims.Copy()
	s.mu.Unlock()
	sorting.StableBy(reclaims, func(a, b *Registration) int { return cmp.Compare(a.priority, b.priority) })
	return reclaims
}

func (s *subscribers) hasReclaims() bool {
	s.mu.LockToRead()
	defer s.mu.Unlock()
	return s.reclaims.Len() > 0
}

// The states of one call of a callback.
const (
	questionWaits = iota
	questionRuns
	questionAbandoned
)

// Ask runs the callback on its worker and waits for its end, at most until the deadline
// or until enough is closed (nil: never). inTime is false if the callback did not end
// by the deadline. A running call continues; a call that waits behind it is abandoned.
// The caller holds no lock.
func (r *Registration) Ask(neededBytes uint64, enough <-chan struct{}) (freed uint64, inTime bool) {
	var state atomic.Int32
	answer := make(chan uint64, 1)
	posted := r.worker.Post(func() {
		var bytes uint64
		defer func() { answer <- bytes }()
		if state.CompareAndSwap(questionWaits, questionRuns) {
			r.call(func() { bytes = r.reclaim(neededBytes) })
		}
	})
	if !posted {
		return 0, false
	}
	timer := time.NewTimer(r.deadline)
	defer timer.Stop()
	select {
	case freed = <-answer:
		return freed, true
	case <-enough:
		state.CompareAndSwap(questionWaits, questionAbandoned)
		return 0, true
	case <-timer.C:
		state.CompareAndSwap(questionWaits, questionAbandoned)
		return 0, false
	}
}
