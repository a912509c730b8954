package library

import "sync"

// gate makes the end of something exact: of a device, on which an object that is being
// made is either seen by the check for what is left, or not made at all; of a strategy of
// the caller's, of which a call is waited for or not made.
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

// enter announces that an object, or a call, is about to be made; false: the gate is closed.
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

// shut closes the gate and waits for nothing.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// close closes the gate and waits for what is being made.
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
