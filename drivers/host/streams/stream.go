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

// Stream is an ordered queue with one worker. The worker starts with the first operation,
// sleeps on a condition variable while the queue is empty, and ends when the stream is shut
// and drained.
type Stream struct {
	// set is the set that the stream belongs to.
	set    *Set
	number int

	// submitted and completed count operations. They change under mu and are read without
	// it.
	submitted, completed atomic.Uint64
	// hostThread is the thread that now runs a host function of this stream, or 0.
	hostThread atomic.Int64
	// shutting is set under mu and never reset.
	shutting atomic.Bool

	mu      sync.Mutex
	wake    sync.Cond
	queue   ring
	waiters []*waiter
	// failure is the first failure since the last Synchronize.
	failure error
	// worker is closed when the worker has ended. nil before the worker has started.
	worker <-chan struct{}
	// hostMu guards the fields below. While it is held, only the locks of
	// device.ReserveThread may be taken.
	hostMu sync.Mutex
	// hostQueued is the number of host functions that are queued or run. hostRelease
	// releases the thread that is reserved for them.
	hostQueued  int
	hostRelease func()
	// pin keeps the counters at one address, where code outside of Go may read them, if
	// pinned.
	pin    runtime.Pinner
	pinned bool
	// foreign runs the operations of an external stream in place of a worker. nil for other
	// streams.
	foreign *foreignQueue
}

// waiter is woken when target operations are completed.
type waiter struct {
	target uint64
	passed chan struct{}
}

var (
	_ device.Stream       = (*Stream)(nil)
	_ device.CountedQueue = (*Stream)(nil)
	_ device.HostWorker   = (*Stream)(nil)
)

func newStream(set *Set, number int) *Stream {
	s := &Stream{set: set, number: number}
	s.wake.L = &s.mu
	return s
}

func (s *Stream) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(s.set.id)
}

// check returns an error if the stream is closed. The stream stays open only while the
// caller holds s.mu.
func (s *Stream) check(op string) error {
	if s.shutting.Load() {
		return s.errorf(device.CodeInvalidState, op, "stream %d is closed", s.number)
	}
	return nil
}

// push queues an operation, or releases its memory on an error.
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
			"stream %d: %d operations are queued already, which is the most", s.number, queued)
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

// runNext executes the oldest operation. The caller holds mu. runNext unlocks it during the
// operation, except for a mark: a thread that sees the mark completed must also see it
// counted.
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

// finish counts an operation as done and wakes the waiters for it. The caller holds s.mu.
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

// await waits until target operations are done.
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
		"stream %d: %s not completed after %v", s.number, device.Count(target-done, "operation"), wait.timeout)
}

// Idle reads two counters. It returns true once the last recorded event has completed.
func (s *Stream) Idle() (bool, error) {
	// completed is read first. If it equals submitted, which is read later, it covers
	// everything submitted until then.
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

// QueueCounts returns the addresses of the two counters that Idle reads, valid until the
// stream is closed. It returns 0 for an external stream, whose owner queues work that is
// not counted.
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

// Synchronize waits for the work queued so far. From a host function of this stream it
// returns CodeInvalidState on Linux. On other systems it would wait for itself.
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

// Close drains the stream and ends the worker. From a host function of this stream it
// returns CodeInvalidState (on Linux). For the default stream, which is closed with its
// device, it returns CodeInvalidArgument.
func (s *Stream) Close() error {
	if s == s.set.first {
		return s.errorf(device.CodeInvalidArgument, "host.close_stream", "the default stream ends when its device closes")
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

// shut accepts no more work, and returns when the worker has ended.
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

// insideHostFunction states whether the calling thread runs a host function of this stream.
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
		return s.callHost(o)
	case kindPrefetch:
		s.set.memory.Populate(o.dst, o.size)
	case kindRecord, kindNothing:
	}
	return nil
}

// callHost runs a host function on its own worker. A panic ends that worker instead of the
// stream's. The goroutine is locked to its thread, so that a wait for this stream from
// inside the function can be distinguished from a wait of another thread.
func (s *Stream) callHost(o *operation) error {
	var failure error
	returned := false
	<-device.Go(s.workerName()+" host function", func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s.hostThread.Store(threadID())
		defer s.hostThread.Store(0)
		if o.fallible != nil {
			failure = o.fallible()
		} else {
			o.function()
		}
		returned = true
	})
	if !returned {
		return s.errorf(device.CodeInternal, "host.host_function",
			"a host function of stream %d panicked or ended its goroutine", s.number)
	}
	return failure
}

// holdHostThread reserves one thread for all queued host functions.
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

// dropHostThread counts one host function as done.
func (s *Stream) dropHostThread() {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	s.hostQueued--
	if s.hostQueued == 0 {
		s.hostRelease()
	}
}
