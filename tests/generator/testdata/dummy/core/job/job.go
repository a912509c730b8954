// Package job runs long work that reports its progress and can be cancelled and waited for.
//
// A Job owns one worker, which ends with the work. The job holds no lock while the work
// runs, and it makes no calls for the work.
package job

import (
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// Progress states how many steps of a job are done. A Total of 0 means that it is not
// known.
type Progress struct {
	Over        bool
	Done, Total uint64
}

// Steps is the part of a job that its work calls.
type Steps struct {
	op          string
	done, total atomic.Uint64
	cancelled   chan struct{}
	isCancelled atomic.Bool
}

// Next is called before each step. It waits until may is closed; nil: it does not wait. It
// returns CodeCancelled after Cancel.
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

// Did counts a step as done.
func (s *Steps) Did() { s.done.Add(1) }

// Job is work with a result of type R.
type Job[R any] struct {
	steps  Steps
	over   chan struct{}
	result R
	err    error
}

// Start starts work on a worker. total is the number of steps, or 0 if it is not known.
func Start[R any](op string, total uint64, work func(*Steps) (R, error)) *Job[R] {
	j := &Job[R]{steps: Steps{op: op, cancelled: make(chan struct{})}, over: make(chan struct{})}
	j.steps.total.Store(total)
	device.Go(op, func() {
		defer close(j.over)
		j.result, j.err = work(&j.steps)
	})
	return j
}

// Progress returns the progress of the job.
func (j *Job[R]) Progress() Progress {
	// HasEnded is read first: if the job is over, the other numbers are final.
	over := j.HasEnded()
	return Progress{Over: over, Done: j.steps.done.Load(), Total: j.steps.total.Load()}
}

// HasEnded states whether the job has ended, with or without success.
func (j *Job[R]) HasEnded() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// Cancel makes the job end before its next step.
func (j *Job[R]) Cancel() {
	if j.steps.isCancelled.CompareAndSwap(false, true) {
		close(j.steps.cancelled)
	}
}

// Wait waits until the job is over. It waits at most timeout (device.Forever: no limit, 0:
// it only checks), then returns CodeTimeout.
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
	if j.HasEnded() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, j.steps.op, "not over after %v", timeout)
}

// Result returns the result or the error of the work. It returns CodeInvalidState while the
// job runs.
func (j *Job[R]) Result() (R, error) {
	if !j.HasEnded() {
		var none R
		return none, device.Errorf(device.CodeInvalidState, j.steps.op, "the job is not over")
	}
	return j.result, j.err
}
