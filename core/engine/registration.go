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
	// Exactly one of hear and reclaim is set.
	hear    func(pressure.Level)
	reclaim func(neededBytes uint64) uint64

	// profile is the profile of the levels that hear is called with.
	profile  pressure.Profile
	priority int32
	deadline time.Duration
	// worker runs the calls of a reclaim callback. Each callback has its own worker, so
	// that one that exceeds its deadline does not delay others.
	worker *notify.Dispatcher

	mu      sync.Mutex
	idle    *sync.Cond
	running bool
	removed bool
}

// subscribers has the registered callbacks of an engine.
type subscribers struct {
	// mu is the engine's lock, so that no callback is added to a closed engine.
	mu       *mirror.Lock
	reclaims roster.List[*Registration]
	// listeners has the pressure callbacks by profile.
	listeners [pressure.ProfileCount]roster.List[*Registration]
}

func newRegistration(e *Engine) *Registration {
	r := &Registration{engine: e}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// call runs fn as a call of the callback, unless the callback was removed.
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

// Remove ends the registration: the callback is not called again. It waits for a
// running call, unless inside states that it is called from that call. A second Remove
// only waits.
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
