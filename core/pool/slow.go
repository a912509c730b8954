package pool

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

// search is an allocation for which the segments had no room.
type search struct {
	pool *Pool
	need need
	// to is where the blocks of a batch go; nil: one is wanted, and goes to block.
	to    []device.Addr
	block Block
}

// searches keeps those that are over: to grow by a page should leave nothing behind.
var searches = sync.Pool{New: func() any { return new(search) }}

// allocSlow is Alloc when the segments have no room.
func (p *Pool) allocSlow(n *need) (Block, error) {
	return p.search(n, nil)
}

// search takes in all freed blocks, grows the pool, and looks for room
// everywhere, until it got a block, or one for every place of to.
func (p *Pool) search(n *need, to []device.Addr) (Block, error) {
	s := searches.Get().(*search)
	*s = search{pool: p, need: *n, to: to}
	err := s.run()
	block := s.block
	*s = search{}
	searches.Put(s)
	if err != nil {
		return Block{}, err
	}
	return block, nil
}

// take takes what is wanted from what is there: all of it, or ErrNoRoom and nothing
// is changed. What blocks in flight will do, excess says: inflight.Fits or inflight.Wastes. The caller
// holds mu.
func (s *search) take(excess inflight.Excess) error {
	p := s.pool
	if s.to != nil {
		return p.heap.placeBatch(&s.need, s.to, excess)
	}
	if at, ok := p.heap.inFlight.Find(s.need.stream, s.need.inFlight(excess)); ok {
		return p.heap.revive(at, &s.need, &s.block)
	}
	if excess == inflight.Wastes {
		return rangealloc.ErrNoRoom
	}
	return p.heap.place(&s.need, &s.block)
}

func (s *search) run() error {
	p := s.pool
	found, err := s.attempt(inflight.Fits)
	if found || err != nil {
		return p.failed(err)
	}
	if err := p.neverFits(&s.need); err != nil {
		return p.failed(err)
	}
	found, err = s.extend()
	if err != nil && !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	if !found {
		if err := s.findRoom(); err != nil {
			return p.failed(p.orAddressless(&s.need, err))
		}
	}
	p.heap.changed()
	return nil
}

// extend grows the pool, or takes in what is in quarantine.
func (s *search) extend() (found bool, err error) {
	p := s.pool
	found, err = p.grow(s)
	if found || err != nil || p.heap.debug == nil || !p.heap.flushQuarantine() {
		return found, err
	}
	return s.attempt(inflight.Fits)
}

// findRoom waits for work, and has others make room.
func (s *search) findRoom() error {
	p, n := s.pool, &s.need
	return p.heap.engine.FindRoom(engine.Need{
		Pool: p, Op: opAlloc, SizeBytes: n.Size * n.count, AlignmentBytes: n.Align,
		Bound: p.boundText(), BoundRoomBytes: p.boundRoom(),
		Spare: func() (bool, error) { return s.attempt(inflight.Wastes) },
	}, func() (bool, error) {
		if found, err := s.attempt(inflight.Fits); found || err != nil {
			return found, err
		}
		return s.extend()
	})
}

// orAddressless is the error of an allocation that found no room: CodeOutOfVirtualMemory
// where there is memory, and no address for it.
func (p *Pool) orAddressless(n *need, err error) error {
	if !n.addressless || !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	p.heap.mu.Lock()
	spaces, bytes := len(p.heap.segments), uint64(0)
	for _, s := range p.heap.segments {
		bytes += s.had.SizeBytes
	}
	p.heap.mu.Unlock()
	return device.Errorf(device.CodeOutOfVirtualMemory, opAlloc,
		"size_bytes %d: no further address space is to be had for pool %q, which has %d bytes in %d ranges",
		n.requested, p.heap.config.Name, bytes, spaces).On(p.heap.engine.ID()).
		Stating(device.FactRequestedBytes, n.Size*n.count)
}

// failed counts an allocation that ran out of memory and passes its error on.
func (p *Pool) failed(err error) error {
	if errors.Is(err, device.CodeOutOfMemory) || errors.Is(err, device.CodeOutOfVirtualMemory) {
		p.heap.mu.Lock()
		p.heap.books.Fail()
		p.heap.mu.Unlock()
	}
	return err
}

// attempt takes in every freed block that is ready and looks for room.
func (s *search) attempt(excess inflight.Excess) (found bool, err error) {
	p := s.pool
	p.heap.lockLanded()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return false, p.heap.closedError(opAlloc)
	}
	err = s.take(excess)
	p.heap.mu.Unlock()
	p.heap.changed()
	if noRoom(err) {
		return false, nil
	}
	return err == nil, err
}

// neverFits says why a request can never be served, whatever is freed: it is
// above the device's capacity, its limit or the pool's bound.
func (p *Pool) neverFits(n *need) error {
	what := fmt.Sprintf("size_bytes %d", n.requested)
	if n.count > 1 {
		what = fmt.Sprintf("size_bytes %d, count %d", n.requested, n.count)
	}
	if fixed := p.heap.fixedBytes(); fixed != 0 && n.Size > fixed {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit: fixed_block_bytes of pool %q is %d", what, p.heap.config.Name, fixed).On(p.heap.engine.ID()).
			Stating(device.FactRequestedBytes, n.requested).Stating(device.FactCapacityBytes, fixed)
	}
	carry, total := bits.Mul64(n.Size, n.count)
	segment, ok := p.heap.sizeFor(total)
	if !ok || carry != 0 {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit: no segment is that large", what).On(p.heap.engine.ID())
	}
	if err := p.heap.engine.NeverFits(opAlloc, what, segment); err != nil {
		return err
	}
	p.heap.mu.Lock()
	bound := p.heap.bound()
	p.heap.mu.Unlock()
	if segment > bound {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit in pool %q: %s", what, p.heap.config.Name, p.boundText()).On(p.heap.engine.ID()).
			Stating(device.FactRequestedBytes, segment).Stating(device.FactCapacityBytes, bound)
	}
	return nil
}

// boundRoom is what the pool's bound lets it have besides what it holds.
func (p *Pool) boundRoom() uint64 {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	bound := p.heap.bound()
	return bound - min(p.heap.held, bound)
}

// boundText names what bounds the pool; "" if nothing does.
func (p *Pool) boundText() string {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	switch {
	case p.heap.maxSize != 0:
		return fmt.Sprintf("max_size_bytes of the pool: %d, held: %d", p.heap.maxSize, p.heap.held)
	case !p.heap.config.AutoExpansion:
		return fmt.Sprintf("the pool does not grow beyond initial_size_bytes: %d, held: %d",
			p.heap.config.InitialSizeBytes, p.heap.held)
	}
	return ""
}
