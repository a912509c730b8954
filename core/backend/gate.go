package backend

import (
	"sync"
	"sync/atomic"
)

// gate counts calls and queued work in progress, and lets a close wait for their end. Its zero value
// is open.
type gate struct {
	running atomic.Int64
	closing atomic.Bool

	mu sync.Mutex
	// quiet is signalled when a call ends while the gate closes.
	quiet *sync.Cond
}

func newGate() *gate {
	g := &gate{}
	g.quiet = sync.NewCond(&g.mu)
	return g
}

// enter counts a call; false: the gate is closed, or close waits.
func (g *gate) enter() bool {
	for {
		g.running.Add(1)
		if !g.closing.Load() {
			return true
		}
		g.exit()
		g.mu.Lock()
		isClosing := g.closing.Load()
		g.mu.Unlock()
		if isClosing {
			return false
		}
		// A tryClose has not closed it.
	}
}

// exit ends a call.
func (g *gate) exit() {
	if g.running.Add(-1) == 0 && g.closing.Load() {
		g.mu.Lock()
		g.quiet.Broadcast()
		g.mu.Unlock()
	}
}

// tryClose calls end while no call is in progress, and closes the gate if it succeeds. Calls that begin
// meanwhile wait. It returns the number of calls in progress if it has not called end.
func (g *gate) tryClose(end func() error) (running int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wasClosing := g.closing.Swap(true)
	if running = g.running.Load(); running == 0 {
		if err = end(); err == nil {
			return 0, nil
		}
	}
	g.closing.Store(wasClosing)
	return running, err
}

// close closes the gate and waits for the calls in progress.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing.Store(true)
	for g.running.Load() > 0 {
		g.quiet.Wait()
	}
}
