package pool

import (
	"sync"

	"ferrum_mem/core/device"
)

// fakeCache is thread caches as the contract of Cache describes them, in the simplest
// form: one lock, and a magazine for each thread, size and stream.
type fakeCache struct {
	pool     *Pool
	streamOf func(id uint64) device.Stream

	mu     sync.Mutex
	blocks map[device.Addr]*CachedBlock
	// places has the addresses in the order in which they were leased.
	places  []device.Addr
	placeOf map[device.Addr]uint64
	idle    map[magazine][]device.Addr
	counts  CacheCounts
	gone    bool
	// paused makes every call go to the pool, see pausable.
	paused bool
	// pausing and counting, unless nil, are called at the beginning of Pause and Counts.
	pausing, counting func()
	// giveBackFails counts the blocks that the pool rejected.
	giveBackFails int
}

type magazine struct {
	thread int
	size   uint64
	stream uint64
}

const (
	// fakeCacheMost is the size of the largest block in the fake cache.
	fakeCacheMost = 64 << 10
	fakeRefill    = 4
	fakeMagazine  = 8
)

func newFakeCache(p *Pool, streamOf func(id uint64) device.Stream) *fakeCache {
	c := &fakeCache{
		pool: p, streamOf: streamOf,
		blocks: map[device.Addr]*CachedBlock{}, placeOf: map[device.Addr]uint64{}, idle: map[magazine][]device.Addr{},
	}
	p.SetCache(c, streamOf)
	return c
}

// alloc returns 0 if the core has to serve the request.
func (c *fakeCache) alloc(thread int, size, stream uint64) device.Addr {
	return c.allocTagged(thread, size, stream, 0)
}

func (c *fakeCache) allocTagged(thread int, size, stream uint64, tag uint32) device.Addr {
	class := (size + 1023) / 1024 * 1024
	if class > fakeCacheMost {
		return 0
	}
	key := magazine{thread, class, stream}
	c.mu.Lock()
	if c.paused {
		c.mu.Unlock()
		return 0
	}
	if len(c.idle[key]) == 0 && !c.gone {
		counts := c.counts
		c.mu.Unlock()
		var addrs [fakeRefill]device.Addr
		n, err := c.pool.Lease(class, c.streamOf(stream), addrs[:], &counts)
		if err != nil {
			n = 0
		}
		c.mu.Lock()
		for _, addr := range addrs[:n] {
			c.enter(&CachedBlock{Addr: addr, SizeBytes: class, Stream: stream})
			c.idle[key] = append(c.idle[key], addr)
			c.counts.EnteredBytes += class
			c.counts.IdleBytes += class
		}
	}
	defer c.mu.Unlock()
	n := len(c.idle[key])
	if n == 0 || c.paused {
		return 0
	}
	addr := c.idle[key][n-1]
	c.idle[key] = c.idle[key][:n-1]
	b := c.blocks[addr]
	b.Live, b.RequestedBytes, b.Tag, b.Stream = true, size, tag, stream
	c.counts.IdleBytes -= class
	c.counts.LiveBytes += class
	c.counts.RequestedBytes += size
	c.counts.LiveBlocks++
	c.counts.Allocations++
	return addr
}

// free takes back a leased block on its own stream, and leaves any other block to the
// pool.
func (c *fakeCache) free(thread int, addr device.Addr, stream uint64) error {
	c.mu.Lock()
	b := c.blocks[addr]
	if b == nil || !b.Live || c.paused || b.Stream != stream {
		c.mu.Unlock()
		return c.pool.Free(addr, c.streamOf(stream))
	}
	c.counts.RequestedBytes -= b.RequestedBytes
	c.counts.LiveBytes -= b.SizeBytes
	c.counts.IdleBytes += b.SizeBytes
	c.counts.LiveBlocks--
	c.counts.Frees++
	b.Live, b.Stream, b.RequestedBytes, b.Tag = false, stream, 0, 0
	key := magazine{thread, b.SizeBytes, stream}
	c.idle[key] = append(c.idle[key], addr)
	var extra []CachedBlock
	if len(c.idle[key]) > fakeMagazine {
		extra = c.remove(key, fakeMagazine/2)
	}
	counts := c.counts
	c.mu.Unlock()
	if len(extra) == 0 {
		return nil
	}
	addrs := make([]device.Addr, 0, len(extra))
	for _, b := range extra {
		addrs = append(addrs, b.Addr)
	}
	if err := c.pool.ReturnLeased(addrs, c.streamOf(stream), &counts); err != nil {
		c.putBack(key, extra)
	}
	return nil
}

// remove takes the oldest idle blocks out of a magazine.
func (c *fakeCache) remove(key magazine, n int) []CachedBlock {
	var out []CachedBlock
	for _, addr := range c.idle[key][:n] {
		out = append(out, *c.blocks[addr])
		delete(c.blocks, addr)
		c.counts.IdleBytes -= key.size
		c.counts.LeftBytes += key.size
	}
	c.idle[key] = append([]device.Addr{}, c.idle[key][n:]...)
	return out
}

func (c *fakeCache) putBack(key magazine, blocks []CachedBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveBackFails++
	for _, b := range blocks {
		c.enter(&b)
		c.idle[key] = append(c.idle[key], b.Addr)
		c.counts.IdleBytes += b.SizeBytes
		c.counts.LeftBytes -= b.SizeBytes
	}
}

// Pause implements pausable.
func (c *fakeCache) Pause(paused bool) {
	if c.pausing != nil {
		c.pausing()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
}

func (c *fakeCache) Counts() CacheCounts {
	if c.counting != nil {
		c.counting()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

func (c *fakeCache) Take(to []CachedBlock) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for key, addrs := range c.idle {
		if some := min(len(addrs), len(to)-n); some > 0 {
			n += copy(to[n:], c.remove(key, some))
		}
	}
	return n
}

func (c *fakeCache) Block(addr device.Addr) (CachedBlock, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[addr]
	if b == nil {
		return CachedBlock{}, false
	}
	return *b, true
}

func (c *fakeCache) Find(blocks []CachedBlock) {
	for i := range blocks {
		blocks[i], _ = c.Block(blocks[i].Addr)
	}
}

// Next visits the places at which blocks were leased, as many as to has elements.
func (c *fakeCache) Next(place uint64, to []CachedBlock) (n int, next uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := min(place+uint64(len(to)), uint64(len(c.places)))
	for ; place < end; place++ {
		addr := c.places[place]
		if b := c.blocks[addr]; b != nil && c.placeOf[addr] == place {
			to[n] = *b
			n++
		}
	}
	if place == uint64(len(c.places)) {
		return n, 0
	}
	return n, place
}

// enter adds a leased block.
func (c *fakeCache) enter(b *CachedBlock) {
	c.blocks[b.Addr] = b
	c.placeOf[b.Addr] = uint64(len(c.places))
	c.places = append(c.places, b.Addr)
}

func (c *fakeCache) AdoptNext(place uint64, to []CachedBlock) (n int, next uint64) {
	var seen [16]CachedBlock
	looked, next := c.Next(place, seen[:min(len(seen), len(to))])
	for _, b := range seen[:looked] {
		if adopted, ok := c.Adopt(b.Addr); ok {
			to[n] = adopted
			n++
		}
	}
	return n, next
}

func (c *fakeCache) Adopt(addr device.Addr) (CachedBlock, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[addr]
	if b == nil || !b.Live {
		return CachedBlock{}, false
	}
	delete(c.blocks, addr)
	c.counts.RequestedBytes -= b.RequestedBytes
	c.counts.LiveBytes -= b.SizeBytes
	c.counts.LiveBlocks--
	c.counts.LeftBytes += b.SizeBytes
	return *b, true
}

func (c *fakeCache) Drop() (free func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	clear(c.blocks)
	clear(c.idle)
	c.counts.LeftBytes = c.counts.EnteredBytes
	c.counts.RequestedBytes, c.counts.LiveBytes, c.counts.LiveBlocks, c.counts.IdleBytes = 0, 0, 0, 0
	return func() {}
}
