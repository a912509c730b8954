package sleep

import (
	"cmp"

	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/vmm/pageset"
)

// kept has the chunks of the sleeping pages of a space, by number and by page. A
// sleeping page belongs to one chunk. The cost of an operation depends on its pages,
// not on the number of chunks. The lock of its user guards it.
type kept struct {
	// all has the chunks by number; nil: the number is free.
	all   []*Chunk
	spare []uint32
	// of has the number of its chunk plus 1 for each sleeping page.
	of     []uint32
	memory offheap.Table[uint32]
}

// open creates the table for that many pages.
func (k *kept) open(pages uint64) error {
	err := k.memory.Grow(&k.of, int(pages))
	if err == nil {
		k.of = k.of[:pages]
	}
	return err
}

func (k *kept) detach() (free func()) { return k.memory.Detach(&k.of) }

func (k *kept) bytes() uint64 { return uint64(k.memory.Bytes()) }

// add makes all pages of a chunk asleep in it.
func (k *kept) add(c *Chunk) {
	if last := len(k.spare) - 1; last >= 0 {
		c.number = k.spare[last]
		k.spare = k.spare[:last]
		k.all[c.number] = c
	} else {
		c.number = uint32(len(k.all))
		k.all = append(k.all, c)
	}
	c.left = c.Run.Pages
	of := k.of[c.Run.Start:c.Run.End()]
	for i := range of {
		of[i] = c.number + 1
	}
}

// each calls fn for each run of pages within r that are asleep in one chunk.
func (k *kept) each(r pageset.Run, fn func(*Chunk, pageset.Run)) {
	for at := r.Start; at < r.End(); {
		number, first := k.of[at], at
		for at++; at < r.End() && k.of[at] == number; at++ {
		}
		if number != 0 {
			fn(k.all[number-1], pageset.Run{Start: first, Pages: at - first})
		}
	}
}

// remove removes pages from their chunks, and calls left for each chunk with the
// removed part. A chunk without pages leaves the list.
func (k *kept) remove(r pageset.Run, left func(c *Chunk, part pageset.Run)) {
	k.each(r, func(c *Chunk, part pageset.Run) {
		clear(k.of[part.Start:part.End()])
		c.left -= part.Pages
		if c.left == 0 {
			k.all[c.number] = nil
			k.spare = append(k.spare, c.number)
		}
		left(c, part)
	})
}

// partsOf returns the runs of pages that are asleep in a chunk.
func (k *kept) partsOf(c *Chunk) (parts []pageset.Run) {
	k.each(c.Run, func(other *Chunk, part pageset.Run) {
		if other == c {
			parts = append(parts, part)
		}
	})
	return parts
}

// ordered lists the chunks by their first page.
func (k *kept) ordered() []*Chunk {
	chunks := make([]*Chunk, 0, len(k.all)-len(k.spare))
	for _, c := range k.all {
		if c != nil {
			chunks = append(chunks, c)
		}
	}
	sorting.By(chunks, func(a, b *Chunk) int { return cmp.Compare(a.Run.Start, b.Run.Start) })
	return chunks
}
