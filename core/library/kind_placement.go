package library

import (
	"sync"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/placement"
)

// openPlacement is a placement strategy that was made by PlacementCreate or
// PlacementCreateOwn.
type openPlacement struct {
	object
	strategy *placement.Strategy

	mu   sync.Mutex
	idle *sync.Cond
	// running counts calls of a strategy of the caller's; ended says that there are
	// no more.
	running int
	ended   bool
}

// A strategy of the caller's is called no more once it is over; the others have no end
// but that of their handle.
func (p *openPlacement) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *openPlacement) known() (uint64, *engine.Engine) { return p.id(), nil }
func (p *openPlacement) of(d *openDevice) bool           { return d == nil }

func (p *openPlacement) leak() leak {
	found := p.alive("placement", nil)
	found.Tag = p.strategy.Name()
	return found
}

func (p *openPlacement) endByForce(l *Library, id uint64) error {
	if _, err := l.placements.Remove(id); err != nil {
		return err
	}
	p.end(false)
	return nil
}
