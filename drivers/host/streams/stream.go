package streams

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Stream is an ordered queue with one worker. The worker starts with the first
// operation, sleeps on a condition variable while the queue is empty, and ends
// when the stream is shut and has run dry.
type Stream struct {
	// set is what the stream is one of.
	set    *Set
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
	// pin keeps the counts in place, where they may be read from outside of Go, if pinned.
	pin    runtime.Pinner
	pinned bool
	// foreign runs the operations instead of a worker; nil for a stream of our own.
	foreign *foreignQueue
}

// waiter is woken when as many operations are completed.
type waiter struct {
	target uint64
	passed chan struct{}
}

var (
	_ device.Stream       = (*Stream)(nil)
	_ device.CountedQueue = (*Stream)(nil)
)

func newStream(set *Set, number int) *Stream {
	s := &Stream{set: set, number: number}
	s.wake.L = &s.mu
	return s
}

func (s *Stream) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(s.set.id)
}

// check refuses a call on a closed stream. Only a caller that holds s.mu can
// rely on the stream staying open.
func (s *Stream) check(op string) error {
	if s.shutting.Load() {
		return s.errorf(device.CodeInvalidState, op, "stream %d is closed", s.number)
	}
	return nil
}

// push queues an operation, or lets go of its memory if it cannot.
func (s *Stream) push(op string, o operation) error {
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
func (s *Stream) pushLocked(op string, o operation) error {
	if err := s.check(op); err != nil {
		o.Release()
		return err
	}
	queued := s.queue.count - s.queue.marks + s.queue.batched
	if o.kind == kindRecord {
		queued = s.queue.marks - 1
	}
	if queued+o.weight() > maxQueued {
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
func (s *Stream) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for s.queue.count == 0 {
			if s.shutting.Load() {
				return
			}
			s.wake.Wait()
		}
		s.runNext()
	}
}

// runNext executes the oldest operation. The caller holds mu, which is let go of
// meanwhile, but for a mark: whoever sees it passed sees it counted as done as well.
func (s *Stream) runNext() {
	next := s.queue.pop()
	if next.kind == kindRecord {
		next.mark.pass(s.set.start)
		s.finish(nil)
		return
	}
	s.mu.Unlock()
	err := s.execute(&next)
	next.Release()
	s.mu.Lock()
	s.finish(err)
}

// finish counts an operation as done and wakes who waited for it. The caller
// holds s.mu.
func (s *Stream) finish(err error) {
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
func (s *Stream) await(target uint64, wait *deadline) error {
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

// Idle reads two counters. It is true once an event that was recorded last has passed.
func (s *Stream) Idle() (bool, error) {
	// Completed first: equal to a later reading of submitted, it covers all that
	// was submitted up to then.
	completed := s.completed.Load()
	if completed != s.submitted.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.completed.Load() != s.submitted.Load() {
			return false, nil
		}
	}
	return true, s.check("host.idle")
}

// QueueCounts is where the counts of Idle are, until the stream is closed; nowhere for one of
// somebody else, who queues work that is not counted.
func (s *Stream) QueueCounts() (completed, submitted uintptr) {
	if s.foreign != nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutting.Load() {
		return 0, 0
	}
	if !s.pinned {
		s.pin.Pin(s)
		s.pinned = true
	}
	return uintptr(unsafe.Pointer(&s.completed)), uintptr(unsafe.Pointer(&s.submitted))
}

// Synchronize waits for the work queued so far. From a host function of this
// stream it is CodeInvalidState on Linux; elsewhere it would wait for itself.
func (s *Stream) Synchronize(timeout time.Duration) error {
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
func (s *Stream) Close() error {
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
func (s *Stream) shut(op string) error {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned {
		s.pin.Unpin()
		s.pinned = false
	}
	return nil
}

// insideHostFunction says whether the calling thread runs a host function of
// this stream.
func (s *Stream) insideHostFunction() bool {
	thread := s.hostThread.Load()
	return thread != 0 && thread == threadID()
}

func (s *Stream) workerName() string {
	return fmt.Sprintf("%s stream %d", s.set.id, s.number)
}

// execute runs an operation on the worker.
func (s *Stream) execute(o *operation) error {
	if o.kind == kindHost {
		defer s.dropHostThread()
	}
	if err := o.check(); err != nil {
		return err
	}
	switch o.kind {
	case kindMove:
		move(o.dst, o.src, o.size)
	case kindMoves:
		for _, m := range o.dstHeld.(moves) {
			move(m.dst, m.src, m.size)
		}
	case kindFill:
		Fill(mapping.Bytes(o.dst, o.size), device.Pattern{Value: o.value, WidthBytes: int(o.width)})
	case kindWait:
		<-o.mark.signalled()
	case kindHost:
		return s.callHost(o.function)
	case kindPrefetch:
		s.set.memory.Populate(o.dst, o.size)
	case kindRecord, kindNothing:
	}
	return nil
}

// callHost runs a host function on a worker of its own, which a panic ends
// instead of the stream's. The thread is locked, so that a wait for this stream
// from inside the function can be told from one of another thread.
func (s *Stream) callHost(function func()) error {
	returned := false
	<-device.Go(s.workerName()+" host function", func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s.hostThread.Store(threadID())
		defer s.hostThread.Store(0)
		function()
		returned = true
	})
	if !returned {
		return s.errorf(device.CodeInternal, "host.host_function",
			"a host function of stream %d panicked or ended its goroutine", s.number)
	}
	return nil
}

// holdHostThread reserves one thread for all host functions that are queued.
func (s *Stream) holdHostThread(op string) error {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	if s.hostQueued == 0 {
		release, err := device.ReserveThread(op)
		if err != nil {
			return device.About(s.set.id, err)
		}
		s.hostRelease = release
	}
	s.hostQueued++
	return nil
}

// dropHostThread counts one of them as done.
func (s *Stream) dropHostThread() {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	s.hostQueued--
	if s.hostQueued == 0 {
		s.hostRelease()
	}
}
