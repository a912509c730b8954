package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

const (
	opLease        = "pool.lease"
	opReturnLeased = "pool.return_leased"
)

// Lease leases blocks of sizeBytes, a multiple of the pool's alignment, to the caches. It
// leases as many blocks as are free at once, up to len(to); the stream may use them at
// once (nil: the default stream). It does not wait for work, does not grow the pool and
// calls no callback. It returns 0 and no error if no block is free. counts are the counts
// of the caches before the call; nil means unknown.
func (p *Pool) Lease(sizeBytes uint64, stream device.Stream, to []device.Addr, counts *CacheCounts) (n int, err error) {
	if sizeBytes == 0 || sizeBytes%p.heap.config.AlignmentBytes != 0 {
		return 0, device.Errorf(device.CodeInvalidSize, opLease,
			"size_bytes %d is not a multiple of %d above 0", sizeBytes, p.heap.config.AlignmentBytes).On(p.heap.engine.ID())
	}
	if stream == nil {
		stream = p.heap.defaultStream
	}
	wanted := need{
		Request:   rangealloc.Request{Size: sizeBytes, Align: p.heap.config.AlignmentBytes},
		requested: sizeBytes, count: 1, stream: stream,
	}
	if p.heap.ended.Load() {
		return 0, p.heap.closedError(opLease)
	}
	p.heap.mu.Lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return 0, p.heap.closedError(opLease)
	}
	p.leases.learn(counts)
	if p.family.graphs.AnyCapturing() {
		// The stream may be capturing; a capturing stream must not get blocks of this
		// pool.
		p.heap.mu.Unlock()
		return 0, nil
	}
	if p.heap.inFlight.Count() > 0 && !p.heap.frozen {
		n = p.leases.leaseFlights(&wanted, to)
		if n < len(to) {
			p.heap.completeFrees(inflight.PollBudget)
		}
	}
	n, err = p.leases.leaseFree(&wanted, to, n)
	if n > 0 {
		err = nil
		p.leases.watchCaches()
	}
	p.heap.mu.Unlock()
	p.heap.changed()
	return n, err
}

// leaseFlights leases blocks in flight that the stream may reuse at once.
func (ls *leases) leaseFlights(wanted *need, to []device.Addr) int {
	for n := range to {
		at, ok := ls.heap.inFlight.Find(wanted.stream, wanted.inFlight(inflight.Exactly))
		if !ok {
			return n
		}
		l := ls.heap.flying(ls.heap.inFlight.At(at).Addr)
		ls.heap.inFlight.Drop(at)
		ls.heap.counters.Deactivate(l.Size)
		ls.lend(l, wanted.Size)
		to[n] = l.addr()
	}
	return len(to)
}

// leaseFree leases free memory. It fills to from index n on and returns the new n.
func (ls *leases) leaseFree(wanted *need, to []device.Addr, n int) (int, error) {
	for _, s := range ls.heap.segments {
		if n == len(to) {
			break
		}
		if wanted.Size >= s.full {
			continue
		}
		if left := len(to) - n; s.batcher != nil && left > 1 {
			ranges := ls.heap.scratch.room(left)
			if err := s.allocBatch(&wanted.Request, ranges); err == nil {
				for i, r := range ranges {
					l := located{s, r}
					s.blocks++
					ls.lend(l, wanted.Size)
					to[n+i] = l.addr()
				}
				return len(to), nil
			}
		}
		for n < len(to) {
			r, err := s.alloc(&wanted.Request)
			if err == errUnmapped {
				break
			}
			if err == rangealloc.ErrNoRoom {
				s.refused(wanted.Size)
				break
			}
			if err != nil {
				return n, err
			}
			l := located{s, r}
			s.blocks++
			ls.lend(l, wanted.Size)
			to[n] = l.addr()
			n++
		}
	}
	return n, nil
}

// lend records a block as leased. The bytes that the strategy added by rounding count as
// active.
func (ls *leases) lend(l located, size uint64) {
	l.setInfo(makeInfo(blockLeased, 0, l.Size-size))
	ls.leased += size
	ls.heap.counters.Lease(size)
	if excess := l.Size - size; excess > 0 {
		ls.heap.counters.Activate(excess)
	}
}

// ReturnLeased returns idle blocks of the caches to the pool, as freed on a stream; nil means
// that no work uses them any more. counts are the counts of the caches after the call;
// nil means unknown. If an address is not that of a leased block, or the event of the
// stream cannot be recorded, nothing changes.
func (p *Pool) ReturnLeased(addrs []device.Addr, stream device.Stream, counts *CacheCounts) error {
	overfull, err := p.leases.returnBlocks(addrs, stream, counts)
	if overfull {
		p.supply.shrink()
	}
	if err == nil {
		p.heap.changed()
	}
	return err
}

// returnBlocks is ReturnLeased without the release of segments to the device. It leaves that to
// the caller, because a trim counts the released segments itself.
func (ls *leases) returnBlocks(addrs []device.Addr, stream device.Stream, counts *CacheCounts) (overfull bool, err error) {
	var event device.Event
	if stream != nil {
		idle, err := device.IsDry(stream)
		if err != nil {
			return false, err
		}
		if !idle {
			if event, err = device.Mark(opFree, stream); err != nil {
				return false, err
			}
		}
	}
	ls.heap.mu.Lock()
	found, err := ls.findLeased(addrs)
	if err != nil {
		ls.heap.mu.Unlock()
		if event != nil {
			err = errors.Join(err, event.Close())
		}
		return false, err
	}
	if event != nil {
		if err := ls.heap.inFlight.Reserve(len(found), len(found)); err != nil {
			for _, l := range found {
				l.setInfo(l.info().with(blockLeased))
			}
			ls.heap.mu.Unlock()
			return false, errors.Join(ls.heap.noRoomInFlight(opReturnLeased, len(found), err), event.Close())
		}
	}
	ls.learn(counts)
	for _, l := range found {
		size := l.Size - l.info().slack()
		ls.returned += size
		ls.heap.counters.Return(size)
		if excess := l.info().slack(); excess > 0 {
			ls.heap.counters.Deactivate(excess)
		}
	}
	if event == nil {
		ls.heap.giveManyToSegments(found)
	} else {
		fence := [1]inflight.Fence{ls.heap.inFlight.Fence(stream, event)}
		for _, l := range found {
			l.setInfo(makeInfo(blockInFlight, 0, 0))
			ls.heap.counters.Activate(l.Size)
			ls.heap.inFlight.Add(l.inFlight(), fence[:])
		}
	}
	overfull = ls.heap.overfull && !ls.heap.frozen
	ls.watchCaches()
	ls.heap.mu.Unlock()
	return overfull, nil
}

// findLeased finds all blocks and marks them as leaving. If one is not leased, it marks
// none and returns an error.
func (ls *leases) findLeased(addrs []device.Addr) ([]located, error) {
	if ls.heap.state == stateClosed {
		return nil, ls.heap.closedError(opReturnLeased)
	}
	found := ls.heap.scratch.located[:0]
	for i, addr := range addrs {
		l, ok := ls.heap.locate(addr)
		if ok && l.info().state() == blockLeased {
			l.setInfo(l.info().with(blockLeaving))
			found = append(found, l)
			continue
		}
		ls.heap.scratch.located = found
		for _, l := range found {
			l.setInfo(l.info().with(blockLeased))
		}
		return nil, device.Errorf(device.CodeInvalidAddress, opReturnLeased,
			"addresses[%d]: %#x is not a leased block, or is listed twice", i, uint64(addr)).On(ls.heap.engine.ID())
	}
	ls.heap.scratch.located = found
	return found, nil
}

// flushBatch is the number of blocks that are taken out of the caches at a time.
const flushBatch = 256

// maxStrays bounds the blocks that are out of the caches and could not be returned to the
// pool. Their list is on the Go heap, which must stay small: a process ends when the Go
// heap cannot grow.
const maxStrays = 16 * flushBatch

// Flush takes back the idle blocks of the pool's caches, or the blocks in quarantine. It
// reports whether there were any. The caller holds no lock.
func (p *Pool) Flush() bool {
	if p.heap.debug != nil {
		return p.heap.flushQuarantine()
	}
	p.heap.mu.Lock()
	cache := p.leases.cache
	taken := p.leases.strays
	p.leases.strays = nil
	p.heap.mu.Unlock()
	if cache == nil {
		return false
	}
	some := p.leases.settleTaken(cache, taken)
	var batch [flushBatch]CachedBlock
	for p.leases.roomForStrays() {
		n := cache.Take(batch[:])
		if n == 0 {
			break
		}
		some = p.leases.settleTaken(cache, batch[:n]) || some
	}
	return some
}

// roomForStrays reports whether strays has space for another batch, in case none of its
// blocks can be returned to the pool. Blocks that stay in the caches are taken by the
// next call.
func (ls *leases) roomForStrays() bool {
	ls.heap.mu.Lock()
	defer ls.heap.mu.Unlock()
	return len(ls.strays)+flushBatch <= maxStrays
}

// settleTaken returns blocks that were taken out of the caches to the pool, behind the
// work of their streams. Blocks for which this fails are kept for the next call.
func (ls *leases) settleTaken(cache Cache, taken []CachedBlock) (some bool) {
	if len(taken) == 0 {
		return false
	}
	counts := cache.Counts()
	byStream := map[uint64][]device.Addr{}
	for _, c := range taken {
		byStream[c.Stream] = append(byStream[c.Stream], c.Addr)
	}
	for id, addrs := range byStream {
		stream := ls.heap.defaultStream
		if id != 0 {
			stream = ls.streamOf(id)
		}
		_, err := ls.returnBlocks(addrs, stream, &counts)
		if err == nil {
			some = true
			ls.heap.changed()
			continue
		}
		ls.heap.mu.Lock()
		for _, c := range taken {
			if c.Stream == id {
				ls.strays = append(ls.strays, c)
			}
		}
		ls.heap.mu.Unlock()
	}
	return some
}
