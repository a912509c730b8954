package pool

import (
	"cmp"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
)

// Close gives everything back to the device. It is CodeBusy, and changes
// nothing, while blocks are live, unless force: a call of another thread that
// comes while it decides waits for that, and is served when the close is refused.
// It waits for queued work that uses freed blocks and, when live blocks go with
// it, for all work of the device. When the driver fails, what could not be given
// back stays in the pool, which is open as before, and Close may be called again;
// when it fails before the work is done, the caches are as before too.
func (p *Pool) Close(force bool) error {
	p.PauseReturn()
	defer p.ResumeReturn()
	if err := p.beginClose(force); err != nil {
		return err
	}
	p.Flush()
	p.leases.pauseCache(true)
	err := p.supply.waitForWork()
	kept := err != nil
	if !kept {
		p.leases.dropCache()
		// What came back from the caches meanwhile waits for nothing that is not done.
		err = p.supply.waitForFlights()
	}
	p.heap.checkLast()
	p.supply.layout.Lock()
	if err == nil {
		err = p.supply.giveBackAll()
	}
	var tables offheap.Detached
	p.heap.lock()
	if err == nil {
		p.heap.state = stateClosed
		p.heap.books.Close()
		tables = p.heap.inFlight.End()
	} else {
		p.heap.state = stateOpen
		p.heap.ended.Store(false)
	}
	p.heap.mu.Unlock()
	p.supply.layout.Unlock()
	tables.Free()
	if kept {
		p.leases.pauseCache(false)
	}
	if err != nil {
		p.family.graphs.Open()
	}
	p.heap.engine.SegmentsChanged()
	p.heap.changed()
	if err == nil {
		p.heap.engine.Unregister(p)
		p.heap.endDebug()
	}
	return err
}

// beginClose refuses new blocks and new captures from its return on, or says why the
// pool stays as it is.
func (p *Pool) beginClose(force bool) error {
	p.family.sweepGraphs()
	if force {
		return p.forceClose()
	}
	// One that is refused here disturbs nobody.
	p.Flush()
	if left := cmp.Or(p.family.graphs.Left(), p.heap.blocksLeft(p.Statistics())); left != nil {
		return left
	}
	return p.family.graphs.WhileNone(func() error {
		// Nothing captures, so nobody else has paused the caches.
		p.leases.pauseCache(true)
		err := p.decideClose()
		if err != nil {
			p.leases.pauseCache(false)
		}
		return err
	})
}

func (p *Pool) forceClose() error {
	p.family.graphs.Shut()
	p.family.graphs.Await()
	err := p.closeGraphs()
	if err == nil {
		p.heap.lock()
		for p.frees.batches > 0 {
			p.heap.passed.Wait()
		}
		err = p.heap.setClosing()
		p.heap.mu.Unlock()
	}
	if err != nil {
		p.family.graphs.Open()
	}
	return err
}

// decideClose looks for live blocks while nobody can take one: the pool's own books
// stand still, and the caches, which are paused, have every call come here.
// No capture can begin.
func (p *Pool) decideClose() error {
	cache := p.leases.freeze()
	defer p.leases.thaw()
	var counts *CacheCounts
	if cache != nil {
		now := cache.Counts()
		counts = &now
	}
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	if left := p.heap.blocksLeft(p.leases.statisticsWith(counts)); left != nil {
		return left
	}
	if p.frees.batches > 0 {
		return device.Errorf(device.CodeBusy, opClose, "pool %q: a call frees blocks just now", p.heap.config.Name).On(p.heap.engine.ID())
	}
	err := p.heap.setClosing()
	if err == nil {
		p.family.graphs.Shut()
	}
	return err
}

// setClosing is the point of no return: nothing is allocated or freed any more. The
// caller holds mu.
func (h *heap) setClosing() error {
	if h.state != stateOpen {
		return h.closedError(opClose)
	}
	h.state = stateClosing
	h.ended.Store(true)
	return nil
}

// blocksLeft is the error of a pool that cannot be closed because blocks are live.
func (h *heap) blocksLeft(stats track.Statistics) error {
	if stats.LiveBlocks.Current == 0 {
		return nil
	}
	return device.Errorf(device.CodeBusy, opClose, "pool %q has %d live blocks of %d bytes",
		h.config.Name, stats.LiveBlocks.Current, stats.Allocated.Current).On(h.engine.ID())
}

// dropCache ends the caches, which are paused. Blocks that are live in them are the pool's own
// from then on. Idle ones, of which a few may be on their way, are in flight
// until the segments go: nobody knows any more which stream they wait for.
func (ls *leases) dropCache() {
	ls.adoptAll()
	free := ls.endCache()
	if free == nil {
		return
	}
	free()
	ls.heap.eachBlock(nil, func(l located) {
		if l.info().state() == blockLeased {
			ls.ground(l)
		}
	})
}

// endCache has the caches forget what they have, and gives what gives their memory
// back; nil: there are none.
func (ls *leases) endCache() (free func()) {
	cache := ls.freeze()
	defer ls.thaw()
	if cache == nil {
		return nil
	}
	counts := cache.Counts()
	free = cache.Drop()
	ls.heap.mu.Lock()
	defer ls.heap.mu.Unlock()
	ls.learn(&counts)
	ls.cache, ls.own, ls.strays = nil, nil, nil
	return free
}

// ground puts a leased block in flight for good.
func (ls *leases) ground(l located) {
	size := l.Size - l.info().slack()
	l.setInfo(makeInfo(blockInFlight, 0, 0))
	ls.heap.grounded = true
	ls.returned += size
	ls.heap.books.Return(size)
	ls.heap.books.Board(size)
}

// waitForWork waits for queued work that uses freed blocks, and for all work
// when blocks are left. The pool is closing, so nothing is allocated or
// freed any more. No lock is held: the work may itself search for room and ask
// this pool for segments.
func (u *supply) waitForWork() error {
	if err := u.waitForFlights(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	live := uint64(0)
	for _, s := range u.heap.segments {
		live += s.blocks
	}
	u.heap.mu.Unlock()
	if live == 0 {
		return nil
	}
	err := u.heap.engine.Synchronize(device.Forever)
	if errors.Is(err, device.CodeDeviceLost) {
		return nil
	}
	return err
}

// waitForFlights waits until no block is in flight that waits for an event.
func (u *supply) waitForFlights() error {
	for {
		landed, err := u.waitForFlight(device.Forever)
		if err != nil || !landed {
			return err
		}
	}
}

// giveBackAll gives every segment to the device. The caller holds layout.
func (u *supply) giveBackAll() error {
	u.heap.mu.Lock()
	segments := append([]*segment{}, u.heap.segments...)
	u.heap.mu.Unlock()
	var failures error
	for _, s := range segments {
		if s.pages != nil {
			failures = errors.Join(failures, u.returnAll(s))
			continue
		}
		if err := u.heap.engine.Release(s.had); err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		u.forget(s)
	}
	return failures
}

// forget drops a segment that the device has back, and its live blocks.
func (u *supply) forget(s *segment) {
	u.heap.dropBlocks(s)
	u.heap.lock()
	u.heap.detach(s)
	u.heap.held -= s.heldBytes()
	u.heap.mu.Unlock()
	s.close()
}

// dropBlocks ends the blocks of a segment. The caller holds layout, and no mu.
func (h *heap) dropBlocks(s *segment) {
	h.eachBlock(s, func(l located) {
		if h.debug != nil {
			h.debug.Drop(l.addr())
		}
		if l.info().state() == blockLive {
			sizes := l.sizes()
			h.books.Free(sizes)
			h.tags.Remove(l.info().tag(), sizes, 1)
			h.streams.forgetAll([]located{l})
		} else {
			h.books.Land(l.Size)
		}
		l.setInfo(0)
		h.giveToSegment(l)
	})
}
