package vmm

import (
	"math"

	"ferrum_mem/core/device"
)

// SetLimit changes the limit; 0: the device's capacity. Used pages stay. Idle pages
// above the limit are released: at once where that is quick, and by the worker where
// pages are movable, because the system takes long to release them (Settle waits for
// it). It returns CodeOutOfPhysicalMemory for a limit above the device's memory.
func (ph *Physical) SetLimit(limitBytes uint64) error {
	const op = "vmm.set_limit"
	if err := checkLimit(op, ph.engine, limitBytes); err != nil {
		return err
	}
	ph.mu.Lock()
	if ph.state != stateOpen {
		defer ph.mu.Unlock()
		return ph.closedError(op)
	}
	ph.limitBytes = limitBytes
	ph.mu.Unlock()
	ph.CompleteFrees()
	if ph.config.Backing == device.BackingPrivate || !ph.worker.hands {
		ph.Settle()
	} else if ph.above() > 0 {
		ph.kick()
	}
	return nil
}

// Unpark unmaps parked pages until that many pages are ready for any range, or none is
// left. The worker does the same in small steps; a caller uses Unpark before a large
// request. Errors: those of the device; pages that were not unmapped stay parked.
func (ph *Physical) Unpark(pages uint64) (unparked uint64, err error) { return ph.unpark(pages, nil) }

// unpark makes the spaces, first before the others, unmap parked pages until want pages
// are idle or none is left.
func (ph *Physical) unpark(want uint64, first *space) (done uint64, err error) {
	if want == 0 {
		return 0, nil
	}
	for _, s := range ph.spacesFrom(first) {
		n, err := s.unpark(want - done)
		done += n
		if err != nil || done >= want {
			return done, err
		}
	}
	return done, nil
}

// release releases want pages to the device, or all that are idle or parked.
func (ph *Physical) release(want uint64) (done uint64, err error) {
	if want == 0 {
		return 0, nil
	}
	ph.mu.Lock()
	idle := ph.idle
	ph.mu.Unlock()
	if idle < want {
		_, err = ph.unpark(want-idle, nil)
	}
	n, failure := ph.releaseBatches(want, nil)
	if err == nil {
		err = failure
	}
	return n, err
}

// releaseBut releases all idle pages except those in keep.
func (ph *Physical) releaseBut(keep map[device.Page]bool) (done uint64, err error) {
	return ph.releaseBatches(maxWanted, keep)
}

func (ph *Physical) releaseBatches(want uint64, keep map[device.Page]bool) (done uint64, err error) {
	for done < want && err == nil {
		var n uint64
		n, err = ph.releaseIdle(min(want-done, releaseBatch), keep)
		if n == 0 {
			break
		}
		done += n
	}
	if done > 0 {
		ph.engine.SegmentsChanged()
	}
	return done, err
}

// releaseBatch is the largest number of pages that one call to the device releases.
const releaseBatch = 64

// batch has idle pages that are being released, with the lists that they came from.
type batch struct {
	pages   []device.Page
	orphans int
	owners  []*owner
	owned   []int
}

// releaseIdle releases up to want idle pages in one call to the device. It takes them
// from the ends of the lists and stops at pages in keep.
func (ph *Physical) releaseIdle(want uint64, keep map[device.Page]bool) (done uint64, err error) {
	b := ph.takeBatch(want, keep)
	n := uint64(len(b.pages))
	if n == 0 {
		return 0, nil
	}
	err = ph.engine.ReleasePages(b.pages, ph.pageBytes)
	ph.mu.Lock()
	defer ph.mu.Unlock()
	defer ph.arrived.Broadcast()
	ph.moving -= n
	if err != nil {
		ph.returnBatch(b)
		return 0, err
	}
	ph.created -= n
	ph.counters.RemovePages(n * ph.pageBytes)
	return n, nil
}

func (ph *Physical) takeBatch(want uint64, keep map[device.Page]bool) batch {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	b := batch{pages: make([]device.Page, 0, min(want, ph.idle)), owners: ph.owners.All()}
	pull := func(from *[]device.Page) int {
		at := len(*from)
		for at > 0 && len(*from)-at < cap(b.pages)-len(b.pages) && !keep[(*from)[at-1]] {
			at--
		}
		n := len(*from) - at
		b.pages = append(b.pages, (*from)[at:]...)
		*from = (*from)[:at]
		return n
	}
	b.orphans = pull(&ph.orphans)
	for _, o := range b.owners {
		b.owned = append(b.owned, pull(&o.idle))
	}
	pull(&ph.clean)
	ph.idle -= uint64(len(b.pages))
	ph.moving += uint64(len(b.pages))
	ph.updateLow()
	return b
}

// returnBatch makes the pages idle again that the device did not release. Their
// contents may be lost, but no other owner's data is in them.
func (ph *Physical) returnBatch(b batch) {
	rest := b.pages
	put := func(to *[]device.Page, n int) {
		*to = append(*to, rest[:n]...)
		rest = rest[n:]
	}
	put(&ph.orphans, b.orphans)
	for i, o := range b.owners {
		if ph.owners.Has(o) {
			put(&o.idle, b.owned[i])
		} else {
			put(&ph.orphans, b.owned[i])
		}
	}
	put(&ph.clean, len(rest))
	ph.idle += uint64(len(b.pages))
}

// ReleaseCached releases idle and parked pages to the device until at least wanted
// bytes are released or no page is left. It does nothing after Close.
func (ph *Physical) ReleaseCached(wanted uint64) (released uint64, err error) {
	pages := wanted / ph.pageBytes
	if wanted%ph.pageBytes != 0 {
		pages++
	}
	ph.mu.Lock()
	// The caller needs the memory, so the worker must not allocate it again at once.
	ph.wanted = false
	ph.mu.Unlock()
	done, err := ph.release(pages)
	return done * ph.pageBytes, err
}

// Trim releases idle and parked pages to the device until at most keep of them are
// left. Errors: those of the device; pages that were not released are kept.
func (ph *Physical) Trim(keep uint64) (released uint64, err error) {
	ph.CompleteFrees()
	ph.mu.Lock()
	free := ph.idle + ph.parked
	ph.mu.Unlock()
	done, err := ph.release(free - min(free, keep))
	return done * ph.pageBytes, err
}

// maxWanted requests all pages.
const maxWanted = uint64(math.MaxUint64)
