package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// SetCache puts thread caches in front of the pool. It is called once, before the caches
// lease a block. streamOf returns the stream with the number that the caches use, or nil
// if that stream was destroyed.
func (p *Pool) SetCache(c Cache, streamOf func(id uint64) device.Stream) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.leases.cache, p.leases.streamOf = c, streamOf
	p.leases.own, _ = c.(ownCounter)
	if known, ok := c.(knownCache); ok {
		p.leases.number = known.Number()
	}
}

// takeOver makes a live leased block a block of the pool itself. Errors: those of Free.
func (ls *leases) takeOver(addr device.Addr) error {
	if ls.adopt(addr) {
		return nil
	}
	return ls.heap.notLive(opFree, addr)
}

// adopt is takeOver. It returns false if no live block starts at the address.
func (ls *leases) adopt(addr device.Addr) bool {
	cache := ls.freeze()
	defer ls.thaw()
	var taken CachedBlock
	ok := false
	if cache != nil {
		taken, ok = cache.Adopt(addr)
	}
	ls.heap.mu.Lock()
	defer ls.heap.mu.Unlock()
	if !ok {
		// Another thread may have adopted the block meanwhile.
		l, there := ls.heap.locate(addr)
		return there && l.info().state() == blockLive
	}
	ls.enterAdopted(taken)
	return true
}

// takeOverFrom adopts the leased blocks of a free; first is the first of them that was
// found. It adopts them together, so that a large batch is not searched again for each
// leased block.
func (ls *leases) takeOverFrom(first device.Addr, addrs []device.Addr) error {
	err := ls.takeOver(first)
	if err != nil || len(addrs) == 1 {
		return err
	}
	room := make([]CachedBlock, 0, min(takeOverMost, len(addrs)))
	for some := range slices.Chunk(addrs, takeOverMost) {
		ls.takeOverSome(some, room)
	}
	return nil
}

// takeOverMost is the number of blocks that are adopted while the counters are frozen.
const takeOverMost = 1024

// takeOverSome adopts the leased blocks at addrs that are live. room has space for all.
func (ls *leases) takeOverSome(addrs []device.Addr, room []CachedBlock) {
	cache := ls.freeze()
	defer ls.thaw()
	if cache == nil {
		return
	}
	taken := room[:0]
	for _, addr := range addrs {
		if block, ok := cache.Adopt(addr); ok {
			taken = append(taken, block)
		}
	}
	ls.heap.mu.Lock()
	defer ls.heap.mu.Unlock()
	for _, block := range taken {
		ls.enterAdopted(block)
	}
}

// enterAdopted records a live block that the caches have passed to the pool.
func (ls *leases) enterAdopted(taken CachedBlock) {
	l, ok := ls.heap.locate(taken.Addr)
	if !ok || l.info().state() != blockLeased {
		ls.heap.broken("pool.adopt", device.Errorf(device.CodeInternal, "pool.adopt",
			"the caches gave up a block at %#x that they do not have", uint64(taken.Addr)))
	}
	l.setInfo(makeInfo(blockLive, taken.Tag, l.Size-taken.RequestedBytes))
	if taken.Stream != 0 {
		ls.heap.streams.note(l, ls.streamOf(taken.Stream))
	}
	sizes := track.Block{RequestedBytes: taken.RequestedBytes, AllocatedBytes: l.Size}
	ls.heap.tags.Add(taken.Tag, sizes, 1)
	ls.returned += taken.SizeBytes
	ls.heap.counters.Adopt(sizes, taken.SizeBytes)
}
