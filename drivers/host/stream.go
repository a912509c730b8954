package host

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// stream is an ordered queue with one worker. The worker starts with the first
// operation, sleeps on a condition variable while the queue is empty, and ends
// when the stream is shut and has run dry.
type stream struct {
	// set is what the stream is one of.
	set    *streamSet
	number int

	// submitted and completed count operations; they change under mu and are
	// read without it.
	submitted, completed atomic.Uint64
	// hostThread is the thread that runs a host function of this stream now, or
	// 0.
	hostThread atomic.Int64
	// shutting is set under mu and never taken back.
	shutting atomic.Bool

	mu      sync.Mutex
	wake    sync.Cond
	queue   ring
	waiters []*waiter
	// failure is the first one since the last Synchronize.
	failure error
	// worker is closed when the worker has ended; nil before it has started.
	worker <-chan struct{}
	// hostMu is for what follows, and a leaf but for device.ReserveThread.
	hostMu sync.Mutex
	// hostQueued is how many host functions are queued or run; hostRelease gives back
	// the thread that is reserved for them.
	hostQueued  int
	hostRelease func()
	// foreign runs the operations instead of a worker; nil for a stream of our own.
	foreign *foreignQueue
}

// waiter is woken when as many operations are completed.
type waiter struct {
	target uint64
	passed chan struct{}
}

var _ device.Stream = (*stream)(nil)

func newStream(set *streamSet, number int) *stream {
	s := &stream{set: set, number: number}
	s.wake.L = &s.mu
	return s
}

func (s *stream) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(s.set.id)
}

// check refuses a call on a closed stream. Only a caller that holds s.mu can
// rely on the stream staying open.
func (s *stream) check(op string) error {
	if s.shutting.Load() {
		return s.errorf(device.CodeInvalidState, op, "stream %d is closed", s.number)
	}
	return nil
}

// push queues an operation, or lets go of its memory if it cannot.
func (s *stream) push(op string, o operation) error {
	s.mu.Lock()
	err := s.pushLocked(op, o)
	number := s.submitted.Load()
	s.mu.Unlock()
	if err == nil && s.foreign != nil {
		return s.announce(op, number)
	}
	return err
}

// pushLocked is push without the announcement. The caller holds mu.
func (s *stream) pushLocked(op string, o operation) error {
	if err := s.check(op); err != nil {
		o.Release()
		return err
	}
	queued := s.queue.count - s.queue.marks
	if o.kind == kindRecord {
		queued = s.queue.marks - 1
	}
	if queued >= maxQueued {
		o.Release()
		return s.errorf(device.CodeResourceExhausted, op,
			"stream %d: %d operations are queued already, as many as may be", s.number, queued)
	}
	s.submitted.Add(1)
	s.queue.push(o)
	if s.foreign != nil {
		return nil
	}
	if s.worker == nil {
		s.worker = device.Go(s.workerName(), s.work)
	}
	s.wake.Signal()
	return nil
}

// work runs on the worker.
func (s *stream) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for s.queue.count == 0 {
			if s.shutting.Load() {
				return
			}
			s.wake.Wait()
		}
		next := s.queue.pop()
		s.mu.Unlock()
		err := s.execute(&next)
		next.Release()
		s.mu.Lock()
		s.finish(err)
	}
}

// finish counts an operation as done and wakes who waited for it. The caller
// holds s.mu.
func (s *stream) finish(err error) {
	if err != nil && s.failure == nil {
		s.failure = err
	}
	completed := s.completed.Add(1)
	s.waiters = slices.DeleteFunc(s.waiters, func(w *waiter) bool {
		if w.target > completed {
			return false
		}
		close(w.passed)
		return true
	})
}

// await waits until as many operations as target are done.
func (s *stream) await(target uint64, wait *deadline) error {
	if s.completed.Load() >= target {
		return nil
	}
	if s.insideHostFunction() {
		return s.errorf(device.CodeInvalidState, wait.op, "called from a host function of stream %d", s.number)
	}
	s.mu.Lock()
	if s.completed.Load() >= target {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{target: target, passed: make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.mu.Unlock()
	if wait.wait(w.passed) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters = slices.DeleteFunc(s.waiters, func(other *waiter) bool { return other == w })
	done := s.completed.Load()
	if done >= target {
		return nil
	}
	return s.errorf(device.CodeTimeout, wait.op,
		"stream %d: %d operations are not done after %v", s.number, target-done, wait.timeout)
}

// Idle reads two counters.
func (s *stream) Idle() (bool, error) {
	// Completed first: equal to a later reading of submitted, it covers all that
	// was submitted up to then.
	completed := s.completed.Load()
	if completed == s.submitted.Load() {
		return true, s.check("host.idle")
	}
	return false, nil
}

// Synchronize waits for the work queued so far. From a host function of this
// stream it is CodeInvalidState on Linux; elsewhere it would wait for itself.
func (s *stream) Synchronize(timeout time.Duration) error {
	if err := s.check("host.synchronize"); err != nil {
		return err
	}
	if err := s.markEnd("host.synchronize"); err != nil {
		return err
	}
	wait, err := newDeadline("host.synchronize", timeout)
	if err != nil {
		return device.About(s.set.id, err)
	}
	defer wait.stop()
	if err := s.await(s.submitted.Load(), wait); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failure := s.failure
	s.failure = nil
	return failure
}

// Close runs the queue dry and ends the worker. From a host function of this
// stream it is CodeInvalidState (on Linux). The default stream goes with its
// device: CodeInvalidArgument.
func (s *stream) Close() error {
	if s == s.set.first {
		return s.errorf(device.CodeInvalidArgument, "host.close_stream", "the default stream goes with its device")
	}
	if s.insideHostFunction() {
		return s.errorf(device.CodeInvalidState, "host.close_stream", "called from a host function of stream %d", s.number)
	}
	if err := s.shut("host.close_stream"); err != nil {
		return err
	}
	s.set.forget(s)
	return nil
}

// shut takes no more work, and returns when the worker has ended.
func (s *stream) shut(op string) error {
	if s.foreign != nil {
		return s.shutForeign(op)
	}
	s.mu.Lock()
	if err := s.check(op); err != nil {
		s.mu.Unlock()
		return err
	}
	s.shutting.Store(true)
	worker := s.worker
	s.wake.Signal()
	s.mu.Unlock()
	if worker != nil {
		<-worker
	}
	return nil
}

// insideHostFunction says whether the calling thread runs a host function of
// this stream.
func (s *stream) insideHostFunction() bool {
	thread := s.hostThread.Load()
	return thread != 0 && thread == threadID()
}
