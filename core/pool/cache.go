package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// SetCache puts thread caches in front of the pool, once, before they lease
// anything. streamOf finds a stream by the number that the caches know it by,
// and is nil for one that was destroyed.
func (p *Pool) SetCache(c Cache, streamOf func(id uint64) device.Stream) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.leases.cache, p.leases.streamOf = c, streamOf
	p.leases.own, _ = c.(ownCounter)
	if known, ok := c.(knownCache); ok {
		p.leases.number = known.Number()
	}
}

// takeOver makes a live block that is on lease one of the pool's own. Errors:
// those of a free.
func (ls *leases) takeOver(addr device.Addr) error {
	if ls.adopt(addr) {
		return nil
	}
	return ls.heap.notLive(opFree, addr)
}

// adopt is takeOver; false: no live block starts at the address.
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
		// Another thread may have taken it over meanwhile.
		l, there := ls.heap.locate(addr)
		return there && l.info().state() == blockLive
	}
	ls.enterAdopted(taken)
	return true
}

// takeOverFrom is takeOver for the first block of a free that is on lease, and for the
// others, so that a large batch is not looked through once for each of them.
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

// takeOverMost bounds the blocks for which the books stand still at a time.
const takeOverMost = 1024

// takeOverSome takes over what is on lease, as far as it is live; there is room for all.
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

// enterAdopted enters a block that the caches have given up live.
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
	ls.heap.books.Adopt(sizes, taken.SizeBytes)
}
