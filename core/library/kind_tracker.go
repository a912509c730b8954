package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// openTracker is a tracker that was made by TrackerCreate, or that belongs to a
// manager or a generic pool and goes with it.
type openTracker struct {
	object
	tracker *fallback.AllocationTracker
	// owner is nil for one that was made by TrackerCreate.
	owner member
}

// A tracker of a manager or of a generic pool goes with that, and the walks leave it out;
// one of the caller's is over with its handle.
func (t *openTracker) isOver() bool                    { return t.owner != nil && t.owner.isOver() }
func (t *openTracker) known() (uint64, *engine.Engine) { return t.id(), nil }
func (t *openTracker) of(d *openDevice) bool           { return d == nil }
func (t *openTracker) leak() leak                      { return t.alive("tracker", nil) }

func (t *openTracker) endByForce(l *Library, id uint64) error {
	_, err := l.trackers.Remove(id)
	return err
}
