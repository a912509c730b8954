package library

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// openGenericPool is a pool of the caller's own buffers, which are words to us.
type openGenericPool struct {
	object
	pool *fallback.GenericMemoryPool[uint64]
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64
	// using is held for reading by calls, and for writing when ended is set: nothing is
	// put into a pool that is gone.
	using sync.RWMutex
	ended atomic.Bool
}

// A generic pool holds words of the caller's, and no memory.
func (p *openGenericPool) isOver() bool                    { return p.ended.Load() }
func (p *openGenericPool) known() (uint64, *engine.Engine) { return p.id(), nil }
func (p *openGenericPool) of(d *openDevice) bool           { return d == nil }
func (p *openGenericPool) leak() leak                      { return p.alive("generic_pool", nil) }

func (p *openGenericPool) endByForce(l *Library, id uint64) error {
	const op = "generic_pool.destroy"
	if err := p.end(op, true); err != nil {
		return err
	}
	return l.forgetGenericPool(id, p)
}
