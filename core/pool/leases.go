package pool

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// Cache is the thread caches in front of a pool. They lease blocks from the pool, and
// allocate and free these blocks without calling it. The methods may be called from any
// goroutine that holds none of the locks that Lease and ReturnLeased take. They never call
// the pool.
type Cache interface {
	// Counts returns the blocks that the caches hold and the numbers of their uses, of one
	// moment.
	Counts() CacheCounts
	// Take removes idle blocks from the caches of all threads and returns their number.
	// The pool owns these blocks then. 0 means that no idle block is left.
	Take(to []CachedBlock) int
	// Block returns the leased block that starts at an address, live or idle.
	Block(addr device.Addr) (CachedBlock, bool)
	// Find fills in the leased blocks that start at the addresses in blocks. It sets the
	// address of an entry to 0 if no leased block starts there.
	Find(blocks []CachedBlock)
	// Next lists leased blocks, live or idle, beginning at a place; the first place is 0.
	// It returns the number of blocks written to to, which may be 0, and the place where
	// the next call continues; 0 means the end. A block that stays leased during all
	// calls is listed once. Other threads wait only for moments.
	Next(place uint64, to []CachedBlock) (n int, next uint64)
	// Adopt removes a live block from the table of the caches. The pool owns the block
	// then.
	Adopt(addr device.Addr) (CachedBlock, bool)
	// AdoptNext lists live blocks as Next does, and adopts each of them.
	AdoptNext(place uint64, to []CachedBlock) (n int, next uint64)
	// Drop removes every block, also live ones, because the pool is being destroyed. The
	// caller must call free once, when no other thread waits for it: free releases the
	// memory of the caches, which takes long after many blocks.
	Drop() (free func())
}

// CacheCounts has the counters of the caches. Live and idle bytes are counted separately.
type CacheCounts struct {
	RequestedBytes, LiveBytes, LiveBlocks, IdleBytes uint64
	// EnteredBytes is the total that came in by Lease since the caches were created.
	// LeftBytes is the total that left by Take, ReturnLeased and Adopt.
	EnteredBytes, LeftBytes uint64
	Allocations, Frees      uint64
}

// CachedBlock describes a leased block.
type CachedBlock struct {
	Addr device.Addr
	// SizeBytes is the size that the pool leased.
	SizeBytes, RequestedBytes uint64
	// Tag is a number that Pool.Tag returned.
	Tag uint32
	// Live is set if the program has the block; the block belongs to Stream then.
	// Otherwise the block is idle and was freed on Stream. Stream is the number by which
	// the cache knows the stream. 0 means the default stream or, for a live block, a
	// stream that was destroyed.
	Live   bool
	Stream uint64
}

// leases has the state that a pool keeps of its thread caches. The pool's lock guards it,
// except where the comment of a field states another rule.
type leases struct {
	heap *heap
	// census is held by one thread at a time, while the counters are frozen and the
	// caches are counted or release their live blocks.
	census sync.Mutex
	cache  Cache
	// own is the cache, if it can count without stopping threads.
	own ownCounter
	// number identifies the cache for readers of the published counters; 0 means that
	// they do not know the cache.
	number uint64
	// streamOf returns the stream with the number that the caches use. It returns nil if
	// the stream was destroyed; such a stream has no queued work.
	streamOf func(id uint64) device.Stream
	leaseTotals
	// strays are blocks that were taken out of the caches, but for which the event of
	// their stream could not be recorded yet.
	strays []CachedBlock
}

// leaseTotals has running totals of the bytes that the pool leased and that came back.
type leaseTotals struct{ leased, returned uint64 }

// outside converts counts to the form that track.Counters uses. Bytes that are between the
// pool and the caches, in either direction, count as cached.
func (t leaseTotals) outside(c *CacheCounts) track.Outside {
	return track.Outside{
		RequestedBytes: c.RequestedBytes, LiveBytes: c.LiveBytes, LiveBlocks: c.LiveBlocks,
		IdleBytes:   c.IdleBytes,
		CachedBytes: c.IdleBytes + (t.leased - c.EnteredBytes) + (c.LeftBytes - t.returned),
		Allocations: c.Allocations, Frees: c.Frees,
	}
}

// agree reports whether counts can be those of one moment. Counts that come with a lease
// may lack the latest calls of other threads. Then a block that one thread allocated and
// another thread freed can make a count negative. As an unsigned number, that is a very
// large value, which would stay in the peaks.
func (c *CacheCounts) agree() bool {
	held := c.EnteredBytes - c.LeftBytes
	return c.LeftBytes <= c.EnteredBytes && c.LiveBytes <= held && c.IdleBytes == held-c.LiveBytes &&
		c.RequestedBytes <= c.LiveBytes && c.LiveBlocks <= c.RequestedBytes
}

// ownCounter is a Cache that can count without stopping the threads that use it.
type ownCounter interface {
	// OwnCounts returns the counts that the calling thread and the core know. They lack
	// what other threads did since their last lease.
	OwnCounts() CacheCounts
}

// knownCache is a Cache that readers of the published counters can count themselves.
type knownCache interface {
	// Number returns the number by which readers know the cache; it is not 0.
	Number() uint64
}

// pausable is a Cache that can be bypassed for a while.
type pausable interface {
	// Pause(true) makes every allocation and every free call the pool, until
	// Pause(false).
	Pause(paused bool)
}

// pauseCache stops or resumes the caches. They must stop during a capture: they would
// allocate blocks to a stream that captures.
func (ls *leases) pauseCache(paused bool) {
	// Taking the lock also recalls the lent tables.
	ls.heap.mu.Lock()
	cache, ok := ls.cache.(pausable)
	ls.heap.mu.Unlock()
	if ok {
		cache.Pause(paused)
	}
}
