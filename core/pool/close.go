package pool

import (
	"cmp"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
)

// Close releases all memory to the device and ends the pool. While blocks are live it
// returns CodeBusy and changes nothing, unless force is set. A call of another thread
// that arrives while Close decides waits, and is served if Close returns CodeBusy.
//
// Close waits for queued work that uses freed blocks, and for the last runs of graphs that
// were released. If live blocks end with the pool,
// it waits for all work of the device. If a driver call fails, the memory that could not
// be released stays in the pool. The pool is then open as before, and Close may be called
// again. If the driver fails before the work has completed, the caches also stay as
// before.
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
		// Blocks that the caches returned meanwhile wait only for work that has
		// completed.
		err = p.supply.waitForFlights()
	}
	p.heap.checkLast()
	p.supply.layout.Lock()
	if err == nil {
		err = p.supply.releaseAll()
	}
	var tables offheap.Detached
	p.heap.lock()
	if err == nil {
		p.heap.state = stateClosed
		p.heap.counters.Close()
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

// beginClose stops new blocks and new captures, or returns the reason why the pool stays
// open.
func (p *Pool) beginClose(force bool) error {
	p.family.sweepGraphs()
	if force {
		return p.forceClose()
	}
	// First decide without stopping anything: a close that is rejected here disturbs no
	// other thread.
	p.Flush()
	left := p.heap.blocksLeft(p.Statistics())
	if left == nil {
		if err := p.family.awaitLastRuns(); err != nil {
			return err
		}
	}
	if left = cmp.Or(p.family.graphs.Left(), left); left != nil {
		return left
	}
	return p.family.graphs.WhileNone(func() error {
		// No stream captures, so no other call has paused the caches.
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

// decideClose checks for live blocks while none can be allocated: the pool's own counters
// are frozen, and every call of the paused caches reaches the pool. No capture can begin.
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
		return device.Errorf(device.CodeBusy, opClose, "pool %q: another call is freeing blocks", p.heap.config.Name).On(p.heap.engine.ID())
	}
	err := p.heap.setClosing()
	if err == nil {
		p.family.graphs.Shut()
	}
	return err
}

// setClosing starts the close: no block is allocated or freed after it. The caller holds
// mu.
func (h *heap) setClosing() error {
	if h.state != stateOpen {
		return h.closedError(opClose)
	}
	h.state = stateClosing
	h.ended.Store(true)
	return nil
}

// blocksLeft returns the error of a close that is rejected because blocks are live; nil
// if none is live.
func (h *heap) blocksLeft(stats track.Statistics) error {
	if stats.LiveBlocks.Current == 0 {
		return nil
	}
	return device.Errorf(device.CodeBusy, opClose, "pool %q has %s of %v",
		h.config.Name, device.Count(stats.LiveBlocks.Current, "live block"), device.Size(stats.Allocated.Current)).On(h.engine.ID())
}

// dropCache ends the caches, which are paused. The pool adopts their live blocks. The
// idle blocks, a few of which may be on their way to the pool, are put in flight until
// the segments are released, because their streams are not known any more.
func (ls *leases) dropCache() {
	ls.adoptAll()
	free := ls.endCache()
	if free == nil {
		return
	}
	free()
	ls.heap.eachBlock(nil, func(l located) {
		if l.info().state() == blockLeased {
			ls.keepInFlight(l)
		}
	})
}

// endCache makes the caches drop their blocks. It returns the function that releases the
// memory of the caches; nil if there are none.
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

// keepInFlight puts a leased block in flight until the pool ends.
func (ls *leases) keepInFlight(l located) {
	size := l.Size - l.info().slack()
	l.setInfo(makeInfo(blockInFlight, 0, 0))
	ls.heap.neverCompletes = true
	ls.returned += size
	ls.heap.counters.Return(size)
	ls.heap.counters.Activate(size)
}

// waitForWork waits for queued work that uses freed blocks, and for all work of the
// device if blocks are left. The pool is closing, so no block is allocated or freed. No
// lock is held: the work may itself run the reclaim path and request segments of this
// pool.
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

// waitForFlights waits until no block in flight waits for an event.
func (u *supply) waitForFlights() error {
	for {
		completed, err := u.waitForFlight(device.Forever)
		if err != nil || !completed {
			return err
		}
	}
}

// releaseAll releases every segment to the device. The caller holds layout.
func (u *supply) releaseAll() error {
	u.heap.mu.Lock()
	segments := append([]*segment{}, u.heap.segments...)
	u.heap.mu.Unlock()
	var failures error
	for _, s := range segments {
		if s.pages != nil {
			failures = errors.Join(failures, u.returnAll(s))
			continue
		}
		if err := u.heap.engine.Release(s.memory); err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		u.forget(s)
	}
	return failures
}

// forget removes a segment that was released to the device, with its live blocks.
func (u *supply) forget(s *segment) {
	u.heap.dropBlocks(s)
	u.heap.lock()
	u.heap.detach(s)
	u.heap.held -= s.heldBytes()
	u.heap.mu.Unlock()
	s.close()
}

// dropBlocks ends the blocks of a segment. The caller holds layout and not mu.
func (h *heap) dropBlocks(s *segment) {
	h.eachBlock(s, func(l located) {
		if h.debug != nil {
			h.debug.Drop(l.addr())
		}
		if l.info().state() == blockLive {
			sizes := l.sizes()
			h.counters.Free(sizes)
			h.tags.Remove(l.info().tag(), sizes, 1)
			h.streams.forgetAll([]located{l})
		} else {
			h.counters.Deactivate(l.Size)
		}
		l.setInfo(0)
		h.giveToSegment(l)
	})
}
