package memcheck

// quarantine keeps freed blocks, the oldest in front.
type quarantine struct {
	// ready are blocks that leave at once, because they are larger than the bound and
	// would push out all others.
	ready []*record
	// items[head:] are the blocks in quarantine.
	items []*record
	head  int
	bytes uint64
}

// push adds a block.
func (q *quarantine) push(r *record, boundBytes uint64) {
	if r.size > boundBytes {
		q.ready = append(q.ready, r)
		return
	}
	q.items = append(q.items, r)
	q.bytes += r.size
}

// pop removes and returns the next block that has to leave, so that at most boundBytes
// stay; nil if none has to.
func (q *quarantine) pop(boundBytes uint64) *record {
	if n := len(q.ready); n > 0 {
		r := q.ready[n-1]
		q.ready[n-1] = nil
		q.ready = q.ready[:n-1]
		return r
	}
	if q.bytes <= boundBytes {
		return nil
	}
	r := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	q.bytes -= r.size
	if q.head > 32 && q.head*2 > len(q.items) {
		kept := copy(q.items, q.items[q.head:])
		clear(q.items[kept:])
		q.items, q.head = q.items[:kept], 0
	}
	return r
}
