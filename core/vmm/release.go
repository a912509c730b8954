package vmm

import (
	"math"

	"ferrum_mem/core/device"
)

// SetLimit changes the limit; 0: the device's capacity. What is used stays. Idle
// pages above it are given back: at once where that is quick, by the worker where
// pages are movable and giving them back takes the system long (Settle waits for
// it). Errors: CodeOutOfPhysicalMemory for more than the device has.
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
	ph.Land()
	if ph.config.Backing == device.BackingPrivate || !ph.worker.hands {
		ph.Settle()
	} else if ph.above() > 0 {
		ph.kick()
	}
	return nil
}

// Unpark unmaps parked pages until that many of them are ready for any range, or
// none is left: what the worker does a little at a time, for who knows what comes.
// Errors: those of the device; what it did not unmap stays parked.
func (ph *Physical) Unpark(pages uint64) (unparked uint64, err error) { return ph.unpark(pages, nil) }

// unpark has spaces, one of them first, take parked pages out of their address
// space until want of them are idle or none is left.
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

// release gives want pages back to the device, or as many as are idle or parked.
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

// releaseBut gives all idle pages back but those to keep.
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

// releaseBatch is how many pages one call to the device gives back.
const releaseBatch = 64

// batch is idle pages that are being given back, by the lists that they came from.
type batch struct {
	pages   []device.Page
	orphans int
	owners  []*owner
	owned   []int
}

// releaseIdle gives back up to want idle pages in one call to the device, from the
// ends of the lists as far as they are not to be kept.
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
	ph.books.RemovePages(n * ph.pageBytes)
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
	ph.sink()
	return b
}

// returnBatch makes pages idle again that the device did not take. What they held
// may be lost, but is no other owner's.
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

// ReleaseCached gives idle and parked pages back to the device until at least
// wanted bytes are given or none is left. On a closed stock it does nothing.
func (ph *Physical) ReleaseCached(wanted uint64) (released uint64, err error) {
	pages := wanted / ph.pageBytes
	if wanted%ph.pageBytes != 0 {
		pages++
	}
	ph.mu.Lock()
	// Whoever wants them would not like to see them taken again at once.
	ph.wanted = false
	ph.mu.Unlock()
	done, err := ph.release(pages)
	return done * ph.pageBytes, err
}

// Trim gives idle and parked pages back to the device until no more than keep of
// them are left. Errors: those of the device; what it did not take is kept.
func (ph *Physical) Trim(keep uint64) (released uint64, err error) {
	ph.Land()
	ph.mu.Lock()
	free := ph.idle + ph.parked
	ph.mu.Unlock()
	done, err := ph.release(free - min(free, keep))
	return done * ph.pageBytes, err
}

// maxWanted asks for all that there is.
const maxWanted = uint64(math.MaxUint64)
