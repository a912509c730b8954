package library

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// GenericPool is a pool of the caller's buffers, which the pool treats as numbers.
type GenericPool struct {
	object
	pool *fallback.GenericMemoryPool[uint64]
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64
	// using is held for reading by calls, and for writing when ended is set, so that no
	// buffer is added to an ended pool.
	using sync.RWMutex
	ended atomic.Bool
}

// GenericPool finds a generic pool by its handle.
func (l *Library) GenericPool(op string, id uint64) (*GenericPool, error) {
	return find(l, l.registry.genericPools, op, id)
}

// A generic pool has numbers of the caller and no memory.
func (p *GenericPool) hasEnded() bool                  { return p.ended.Load() }
func (p *GenericPool) known() (uint64, *engine.Engine) { return p.id(), nil }
func (p *GenericPool) of(d *Device) bool               { return d == nil }
func (p *GenericPool) leak() leak                      { return p.alive("generic_pool", nil) }
