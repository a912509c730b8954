package library

import "sync"

// running counts the caller's callbacks that run right now. One that removes itself, or
// its monitor, has left every table by then, and is waited for here.
type running struct {
	// inside says whether the caller is inside of a callback, of that one or, with 0, of
	// any; nil: it never is.
	inside func(token uint64) bool

	mu    sync.Mutex
	ended *sync.Cond
	// calls is by device; those of monitors and placement strategies, which belong to
	// none, are under nil.
	calls map[*Device]int
}

func newRunning(inside func(token uint64) bool) *running {
	r := &running{inside: inside, calls: map[*Device]int{}}
	r.ended = sync.NewCond(&r.mu)
	return r
}

// during is a call of a callback.
func (r *running) during(d *Device, call func()) {
	r.mu.Lock()
	r.calls[d]++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[d]--; r.calls[d] == 0 {
			delete(r.calls, d)
		}
		r.ended.Broadcast()
	}()
	call()
}

// await waits for the end of the calls of a device, or with nil of those that belong
// to none. No more begin: their registrations are gone. The caller runs inside none.
func (r *running) await(d *Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.calls[d] > 0 {
		r.ended.Wait()
	}
}

// awaitAll is await for all of them.
func (r *running) awaitAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.calls) > 0 {
		r.ended.Wait()
	}
}

func (r *running) insideAnyCallback() bool { return r.insideCallback(0) }

func (r *running) insideCallback(token uint64) bool {
	return r.inside != nil && r.inside(token)
}

// awaitCallbacks waits for callbacks of a device, or with nil of those that belong to
// none, that removed themselves and still run. A call from inside a callback waits for none: it may be that one.
func (r *running) awaitCallbacks(d *Device) {
	if !r.insideAnyCallback() {
		r.await(d)
	}
}
