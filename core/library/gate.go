package library

import "sync"

// gate makes the end of a device or of a strategy exact. The check for remaining
// objects of a device sees an object that is being created, or the object is not
// created. The end of a caller's strategy waits for a call, or the call is not made.
type gate struct {
	mu      sync.Mutex
	changed *sync.Cond
	making  int
	closed  bool
}

func newGate() *gate {
	g := &gate{}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// enter announces that an object is about to be created, or a call to be made; false:
// the gate is closed. After true the caller must call leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.making++
	return true
}

func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.making--
	g.changed.Broadcast()
}

// tryClose closes the gate if check allows it. check gets the number of objects that
// are being created now, and must not wait.
func (g *gate) tryClose(check func(making int) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := check(g.making); err != nil {
		return err
	}
	g.closed = true
	return nil
}

// shut closes the gate without waiting.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// close closes the gate and waits for the objects and calls inside.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.making > 0 {
		g.changed.Wait()
	}
}

// isClosed reports whether the gate is closed.
func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}
