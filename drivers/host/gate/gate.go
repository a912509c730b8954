package gate

import (
	"fmt"
	"sync"

	"ferrum_mem/core/device"
)

// Kind is a kind of object that keeps a device open.
type Kind int

const (
	Segments Kind = iota
	Streams
	Reservations
	Pages
	// Foreign are ranges of external memory.
	Foreign
	kinds
)

// Gate is the gate of one open device.
type Gate struct {
	id device.ID

	mu     sync.Mutex
	closed bool
	there  [kinds]int
}

// New returns an open gate.
func New(id device.ID) *Gate { return &Gate{id: id} }

// Check returns an error if the device is closed.
func (g *Gate) Check(op string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.check(op)
}

func (g *Gate) check(op string) error {
	if g.closed {
		return device.Errorf(device.CodeInvalidState, op, "the device is closed").On(g.id)
	}
	return nil
}

// Add counts objects before they are created, so that Close cannot run in between.
func (g *Gate) Add(op string, kind Kind, count int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.check(op); err != nil {
		return err
	}
	g.there[kind] += count
	return nil
}

// Remove lowers the count of objects that have ended or were not created.
func (g *Gate) Remove(kind Kind, count int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.there[kind] -= count
}

// Left describes in words the objects that keep the device open.
func (g *Gate) Left() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left()
}

func (g *Gate) left() string {
	return fmt.Sprintf("%s and %s, %s and %s of virtual memory, %s",
		device.Count(g.there[Segments], "segment"), device.Count(g.there[Streams], "stream"),
		device.Count(g.there[Reservations], "reservation"), device.Count(g.there[Pages], "page"),
		device.Count(g.there[Foreign], "external range"))
}

// Close closes the device once. If objects keep the device open, it returns CodeBusy and
// names them.
func (g *Gate) Close(op string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.check(op); err != nil {
		return err
	}
	if g.there != [kinds]int{} {
		return device.Errorf(device.CodeBusy, op, "still in use: %s", g.left()).On(g.id)
	}
	g.closed = true
	return nil
}
