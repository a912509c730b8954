package pool

import (
	"sync"

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
	heap *heap
	// census is held while the books stand still and the caches are counted, or give up
	// what they have live: one thread at a time.
	census sync.Mutex
	cache  Cache
	// own is the cache, if it can count without stopping threads.
	own ownCounter
	// number is what readers of the books know the cache by; 0: they do not.
	number uint64
	// streamOf finds a stream by the number that the caches know it by; nil for
	// one that is no more, and so has run dry.
	streamOf func(id uint64) device.Stream
	leaseTotals
	// strays are blocks that were taken out of the caches and that could not be
	// put behind the work of their stream yet.
	strays []CachedBlock
}

// leaseTotals are running totals of the bytes that went out and that came back.
type leaseTotals struct{ leased, returned uint64 }

// outside turns counts into what the books want: bytes on their way in either
// direction count as cached.
func (t leaseTotals) outside(c *CacheCounts) track.Outside {
	return track.Outside{
		RequestedBytes: c.RequestedBytes, LiveBytes: c.LiveBytes, LiveBlocks: c.LiveBlocks,
		IdleBytes:   c.IdleBytes,
		CachedBytes: c.IdleBytes + (t.leased - c.EnteredBytes) + (c.LeftBytes - t.returned),
		Allocations: c.Allocations, Frees: c.Frees,
	}
}

// agree says that counts can be those of one moment. From those that come with a
// lease, the latest calls of other threads may be missing: a block that was freed
// by another thread than its allocator's may make a count less than 0, which is a
// very large number here and would stay in the peaks.
func (c *CacheCounts) agree() bool {
	held := c.EnteredBytes - c.LeftBytes
	return c.LeftBytes <= c.EnteredBytes && c.LiveBytes <= held && c.IdleBytes == held-c.LiveBytes &&
		c.RequestedBytes <= c.LiveBytes && c.LiveBlocks <= c.RequestedBytes
}

// ownCounter is a Cache that can count without stopping the threads that use it.
type ownCounter interface {
	// OwnCounts is Counts as far as the calling thread and the core know: what
	// another thread did since it last asked for more is left out.
	OwnCounts() CacheCounts
}

// knownCache is a Cache that readers of the books can count themselves.
type knownCache interface {
	// Number is what they know it by; not 0.
	Number() uint64
}

// pausable is a Cache that can be passed by for a while.
type pausable interface {
	// Pause has every allocation and every free come to the pool, until it is called
	// with false.
	Pause(paused bool)
}

// pauseCache stops the caches, which would hand out blocks to a stream that
// captures, or lets them go on.
func (ls *leases) pauseCache(paused bool) {
	// What the pool has lent is back as well.
	ls.heap.mu.Lock()
	cache, ok := ls.cache.(pausable)
	ls.heap.mu.Unlock()
	if ok {
		cache.Pause(paused)
	}
}
