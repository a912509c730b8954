package pool

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// SetMinHeld changes Config.MinHeldBytes. It returns CodeInvalidArgument if bytes is
// above the pool's maximum.
func (p *Pool) SetMinHeld(bytes uint64) error {
	const op = "pool.set_min_held"
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	if p.heap.state != stateOpen {
		return p.heap.closedError(op)
	}
	if p.heap.maxSize != 0 && bytes > p.heap.maxSize {
		return device.Errorf(device.CodeInvalidArgument, op,
			"min_held_bytes %v is above max_size_bytes %v of pool %q", device.Size(bytes), device.Size(p.heap.maxSize),
			p.heap.config.Name).On(p.heap.engine.ID())
	}
	p.heap.minHeld = bytes
	return nil
}

// SetReleaseThreshold changes Config.ReleaseThresholdBytes, and releases empty memory
// that the pool holds above it.
func (p *Pool) SetReleaseThreshold(bytes uint64) error {
	p.heap.mu.Lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return p.heap.closedError("pool.set_release_threshold")
	}
	p.heap.threshold = bytes
	p.heap.mu.Unlock()
	p.supply.shrink()
	return nil
}

// shrink releases empty segments, the newest first, while the pool holds more than the
// threshold. It does not wait for queued work. The caller holds no lock.
func (u *supply) shrink() {
	u.layout.Lock()
	u.heap.lock()
	u.heap.overfull = false
	if u.heap.state != stateOpen {
		u.heap.mu.Unlock()
		u.layout.Unlock()
		return
	}
	released, err := u.releaseEmpty(func(taken uint64) bool { return u.heap.held-taken > u.heap.threshold })
	u.layout.Unlock()
	if err != nil {
		// The pool offers this memory to the device again when the next segment becomes
		// empty.
		u.heap.engine.Log(engine.Warning, fmt.Sprintf(
			"pool %q could not release memory above its release threshold: %v", u.heap.config.Name, err))
	}
	if released > 0 {
		u.heap.engine.SegmentsChanged()
	}
	u.heap.changed()
}
