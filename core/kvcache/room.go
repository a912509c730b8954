package kvcache

import "ferrum_mem/core/device"

// room is what a call needs.
type room struct {
	// blocks is the number of blocks that the call takes. available is the number that it may take: the free
	// blocks, the cached blocks that the call does not use, and those that it releases before it takes any.
	blocks, available int
	// released are the blocks among available that the call itself releases.
	released int
}

// withRoom plans a call until there are enough blocks: it maps chunks before it lets cached blocks be
// evicted. The caller holds mu, which withRoom releases while it maps, but not while it calls plan.
func (c *Cache) withRoom(op string, plan func() (room, error)) error {
	mayMap := true
	var failed error
	for {
		if c.closed {
			return c.hasEnded(op)
		}
		r, err := plan()
		if err != nil {
			return err
		}
		free := c.counts.free + r.released
		if r.blocks <= free || !mayMap && r.blocks <= r.available {
			return nil
		}
		most := r.available + c.counts.unmapped
		if mayMap && r.blocks <= most && c.counts.unmapped > 0 && (r.blocks > r.available || c.shy == 0) {
			failed = c.grow(r.blocks - free)
			mayMap = failed == nil
			if failed != nil {
				c.shy = shyTurns
			}
			continue
		}
		if r.blocks <= r.available {
			c.shy = max(c.shy-1, 0)
			return nil
		}
		c.counts.failures++
		short := device.Errorf(device.CodeOutOfMemory, op, "the call needs %s, and %d can be used: %d of %d are in use by sequences",
			device.Count(r.blocks, "block"), r.available, c.counts.used, c.config.Blocks)
		if failed != nil {
			short.Err = failed
		}
		return short
	}
}

// shyTurns is the number of calls that evict cached blocks and do not try to map more memory, after the
// memory was exhausted.
const shyTurns = 64

// grow maps chunks with at least so many blocks in all. It returns nil after another call has changed the
// chunks: the caller plans again. The caller holds mu, which grow releases meanwhile.
func (c *Cache) grow(blocks int) error {
	var chosen []uint32
	for at := range c.chunks {
		if blocks <= 0 {
			break
		}
		if c.chunks[at].mapped == chunkUnmapped {
			chosen = append(chosen, uint32(at))
			blocks -= int(c.chunks[at].blocks)
		}
	}
	if len(chosen) == 0 {
		// Another call maps or unmaps the rest.
		c.changed.Wait()
		return nil
	}
	c.move(chosen)
	c.mu.Unlock()
	err := c.store.Map(chosen)
	c.mu.Lock()
	c.moved(chosen, err == nil)
	return err
}

// move claims chunks for a call without the lock.
func (c *Cache) move(chosen []uint32) {
	c.moving++
	for _, at := range chosen {
		if c.chunks[at].mapped == chunkUnmapped {
			c.chunks[at].mapped = chunkMoving
			continue
		}
		home := &c.chunks[at]
		first := at * c.chunkBlocks
		for id := first; id < first+uint32(home.blocks); id++ {
			c.blocks[id].state = unmapped
		}
		c.counts.free -= int(home.frees)
		c.counts.unmapped += int(home.blocks)
		home.frees, home.head, home.mapped = 0, none, chunkMoving
	}
}

// moved ends what move began.
func (c *Cache) moved(chosen []uint32, areMapped bool) {
	c.moving--
	for _, at := range chosen {
		home := &c.chunks[at]
		if home.mapped = chunkUnmapped; areMapped {
			c.fill(at)
		}
	}
	c.changed.Broadcast()
}

// fill makes the blocks of a chunk free.
func (c *Cache) fill(at uint32) {
	home := &c.chunks[at]
	home.mapped = chunkMapped
	c.counts.unmapped -= int(home.blocks)
	first := at * c.chunkBlocks
	for id := first + uint32(home.blocks); id > first; id-- {
		c.give(int32(id - 1))
	}
}

// shrink unmaps chunks without used or cached blocks, the last ones first, until so many of them are left.
// The caller holds mu, which shrink releases meanwhile.
func (c *Cache) shrink(keep int) (blocks int, err error) {
	if c.store == nil {
		return 0, nil
	}
	var chosen []uint32
	idle := 0
	for at := range c.chunks {
		if home := &c.chunks[at]; home.mapped == chunkMapped && home.frees == home.blocks && uint32(at) >= c.store.Always() {
			if idle++; idle > keep {
				chosen = append(chosen, uint32(at))
				blocks += int(home.blocks)
			}
		}
	}
	if len(chosen) == 0 {
		return 0, nil
	}
	c.move(chosen)
	c.mu.Unlock()
	err = c.store.Unmap(chosen)
	c.mu.Lock()
	c.moved(chosen, err != nil)
	if err != nil {
		return 0, err
	}
	return blocks, nil
}

// Reclaim evicts cached blocks and unmaps chunks until so many blocks have no memory any more. It takes
// chunks that sequences do not use, the last ones first. It returns the number of blocks.
func (c *Cache) Reclaim(blocks int) (unmapped int, err error) {
	c.mu.Lock()
	defer c.leave()
	if c.closed || c.store == nil {
		return 0, nil
	}
	for at := len(c.chunks) - 1; at >= int(c.store.Always()) && unmapped < blocks; at-- {
		home := &c.chunks[at]
		if home.mapped != chunkMapped || home.used > 0 {
			continue
		}
		c.empty(uint32(at))
		unmapped += int(home.blocks)
	}
	return c.shrink(0)
}

// empty evicts the cached blocks of a chunk.
func (c *Cache) empty(at uint32) {
	first := at * c.chunkBlocks
	for id := first; id < first+uint32(c.chunks[at].blocks); id++ {
		if c.blocks[id].state == cached {
			c.evict(int32(id))
		}
	}
}

// Trim evicts cached blocks, those that were not used for the longest time first, until at most keep are
// left, and unmaps all chunks without used or cached blocks. It returns the number of blocks that have no
// memory any more.
func (c *Cache) Trim(keep int) (unmapped int, err error) {
	const op = "kv_cache.trim"
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return 0, c.hasEnded(op)
	}
	for c.counts.cached > keep {
		c.evict(c.oldest)
	}
	return c.shrink(0)
}
