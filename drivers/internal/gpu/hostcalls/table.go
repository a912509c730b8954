package hostcalls

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// call is a queued function.
type call[S comparable] struct {
	stream   S
	function func()
}

// Table holds the functions of all streams of a process. S is the type of a stream.
type Table[S comparable] struct {
	// worker is the name of the workers. thread returns the number of the calling thread,
	// or 0 if threads have no numbers.
	worker string
	thread func() int64

	// running is len(threads). It can be read without the lock.
	running atomic.Int64

	mu     sync.Mutex
	last   uintptr
	queued map[uintptr]call[S]
	// of counts the functions of each stream that has any.
	of      map[S]int
	threads map[int64]struct{}
}

// New returns an empty table. worker is the name of its workers; thread returns the number
// of the calling thread.
func New[S comparable](worker string, thread func() int64) *Table[S] {
	return &Table[S]{
		worker: worker, thread: thread,
		queued: map[uintptr]call[S]{}, of: map[S]int{}, threads: map[int64]struct{}{},
	}
}

// Queue adds a function of a stream and returns the number by which Run finds it. full:
// most functions of the stream have not begun, and nothing was added.
func (t *Table[S]) Queue(s S, most int, function func()) (number uintptr, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[s] >= most {
		return 0, true
	}
	t.last++
	t.queued[t.last] = call[S]{s, function}
	t.of[s]++
	return t.last, false
}

// Queued counts the functions of a stream that have not begun.
func (t *Table[S]) Queued(s S) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[s]
}

// Drop removes a function that the runtime rejected.
func (t *Table[S]) Drop(number uintptr) { t.take(number) }

func (t *Table[S]) take(number uintptr) (call[S], bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, found := t.queued[number]
	if found {
		delete(t.queued, number)
		t.less(c.stream)
	}
	return c, found
}

// less lowers the count of a stream by one. The caller holds mu.
func (t *Table[S]) less(s S) {
	if t.of[s]--; t.of[s] == 0 {
		delete(t.of, s)
	}
}

// Forget removes the functions of streams that will never run them.
func (t *Table[S]) Forget(ended func(S) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.queued, func(_ uintptr, c call[S]) bool {
		if !ended(c.stream) {
			return false
		}
		t.less(c.stream)
		return true
	})
}

// Run runs a function once and waits for it. It calls failed if the function panicked or
// ended its goroutine. It does nothing for a number that is not in the table.
func (t *Table[S]) Run(number uintptr, failed func(S)) {
	c, found := t.take(number)
	if !found {
		return
	}
	returned := false
	<-device.Go(t.worker, func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := t.thread()
		t.note(thread, true)
		defer t.note(thread, false)
		c.function()
		returned = true
	})
	if !returned {
		failed(c.stream)
	}
}

func (t *Table[S]) note(thread int64, runs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if runs && thread != 0 {
		t.threads[thread] = struct{}{}
	} else {
		delete(t.threads, thread)
	}
	t.running.Store(int64(len(t.threads)))
}

// Inside states whether the calling thread runs one of the functions.
func (t *Table[S]) Inside() bool {
	if t.running.Load() == 0 {
		return false
	}
	thread := t.thread()
	t.mu.Lock()
	defer t.mu.Unlock()
	_, inside := t.threads[thread]
	return inside
}
