package engine

import "sync"

// discards are what the driver did not take back when it was given back.
type discards struct {
	// mu is a leaf.
	mu   sync.Mutex
	left []func() error
}

// discard gives something back to the driver for which nobody waits. What
// fails is tried again before the next segment is taken and before Close.
func (d *discards) discard(giveBack func() error) {
	if err := giveBack(); err != nil {
		d.mu.Lock()
		d.left = append(d.left, giveBack)
		d.mu.Unlock()
	}
}

// retry tries again to give back what failed before.
func (d *discards) retry() {
	d.mu.Lock()
	left := d.left
	d.left = nil
	d.mu.Unlock()
	for _, giveBack := range left {
		d.discard(giveBack)
	}
}
