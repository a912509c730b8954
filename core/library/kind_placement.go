package library

import (
	"sync"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/placement"
)

// Placement is a placement strategy that was made by PlacementCreate or
// PlacementCreateOwn.
type Placement struct {
	object
	strategy *placement.Strategy

	mu   sync.Mutex
	idle *sync.Cond
	// running counts calls of a strategy of the caller's; ended says that there are
	// no more.
	running int
	ended   bool
}

// Placement finds a placement strategy.
func (l *Library) Placement(op string, id uint64) (*Placement, error) {
	return find(l, l.placements, op, id)
}

// A strategy of the caller's is called no more once it is over; the others have no end
// but that of their handle.
func (p *Placement) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *Placement) known() (uint64, *engine.Engine) { return p.id(), nil }
func (p *Placement) of(d *Device) bool               { return d == nil }

func (p *Placement) leak() leak {
	found := p.alive("placement", nil)
	found.Tag = p.strategy.Name()
	return found
}

func (p *Placement) endByForce(l *Library, id uint64) error {
	if _, err := l.placements.Remove(id); err != nil {
		return err
	}
	p.end(false)
	return nil
}

func (p *Placement) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.running++
	return true
}

func (p *Placement) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.idle.Broadcast()
}

// end has the strategy called no more and waits for calls that run, unless it is
// called from inside one.
func (p *Placement) end(inside bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for p.running > 0 && !inside {
		p.idle.Wait()
	}
}
