package rangealloc

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// none ends every chain of links. Record 0 is the head of the address-ordered
// ring and never a block, so no link needs it.
const none uint32 = 0

// Marks in record.left of a record that is not a free run. They are beyond
// every index that the table gives out.
const (
	markLive  uint32 = math.MaxUint32
	markSpare uint32 = math.MaxUint32 - 1
	// maxRecords keeps indices below the marks.
	maxRecords uint64 = uint64(markSpare)
)

// record is one block, live or free, of 32 bytes, so that two fill a cache line
// and none straddles one. Offset and size are in granules.
type record struct {
	offset, size uint64
	// prev and next are the neighbours in address order.
	prev, next uint32
	// A free run has its children in the tree of its bin here. Any other record
	// has a mark in left, and in right the next record of its hash chain (live)
	// or of the list of spare records.
	left, right uint32
}

func (r *record) isFree() bool { return r.left < markSpare }
func (r *record) isLive() bool { return r.left == markLive }

// before orders free runs by size, and runs of one size by address.
func (r *record) before(other *record) bool {
	return r.size < other.size || r.size == other.size && r.offset < other.offset
}

// records is the table of blocks: a ring in address order, and a list of
// records that wait to be used again.
type records struct {
	all        []record
	memory     offheap.Table[record]
	spare      uint32
	spareCount uint64
	// limit is the highest number of records, the head included.
	limit uint64
}

// newRecords has one block in it, record 1, of the given size.
func newRecords(granules uint64) (records, error) {
	t := records{limit: maxRecords}
	if err := t.memory.Grow(&t.all, firstRecords); err != nil {
		return records{}, err
	}
	t.all = t.all[:2]
	t.all[0] = record{prev: 1, next: 1, left: markLive}
	t.all[1] = record{size: granules}
	return t, nil
}

// firstRecords is what a new table has room for.
const firstRecords = 64

// reserve makes sure that count calls of insertAfter succeed.
func (t *records) reserve(count uint64) error {
	if want := uint64(len(t.all)) + count; want > uint64(cap(t.all))+t.spareCount {
		return t.grow(want - t.spareCount)
	}
	return nil
}

// grow gives the table room for want records. Pointers to records are bad then.
func (t *records) grow(want uint64) error {
	if want > t.limit {
		return device.Errorf(device.CodeResourceExhausted, "rangealloc.alloc",
			"the table of blocks is full: %d records wanted, %d possible", want, t.limit)
	}
	if err := t.memory.Grow(&t.all, int(want)); err != nil {
		return device.Errorf(device.CodeResourceExhausted, "rangealloc.alloc",
			"the table of blocks cannot have %d records: %w", want, err)
	}
	t.all = t.all[:len(t.all):min(uint64(cap(t.all)), t.limit)]
	return nil
}

// insertAfter puts a block behind its neighbour at in address order. The caller
// has reserved it and makes it live or free.
func (t *records) insertAfter(at uint32, offset, size uint64) uint32 {
	fresh := t.spare
	if fresh != none {
		t.spare = t.all[fresh].right
		t.spareCount--
	} else {
		fresh = uint32(len(t.all))
		t.all = t.all[:fresh+1]
	}
	next := t.all[at].next
	t.all[fresh] = record{offset: offset, size: size, prev: at, next: next}
	t.all[at].next = fresh
	t.all[next].prev = fresh
	return fresh
}

// drop takes a record out of the ring and keeps it for reuse.
func (t *records) drop(at uint32) {
	r := &t.all[at]
	t.all[r.prev].next = r.next
	t.all[r.next].prev = r.prev
	*r = record{left: markSpare, right: t.spare}
	t.spare = at
	t.spareCount++
}
