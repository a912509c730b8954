package rangealloc

import (
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

// liveIndex finds a live block by its offset. It is a hash table whose chains run through
// the records themselves, so an entry costs one link, and removing an entry leaves
// nothing that slows later lookups.
type liveIndex[U unit] struct {
	heads  []uint32
	memory offheap.Table[uint32]
	// shift keeps the highest bits of the hash, as many as are needed to choose a head.
	shift uint
	count uint64
}

const firstHeads = 64

func newLiveIndex[U unit](heads uint64) (liveIndex[U], error) {
	l := liveIndex[U]{shift: 64 - uint(bits.TrailingZeros64(heads))}
	if err := l.memory.Grow(&l.heads, int(heads)); err != nil {
		return liveIndex[U]{}, err
	}
	l.heads = l.heads[:heads]
	return l, nil
}

// head multiplies by 2^64 over the golden ratio, which spreads multiples of any stride
// over the high bits.
func (l *liveIndex[U]) head(offset uint64) *uint32 {
	return &l.heads[offset*0x9e3779b97f4a7c15>>(l.shift&63)]
}

// most is the number of live blocks for which the table is long enough.
func (l *liveIndex[U]) most() uint64 { return uint64(len(l.heads)) / 2 * 3 }

// insert marks the record live and adds it.
func (l *liveIndex[U]) insert(all []record[U], at uint32) {
	if l.count >= l.most() {
		l.grow(all)
	}
	l.count++
	r := &all[at]
	head := l.head(r.offset())
	r.left, r.right = markLive, *head
	*head = at
}

func (l *liveIndex[U]) find(all []record[U], offset uint64) uint32 {
	at := *l.head(offset)
	for at != none && all[at].offset() != offset {
		at = all[at].right
	}
	return at
}

// remove removes the block at offset from the table and returns it, or none. The caller
// makes the record free at once.
func (l *liveIndex[U]) remove(all []record[U], offset uint64) uint32 {
	link := l.head(offset)
	at := *link
	for at != none {
		r := &all[at]
		if r.offset() == offset {
			*link = r.right
			l.count--
			return at
		}
		link = &r.right
		at = *link
	}
	return none
}

// removeAt is remove for a live record.
func (l *liveIndex[U]) removeAt(all []record[U], at uint32) {
	r := &all[at]
	link := l.head(r.offset())
	for *link != at {
		link = &all[*link].right
	}
	*link = r.right
	l.count--
}

// grow doubles the number of heads. Without memory for them, only the chains become
// longer.
func (l *liveIndex[U]) grow(all []record[U]) {
	larger, err := newLiveIndex[U](2 * uint64(len(l.heads)))
	if err != nil {
		return
	}
	for _, at := range l.heads {
		for at != none {
			next := all[at].right
			larger.insert(all, at)
			at = next
		}
	}
	l.memory.Free(&l.heads)
	*l = larger
}
