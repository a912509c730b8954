package kvcache

import "ferrum_mem/core/device"

// Append adds tokens to sequences: to all, or to none. counts has the number of new tokens of each; none: one
// each. It takes the blocks that the tokens need. A last block that another sequence shares is copied before
// the append changes it. It releases the blocks that the window of the first new token does not reach.
//
// It returns the copies that the program has to make before it uses the blocks, and their number. A store makes
// them itself. Errors: those of Free; CodeInvalidState for a sequence that is swapped out; CodeInvalidOffset for
// positions beyond the longest sequence; CodeOutOfMemory; CodeBufferTooSmall for more copies than most, and then
// their number is returned too; CodeBusy while the memory sleeps.
func (c *Cache) Append(ids []Sequence, counts []uint32, most int) (copies []Copy, count int, err error) {
	const op = "kv_cache.append"
	if len(counts) > 0 {
		if err := each(op, "length_count", len(counts), len(ids)); err != nil {
			return nil, 0, err
		}
	}
	c.mu.Lock()
	defer c.leave()
	awake, err := c.awake(op)
	if err != nil {
		return nil, 0, err
	}
	defer awake()
	toCopy := 0
	if err := c.withRoom(op, func() (r room, err error) {
		r, toCopy, err = c.planAppend(op, ids, counts)
		return r, err
	}); err != nil {
		return nil, 0, err
	}
	if err := c.hasSpace(op, toCopy, most); err != nil {
		return nil, toCopy, err
	}
	if c.config.WindowTokens > 0 {
		for at := range ids {
			c.slide(&c.items[at])
		}
	}
	if toCopy > 0 {
		if err := c.copyOnWrite(len(ids), toCopy); err != nil {
			return nil, 0, err
		}
		copies = c.reported(toCopy)
	}
	for at := range ids {
		c.extend(&c.items[at])
	}
	return copies, len(copies), nil
}

// planAppend counts the blocks and the copies of an append.
func (c *Cache) planAppend(op string, ids []Sequence, counts []uint32) (r room, copies int, err error) {
	if err := c.named(op, ids, onDevice); err != nil {
		return r, 0, err
	}
	size, longest := c.config.BlockTokens, c.config.SequenceTokens
	for at := range ids {
		i := &c.items[at]
		s := &c.sequences[i.place]
		more := uint32(1)
		if len(counts) > 0 {
			more = counts[at]
		}
		if more > longest-s.tokens {
			return r, 0, device.Errorf(device.CodeInvalidOffset, op, "sequences[%d]: %d tokens and %d more: the cache has sequences of at most %d", at, s.tokens, more, longest)
		}
		i.tokens, i.first, i.copied = s.tokens+more, s.first, none
		if i.count = s.count; i.tokens > s.count*size {
			i.count = (i.tokens + size - 1) / size
		}
		r.blocks += int(i.count - s.count)
		if c.config.WindowTokens > 0 {
			r.released += c.planSlide(i, s)
		}
	}
	for at := range ids {
		i := &c.items[at]
		s := &c.sequences[i.place]
		if s.exclusive || i.tokens == s.tokens || s.tokens == s.count*size {
			continue
		}
		// The last block gets tokens.
		last := c.row(i.place)[s.count-1]
		if c.left(last) > 1 {
			c.blocks[last].drops++
			i.copied = last
			copies++
		}
	}
	r.blocks += copies
	r.available = c.counts.free + c.counts.cached + r.released
	return r, copies, nil
}

// planSlide finds the first block that the window of the next token reaches. It returns the number of blocks
// before it that will have no reference.
func (c *Cache) planSlide(i *item, s *sequence) (released int) {
	if i.tokens == s.tokens {
		return 0
	}
	i.first = max(s.first, c.config.reach(s.tokens)/c.config.BlockTokens)
	row := c.row(i.place)
	for at := s.first; at < min(i.first, s.count); at++ {
		if c.left(row[at]) == 1 {
			released++
		}
		c.blocks[row[at]].drops++
	}
	return released
}

// slide releases the blocks before the window.
func (c *Cache) slide(i *item) {
	s := &c.sequences[i.place]
	c.drop(c.row(i.place), s.first, min(i.first, s.count))
	s.first = i.first
}

// extend adds the tokens of an append.
func (c *Cache) extend(i *item) {
	s := &c.sequences[i.place]
	if !s.exclusive && i.tokens > s.tokens && s.tokens < s.count*c.config.BlockTokens {
		// The last block has one reference by now. Its contents change, so it loses its hash.
		if last := c.row(i.place)[s.count-1]; c.blocks[last].published {
			c.unpublish(last)
		}
		s.exclusive = true
	}
	if i.count > s.count {
		row := c.row(i.place)
		for at := s.count; at < i.count; at++ {
			row[at] = c.take()
		}
		c.counts.references += int(i.count - s.count)
		s.count, s.exclusive = i.count, true
	}
	c.counts.tokens += uint64(i.tokens - s.tokens)
	s.tokens = i.tokens
}

// copyOnWrite gives sequences blocks of their own, with the contents of their shared last blocks. After an
// error the sequences are unchanged. Only blocks that no sequence needs may have been released or evicted.
func (c *Cache) copyOnWrite(items, count int) error {
	copies := c.copies[:0]
	for at := range c.items[:items] {
		if i := &c.items[at]; i.copied != none {
			copies = append(copies, Copy{From: i.copied, To: c.take()})
		}
	}
	if c.store != nil {
		if err := c.store.Copy(Within, copies); err != nil {
			for at := range copies {
				c.release(copies[at].To)
			}
			return err
		}
	}
	next := 0
	for at := range c.items[:items] {
		i := &c.items[at]
		if i.copied == none {
			continue
		}
		c.row(i.place)[c.sequences[i.place].count-1] = copies[next].To
		c.release(i.copied)
		next++
	}
	c.counts.copies += uint64(count)
	return nil
}

// awake keeps the memory of the store awake. The caller holds mu.
func (c *Cache) awake(op string) (release func(), err error) {
	switch {
	case c.closed:
		return nil, c.hasEnded(op)
	case c.store == nil:
		return func() {}, nil
	}
	return c.store.KeepAwake()
}
