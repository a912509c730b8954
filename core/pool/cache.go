package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// Cache is the thread caches in front of a pool: they have blocks on lease, hand
// them out and take them back by themselves. The methods may be called from any
// goroutine, with none of the locks held that Lease and GiveBack take; they never
// call back into the pool.
type Cache interface {
	// Counts is what the caches hold and have done, at one moment.
	Counts() CacheCounts
	// Take takes idle blocks out of the caches, of all threads, and says how
	// many; they are the pool's then. 0: none are left.
	Take(to []CachedBlock) int
	// Block is the leased block that starts at an address, live or idle.
	Block(addr device.Addr) (CachedBlock, bool)
	// Find describes the leased blocks that start at the addresses that blocks has;
	// the address of one that is none becomes 0.
	Find(blocks []CachedBlock)
	// Next tells leased blocks, live or idle, from a place on, 0 at first: how many
	// of to they are, which may be none, and the place to go on from, 0 when there
	// are no more. One that is leased all the time is told once. Nobody waits for it
	// but for moments.
	Next(place uint64, to []CachedBlock) (n int, next uint64)
	// Adopt takes a live block out of the table of the caches: the pool has it
	// as a block of its own from then on.
	Adopt(addr device.Addr) (CachedBlock, bool)
	// AdoptNext is Next for live blocks only, each of which is adopted.
	AdoptNext(place uint64, to []CachedBlock) (n int, next uint64)
	// Drop forgets every block, live ones too; the pool is going away. free gives the
	// memory of the caches back, which takes its time after many blocks: it is called
	// once, when nobody waits for the caller.
	Drop() (free func())
}

// CacheCounts is the books of caches. Live and idle bytes are counted each by
// itself.
type CacheCounts struct {
	RequestedBytes, LiveBytes, LiveBlocks, IdleBytes uint64
	// EnteredBytes came in by Lease and LeftBytes went out by Take, GiveBack and
	// Adopt, since the beginning.
	EnteredBytes, LeftBytes uint64
	Allocations, Frees      uint64
}

// CachedBlock is a block on lease.
type CachedBlock struct {
	Addr device.Addr
	// SizeBytes is that of the lease.
	SizeBytes, RequestedBytes uint64
	// Tag is a number of Pool.Tag.
	Tag uint32
	// Live is with the program, and of Stream; otherwise the block is idle, freed on
	// Stream. That is the number that the cache knows the stream by; 0: the default one,
	// or for a live block one that was destroyed.
	Live   bool
	Stream uint64
}

// leases is what a pool knows of its caches, under its lock but for what the
// fields say.
type leases struct {
	cache Cache
	// own is the cache, if it can count without stopping threads.
	own ownCounter
	// number is what readers of the books know the cache by; 0: they do not.
	number uint64
	// streamOf finds a stream by the number that the caches know it by; nil for
	// one that is no more, and so has run dry.
	streamOf func(id uint64) device.Stream
	// leased and returned are running totals of the bytes that went out and that
	// came back.
	leased, returned uint64
	// strays are blocks that were taken out of the caches and that could not be
	// put behind the work of their stream yet.
	strays []CachedBlock
}

// SetCache puts thread caches in front of the pool, once, before they lease
// anything. streamOf finds a stream by the number that the caches know it by,
// and is nil for one that was destroyed.
func (p *Pool) SetCache(c Cache, streamOf func(id uint64) device.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases.cache, p.leases.streamOf = c, streamOf
	p.leases.own, _ = c.(ownCounter)
	if known, ok := c.(knownCache); ok {
		p.leases.number = known.Number()
	}
}

// takeOver makes a live block that is on lease one of the pool's own. Errors:
// those of a free.
func (p *Pool) takeOver(addr device.Addr) error {
	if p.adopt(addr) {
		return nil
	}
	return p.notLive(opFree, addr)
}

// adopt is takeOver; false: no live block starts at the address.
func (p *Pool) adopt(addr device.Addr) bool {
	cache := p.freeze()
	defer p.thaw()
	var taken CachedBlock
	ok := false
	if cache != nil {
		taken, ok = cache.Adopt(addr)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		// Another thread may have taken it over meanwhile.
		l, there := p.locate(addr)
		return there && l.info().state() == blockLive
	}
	p.enterAdopted(taken)
	return true
}

// takeOverFrom is takeOver for the first block of a free that is on lease, and for the
// others, so that a large batch is not looked through once for each of them.
func (p *Pool) takeOverFrom(first device.Addr, addrs []device.Addr) error {
	err := p.takeOver(first)
	if err != nil || len(addrs) == 1 {
		return err
	}
	room := make([]CachedBlock, 0, min(takeOverMost, len(addrs)))
	for some := range slices.Chunk(addrs, takeOverMost) {
		p.takeOverSome(some, room)
	}
	return nil
}

// takeOverMost bounds the blocks for which the books stand still at a time.
const takeOverMost = 1024

// takeOverSome takes over what is on lease, as far as it is live; there is room for all.
func (p *Pool) takeOverSome(addrs []device.Addr, room []CachedBlock) {
	cache := p.freeze()
	defer p.thaw()
	if cache == nil {
		return
	}
	taken := room[:0]
	for _, addr := range addrs {
		if block, ok := cache.Adopt(addr); ok {
			taken = append(taken, block)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, block := range taken {
		p.enterAdopted(block)
	}
}

// enterAdopted enters a block that the caches have given up live.
func (p *Pool) enterAdopted(taken CachedBlock) {
	l, ok := p.locate(taken.Addr)
	if !ok || l.info().state() != blockLeased {
		p.broken("pool.adopt", device.Errorf(device.CodeInternal, "pool.adopt",
			"the caches gave up a block at %#x that they do not have", uint64(taken.Addr)))
	}
	l.setInfo(makeInfo(blockLive, taken.Tag, l.Size-taken.RequestedBytes))
	if taken.Stream != 0 {
		p.noteStream(l, p.leases.streamOf(taken.Stream))
	}
	sizes := track.Block{RequestedBytes: taken.RequestedBytes, AllocatedBytes: l.Size}
	p.tags.Enter(taken.Tag, sizes, 1)
	p.leases.returned += taken.SizeBytes
	p.books.Adopt(sizes, taken.SizeBytes)
}
