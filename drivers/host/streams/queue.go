package streams

import (
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// maxQueued bounds the copies, fills, prefetches, functions and waits that wait in one
// stream: 80 bytes each, and what a function is made of. Marks of the end of the queue do not
// count, so that memory can be freed behind a queue that is full: two that nothing lies
// between are one, so there are no more of them than of the others, and one. Only in a
// stream of somebody else's each is an entry; there as many are allowed again.
const maxQueued = device.MaxQueued

// queueChunk is how many operations are made room for at a time.
const queueChunk = 512

type kind uint8

const (
	kindMove kind = iota
	// kindMoves is a batch of copies; what it holds is its moves.
	kindMoves
	kindFill
	kindRecord
	kindWait
	kindHost
	kindPrefetch
	// kindNothing is an operation that was taken back.
	kindNothing
)

// mark is a point in a stream's queue. On a stream that is idle it is passed
// as soon as it is recorded, and costs the worker nothing.
type mark struct {
	passed atomic.Bool
	// at is written before passed is set, and never again.
	at time.Duration

	mu sync.Mutex
	// signal is made by the first one who waits.
	signal chan struct{}
}

// pass says that the queue is past the mark now, as a clock says that began at start,
// and wakes who waits for it.
func (m *mark) pass(start time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Since(start)
	m.passed.Store(true)
	if m.signal != nil {
		close(m.signal)
	}
}

// signalled is closed when the mark has been passed.
func (m *mark) signalled() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signal == nil {
		m.signal = make(chan struct{})
		if m.passed.Load() {
			close(m.signal)
		}
	}
	return m.signal
}

// operation is one entry of a stream's queue; which fields mean something
// follows from its kind.
type operation struct {
	kind kind
	// width and value are the pattern of kindFill.
	width uint8
	value uint32
	// dst, src and size are ranges of kindMove, kindFill and kindPrefetch.
	dst, src, size uint64
	// dstHeld and srcHeld are the segments or pages of the ranges, held until the
	// operation is done; nil for host memory.
	dstHeld, srcHeld Held
	// mark is passed by kindRecord and awaited by kindWait.
	mark     *mark
	function func()
}

// Release lets go of the memory that the operation holds.
func (o *operation) Release() {
	for _, h := range [...]Held{o.dstHeld, o.srcHeld} {
		if h != nil {
			h.Release()
		}
	}
}

// check refuses ranges that are not there any more all the same.
func (o *operation) check() error {
	if o.dstHeld != nil {
		if err := o.dstHeld.Check("host.execute", o.dst, o.size); err != nil {
			return err
		}
	}
	if o.srcHeld != nil {
		return o.srcHeld.Check("host.execute", o.src, o.size)
	}
	return nil
}

// moves are the copies of a batch, which are one entry of the queue. As what that entry
// holds, they hold the memory of all of them.
type moves []operation

// Release lets go of the memory of all copies.
func (m moves) Release() {
	for i := range m {
		m[i].Release()
	}
}

// Check refuses copies of which a range is not there any more; the range given here
// means nothing.
func (m moves) Check(string, uint64, uint64) error {
	for i := range m {
		if err := m[i].check(); err != nil {
			return device.AtIndex("copies", i, err)
		}
	}
	return nil
}

// ring is a first-in first-out queue that reuses its slots. It grows by whole chunks, so
// that nothing moves and no more is held than is queued.
type ring struct {
	first, last *chunk
	// head is the oldest operation in the first chunk, tail the first free slot of the last.
	head, tail, count int
	// marks is how many of the operations are of kindRecord, batched how many copies the
	// batches have beyond one each.
	marks, batched int
}

// weight is what an operation counts for where the queue is bounded.
func (o *operation) weight() int {
	if o.kind == kindMoves {
		return len(o.dstHeld.(moves))
	}
	return 1
}

type chunk struct {
	slots [queueChunk]operation
	next  *chunk
}

func (r *ring) push(o operation) {
	if r.first == nil {
		r.first = &chunk{}
		r.last, r.head, r.tail = r.first, 0, 0
	} else if r.tail == queueChunk {
		r.last.next = &chunk{}
		r.last, r.tail = r.last.next, 0
	}
	r.last.slots[r.tail] = o
	r.tail++
	r.count++
	r.batched += o.weight() - 1
	if o.kind == kindRecord {
		r.marks++
	}
}

// pop takes the oldest operation; the ring must not be empty.
func (r *ring) pop() operation {
	o := r.first.slots[r.head]
	r.first.slots[r.head] = operation{}
	r.head++
	r.count--
	r.batched -= o.weight() - 1
	if o.kind == kindRecord {
		r.marks--
	}
	switch {
	case r.count == 0:
		r.last, r.first.next = r.first, nil
		r.head, r.tail = 0, 0
	case r.head == queueChunk:
		r.first, r.head = r.first.next, 0
	}
	return o
}

// newest is the operation that was queued last, or nil.
func (r *ring) newest() *operation {
	if r.count == 0 {
		return nil
	}
	return &r.last.slots[r.tail-1]
}

// isAt says whether the oldest operation is of the kind.
func (r *ring) isAt(k kind) bool { return r.count > 0 && r.first.slots[r.head].kind == k }

// at is the operation that so many are older than, or nil.
func (r *ring) at(index int) *operation {
	if index < 0 || index >= r.count {
		return nil
	}
	c := r.first
	for index += r.head; index >= queueChunk; index -= queueChunk {
		c = c.next
	}
	return &c.slots[index]
}

// takeBack makes an operation one that does nothing.
func (r *ring) takeBack(o *operation) {
	if o.kind == kindRecord {
		r.marks--
	}
	r.batched -= o.weight() - 1
	*o = operation{kind: kindNothing}
}
