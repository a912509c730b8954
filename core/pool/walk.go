package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/rangealloc"
)

// Traversing all blocks of a pool is done in slices. A slice reads a bounded number of
// places in the tables of the strategies under the lock, then the lock is released. So
// the memory for a traversal does not depend on the number of blocks, and other threads
// wait for one slice at most. A block that exists during the whole traversal is visited
// once. A block that is allocated or freed meanwhile may be visited or not. Only a block
// that Relocate moves meanwhile may be visited at both of its places, or at none.

// sliceBlocks is the number of places that are read while other threads wait.
const sliceBlocks = 256

// tour is the position of a traversal of the segments, in the order of their addresses.
type tour struct {
	heap *heap
	// only is the one segment to traverse; nil means all segments.
	only *segment
	// from is the lowest address of the next segment. in is the segment that is being
	// read, and place is the next place in it.
	from  device.Addr
	in    *segment
	place uint64
	pace  pace.Pace
}

// next visits the allocated blocks of the strategies among the next places. It returns
// false if there are no more places. The caller holds mu, and releases it before the next
// call.
func (w *tour) next(visit func(located)) bool {
	s := w.current()
	if s == nil {
		return false
	}
	w.place = s.strategy.Scan(w.place, sliceBlocks, func(r rangealloc.Range) { visit(located{s, r}) })
	if w.place == 0 {
		w.from, w.in = s.memory.Addr+1, nil
	}
	return true
}

// current returns the segment in which to continue, or nil. It skips a segment that was
// released meanwhile.
func (w *tour) current() *segment {
	segments := w.heap.segments
	if w.in != nil && w.heap.segmentOf(w.in.memory.Addr) == w.in {
		return w.in
	}
	if w.only != nil && w.from > w.only.memory.Addr {
		return nil
	}
	w.place, w.in = 0, nil
	for _, s := range segments[w.heap.firstFrom(w.from):] {
		if w.only == nil || s == w.only {
			w.in = s
			return s
		}
	}
	return nil
}

// firstFrom returns the index of the first segment that starts at addr or above.
func (h *heap) firstFrom(addr device.Addr) int {
	low, high := 0, len(h.segments)
	for low < high {
		if middle := int(uint(low+high) / 2); h.segments[middle].memory.Addr < addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// slice has buffers for the blocks of one slice.
type slice struct {
	addrs  [sliceBlocks]device.Addr
	cached [sliceBlocks]CachedBlock
	live   [sliceBlocks]Block
}

// EachBlock visits the live blocks, including those of private pools, in no order, until
// visit returns false. A block that is live during the whole call is visited once. A
// block that is allocated or freed meanwhile is visited or not. No lock is held while
// visit runs.
func (p *Pool) EachBlock(visit func(Block) bool) {
	if !p.leases.eachOwnBlock(visit) {
		return
	}
	for _, private := range p.family.graphs.Private() {
		if !private.leases.eachOwnBlock(visit) {
			return
		}
	}
}

// eachOwnBlock is EachBlock without private pools. It returns false if visit did.
func (ls *leases) eachOwnBlock(visit func(Block) bool) bool {
	ls.heap.mu.LockToRead()
	empty := len(ls.heap.segments) == 0
	ls.heap.mu.Unlock()
	if empty {
		return true
	}
	room := new(slice)
	w := tour{heap: ls.heap}
	for more := true; more; {
		var live []Block
		live, more = ls.nextLive(&w, room)
		for i := range live {
			if !visit(live[i]) {
				return false
			}
		}
		w.pace.Rest()
	}
	return true
}

// nextLive describes the live blocks among the next places.
func (ls *leases) nextLive(w *tour, room *slice) (live []Block, more bool) {
	live = room.live[:0]
	leased := room.addrs[:0]
	ls.heap.mu.LockToRead()
	more = w.next(func(l located) {
		switch l.info().state() {
		case blockLive:
			live = append(live, ls.heap.describe(l))
		case blockLeased:
			leased = append(leased, l.addr())
		}
	})
	cache := ls.cache
	ls.heap.mu.Unlock()
	if len(leased) == 0 {
		return live, more
	}
	found := room.cached[:len(leased)]
	clear(found)
	if cache != nil {
		for i, addr := range leased {
			found[i].Addr = addr
		}
		cache.Find(found)
	}
	for i, c := range found {
		if c.Addr != 0 {
			continue
		}
		// The block has left the caches: it was freed, or the pool has adopted it.
		if block, ok := ls.lookUp(leased[i]); ok {
			live = append(live, block)
		}
	}
	ls.heap.mu.LockToRead()
	defer ls.heap.mu.Unlock()
	for _, c := range found {
		if c.Live {
			live = append(live, ls.heap.describeCached(c))
		}
	}
	return live, more
}

// adoptAll adopts all live leased blocks that are not freed meanwhile.
func (ls *leases) adoptAll() {
	ls.heap.mu.LockToRead()
	none := ls.cache == nil || ls.leased == ls.returned
	ls.heap.mu.Unlock()
	if none {
		return
	}
	room, steps := new(slice), pace.Pace{}
	for place, more := uint64(0), true; more; more = place != 0 {
		place = ls.adoptSome(place, room.cached[:])
		steps.Rest()
	}
}

func (ls *leases) adoptSome(place uint64, to []CachedBlock) (next uint64) {
	cache := ls.freeze()
	defer ls.thaw()
	if cache == nil {
		return 0
	}
	n, next := cache.AdoptNext(place, to)
	ls.heap.mu.Lock()
	defer ls.heap.mu.Unlock()
	for _, taken := range to[:n] {
		ls.enterAdopted(taken)
	}
	return next
}

// eachBlock visits the blocks that the strategies of all segments, or only of the given
// one, have allocated. It holds mu for one slice at a time. visit may free the block that
// it gets.
func (h *heap) eachBlock(only *segment, visit func(located)) {
	w := tour{heap: h, only: only}
	for more := true; more; {
		h.lock()
		found := h.scratch.slice[:0]
		more = w.next(func(l located) { found = append(found, l) })
		h.scratch.slice = found
		for _, l := range found {
			visit(l)
		}
		h.mu.Unlock()
		w.pace.Rest()
	}
}
