package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// describeCached returns a leased block as reports show it. The caller holds mu.
func (h *heap) describeCached(c CachedBlock) Block {
	return Block{
		Addr: c.Addr, SizeBytes: c.SizeBytes, RequestedBytes: c.RequestedBytes, Tag: h.tags.Name(c.Tag),
	}
}

// Lookup describes the live block that starts at an address.
func (p *Pool) Lookup(addr device.Addr) (Block, bool) {
	if private := p.family.privateOf(addr); private != nil {
		return private.Lookup(addr)
	}
	return p.leases.lookUp(addr)
}

// lookUp is Lookup for blocks that do not belong to a private pool.
func (ls *leases) lookUp(addr device.Addr) (Block, bool) {
	ls.heap.mu.LockToRead()
	l, ok := ls.heap.locateGiven(addr)
	state := blockNone
	if ok {
		state = l.info().state()
	}
	if state == blockLive {
		defer ls.heap.mu.Unlock()
		return ls.heap.describe(l), true
	}
	cache := ls.cache
	ls.heap.mu.Unlock()
	if state != blockLeased || cache == nil {
		return Block{}, false
	}
	c, ok := cache.Block(addr)
	if !ok {
		return ls.lookUpTaken(addr)
	}
	if !c.Live {
		return Block{}, false
	}
	ls.heap.mu.LockToRead()
	defer ls.heap.mu.Unlock()
	return ls.heap.describeCached(c), true
}

// lookUpTaken is Lookup for a block that has just left the caches. Another thread may be
// adopting it as a live block.
func (ls *leases) lookUpTaken(addr device.Addr) (Block, bool) {
	ls.freeze()
	defer ls.thaw()
	ls.heap.mu.LockToRead()
	defer ls.heap.mu.Unlock()
	if l, ok := ls.heap.locate(addr); ok && l.info().state() == blockLive {
		return ls.heap.describe(l), true
	}
	return Block{}, false
}

// UsableSize returns the number of bytes that may be used in the live block at an
// address. The errors are those of Free.
func (p *Pool) UsableSize(addr device.Addr) (uint64, error) {
	if private := p.family.privateOf(addr); private != nil {
		return private.UsableSize(addr)
	}
	if block, ok := p.Lookup(addr); ok {
		return block.SizeBytes, nil
	}
	p.heap.mu.LockToRead()
	over := p.heap.state == stateClosed
	p.heap.mu.Unlock()
	if over {
		return 0, p.heap.closedError("pool.usable_size")
	}
	return 0, p.heap.notLive("pool.usable_size", addr)
}

// OwnerOf describes the block or the free run that contains an address. It returns false
// if no segment of the pool contains the address. It may read all blocks of a segment, in
// slices.
func (p *Pool) OwnerOf(addr device.Addr) (BlockInfo, bool) {
	if private := p.family.privateOf(addr); private != nil {
		return private.OwnerOf(addr)
	}
	info, state, ok := p.heap.at(addr)
	if p.heap.debug != nil {
		p.heap.mu.LockToRead()
		p.heap.show(&info.Addr, &info.SizeBytes)
		p.heap.mu.Unlock()
	}
	if state != blockLeased {
		return info, ok
	}
	if block, live := p.Lookup(info.Addr); live {
		info.RequestedBytes, info.Tag, info.State = block.RequestedBytes, block.Tag, BlockLive
	}
	return info, true
}

// atTries is the number of attempts to find the block around an address while other
// threads change the segment. The next attempt holds the lock until the block is found.
const atTries = 16

// at is OwnerOf without the state of the thread caches.
func (h *heap) at(addr device.Addr) (info BlockInfo, state blockState, ok bool) {
	h.mu.LockToRead()
	defer h.mu.Unlock()
	for tries := 0; ; tries++ {
		s := h.segmentOf(addr)
		if s == nil {
			return BlockInfo{}, blockNone, false
		}
		if addr < s.base {
			return BlockInfo{Addr: s.memory.Addr, SizeBytes: uint64(s.base - s.memory.Addr), State: BlockUnusable}, blockNone, true
		}
		if end := s.base + device.Addr(s.usable); addr >= end {
			return BlockInfo{Addr: end, SizeBytes: uint64(s.end() - end), State: BlockUnusable}, blockNone, true
		}
		offset := uint64(addr - s.base)
		if b, found := h.blockAround(s, offset, tries == atTries); found {
			info = BlockInfo{Addr: s.base + device.Addr(b.Offset), SizeBytes: b.Size, State: BlockFree}
			if r, there := s.strategy.Lookup(b.Offset); b.Live && there {
				state = h.inform(&info, located{s, r})
			}
			return info, state, true
		}
	}
}

// blockAround returns the block, live or free, that contains an offset. It first searches
// in slices for the last live block before the offset; mu is released between slices.
// Then it searches from that block. It returns false if that block was freed meanwhile.
// With certain set, it searches the whole segment without releasing mu. The caller holds
// mu.
func (h *heap) blockAround(s *segment, offset uint64, certain bool) (rangealloc.Block, bool) {
	if r, ok := s.strategy.Lookup(offset); ok {
		return rangealloc.Block{Offset: r.Offset, Size: r.Size, Live: true}, true
	}
	if b, ok := s.strategy.Around(offset, rangealloc.FromStart, sliceBlocks); ok {
		return b, true
	}
	if certain {
		return s.strategy.Around(offset, rangealloc.FromStart, math.MaxInt)
	}
	before := rangealloc.FromStart
	w := tour{heap: h, only: s, from: s.memory.Addr}
	for w.next(func(l located) {
		if l.Offset <= offset && (before == rangealloc.FromStart || l.Offset > before) {
			before = l.Offset
		}
	}) {
		h.mu.Unlock()
		h.mu.LockToRead()
	}
	if h.segmentOf(s.memory.Addr) != s {
		return rangealloc.Block{}, false
	}
	return s.strategy.Around(offset, before, sliceBlocks)
}

func (h *heap) inform(info *BlockInfo, l located) blockState {
	state := l.info().state()
	switch state {
	case blockLive:
		block := h.describe(l)
		info.RequestedBytes, info.Tag = block.RequestedBytes, block.Tag
		info.AllocatedAt, info.State = block.AllocatedAt, BlockLive
	case blockLeased:
		info.State = BlockCached
	default:
		info.State = BlockInFlight
	}
	return state
}

// notLive returns the error for an address at which no live block of the pool starts. It
// describes what is at the address. It may read all blocks of a segment, in slices.
func (h *heap) notLive(op string, addr device.Addr) error {
	err := h.describeDead(op, addr)
	if h.debug == nil {
		return err
	}
	h.mu.LockToRead()
	defer h.mu.Unlock()
	report := h.debug.Refuse(op, addr, err)
	return device.Errorf(report.Code, op, "%s", report.Text).On(h.engine.ID())
}

// describeDead is notLive without the information of the debug mode.
func (h *heap) describeDead(op string, addr device.Addr) error {
	info, state, ok := h.at(addr)
	fail := func(code device.Code, format string, args ...any) error {
		return device.Errorf(code, op, format, args...).On(h.engine.ID())
	}
	if !ok {
		h.mu.LockToRead()
		segments := len(h.segments)
		h.mu.Unlock()
		return fail(device.CodeInvalidAddress, "address %#x lies in no segment of pool %q, which has %d",
			uint64(addr), h.config.Name, segments)
	}
	inside := uint64(addr - info.Addr)
	switch {
	case info.State == BlockUnusable:
		return fail(device.CodeInvalidAddress, "address %#x lies in the unusable part of %v at %#x of a segment",
			uint64(addr), device.Size(info.SizeBytes), uint64(info.Addr))
	case info.State == BlockFree:
		return fail(device.CodeDoubleFree, "address %#x is free: no block starts there, %v are free from %#x on",
			uint64(addr), device.Size(info.SizeBytes), uint64(info.Addr))
	case inside != 0:
		return fail(device.CodeInvalidAddress, "address %#x lies %v inside the block of %v at %#x",
			uint64(addr), device.Size(inside), device.Size(info.SizeBytes), uint64(info.Addr))
	case info.State == BlockLive:
		return fail(device.CodeDoubleFree, "address %#x: the block that was there was freed, another block of %v is there now",
			uint64(addr), device.Size(info.SizeBytes))
	case state == blockLeased:
		return fail(device.CodeDoubleFree, "address %#x: the block of %v was freed already, and is in a thread cache",
			uint64(addr), device.Size(info.SizeBytes))
	}
	return fail(device.CodeDoubleFree, "address %#x: the block of %v was freed and is still in use by queued work",
		uint64(addr), device.Size(info.SizeBytes))
}
