package host

import "ferrum_mem/core/device"

// maxQueued bounds the operations waiting in one stream, and so the memory that
// a caller who never waits can make the backend use.
const maxQueued = 1 << 20

// keptSlots is the ring size that a stream keeps when it has run dry.
const keptSlots = 1 << 10

type kind uint8

const (
	kindMove kind = iota
	kindFill
	kindRecord
	kindWait
	kindHost
	kindPrefetch
	// kindNothing is an operation that was taken back.
	kindNothing
)

// operation is one entry of a stream's queue; which fields mean something
// follows from its kind.
type operation struct {
	kind kind
	// dst, src and size are ranges of kindMove, kindFill and kindPrefetch.
	dst, src, size uint64
	// dstHeld and srcHeld are the segments or pages of the ranges, held until the
	// operation is done; nil for host memory.
	dstHeld, srcHeld held
	pattern          device.Pattern
	// event is passed by kindRecord and awaited by kindWait.
	event    *event
	function func()
	// number counts the operations of the stream.
	number uint64
}

// release lets go of the memory that the operation holds.
func (o *operation) release() {
	for _, h := range [...]held{o.dstHeld, o.srcHeld} {
		if h != nil {
			h.release()
		}
	}
}

// ring is a first-in first-out queue that reuses its slots.
type ring struct {
	// slots has a length that is a power of two, or 0.
	slots       []operation
	head, count int
}

func (r *ring) push(o operation) {
	if r.count == len(r.slots) {
		r.grow()
	}
	r.slots[(r.head+r.count)&(len(r.slots)-1)] = o
	r.count++
}

func (r *ring) grow() {
	grown := make([]operation, max(16, 2*len(r.slots)))
	n := copy(grown, r.slots[r.head:])
	copy(grown[n:], r.slots[:r.head])
	r.slots, r.head = grown, 0
}

// pop takes the oldest operation; the ring must not be empty.
func (r *ring) pop() operation {
	o := r.slots[r.head]
	r.slots[r.head] = operation{}
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.count--
	if r.count == 0 && len(r.slots) > keptSlots {
		r.slots, r.head = nil, 0
	}
	return o
}

// isAt says whether the oldest operation is of the kind.
func (r *ring) isAt(k kind) bool { return r.count > 0 && r.slots[r.head].kind == k }

// find is the operation of that number, or nil.
func (r *ring) find(number uint64) *operation {
	for i := range r.count {
		if o := &r.slots[(r.head+i)&(len(r.slots)-1)]; o.number == number {
			return o
		}
	}
	return nil
}
