package kvcache

import "ferrum_mem/core/device"

// Prompts are the sequences of one call of Allocate.
type Prompts struct {
	// Tokens has the length of each sequence.
	Tokens []uint32
	// HashCounts has the number of hashes of each; empty: none has hashes. Hashes has those of the first
	// sequence, then those of the second, and so on. A hash stands for one whole block and all blocks before
	// it.
	HashCounts []uint32
	Hashes     []uint64
}

func (p *Prompts) hashesOf(at int) uint32 {
	if len(p.HashCounts) == 0 {
		return 0
	}
	return p.HashCounts[at]
}

// check checks what needs no lock.
func (p *Prompts) check(op string, config *Config) error {
	if len(p.HashCounts) > 0 {
		if err := each(op, "prefix_block_count", len(p.HashCounts), len(p.Tokens)); err != nil {
			return err
		}
	}
	total := uint64(0)
	for at, tokens := range p.Tokens {
		hashes := p.hashesOf(at)
		switch {
		case tokens > config.SequenceTokens:
			return device.Errorf(device.CodeInvalidSize, op, "lengths[%d] is %d: the cache has sequences of at most %d tokens", at, tokens, config.SequenceTokens)
		case hashes > tokens/config.BlockTokens:
			return device.Errorf(device.CodeInvalidArgument, op, "prefix_blocks[%d] is %d: %d tokens fill %s", at, hashes, tokens,
				device.Count(tokens/config.BlockTokens, "block"))
		}
		total += uint64(hashes)
	}
	if total != uint64(len(p.Hashes)) {
		return device.Errorf(device.CodeInvalidArgument, op, "prefix_blocks are %d hashes in all, and hash_count is %d", total, len(p.Hashes))
	}
	return nil
}

// Allocate makes sequences with blocks for their tokens: all, or none. It shares the blocks of the longest
// published prefix of the hashes of each. ids and cachedTokens, which may be nil, get the ids, and the number
// of tokens whose keys and values are in shared blocks. Errors: CodeInvalidSize for a sequence that is too
// long; CodeInvalidArgument; CodeResourceExhausted for too many sequences; CodeOutOfMemory; CodeBusy while
// the memory sleeps.
func (c *Cache) Allocate(p Prompts, ids []Sequence, cachedTokens []uint32) error {
	const op = "kv_cache.allocate"
	if err := p.check(op, &c.config); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.leave()
	awake, err := c.awake(op)
	if err != nil {
		return err
	}
	defer awake()
	if err := c.withRoom(op, func() (room, error) { return c.planPrompts(op, &p) }); err != nil {
		return err
	}
	hash := 0
	for at, tokens := range p.Tokens {
		i := &c.items[at]
		i.place = c.openPrompt(tokens, i.hits, p.Hashes[hash:])
		ids[at] = c.id(i.place)
		hash += int(p.hashesOf(at))
		c.counts.hits += uint64(i.hits)
		c.counts.misses += uint64(p.hashesOf(at) - i.hits)
		if cachedTokens != nil {
			cachedTokens[at] = i.hits * c.config.BlockTokens
		}
	}
	// A block that is taken for one prompt may be evicted only if no prompt shares it, so all shares came
	// first.
	for at := range p.Tokens {
		c.fillTable(&c.items[at])
	}
	return nil
}

// planPrompts counts the blocks of new sequences and finds those to be shared.
func (c *Cache) planPrompts(op string, p *Prompts) (room, error) {
	if err := c.places(op, len(p.Tokens)); err != nil {
		return room{}, err
	}
	c.begin()
	r := room{available: c.counts.free + c.counts.cached}
	hash := 0
	for at, tokens := range p.Tokens {
		i := &c.items[at]
		i.count, i.hits = (tokens+c.config.BlockTokens-1)/c.config.BlockTokens, 0
		for _, h := range p.Hashes[hash : hash+int(p.hashesOf(at))] {
			id := c.find(h)
			if id == none {
				break
			}
			if b := &c.blocks[id]; b.state == cached && b.turn != c.turn {
				b.turn, b.drops = c.turn, 0
				r.available--
			}
			i.hits++
		}
		hash += int(p.hashesOf(at))
		r.blocks += int(i.count - i.hits)
	}
	return r, nil
}

// openPrompt makes a sequence with its shared blocks only.
func (c *Cache) openPrompt(tokens, hits uint32, hashes []uint64) int32 {
	place := c.open()
	s, row := &c.sequences[place], c.row(place)
	s.tokens, s.count, s.published = tokens, hits, hits
	for at, h := range hashes[:hits] {
		row[at] = c.find(h)
		c.share(row[at])
	}
	c.counts.references += int(hits)
	c.counts.tokens += uint64(tokens)
	return place
}

// fillTable takes the blocks of a new sequence that are not shared.
func (c *Cache) fillTable(i *item) {
	s, row := &c.sequences[i.place], c.row(i.place)
	for at := s.count; at < i.count; at++ {
		row[at] = c.take()
	}
	c.counts.references += int(i.count - s.count)
	s.exclusive = i.count > s.count
	s.count = i.count
}

// Publish states that blocks of sequences have their contents, and gives them hashes, so that Allocate can
// share them. The hashes of a sequence are those of its next whole blocks: the first one is that of the first
// block that was neither shared nor published. A hash that another block has is skipped. All are published,
// or none. Errors: CodeInvalidArgument for more hashes than whole blocks; those of Free; CodeInvalidState for
// a sequence that is swapped out.
func (c *Cache) Publish(ids []Sequence, hashCounts []uint32, hashes []uint64) error {
	const op = "kv_cache.publish"
	if err := each(op, "prefix_block_count", len(hashCounts), len(ids)); err != nil {
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
	total := uint64(0)
	for at, count := range hashCounts {
		s := &c.sequences[c.items[at].place]
		if whole := s.tokens / c.config.BlockTokens; count > whole-s.published {
			return device.Errorf(device.CodeInvalidArgument, op, "prefix_blocks[%d] is %d: the sequence %#x has %s that are not published",
				at, count, uint64(ids[at]), device.Count(whole-s.published, "whole block"))
		}
		total += uint64(count)
	}
	if total != uint64(len(hashes)) {
		return device.Errorf(device.CodeInvalidArgument, op, "prefix_blocks are %d hashes in all, and hash_count is %d", total, len(hashes))
	}
	for at, count := range hashCounts {
		s, row := &c.sequences[c.items[at].place], c.row(c.items[at].place)
		for _, h := range hashes[:count] {
			if s.published >= s.first {
				c.publish(row[s.published], h)
			}
			s.published++
		}
		hashes = hashes[count:]
		s.exclusive = s.exclusive && s.published < s.count
	}
	return nil
}

// Find returns how many of the hashes of a prefix have a published block. It changes nothing.
func (c *Cache) Find(hashes []uint64) (hits int) {
	c.mu.Lock()
	defer c.leave()
	for !c.closed && hits < len(hashes) && c.find(hashes[hits]) != none {
		hits++
	}
	return hits
}
