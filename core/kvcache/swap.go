package kvcache

import (
	"slices"

	"ferrum_mem/core/device"
)

// SwapOut moves the contents of sequences to blocks of the host, and releases their blocks of the device: of
// all, or of none. Sequences of one call that share blocks share the copies.
//
// It returns the copies that the program has to make, from the device to the host, and their number. A store makes
// them itself. Errors: those of Free; CodeInvalidState for a sequence that is swapped out; CodeResourceExhausted
// for too few blocks of the host; CodeBufferTooSmall for more copies than most, and then their number is returned
// too; CodeBusy while the memory sleeps.
func (c *Cache) SwapOut(ids []Sequence, most int) (copies []Copy, count int, err error) {
	const op = "kv_cache.swap_out"
	c.mu.Lock()
	defer c.leave()
	awake, err := c.awake(op)
	if err != nil {
		return nil, 0, err
	}
	defer awake()
	if err := c.named(op, ids, onDevice); err != nil {
		return nil, 0, err
	}
	needed := 0
	for at := range ids {
		c.each(c.items[at].place, func(entry *int32) {
			if b := &c.blocks[*entry]; b.turn != c.turn {
				b.turn, b.drops = c.turn, none
				needed++
			}
		})
	}
	if spare := int(c.config.HostBlocks) - c.counts.hostUsed; needed > spare {
		return nil, 0, device.Errorf(device.CodeResourceExhausted, op, "the sequences have %s: the host has %d of %d free", device.Count(needed, "block"), spare, c.config.HostBlocks)
	}
	if err := c.hasSpace(op, needed, most); err != nil {
		return nil, needed, err
	}
	list := c.copies[:0]
	for at := range ids {
		c.each(c.items[at].place, func(entry *int32) {
			if b := &c.blocks[*entry]; b.drops == none {
				b.drops = c.takeHost()
				c.host[b.drops].refs = 0
				list = append(list, Copy{From: *entry, To: b.drops})
			}
		})
	}
	if err := c.makeCopies(ToHost, list); err != nil {
		for at := range list {
			c.host[list[at].To].refs = 1
			c.releaseHost(list[at].To)
		}
		return nil, 0, err
	}
	for _, pair := range list {
		h, b := &c.host[pair.To], &c.blocks[pair.From]
		h.published, h.hash = b.published, b.hash
	}
	for at := range ids {
		c.toHost(c.items[at].place)
	}
	copies = c.reported(needed)
	c.counts.swappedOut += uint64(needed)
	c.settle()
	return copies, len(copies), nil
}

// hasSpace checks the room for the copies that a call reports.
func (c *Cache) hasSpace(op string, needed, most int) error {
	if c.store == nil && needed > most {
		return device.Errorf(device.CodeBufferTooSmall, op, "the call copies %s, and there is room for %d", device.Count(needed, "block"), most)
	}
	return nil
}

// reported returns the copies of the present call that the program has to make.
func (c *Cache) reported(count int) []Copy {
	if c.store != nil || count == 0 {
		return nil
	}
	return slices.Clone(c.copies[:count])
}

func (c *Cache) makeCopies(direction Direction, list []Copy) error {
	if c.store == nil || len(list) == 0 {
		return nil
	}
	return c.store.Copy(direction, list)
}

// each calls visit with each entry of a sequence.
func (c *Cache) each(place int32, visit func(entry *int32)) {
	s, row := &c.sequences[place], c.row(place)
	for at := s.first; at < s.count; at++ {
		visit(&row[at])
	}
}

// toHost replaces the entries of a sequence by those of its copies. It goes from the last block to the first,
// as end does.
func (c *Cache) toHost(place int32) {
	s, row := &c.sequences[place], c.row(place)
	for at := s.count; at > s.first; at-- {
		id := row[at-1]
		row[at-1] = c.blocks[id].drops
		c.host[row[at-1]].refs++
		c.release(id)
		c.counts.references--
	}
	s.swapped, s.exclusive = true, false
	c.counts.swapped++
}

// SwapIn moves sequences back to the device: all, or none. A block whose hash is published on the device is
// shared and not copied. The results are those of SwapOut, with copies from the host to the device. Errors: as of
// SwapOut; CodeInvalidState for a sequence that is not swapped out; CodeOutOfMemory.
func (c *Cache) SwapIn(ids []Sequence, most int) (copies []Copy, count int, err error) {
	const op = "kv_cache.swap_in"
	c.mu.Lock()
	defer c.leave()
	awake, err := c.awake(op)
	if err != nil {
		return nil, 0, err
	}
	defer awake()
	needed := 0
	if err := c.withRoom(op, func() (r room, err error) {
		r, err = c.planSwapIn(op, ids)
		needed = r.blocks
		return r, err
	}); err != nil {
		return nil, 0, err
	}
	if err := c.hasSpace(op, needed, most); err != nil {
		return nil, needed, err
	}
	// The shares come first: a block that is shared must not be evicted for another one.
	for at := range ids {
		c.each(c.items[at].place, func(entry *int32) {
			if h := &c.host[*entry]; !h.copied {
				c.share(h.partner)
			}
		})
	}
	list := c.copies[:0]
	for at := range ids {
		c.each(c.items[at].place, func(entry *int32) {
			h := &c.host[*entry]
			switch {
			case h.partner == none:
				h.partner = c.take()
				list = append(list, Copy{From: *entry, To: h.partner})
			case h.copied:
				c.blocks[h.partner].refs++
			}
		})
	}
	if err := c.makeCopies(FromHost, list); err != nil {
		for at := range ids {
			c.each(c.items[at].place, func(entry *int32) { c.release(c.host[*entry].partner) })
		}
		return nil, 0, err
	}
	for at := range ids {
		c.toDevice(c.items[at].place)
	}
	c.counts.swappedIn += uint64(len(list))
	copies = c.reported(len(list))
	return copies, len(copies), nil
}

// planSwapIn counts the blocks that come back, and finds those to be shared.
func (c *Cache) planSwapIn(op string, ids []Sequence) (room, error) {
	if err := c.named(op, ids, onHost); err != nil {
		return room{}, err
	}
	r := room{available: c.counts.free + c.counts.cached}
	for at := range ids {
		c.each(c.items[at].place, func(entry *int32) {
			h := &c.host[*entry]
			if h.turn == c.turn {
				return
			}
			h.turn, h.partner = c.turn, none
			if h.published {
				h.partner = c.find(h.hash)
			}
			if h.copied = h.partner == none; h.copied {
				r.blocks++
			} else if b := &c.blocks[h.partner]; b.state == cached && b.turn != c.turn {
				b.turn, b.drops = c.turn, 0
				r.available--
			}
		})
	}
	return r, nil
}

// toDevice replaces the entries of a sequence by those of its blocks of the device.
func (c *Cache) toDevice(place int32) {
	s := &c.sequences[place]
	c.each(place, func(entry *int32) {
		from := *entry
		h := &c.host[from]
		*entry = h.partner
		if h.published && h.copied {
			c.publish(*entry, h.hash)
		}
		c.releaseHost(from)
		c.counts.references++
	})
	s.swapped = false
	c.counts.swapped--
}
