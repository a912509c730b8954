package engine

import "sync"

// discards has the releases that the driver failed to do.
type discards struct {
	// mu is a leaf.
	mu   sync.Mutex
	left []func() error
}

// discard releases a resource that no caller waits for. A failed release is tried again
// before the next segment is allocated and before Close.
func (d *discards) discard(giveBack func() error) {
	if err := giveBack(); err != nil {
		d.mu.Lock()
		d.left = append(d.left, giveBack)
		d.mu.Unlock()
	}
}

// retry repeats the releases that failed before.
func (d *discards) retry() {
	d.mu.Lock()
	left := d.left
	d.left = nil
	d.mu.Unlock()
	for _, giveBack := range left {
		d.discard(giveBack)
	}
}
