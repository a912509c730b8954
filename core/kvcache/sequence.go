package kvcache

import "ferrum_mem/core/device"

// begin begins a call. The caller holds mu.
func (c *Cache) begin() {
	if c.turn++; c.turn != 0 {
		return
	}
	// The numbers of the calls start again, and those that are stored must not be taken for new ones.
	c.turn = 1
	for at := range c.blocks {
		c.blocks[at].turn = 0
	}
	for at := range c.host {
		c.host[at].turn = 0
	}
	for at := range c.sequences {
		c.sequences[at].turn = 0
	}
}

// place returns the place of a sequence, or none.
func (c *Cache) place(id Sequence) int32 {
	place := uint32(id)
	if place >= uint32(len(c.sequences)) {
		return none
	}
	if s := &c.sequences[place]; !s.live || s.generation != uint32(id>>32) {
		return none
	}
	return int32(place)
}

func (c *Cache) id(place int32) Sequence {
	return Sequence(c.sequences[place].generation)<<32 | Sequence(place)
}

// row returns the block table of a place.
func (c *Cache) row(place int32) []int32 {
	return c.tables[int(place)*int(c.width) : (int(place)+1)*int(c.width)]
}

// fits checks the number of sequences of a call.
func (c *Cache) fits(op string, count int) error {
	if count > len(c.sequences) {
		return device.Errorf(device.CodeInvalidArgument, op, "the call names %d sequences, and the cache has at most %d", count, len(c.sequences))
	}
	return nil
}

// where states which sequences a call accepts.
type where int

const (
	onDevice where = iota
	onHost
	anywhere
)

// named finds the sequences of a call and stores their places in items. Each is named once.
func (c *Cache) named(op string, ids []Sequence, want where) error {
	if err := c.fits(op, len(ids)); err != nil {
		return err
	}
	c.begin()
	for at, id := range ids {
		place := c.place(id)
		if place == none {
			return unknown(op, at, id)
		}
		s := &c.sequences[place]
		switch {
		case s.turn == c.turn:
			return device.Errorf(device.CodeInvalidArgument, op, "sequences[%d]: the call names the sequence %#x twice", at, id)
		case s.swapped && want == onDevice:
			return isOut(op, at, id)
		case !s.swapped && want == onHost:
			return device.Errorf(device.CodeInvalidState, op, "sequences[%d]: the sequence %#x is not swapped out", at, id)
		}
		s.turn = c.turn
		c.items[at].place = place
	}
	return nil
}

// each checks that a list has an item for each sequence.
func each(op, name string, got, want int) error {
	if got != want {
		return device.Errorf(device.CodeInvalidArgument, op, "%s is %d: want %d, one for each sequence", name, got, want)
	}
	return nil
}

func isOut(op string, at int, id Sequence) error {
	return device.Errorf(device.CodeInvalidState, op, "sequences[%d]: the sequence %#x is swapped out", at, id)
}

func unknown(op string, at int, id Sequence) error {
	return device.Errorf(device.CodeInvalidHandle, op, "sequences[%d]: %#x is not a live sequence of the cache", at, id)
}

// places checks that there are places for more sequences.
func (c *Cache) places(op string, count int) error {
	if err := c.fits(op, count); err != nil {
		return err
	}
	if free := len(c.sequences) - c.counts.live; count > free {
		return device.Errorf(device.CodeResourceExhausted, op, "%d new sequences: the cache has %d of at most %d, and %s free",
			count, c.counts.live, len(c.sequences), device.Count(free, "place"))
	}
	return nil
}

// open makes a sequence without tokens. The caller has checked that there is a place.
func (c *Cache) open() int32 {
	place := c.sequenceHead
	s := &c.sequences[place]
	c.sequenceHead = s.next
	*s = sequence{generation: s.generation, turn: s.turn, live: true}
	c.counts.live++
	return place
}

// end ends a sequence and releases its blocks, the last one first: so the end of a prefix is evicted before
// its start.
func (c *Cache) end(place int32) {
	s, row := &c.sequences[place], c.row(place)
	if s.swapped {
		c.counts.swapped--
		for at := s.count; at > s.first; at-- {
			c.releaseHost(row[at-1])
		}
	} else {
		c.drop(row, s.first, s.count)
	}
	c.counts.live--
	c.counts.tokens -= uint64(s.tokens)
	s.live = false
	if s.generation++; s.generation == 0 {
		s.generation = 1
	}
	s.next, c.sequenceHead = c.sequenceHead, place
}

// drop releases the blocks of entries, the last one first.
func (c *Cache) drop(row []int32, from, to uint32) {
	for at := to; at > from; at-- {
		c.release(row[at-1])
	}
	c.counts.references -= int(to - min(from, to))
}

// Free ends sequences and releases their blocks: of all, or of none. Published blocks that no sequence uses
// stay cached. Errors: CodeInvalidHandle for a sequence that does not live; CodeInvalidArgument for one that
// is named twice.
func (c *Cache) Free(ids []Sequence) error {
	const op = "kv_cache.free"
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return c.hasEnded(op)
	}
	if err := c.named(op, ids, anywhere); err != nil {
		return err
	}
	for at := range ids {
		c.end(c.items[at].place)
	}
	c.settle()
	return nil
}

// settle unmaps what is not needed after blocks were released. It keeps one chunk, so that a cache at the
// edge of a chunk does not map and unmap it in turn.
// Chunks that cannot be unmapped keep their memory, and their blocks stay free.
func (c *Cache) settle() {
	if c.store != nil && c.counts.free >= 2*int(c.chunkBlocks) {
		_, _ = c.shrink(1)
	}
}

// Lengths copies the numbers of tokens of sequences. Errors: CodeInvalidHandle.
func (c *Cache) Lengths(ids []Sequence, lengths []uint32) error {
	const op = "kv_cache.lengths"
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return c.hasEnded(op)
	}
	for at, id := range ids {
		place := c.place(id)
		if place == none {
			return unknown(op, at, id)
		}
		lengths[at] = c.sequences[place].tokens
	}
	return nil
}

// Tables copies the block tables of sequences: width entries for each, one sequence after the other. An entry
// without a block is -1. Errors: CodeInvalidHandle; CodeInvalidState for a sequence that is swapped out;
// CodeBufferTooSmall for a table with more blocks.
func (c *Cache) Tables(ids []Sequence, width int, tables []int32) error {
	const op = "kv_cache.block_tables"
	c.mu.Lock()
	defer c.leave()
	if c.closed {
		return c.hasEnded(op)
	}
	for at, id := range ids {
		place := c.place(id)
		if place == none {
			return unknown(op, at, id)
		}
		s := &c.sequences[place]
		switch {
		case s.swapped:
			return isOut(op, at, id)
		case int(s.count) > width:
			return device.Errorf(device.CodeBufferTooSmall, op, "sequences[%d]: the block table has %d entries, and width is %d", at, s.count, width)
		}
	}
	for at, id := range ids {
		place := c.place(id)
		s, row, to := &c.sequences[place], c.row(place), tables[at*width:(at+1)*width]
		count := copy(to, row[:s.count])
		for i := range to[:min(s.first, s.count)] {
			to[i] = none
		}
		for i := range to[count:] {
			to[count+i] = none
		}
	}
	return nil
}
