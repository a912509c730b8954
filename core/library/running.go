package library

import "sync"

// isOver states whether the channel that the end of some work closes is closed.
func isOver(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

// running counts the caller's callbacks that run now. A callback that removes itself,
// or its monitor, is in no table any more, so the end of its device waits for it here.
type running struct {
	// inside reports whether the calling thread runs the callback with that token or,
	// with 0, any callback; nil: never.
	inside func(token uint64) bool

	mu    sync.Mutex
	ended *sync.Cond
	// calls counts by device. The calls of monitors and placement strategies, which
	// belong to no device, are under nil.
	calls map[*Device]int
}

func newRunning(inside func(token uint64) bool) *running {
	r := &running{inside: inside, calls: map[*Device]int{}}
	r.ended = sync.NewCond(&r.mu)
	return r
}

// during counts a call of a callback while it runs.
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

// await waits for the end of the calls of a device, or with nil of those of no device.
// No new calls begin, because their registrations are removed. The caller must not run
// inside a callback.
func (r *running) await(d *Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.calls[d] > 0 {
		r.ended.Wait()
	}
}

// awaitAll waits for the calls of all devices and of none.
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

// awaitCallbacks waits for callbacks of a device, or with nil of no device, that
// removed themselves and still run. A call from inside a callback does not wait,
// because it could wait for itself.
func (r *running) awaitCallbacks(d *Device) {
	if !r.insideAnyCallback() {
		r.await(d)
	}
}
