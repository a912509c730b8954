package engine

import (
	"sync"
	"time"

	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/notify"
	"ferrum_mem/core/pressure"
)

// Registration is a registered callback.
type Registration struct {
	engine *Engine
	// One of the two is set.
	hear    func(pressure.Level)
	reclaim func(neededBytes uint64) uint64

	// profile is what levels are by that hear is told.
	profile  pressure.Profile
	priority int32
	deadline time.Duration
	// worker runs the calls of a reclaim callback: its own, so that one that
	// overruns its deadline holds up no other.
	worker *notify.Dispatcher

	mu      sync.Mutex
	idle    *sync.Cond
	running bool
	removed bool
}

// subscribers are the registered callbacks of an engine.
type subscribers struct {
	// mu is the engine's, so that none comes to one that is closed.
	mu       *mirror.Lock
	reclaims roster.List[*Registration]
	// listeners are by the profile that they listen by.
	listeners [pressure.ProfileCount]roster.List[*Registration]
}

func newRegistration(e *Engine) *Registration {
	r := &Registration{engine: e}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// call runs fn as a call of the callback, unless that has been removed.
func (r *Registration) call(fn func()) bool {
	r.mu.Lock()
	if r.removed {
		r.mu.Unlock()
		return false
	}
	r.running = true
	r.engine.calling.Add(1)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running = false
		r.engine.calling.Add(-1)
		r.idle.Broadcast()
	}()
	fn()
	return true
}

// Remove ends the registration: the callback is not called again. It waits for
// a running call, unless inside says that it is called from that call. A second
// Remove only waits.
func (r *Registration) Remove(inside bool) {
	e := r.engine
	e.mu.Lock()
	e.subscribers.listeners[r.profile].Remove(r)
	e.subscribers.reclaims.Remove(r)
	e.mu.Unlock()
	if r.hear != nil {
		e.watch.mu.Lock()
		dropped := e.watch.evaluate()
		e.watch.mu.Unlock()
		e.reportDropped(dropped)
	}

	r.mu.Lock()
	r.removed = true
	for r.running && !inside {
		r.idle.Wait()
	}
	r.mu.Unlock()
	if r.worker == nil {
		return
	}
	if inside {
		r.worker.Stop()
	} else {
		r.worker.Close()
	}
}
