package library

import "sync"

// running counts the caller's callbacks that run right now. One that removes itself, or
// its monitor, has left every table by then, and is waited for here.
type running struct {
	mu    sync.Mutex
	ended *sync.Cond
	// calls is by device; those of monitors and placement strategies, which belong to
	// none, are under nil.
	calls map[*Device]int
}

func newRunning() *running {
	r := &running{calls: map[*Device]int{}}
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
