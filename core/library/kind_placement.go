package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/placement"
)

// Placement is a placement strategy created by PlacementCreate or PlacementCreateOwn.
type Placement struct {
	object
	strategy *placement.Strategy
	// calls is entered by every call of a strategy of the caller, and closed at its
	// end.
	calls *gate
}

// Placement finds a placement strategy by its handle.
func (l *Library) Placement(op string, id uint64) (*Placement, error) {
	return find(l, l.registry.placements, op, id)
}

// A strategy of the caller is not called after its end. Other strategies end with their
// handle.
func (p *Placement) hasEnded() bool                  { return p.calls.isClosed() }
func (p *Placement) known() (uint64, *engine.Engine) { return p.id(), nil }
func (p *Placement) of(d *Device) bool               { return d == nil }

func (p *Placement) leak() leak {
	found := p.alive("placement", nil)
	found.Tag = p.strategy.Name()
	return found
}

func (p *Placement) endByForce(*Library, uint64) error { return p.Destroy(nil) }

// end stops further calls of the strategy and waits for running calls, unless it is
// called from inside one.
func (p *Placement) end(inside bool) {
	if inside {
		p.calls.shut()
		return
	}
	p.calls.close()
}
