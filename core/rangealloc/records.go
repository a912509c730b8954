package rangealloc

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// none ends every chain of links. Record 0 is the head of the ring in address order and
// never a block, so no link needs it.
const none uint32 = 0

// Values of record.left in a record that is not a free run. They are above every index of
// the table.
const (
	markLive  uint32 = math.MaxUint32
	markSpare uint32 = math.MaxUint32 - 1
	// maxRecords keeps indices below these values.
	maxRecords uint64 = uint64(markSpare)
)

// unit is the type in which a table counts granules. uint32 is used if the range is
// shorter than 2^32 granules, as most are; it makes a record a quarter shorter.
type unit interface{ uint32 | uint64 }

// narrow reports whether 32 bits hold every offset and size of a range.
func (g *geometry) narrow() bool { return g.total <= math.MaxUint32 }

// record is one block, live or free. It has 24 bytes with 32-bit units and 32 with 64-bit
// units. start and units are its offset and size in granules.
type record[U unit] struct {
	start, units U
	// prev and next are the neighbours in address order.
	prev, next uint32
	// In a free run, left and right are its children in the tree of its bin. In any other
	// record, left is a mark. right is then the next record of its hash chain (live) or
	// of the list of spare records.
	left, right uint32
}

func (r *record[U]) isFree() bool { return r.left < markSpare }
func (r *record[U]) isLive() bool { return r.left == markLive }

func (r *record[U]) offset() uint64 { return uint64(r.start) }
func (r *record[U]) size() uint64   { return uint64(r.units) }

func (r *record[U]) setOffset(offset uint64)   { r.start = U(offset) }
func (r *record[U]) setSize(size uint64)       { r.units = U(size) }
func (r *record[U]) place(offset, size uint64) { r.start, r.units = U(offset), U(size) }

// before orders free runs by size, and runs of one size by address.
func (r *record[U]) before(other *record[U]) bool {
	return r.units < other.units || r.units == other.units && r.start < other.start
}

// records is the table of blocks: a ring in address order, and a list of spare records.
type records[U unit] struct {
	all        []record[U]
	memory     offheap.Table[record[U]]
	spare      uint32
	spareCount uint64
	// limit is the highest number of records, including the head.
	limit uint64
}

// newRecords returns a table with one block, record 1, of the given size.
func newRecords[U unit](granules uint64) (records[U], error) {
	t := records[U]{limit: maxRecords}
	if err := t.memory.Grow(&t.all, firstRecords); err != nil {
		return records[U]{}, err
	}
	t.all = t.all[:2]
	t.all[0] = record[U]{prev: 1, next: 1, left: markLive}
	t.all[1] = record[U]{units: U(granules)}
	return t, nil
}

// firstRecords is the number of records for which a new table has room.
const firstRecords = 64

// reserve makes sure that count calls of insertAfter succeed.
func (t *records[U]) reserve(count uint64) error {
	if want := uint64(len(t.all)) + count; want > uint64(cap(t.all))+t.spareCount {
		return t.grow(want - t.spareCount)
	}
	return nil
}

// grow makes room for want records. Pointers to records are invalid afterwards.
func (t *records[U]) grow(want uint64) error {
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

// insertAfter adds a block behind its neighbour at in address order. The caller has
// reserved it and makes it live or free.
func (t *records[U]) insertAfter(at uint32, offset, size uint64) uint32 {
	fresh := t.spare
	if fresh != none {
		t.spare = t.all[fresh].right
		t.spareCount--
	} else {
		fresh = uint32(len(t.all))
		t.all = t.all[:fresh+1]
	}
	next := t.all[at].next
	t.all[fresh] = record[U]{start: U(offset), units: U(size), prev: at, next: next}
	t.all[at].next = fresh
	t.all[next].prev = fresh
	return fresh
}

// drop removes a record from the ring and keeps it for reuse.
func (t *records[U]) drop(at uint32) {
	r := &t.all[at]
	t.all[r.prev].next = r.next
	t.all[r.next].prev = r.prev
	*r = record[U]{left: markSpare, right: t.spare}
	t.spare = at
	t.spareCount++
}
