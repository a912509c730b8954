package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// Tracker is a tracker created by TrackerCreate, or one that belongs to a manager or a
// generic pool and ends with it.
type Tracker struct {
	object
	tracker *fallback.AllocationTracker
	// owner is nil for a tracker created by TrackerCreate.
	owner member
}

// Tracker finds a tracker by its handle.
func (l *Library) Tracker(op string, id uint64) (*Tracker, error) {
	return find(l, l.registry.trackers, op, id)
}

// A tracker of a manager or of a generic pool ends with its owner, and traversals skip
// it. A tracker of the caller is over when its handle is removed.
func (t *Tracker) hasEnded() bool                  { return t.owner != nil && t.owner.hasEnded() }
func (t *Tracker) known() (uint64, *engine.Engine) { return t.id(), nil }
func (t *Tracker) of(d *Device) bool               { return d == nil }
func (t *Tracker) leak() leak                      { return t.alive("tracker", nil) }

func (t *Tracker) endByForce(l *Library, id uint64) error {
	_, err := l.registry.trackers.Remove(id)
	return err
}

func (l *Library) insertTracker(t *fallback.AllocationTracker, owner member) (uint64, error) {
	entry := &Tracker{tracker: t, owner: owner}
	return insert(l, l.registry.trackers, entry)
}

// forgetTracker removes the handle of a tracker; 0 is none.
func (g *registry) forgetTracker(id uint64) {
	if id != 0 {
		// The handle exists, because only its one owner removes it.
		_, _ = g.trackers.Remove(id)
	}
}
