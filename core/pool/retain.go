package pool

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// SetMinHeld changes Config.MinHeldBytes. CodeInvalidArgument when it is above
// the pool's maximum.
func (p *Pool) SetMinHeld(bytes uint64) error {
	const op = "pool.set_min_held"
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != stateOpen {
		return p.closedError(op)
	}
	if p.maxSize != 0 && bytes > p.maxSize {
		return device.Errorf(device.CodeInvalidArgument, op,
			"min_held_bytes %d is above max_size_bytes %d of pool %q", bytes, p.maxSize,
			p.config.Name).On(p.engine.ID())
	}
	p.minHeld = bytes
	return nil
}

// SetReleaseThreshold changes Config.ReleaseThresholdBytes, and gives back what is
// held above it and holds no block.
func (p *Pool) SetReleaseThreshold(bytes uint64) error {
	p.mu.Lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return p.closedError("pool.set_release_threshold")
	}
	p.threshold = bytes
	p.mu.Unlock()
	p.shrink()
	return nil
}

// shrink gives empty segments back, the newest first, while more than the
// threshold is held. It waits for no work. The caller holds no lock.
func (p *Pool) shrink() {
	p.layout.Lock()
	p.lock()
	p.overfull = false
	if p.state != stateOpen {
		p.mu.Unlock()
		p.layout.Unlock()
		return
	}
	released, err := p.giveBackCached(func(taken uint64) bool { return p.held-taken > p.threshold })
	p.layout.Unlock()
	if err != nil {
		// What the device does not take now it is offered again with the next
		// segment that comes free.
		p.engine.Log(engine.Warning, fmt.Sprintf(
			"pool %q could not give back memory above its release threshold: %v", p.config.Name, err))
	}
	if released > 0 {
		p.engine.SegmentsChanged()
	}
	p.changed()
}
