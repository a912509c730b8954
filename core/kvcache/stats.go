package kvcache

import "ferrum_mem/core/pressure"

// Stats describes a cache.
type Stats struct {
	// Blocks is the number of blocks of the device: used, cached, free, or unmapped.
	Blocks, UsedBlocks, CachedBlocks, FreeBlocks, UnmappedBlocks uint64
	// PublishedBlocks are the used and cached blocks that have a hash.
	PublishedBlocks uint64
	// References is the number of entries of all block tables of sequences that are not swapped out.
	References uint64
	// HostBlocks is the number of blocks of the host, and HostUsedBlocks those that have contents.
	HostBlocks, HostUsedBlocks uint64
	// Sequences live; SwappedSequences of them are swapped out. Tokens is the sum of their lengths.
	Sequences, SwappedSequences, Tokens uint64
	// Hits and Misses count the hashes of Allocate: those whose block was shared, and the others.
	Hits, Misses uint64
	// Evictions counts the evicted blocks, Copies those that were copied on write, SwappedOutBlocks and
	// SwappedInBlocks those that were copied to and from the host, Failures the calls without enough blocks.
	Evictions, Copies, SwappedOutBlocks, SwappedInBlocks, Failures uint64
	// Level is the level of UsedBlocks of Blocks, with the bounds 60, 80 and 95 percent.
	Level pressure.Level
}

// Stats returns the counters. A closed cache has none.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.counts
	return Stats{
		Blocks: uint64(c.config.Blocks), UsedBlocks: uint64(n.used), CachedBlocks: uint64(n.cached), FreeBlocks: uint64(n.free),
		UnmappedBlocks: uint64(n.unmapped), PublishedBlocks: uint64(n.published), References: uint64(n.references),
		HostBlocks: uint64(c.config.HostBlocks), HostUsedBlocks: uint64(n.hostUsed),
		Sequences: uint64(n.live), SwappedSequences: uint64(n.swapped), Tokens: n.tokens,
		Hits: n.hits, Misses: n.misses, Evictions: n.evictions, Copies: n.copies,
		SwappedOutBlocks: n.swappedOut, SwappedInBlocks: n.swappedIn, Failures: n.failures,
		Level: c.bounds.LevelOf(uint64(n.used)),
	}
}
