package library

import "sync"

// gate makes the closing of a device exact: an object that is being made on it
// is either seen by the check for what is left, or not made at all.
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

// enter announces that an object is about to be made; false: the gate is closed.
// A true one is followed by leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.making++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.making--
	g.changed.Broadcast()
}

// tryClose closes the gate if check, which is told how many objects are being
// made now, allows it. check may not wait for anything.
func (g *gate) tryClose(check func(making int) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := check(g.making); err != nil {
		return err
	}
	g.closed = true
	return nil
}

// close closes the gate and waits for the objects that are being made.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.making > 0 {
		g.changed.Wait()
	}
}

// isClosed says whether nothing more is made.
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
