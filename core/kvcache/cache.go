package kvcache

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pressure"
)

// Cache manages the blocks of sequences. All methods are safe for concurrent use.
type Cache struct {
	config      Config
	store       Store
	chunkBlocks uint32
	width       uint32

	// mu guards the fields below.
	mu sync.Mutex
	// changed is signalled when a call has mapped or unmapped chunks.
	changed sync.Cond
	// closed states that Close was called; released, that it has released the memory.
	closed, released bool
	// moving counts the calls that map or unmap chunks.
	moving int
	// shy counts down the calls that evict before they map.
	shy int

	blocks    []block
	host      []hostBlock
	chunks    []chunk
	sequences []sequence
	// tables has a row of width entries for each sequence.
	tables []int32
	// index has the first published block of each bucket.
	index []int32
	// items and copies are those of the present call.
	items  []item
	copies []Copy
	memory tables

	// turn is the number of the present call.
	turn uint32
	// lowest is a chunk below which no chunk has a free block.
	lowest uint32
	// oldest and newest are the ends of the list of evictable blocks.
	oldest, newest int32
	hostHead       int32
	// sequenceHead begins the list of free places for sequences.
	sequenceHead int32
	counts       counts

	bounds pressure.Bounds
	// level is the level that was reported last. notifying states that listeners are called.
	level     pressure.Level
	listeners []*Listener
	notifying bool
}

// tables is the memory of the tables of a cache.
type tables struct {
	blocks    offheap.Table[block]
	host      offheap.Table[hostBlock]
	chunks    offheap.Table[chunk]
	sequences offheap.Table[sequence]
	tables    offheap.Table[int32]
	index     offheap.Table[int32]
	items     offheap.Table[item]
	copies    offheap.Table[Copy]
}

// sized gives a table its length. All items are 0.
func sized[T any](table *offheap.Table[T], items *[]T, length int) error {
	if length == 0 {
		return nil
	}
	if err := table.Grow(items, length); err != nil {
		return err
	}
	*items = (*items)[:length]
	return nil
}

// New makes a cache. store nil: the program owns the memory of the blocks, and makes the copies that calls
// report. After a success the cache owns the store. Errors: CodeInvalidConfig, CodeResourceExhausted.
func New(config Config, store Store) (*Cache, error) {
	const op = "kv_cache.create"
	if err := config.check(op); err != nil {
		return nil, err
	}
	c := &Cache{config: config, store: store, chunkBlocks: config.Blocks, width: config.width(), oldest: none, newest: none, hostHead: none}
	c.changed.L = &c.mu
	c.bounds = pressure.Early.Bounds(uint64(config.Blocks))
	always := uint32(1)
	if store != nil {
		c.chunkBlocks, always = min(store.ChunkBlocks(), config.Blocks), store.Always()
	}
	if err := c.allocate(); err != nil {
		c.memory.free(c)
		return nil, err
	}
	for at := range c.chunks {
		home := &c.chunks[at]
		home.head, home.blocks = none, int32(min(c.chunkBlocks, config.Blocks-uint32(at)*c.chunkBlocks))
		if c.counts.unmapped += int(home.blocks); uint32(at) < always {
			c.fill(uint32(at))
		}
	}
	for at := range c.index {
		c.index[at] = none
	}
	for at := len(c.host) - 1; at >= 0; at-- {
		c.host[at].next, c.hostHead = c.hostHead, int32(at)
	}
	c.sequenceHead = none
	for at := len(c.sequences) - 1; at >= 0; at-- {
		c.sequences[at].next, c.sequences[at].generation, c.sequenceHead = c.sequenceHead, 1, int32(at)
	}
	return c, nil
}

// allocate allocates the tables.
func (c *Cache) allocate() error {
	m, blocks := &c.memory, int(c.config.Blocks)
	buckets := 1
	for buckets < blocks {
		buckets *= 2
	}
	sequences := int(c.config.Sequences)
	for _, grow := range []func() error{
		func() error { return sized(&m.blocks, &c.blocks, blocks) },
		func() error { return sized(&m.host, &c.host, int(c.config.HostBlocks)) },
		func() error { return sized(&m.chunks, &c.chunks, (blocks+int(c.chunkBlocks)-1)/int(c.chunkBlocks)) },
		func() error { return sized(&m.sequences, &c.sequences, sequences) },
		func() error { return sized(&m.tables, &c.tables, sequences*int(c.width)) },
		func() error { return sized(&m.index, &c.index, buckets) },
		func() error { return sized(&m.items, &c.items, sequences) },
		func() error { return sized(&m.copies, &c.copies, blocks) },
	} {
		if err := grow(); err != nil {
			return err
		}
	}
	return nil
}

func (m *tables) free(c *Cache) {
	m.blocks.Free(&c.blocks)
	m.host.Free(&c.host)
	m.chunks.Free(&c.chunks)
	m.sequences.Free(&c.sequences)
	m.tables.Free(&c.tables)
	m.index.Free(&c.index)
	m.items.Free(&c.items)
	m.copies.Free(&c.copies)
}

// Config returns the configuration.
func (c *Cache) Config() Config { return c.config }

// IsClosed reports whether Close has released the memory of the cache.
func (c *Cache) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.released
}

func (c *Cache) hasEnded(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the cache is closed")
}

// Close ends the cache and releases its memory. It waits for running listeners, so none of them calls it.
// Without force it returns CodeBusy while sequences live.
// Errors: those of the store; then the cache has ended, and another Close releases its memory.
func (c *Cache) Close(force bool) error {
	const op = "kv_cache.close"
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.moving > 0 || c.notifying {
		c.changed.Wait()
	}
	switch {
	case c.released:
		return c.hasEnded(op)
	case !c.closed && !force && c.counts.live > 0:
		return device.Errorf(device.CodeBusy, op, "%s still live", device.Count(c.counts.live, "sequence"))
	}
	c.closed = true
	c.changed.Broadcast()
	if c.store != nil {
		var mapped []uint32
		for at := range c.chunks {
			if c.chunks[at].mapped == chunkMapped {
				mapped = append(mapped, uint32(at))
			}
		}
		if err := c.store.Close(mapped); err != nil {
			return err
		}
	}
	c.released = true
	c.memory.free(c)
	return nil
}
