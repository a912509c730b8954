package streams

import (
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// maxQueued is the maximum number of copies, fills, prefetches, functions and waits that
// are queued in one stream. Each takes 88 bytes, plus the memory of a function. Marks of
// the end of the queue do not count, so that memory can be freed behind a full queue.
// Adjacent marks are one entry, so there is at most one more mark than other entries. Only
// in an external stream each mark is an entry, and the same number is allowed for marks
// again.
const maxQueued = device.MaxQueued

// queueChunk is the number of operations in one chunk of the queue.
const queueChunk = 512

type kind uint8

const (
	kindMove kind = iota
	// kindMoves is a batch of copies. The entry holds its moves.
	kindMoves
	kindFill
	kindRecord
	kindWait
	kindHost
	kindPrefetch
	// kindNothing is a cancelled operation.
	kindNothing
)

// mark is a point in a stream's queue. On an idle stream a mark completes when it is
// recorded, and takes no time of the worker.
type mark struct {
	passed atomic.Bool
	// at is written once, before passed is set.
	at time.Duration

	mu sync.Mutex
	// signal is created by the first waiter.
	signal chan struct{}
}

// pass completes the mark. start is the zero point of the clock for its time. pass wakes
// all waiters.
func (m *mark) pass(start time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Since(start)
	m.passed.Store(true)
	if m.signal != nil {
		close(m.signal)
	}
}

// signalled returns a channel that is closed when the mark completes.
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

// operation is one entry of a stream's queue. The kind determines which fields are used.
type operation struct {
	kind kind
	// width and value are the pattern of kindFill.
	width uint8
	value uint64
	// dst, src and size are the ranges of kindMove, kindFill and kindPrefetch.
	dst, src, size uint64
	// dstHeld and srcHeld are the segments or pages of the ranges, held until the operation
	// is done. nil for host memory.
	dstHeld, srcHeld Held
	// mark: kindRecord completes it, and kindWait waits for it.
	mark *mark
	// kindHost runs one of both.
	function func()
	fallible func() error
}

// Release releases the memory that the operation holds.
func (o *operation) Release() {
	for _, h := range [...]Held{o.dstHeld, o.srcHeld} {
		if h != nil {
			h.Release()
		}
	}
}

// check returns an error for ranges that are not mapped any more.
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

// moves are the copies of a batch, which are one entry of the queue. As the Held of that
// entry, they hold the memory of all copies.
type moves []operation

// Release releases the memory of all copies.
func (m moves) Release() {
	for i := range m {
		m[i].Release()
	}
}

// Check returns an error if a range of a copy is not mapped any more. Its arguments are not
// used.
func (m moves) Check(string, uint64, uint64) error {
	for i := range m {
		if err := m[i].check(); err != nil {
			return device.AtIndex("copies", i, err)
		}
	}
	return nil
}

// ring is a first-in first-out queue that reuses its slots. It grows by whole chunks, so no
// entry moves, and it holds little more than the queued entries need.
type ring struct {
	first, last *chunk
	// head is the index of the oldest operation in the first chunk. tail is the first free
	// slot of the last chunk.
	head, tail, count int
	// marks counts the operations of kindRecord. batched counts the copies of the batches
	// beyond one for each batch.
	marks, batched int
}

// weight is the number for which an operation counts in the bound of the queue.
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

// pop removes the oldest operation. The ring must not be empty.
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

// newest returns the operation that was queued last, or nil.
func (r *ring) newest() *operation {
	if r.count == 0 {
		return nil
	}
	return &r.last.slots[r.tail-1]
}

// isAt states whether the oldest operation is of the kind.
func (r *ring) isAt(k kind) bool { return r.count > 0 && r.first.slots[r.head].kind == k }

// at returns the operation with index older operations before it, or nil.
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

// cancel cancels an operation: it then does nothing.
func (r *ring) cancel(o *operation) {
	if o.kind == kindRecord {
		r.marks--
	}
	r.batched -= o.weight() - 1
	*o = operation{kind: kindNothing}
}
