package kvcache

// Of the methods below, the caller holds mu.

// take takes a free block, or else evicts the cached block that was not used for the longest time. The
// caller has checked that there is one.
func (c *Cache) take() int32 {
	if c.counts.free == 0 {
		c.evict(c.oldest)
	}
	for c.chunks[c.lowest].frees == 0 {
		c.lowest++
	}
	home := &c.chunks[c.lowest]
	id := home.head
	b := &c.blocks[id]
	home.head = b.next
	home.frees--
	home.used++
	c.counts.free--
	c.counts.used++
	b.state, b.refs = used, 1
	return id
}

// give adds a block to the free list of its chunk.
func (c *Cache) give(id int32) {
	at := uint32(id) / c.chunkBlocks
	home, b := &c.chunks[at], &c.blocks[id]
	b.state, b.next = free, home.head
	home.head = id
	home.frees++
	c.counts.free++
	c.lowest = min(c.lowest, at)
}

// release ends a reference of a block.
func (c *Cache) release(id int32) {
	b := &c.blocks[id]
	if b.refs--; b.refs > 0 {
		return
	}
	c.counts.used--
	c.chunks[uint32(id)/c.chunkBlocks].used--
	if !b.published {
		c.give(id)
		return
	}
	b.state = cached
	c.counts.cached++
	b.previous, b.next = c.newest, none
	if c.newest == none {
		c.oldest = id
	} else {
		c.blocks[c.newest].next = id
	}
	c.newest = id
}

// share adds a reference to a used or cached block.
func (c *Cache) share(id int32) {
	b := &c.blocks[id]
	if b.refs++; b.refs > 1 {
		return
	}
	c.unlist(b)
	b.state = used
	c.counts.used++
	c.chunks[uint32(id)/c.chunkBlocks].used++
}

// unlist removes a cached block from the list of evictable blocks.
func (c *Cache) unlist(b *block) {
	c.counts.cached--
	if b.previous == none {
		c.oldest = b.next
	} else {
		c.blocks[b.previous].next = b.next
	}
	if b.next == none {
		c.newest = b.previous
	} else {
		c.blocks[b.next].previous = b.previous
	}
}

// evict frees a cached block.
func (c *Cache) evict(id int32) {
	b := &c.blocks[id]
	c.unlist(b)
	c.unpublish(id)
	c.give(id)
	c.counts.evictions++
}

// find returns the block with a hash, or none.
func (c *Cache) find(hash uint64) int32 {
	id := c.index[c.bucket(hash)]
	for id != none && c.blocks[id].hash != hash {
		id = c.blocks[id].chain
	}
	return id
}

// bucket returns the place of a hash in the index. The caller's hashes may be small numbers.
func (c *Cache) bucket(hash uint64) uint64 {
	return mix(hash, 0x9e3779b97f4a7c15) & uint64(len(c.index)-1)
}

// publish adds a block to the index, unless another block has the hash.
func (c *Cache) publish(id int32, hash uint64) {
	b := &c.blocks[id]
	if b.published || c.find(hash) != none {
		return
	}
	at := &c.index[c.bucket(hash)]
	b.hash, b.published, b.chain = hash, true, *at
	*at = id
	c.counts.published++
}

// unpublish removes a block from the index.
func (c *Cache) unpublish(id int32) {
	b := &c.blocks[id]
	at := &c.index[c.bucket(b.hash)]
	for *at != id {
		at = &c.blocks[*at].chain
	}
	*at, b.published = b.chain, false
	c.counts.published--
}

// left returns the references that a block has after those that the present call will release.
func (c *Cache) left(id int32) int32 {
	b := &c.blocks[id]
	if b.turn != c.turn {
		b.turn, b.drops = c.turn, 0
	}
	return b.refs - b.drops
}

// takeHost takes a free block of the host. The caller has checked that there is one.
func (c *Cache) takeHost() int32 {
	id := c.hostHead
	h := &c.host[id]
	c.hostHead = h.next
	c.counts.hostUsed++
	h.refs = 1
	return id
}

// releaseHost ends a reference of a block of the host.
func (c *Cache) releaseHost(id int32) {
	h := &c.host[id]
	if h.refs--; h.refs > 0 {
		return
	}
	h.published, h.next = false, c.hostHead
	c.hostHead = id
	c.counts.hostUsed--
}
