package vmm

import (
	"math"
	"slices"

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
	for done < want {
		n, failure := ph.releaseIdle(min(want-done, releaseBatch))
		done += n
		if err == nil {
			err = failure
		}
		if n == 0 {
			break
		}
	}
	if done > 0 {
		ph.engine.SegmentsChanged()
	}
	return done, err
}

// releaseBatch is how many pages one call to the device gives back.
const releaseBatch = 64

// releaseIdle gives back up to want idle pages in one call to the device.
func (ph *Physical) releaseIdle(want uint64) (done uint64, err error) {
	ph.mu.Lock()
	pages := make([]device.Page, 0, min(want, ph.idle))
	pull := func(from *[]device.Page) uint64 {
		n := min(cap(pages)-len(pages), len(*from))
		pages = append(pages, (*from)[len(*from)-n:]...)
		*from = (*from)[:len(*from)-n]
		return uint64(n)
	}
	orphans := pull(&ph.orphans)
	taken := make([]uint64, len(ph.owners))
	owners := slices.Clone(ph.owners)
	for i, o := range owners {
		taken[i] = pull(&o.idle)
	}
	pull(&ph.clean)
	n := uint64(len(pages))
	ph.idle -= n
	ph.moving += n
	ph.sink()
	ph.mu.Unlock()
	if n == 0 {
		return 0, nil
	}
	err = ph.engine.ReleasePages(pages, ph.pageBytes)
	ph.mu.Lock()
	defer ph.mu.Unlock()
	defer ph.arrived.Broadcast()
	ph.moving -= n
	if err == nil {
		ph.created -= n
		ph.books.RemovePages(n * ph.pageBytes)
		return n, nil
	}
	ph.idle += n
	rest := pages
	put := func(to *[]device.Page, n uint64) {
		*to = append(*to, rest[:n]...)
		rest = rest[n:]
	}
	put(&ph.orphans, orphans)
	for i, o := range owners {
		if slices.Contains(ph.owners, o) {
			put(&o.idle, taken[i])
		} else {
			put(&ph.orphans, taken[i])
		}
	}
	put(&ph.clean, uint64(len(rest)))
	return 0, err
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
