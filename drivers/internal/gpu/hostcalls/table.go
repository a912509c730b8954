package hostcalls

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// call is a function that is queued.
type call[S comparable] struct {
	stream   S
	function func()
}

// Table has the functions of all streams of a process; S is a stream.
type Table[S comparable] struct {
	// worker is the name of the workers, and thread names the calling thread, 0 where
	// threads have no number.
	worker string
	thread func() int64

	// running is len(threads), for who wants to know without the lock that there is none.
	running atomic.Int64

	mu     sync.Mutex
	last   uintptr
	queued map[uintptr]call[S]
	// of counts those of each stream that has any.
	of      map[S]int
	threads map[int64]struct{}
}

// New has no functions. Its workers have the name, and thread names the calling thread.
func New[S comparable](worker string, thread func() int64) *Table[S] {
	return &Table[S]{
		worker: worker, thread: thread,
		queued: map[uintptr]call[S]{}, of: map[S]int{}, threads: map[int64]struct{}{},
	}
}

// Queue enters a function of a stream, and gives the number to run it by. While as many of
// the stream's have not begun as may be, it says so and enters nothing.
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

// Drop takes out a function that the runtime refused.
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

// less counts one function of a stream less. The caller holds mu.
func (t *Table[S]) less(s S) {
	if t.of[s]--; t.of[s] == 0 {
		delete(t.of, s)
	}
}

// Forget drops the functions of streams that will never run them.
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

// Run runs a function, once, and waits for it; failed is told of one that panicked or
// ended its goroutine. A number that there is none of, or none any more, does nothing.
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

// Inside says whether the calling thread runs one of the functions.
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
