package library

import (
	"errors"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// gate makes the end of a device, of memory or of a strategy exact. The check for remaining
// objects of a device sees an object that is being created, or the object is not
// created. The end of a caller's strategy waits for a call, or the call is not made. A
// forced end of memory waits for those who access it, or the access fails.
type gate struct {
	// leave is exit, made once.
	leave   func()
	mu      sync.Mutex
	changed *sync.Cond
	making  int
	closed  bool
}

func newGate() *gate {
	g := &gate{}
	g.changed, g.leave = sync.NewCond(&g.mu), g.exit
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

// endHolds closes the gate before memory of a device ends by force, and waits for those who hold
// the memory. It does not wait on a lost device, which never runs the work that holds memory. After
// an error the gate is open. Errors: CodeBusy on a thread that must not wait; those of the device.
func (g *gate) endHolds(op string, e *engine.Engine) error {
	holds := 0
	_ = g.tryClose(func(making int) error { holds = making; return nil })
	if holds == 0 {
		return nil
	}
	var err error
	if e.MayWait() {
		err = e.Synchronize(device.Forever)
	} else {
		err = device.Errorf(device.CodeBusy, op, "%s of the memory in progress, and this thread must not wait", device.Count(uint64(holds), "use")).On(e.ID())
	}
	switch {
	case errors.Is(err, device.CodeDeviceLost):
		return nil
	case err != nil:
		g.reopen()
		return err
	}
	g.close()
	return nil
}

// endHeld ends an object with memory: by force after those who hold the memory. After an error the
// memory can be used again.
func (g *gate) endHeld(op string, e *engine.Engine, force bool, end func() error) error {
	if !force {
		return end()
	}
	if err := g.endHolds(op, e); err != nil {
		return err
	}
	err := end()
	if err != nil {
		g.reopen()
	}
	return err
}
