package manager

import (
	"sync"
	"sync/atomic"
)

// collector releases cached segments when the use of the device is above the threshold.
//
// A collection that can release nothing would run again after each allocation. So each
// collection waits for a number of frees: for one after a collection that released
// memory, and for twice as many as before, up to maxBackoff, after one that released
// none.
type collector struct {
	// share is the used share of the device that starts a collection, in parts of
	// gcShare; 0: no collection.
	share uint64
	// freed counts the blocks that were freed so far.
	freed atomic.Uint64
	// next is the value of freed from which the next collection may run.
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

// wanted reports whether collections are enabled.
func (c *collector) wanted() bool { return c.share != 0 }

// collect runs a collection if one is due. It is called after an allocation,
// with no lock held.
func (m *Manager) collect() {
	c := &m.collector
	if !c.wanted() || c.freed.Load() < c.next.Load() ||
		m.owner.engine.Totals().Used() < gcBytes(c.share, m.owner.engine.TotalBytes()) {
		return
	}
	// A thread that finds a collection running has nothing to add to it.
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
	m.logFailure("a collection could not release all requested memory", err)
	if released > 0 {
		c.backoff = 1
	} else {
		c.backoff = min(c.backoff*2, maxBackoff)
	}
	c.next.Store(freed + c.backoff)
}
