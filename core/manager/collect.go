package manager

import (
	"sync"
	"sync/atomic"
)

// collector gives cached segments back when the device is used beyond the
// threshold.
//
// A collection that can release nothing would run again with each allocation.
// So each one waits for frees: for one after a collection that released
// something, and for twice as many as before, up to maxBackoff, after one that
// did not.
type collector struct {
	// share of what the device may give that starts a collection when it is used, in
	// parts of gcShare; 0: none does.
	share uint64
	// freed counts the blocks that were given back so far.
	freed atomic.Uint64
	// next is the value of freed from which on the next collection may run.
	next atomic.Uint64
	runs atomic.Uint64

	mu      sync.Mutex
	backoff uint64
}

const maxBackoff = 1024

func (c *collector) init(share uint64) {
	c.share = share
	c.next.Store(1)
	c.backoff = 1
}

// wanted says that some use starts a collection.
func (c *collector) wanted() bool { return c.share != 0 }

// collect runs a collection if one is due. It is called after an allocation,
// with no lock held.
func (m *Manager) collect() {
	c := &m.collector
	if !c.wanted() || c.freed.Load() < c.next.Load() ||
		m.owner.engine.Totals().Used() < gcBytes(c.share, m.owner.engine.TotalBytes()) {
		return
	}
	// Whoever finds a collection running has nothing to add to it.
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if c.freed.Load() < c.next.Load() {
		return
	}
	freed := c.freed.Load()
	c.runs.Add(1)
	released, err := m.trim(func(h *home) bool { return !h.keep })
	m.logFailure("a collection could not give back all it wanted", err)
	if released > 0 {
		c.backoff = 1
	} else {
		c.backoff = min(c.backoff*2, maxBackoff)
	}
	c.next.Store(freed + c.backoff)
}
