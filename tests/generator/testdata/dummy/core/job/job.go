// Package job is long work that is asked how far it is, cancelled and waited for.
//
// A job owns one worker, which ends with the work. It takes no lock while the work
// runs, and the work calls nobody through it.
package job

import (
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// Progress is how far a job is. A Total of 0 is not known.
type Progress struct {
	Over        bool
	Done, Total uint64
}

// Steps is what the work of a job says of itself.
type Steps struct {
	op          string
	done, total atomic.Uint64
	cancelled   chan struct{}
	isCancelled atomic.Bool
}

// Next is asked for before each step, and is CodeCancelled once the job is to end. may
// says when the step may begin; nil: at once.
func (s *Steps) Next(may <-chan struct{}) error {
	if may != nil {
		select {
		case <-may:
		case <-s.cancelled:
		}
	}
	if s.isCancelled.Load() {
		return device.Errorf(device.CodeCancelled, s.op, "cancelled after %d of %d steps", s.done.Load(), s.total.Load())
	}
	return nil
}

// Did counts a step that is done.
func (s *Steps) Did() { s.done.Add(1) }

// Job is work that gives an R.
type Job[R any] struct {
	steps  Steps
	over   chan struct{}
	result R
	err    error
}

// Start begins work of so many steps, 0 if that is not known, on a worker.
func Start[R any](op string, total uint64, work func(*Steps) (R, error)) *Job[R] {
	j := &Job[R]{steps: Steps{op: op, cancelled: make(chan struct{})}, over: make(chan struct{})}
	j.steps.total.Store(total)
	device.Go(op, func() {
		defer close(j.over)
		j.result, j.err = work(&j.steps)
	})
	return j
}

// Progress is how far it is.
func (j *Job[R]) Progress() Progress {
	// What is over is asked first: the numbers are then the last ones.
	over := j.IsOver()
	return Progress{Over: over, Done: j.steps.done.Load(), Total: j.steps.total.Load()}
}

// IsOver says whether it has ended, in whatever way.
func (j *Job[R]) IsOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// Cancel asks it to end before its next step.
func (j *Job[R]) Cancel() {
	if j.steps.isCancelled.CompareAndSwap(false, true) {
		close(j.steps.cancelled)
	}
}

// Wait waits until it is over, for at most timeout (device.Forever: no limit, 0: only
// asks), else CodeTimeout.
func (j *Job[R]) Wait(timeout time.Duration) error {
	if timeout == device.Forever {
		<-j.over
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-j.over:
		return nil
	case <-timer.C:
	}
	if j.IsOver() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, j.steps.op, "not over after %v", timeout)
}

// Result is what the work gave, or failed with; CodeInvalidState while it runs.
func (j *Job[R]) Result() (R, error) {
	if !j.IsOver() {
		var none R
		return none, device.Errorf(device.CodeInvalidState, j.steps.op, "the job is not over")
	}
	return j.result, j.err
}
