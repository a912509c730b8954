package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/pool/graphs"
	"ferrum_mem/core/track"
)

// Pool allocates blocks by address. All methods are safe for concurrent use. After Close,
// every method that returns an error returns CodeInvalidState.
type Pool struct {
	heap   heap
	supply supply

	leases leases
	frees  frees
	family family
	// publishedAt is the memory of the published counters; nil: they are not published.
	publishedAt *mirror.Pool
}

// graph and branch are the graph types for this kind of pool.
type (
	graph  = graphs.Graph[*Pool]
	branch = graphs.Branch[*Pool]
)

// Name returns the pool's name.
func (p *Pool) Name() string { return p.heap.config.Name }

// Engine returns the device engine from which the pool allocates.
func (p *Pool) Engine() *engine.Engine { return p.heap.engine }

// Config returns the settings, with defaults filled in and with the present bounds.
func (p *Pool) Config() Config {
	p.heap.mu.LockToRead()
	defer p.heap.mu.Unlock()
	c := p.heap.config
	c.MaxSizeBytes, c.MinHeldBytes, c.ReleaseThresholdBytes = p.heap.maxSize, p.heap.minHeld, p.heap.threshold
	return c
}

// Tag returns the number of a tag name, for Request.TagNumber. The number stays valid as
// long as the pool exists; 0 is the pool's own name. Errors: CodeInvalidArgument for a
// name that is empty or too long, CodeResourceExhausted after 4095 names.
func (p *Pool) Tag(name string) (number uint32, err error) {
	const op = "pool.tag"
	if name == "" || len(name) > MaxNameBytes {
		return 0, device.Errorf(device.CodeInvalidArgument, op,
			"tag %q has %v, 1 to %d are allowed", name, device.Size(len(name)), MaxNameBytes).On(p.heap.engine.ID())
	}
	p.heap.mu.LockToRead()
	defer p.heap.mu.Unlock()
	if p.heap.state == stateClosed {
		return 0, p.heap.closedError(op)
	}
	number, ok := p.heap.tags.Keep(name)
	if !ok {
		return 0, device.Errorf(device.CodeResourceExhausted, op,
			"tag %q: pool %q has %d tags already", name, p.heap.config.Name, track.MaxKeptTags).On(p.heap.engine.ID())
	}
	return number, nil
}

// HasEnded reports whether the pool has ended or is ending. It is false after a Close that
// was rejected.
func (p *Pool) HasEnded() bool {
	if p.family.graphs.IsShut() {
		return true
	}
	p.heap.mu.LockToRead()
	defer p.heap.mu.Unlock()
	return p.heap.state != stateOpen
}

const opAlloc = "pool.alloc"

const opFree = "pool.free"

const opClose = "pool.close"

const opRecord = "pool.record_stream"

const opReset = "pool.reset"
