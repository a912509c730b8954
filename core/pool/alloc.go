package pool

import (
	"errors"
	"fmt"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

const opAlloc = "pool.alloc"

// need is a checked request.
type need struct {
	requested uint64
	size      uint64
	align     uint64
	tag       string
}

// Alloc takes a block. Errors: CodeInvalidSize, CodeInvalidAlignment,
// CodeInvalidArgument for a tag that is too long, CodeOverflow for a size that
// cannot be rounded up; CodeOutOfMemory, at once if the request can never fit,
// else after Engine.FindRoom found none. A failed call leaves blocks and books
// as they were, but for the count of failures; segments that hold no block may
// have been given back.
func (p *Pool) Alloc(r Request) (Block, error) {
	n, err := p.check(r)
	if err != nil {
		return Block{}, err
	}
	p.mu.Lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, p.closedError(opAlloc)
	}
	if p.flights.count > 0 {
		p.land(pollBudget)
	}
	block, err := p.place(n)
	p.mu.Unlock()
	if err == rangealloc.ErrNoRoom {
		return p.allocSlow(n)
	}
	if err != nil {
		return Block{}, err
	}
	p.engine.Changed()
	return block, nil
}

func (p *Pool) check(r Request) (need, error) {
	n := need{requested: r.SizeBytes, align: r.AlignmentBytes, tag: r.Tag}
	if r.SizeBytes == 0 {
		return n, device.Errorf(device.CodeInvalidSize, opAlloc, "size_bytes is 0").On(p.engine.ID())
	}
	if n.align == 0 {
		n.align = p.config.AlignmentBytes
	}
	if !isAlignment(n.align) {
		return n, device.Errorf(device.CodeInvalidAlignment, opAlloc,
			"alignment_bytes %d is not a power of two from 1 to %d", n.align,
			MaxAlignmentBytes).On(p.engine.ID())
	}
	n.align = max(n.align, p.config.AlignmentBytes)
	mask := p.config.AlignmentBytes - 1
	n.size = (r.SizeBytes + mask) &^ mask
	if n.size < r.SizeBytes {
		return n, device.Errorf(device.CodeOverflow, opAlloc,
			"size_bytes %d cannot be rounded up to a multiple of %d", r.SizeBytes,
			p.config.AlignmentBytes).On(p.engine.ID())
	}
	if n.tag == "" {
		n.tag = p.config.Name
	} else if len(n.tag) > MaxNameBytes {
		return n, device.Errorf(device.CodeInvalidArgument, opAlloc,
			"tag %q has %d bytes, at most %d are allowed", n.tag, len(n.tag),
			MaxNameBytes).On(p.engine.ID())
	}
	return n, nil
}

// place takes a block from the segments that are there, or ErrNoRoom. Lower
// segments come first, so that higher ones come free. The caller holds mu.
func (p *Pool) place(n need) (Block, error) {
	for _, s := range p.segments {
		got, err := s.strategy.Alloc(rangealloc.Request{Size: n.size, Align: n.align})
		if err == rangealloc.ErrNoRoom {
			continue
		}
		if err != nil {
			return Block{}, err
		}
		return p.enter(s.base+device.Addr(got.Offset), got.Size, n), nil
	}
	return Block{}, rangealloc.ErrNoRoom
}

// enter writes a new block into the table and the books.
func (p *Pool) enter(addr device.Addr, size uint64, n need) Block {
	now := track.Now()
	sizes := track.Block{RequestedBytes: n.requested, AllocatedBytes: size}
	p.blocks.insert(entry{
		addr: addr, size: size, requested: n.requested, at: int64(now),
		tag: p.tags.Enter(n.tag, sizes), state: blockLive,
	})
	p.books.Allocate(sizes)
	return Block{Addr: addr, SizeBytes: size, RequestedBytes: n.requested, Tag: n.tag, AllocatedAt: now}
}

// allocSlow is Alloc when the segments have no room: take in all freed blocks,
// grow, and search for room everywhere.
func (p *Pool) allocSlow(n need) (Block, error) {
	block, found, err := p.placeLanded(n)
	if found || err != nil {
		return block, err
	}
	if err := p.neverFits(n); err != nil {
		return Block{}, p.failed(err)
	}
	retry := func() (found bool, err error) {
		if block, found, err = p.placeLanded(n); found || err != nil {
			return found, err
		}
		block, found, err = p.grow(n)
		return found, err
	}
	found, err = retry()
	if err != nil && !errors.Is(err, device.CodeOutOfMemory) {
		return Block{}, err
	}
	if !found {
		err := p.engine.FindRoom(engine.Need{
			Pool: p, Op: opAlloc, SizeBytes: n.size, AlignmentBytes: n.align, Bound: p.boundText(),
		}, retry)
		if err != nil {
			return Block{}, p.failed(err)
		}
	}
	p.engine.Changed()
	return block, nil
}

// failed counts an allocation that ran out of memory and passes its error on.
func (p *Pool) failed(err error) error {
	if errors.Is(err, device.CodeOutOfMemory) {
		p.mu.Lock()
		p.books.Fail()
		p.mu.Unlock()
	}
	return err
}

// placeLanded takes in every freed block that is ready and looks for room.
func (p *Pool) placeLanded(n need) (Block, bool, error) {
	p.mu.Lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, false, p.closedError(opAlloc)
	}
	p.land(pollAll)
	block, err := p.place(n)
	p.mu.Unlock()
	p.engine.Changed()
	if err == rangealloc.ErrNoRoom {
		return Block{}, false, nil
	}
	return block, err == nil, err
}

// neverFits says why a request can never be served, whatever is freed: it is
// above the device's capacity, its limit or the pool's bound.
func (p *Pool) neverFits(n need) error {
	segment, ok := p.engine.RoundUp(n.size)
	if !ok {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"size_bytes %d can never fit: no segment is that large", n.requested).On(p.engine.ID())
	}
	if err := p.engine.NeverFits(opAlloc, fmt.Sprintf("size_bytes %d", n.requested), segment); err != nil {
		return err
	}
	p.mu.Lock()
	bound := p.bound()
	p.mu.Unlock()
	if segment > bound {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"size_bytes %d can never fit in pool %q: %s", n.requested, p.config.Name, p.boundText()).On(p.engine.ID())
	}
	return nil
}

// segmentFor is the size of a segment that surely holds the request, wherever
// the device puts it; false: that overflows.
func (p *Pool) segmentFor(n need) (uint64, bool) {
	pad := n.align - min(n.align, p.engine.Info().AlignmentBytes)
	size, carry := bits.Add64(n.size, pad, 0)
	if carry != 0 {
		return 0, false
	}
	return p.engine.RoundUp(size)
}

// boundText names what bounds the pool; "" if nothing does.
func (p *Pool) boundText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.maxSize != 0:
		return fmt.Sprintf("max_size_bytes of the pool: %d, held: %d", p.maxSize, p.held)
	case !p.config.AutoExpansion:
		return fmt.Sprintf("the pool does not grow beyond initial_size_bytes: %d, held: %d",
			p.config.InitialSizeBytes, p.held)
	}
	return ""
}
