package kvcache

import "ferrum_mem/core/device"

// Fork makes a copy of each sequence of a list, which may name one several times: of all, or of none. A copy
// shares all blocks. Errors: CodeInvalidHandle; CodeInvalidState for a sequence that is swapped out;
// CodeResourceExhausted for too many sequences.
func (c *Cache) Fork(parents, children []Sequence) error {
	const op = "kv_cache.fork"
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return c.hasEnded(op)
	}
	if err := c.fits(op, len(parents)); err != nil {
		return err
	}
	for at, id := range parents {
		place := c.place(id)
		if place == none {
			return unknown(op, at, id)
		}
		if c.sequences[place].swapped {
			return isOut(op, at, id)
		}
		c.items[at].place = place
	}
	if err := c.places(op, len(parents)); err != nil {
		return err
	}
	for at := range parents {
		children[at] = c.fork(c.items[at].place)
	}
	return nil
}

func (c *Cache) fork(place int32) Sequence {
	child := c.open()
	parent, s := &c.sequences[place], &c.sequences[child]
	parent.exclusive = false
	s.tokens, s.first, s.count, s.published = parent.tokens, parent.first, parent.count, parent.published
	from, to := c.row(place), c.row(child)
	for at := parent.first; at < parent.count; at++ {
		to[at] = from[at]
		c.blocks[to[at]].refs++
	}
	c.counts.references += int(parent.count - parent.first)
	c.counts.tokens += uint64(s.tokens)
	return c.id(child)
}

// Truncate shortens sequences to given lengths: all, or none. It releases the blocks after them. Errors: those
// of Free; CodeInvalidState for a sequence that is swapped out; CodeInvalidOffset for a length above the
// present one, or one whose window reaches blocks that were given back.
func (c *Cache) Truncate(ids []Sequence, lengths []uint32) error {
	const op = "kv_cache.truncate"
	if err := each(op, "length_count", len(lengths), len(ids)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return c.hasEnded(op)
	}
	if err := c.named(op, ids, onDevice); err != nil {
		return err
	}
	size := c.config.BlockTokens
	for at, tokens := range lengths {
		s := &c.sequences[c.items[at].place]
		if tokens > s.tokens {
			return device.Errorf(device.CodeInvalidOffset, op, "lengths[%d] is %d: the sequence %#x has %d tokens", at, tokens, uint64(ids[at]), s.tokens)
		}
		if oldest := c.config.reach(tokens); oldest/size < s.first {
			return device.Errorf(device.CodeInvalidOffset, op, "lengths[%d] is %d: the window of the next token of the sequence %#x begins at token %d, and blocks before token %d were given back",
				at, tokens, uint64(ids[at]), oldest, s.first*size)
		}
	}
	for at, tokens := range lengths {
		place := c.items[at].place
		s := &c.sequences[place]
		count := (tokens + size - 1) / size
		if count < s.count {
			c.drop(c.row(place), count, s.count)
			s.count, s.exclusive = count, false
		}
		s.published = min(s.published, tokens/size)
		c.counts.tokens -= uint64(s.tokens - tokens)
		s.tokens = tokens
	}
	c.settle()
	return nil
}
