package vmm

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// charge counts pages as used, if the limit allows it. Of these, revived pages were
// parked.
func (ph *Physical) charge(pages, revived uint64) bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	if pages > ph.available() {
		return false
	}
	ph.used += pages
	ph.parked -= revived
	ph.updateLow()
	return true
}

// discharge removes pages from use that no counter of allocations has. Of these, parked
// pages become parked.
func (ph *Physical) discharge(pages, parked uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.used -= pages
	ph.parked += parked
	ph.arrived.Broadcast()
}

// overLimit is the error for pages that charge rejected.
func (ph *Physical) overLimit(op string, pages uint64) error {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	// The bytes cannot overflow, because the pages fit in an address space.
	requested, available := pages*ph.pageBytes, ph.available()*ph.pageBytes
	return device.Errorf(device.CodeOutOfPhysicalMemory, op,
		"requested %v, available %v: the limit of %q is %v, and %v are in use", device.Size(requested), device.Size(available),
		ph.config.Name, device.Size(ph.limitLocked()), device.Size(ph.used*ph.pageBytes)).On(ph.engine.ID()).
		Stating(device.FactRequestedBytes, requested).Stating(device.FactAvailableBytes, available)
}

// fetching is a request for pages that are already charged.
type fetching struct {
	space *space
	op    string
	pages uint64
	// zeros states that the pages must be zero, even if the owner itself wrote them.
	zeros bool
	// overwritten states that the caller writes to all bytes before the owner reads them, so
	// pages of other owners are not zeroed. If the caller fails, the pages have no owner.
	overwritten bool
	// noWait states that the reclaim path must not run.
	noWait bool
	// got has pages that can be mapped as they are; dirty has pages that must be zeroed
	// first.
	got, dirty []device.Page
	// moved counts the pages that were taken from another owner.
	moved uint64
}

func (f *fetching) short() uint64 { return f.pages - uint64(len(f.got)+len(f.dirty)) }

// fetch returns pages that are not mapped: idle ones first, then parked ones, then new
// ones. If the device has no memory for new ones, it starts the engine's reclaim path.
// It takes all pages or none. The caller holds no lock.
func (ph *Physical) fetch(f *fetching) ([]device.Page, error) {
	err := ph.collect(f)
	if errors.Is(err, device.CodeOutOfMemory) && !f.noWait {
		err = ph.findRoom(f)
	}
	if err == nil && len(f.dirty) > 0 && !f.overwritten {
		err = ph.virtual.Zero(f.dirty)
	}
	if err != nil {
		ph.returnFetched(f)
		return nil, err
	}
	f.got, f.dirty = append(f.got, f.dirty...), nil
	if f.moved > 0 {
		ph.noteMoved(f)
	}
	// Sorted page numbers make adjacent pages as far as possible.
	slices.Sort(f.got)
	return f.got, nil
}

func (ph *Physical) findRoom(f *fetching) error {
	carry, size := bits.Mul64(f.pages, ph.pageBytes)
	what := fmt.Sprintf("%s of %v", device.Count(f.pages, "page"), device.Size(ph.pageBytes))
	if carry != 0 {
		return device.Errorf(device.CodeOverflow, f.op, "%s overflow", what).On(ph.engine.ID())
	}
	err := ph.engine.NeverFits(engine.SourceDevice, f.op, what, size)
	if err == nil {
		err = ph.engine.FindRoom(engine.Need{
			Pool: ph, Op: f.op, SizeBytes: size, AlignmentBytes: ph.pageBytes,
			Bound: fmt.Sprintf("limit of the pages: %v", device.Size(ph.Limit())), BoundRoomBytes: ph.room(),
		}, func() (bool, error) {
			err := ph.collect(f)
			return err == nil, err
		})
	}
	if errors.Is(err, device.CodeOutOfMemory) {
		ph.failed()
	}
	return err
}

// room returns how many more bytes the limit allows to allocate from the device.
func (ph *Physical) room() uint64 {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	limit := ph.limitPages()
	return (limit - min(ph.created, limit)) * ph.pageBytes
}

// failed counts an allocation that ran out of memory.
func (ph *Physical) failed() {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.Fail()
}

// collect continues until a fetch has its pages. If it fails, the fetch keeps the pages
// found so far, so collect can be called again.
func (ph *Physical) collect(f *fetching) error {
	var unparking error
	ph.mu.Lock()
	defer ph.mu.Unlock()
	for {
		ph.takeIdle(f)
		short := f.short()
		switch {
		case short == 0:
			ph.wantReady()
			return nil
		case ph.parked > 0 && unparking == nil:
			ph.mu.Unlock()
			_, unparking = ph.unpark(short, f.space)
			ph.mu.Lock()
		case ph.created+short <= ph.limitPages():
			fresh, err := ph.create(short, f.overwritten)
			if err != nil {
				return err
			}
			f.got = append(f.got, fresh...)
		case ph.moving > 0:
			ph.arrived.Wait()
		case unparking != nil:
			return unparking
		default:
			// The limit was lowered during the call.
			return device.Errorf(device.CodeOutOfPhysicalMemory, f.op,
				"requested %v, available %v: the device has created %s, the limit of %q is %v",
				device.Size(f.pages*ph.pageBytes), device.Size((f.pages-short)*ph.pageBytes), device.Count(ph.created, "page"), ph.config.Name,
				device.Size(ph.limitLocked())).On(ph.engine.ID()).Stating(device.FactRequestedBytes, f.pages*ph.pageBytes).
				Stating(device.FactAvailableBytes, (f.pages-short)*ph.pageBytes)
		}
	}
}

// create allocates new pages from the device. They read as zeros, unless they are to be
// overwritten; then they are dirty until that is done. The caller holds mu, which is
// released during the call.
func (ph *Physical) create(count uint64, overwritten bool) ([]device.Page, error) {
	ph.created += count
	ph.mu.Unlock()
	fresh := make([]device.Page, count)
	// Idle private pages count as clean, so they are filled.
	filled := !overwritten || ph.config.Backing == device.BackingPrivate
	err := ph.engine.CreatePages(fresh, ph.pageBytes, ph.config.Backing, filled)
	ph.mu.Lock()
	if err != nil {
		ph.created -= count
		ph.arrived.Broadcast()
		return nil, err
	}
	ph.counters.AddPages(count * ph.pageBytes)
	return fresh, nil
}

// takeIdle takes idle pages for a fetch in this order: the owner's own pages, zeroed pages,
// pages that need no zeroing, any page.
func (ph *Physical) takeIdle(f *fetching) {
	o := f.space.owner
	before := f.short()
	pull := func(from, to *[]device.Page) {
		n := min(int(f.short()), len(*from))
		at := len(*from) - n
		*to = append(*to, (*from)[at:]...)
		*from = (*from)[:at]
	}
	if f.zeros {
		pull(&ph.clean, &f.got)
		pull(&o.idle, &f.dirty)
	} else {
		pull(&o.idle, &f.got)
		pull(&ph.clean, &f.got)
	}
	if own := f.short(); own > 0 && ph.idle > before-own {
		for _, other := range ph.owners.All() {
			if other.unscrubbed && o.unscrubbed && !f.zeros {
				pull(&other.idle, &f.got)
			}
		}
		pull(&ph.orphans, &f.dirty)
		for _, other := range ph.owners.All() {
			pull(&other.idle, &f.dirty)
		}
		f.moved += own - f.short()
	}
	ph.idle -= before - f.short()
	ph.updateLow()
}

// noteMoved counts the pages of a fetch that were taken from other owners.
func (ph *Physical) noteMoved(f *fetching) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	f.space.owner.moved += f.moved
}

// returnFetched makes the pages of a failed fetch idle again.
func (ph *Physical) returnFetched(f *fetching) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	owner := f.space.owner
	if f.overwritten {
		owner = nil
	}
	ph.addIdle(owner, f.got)
	ph.addIdle(nil, f.dirty)
	f.got, f.dirty, f.moved = nil, nil, 0
	ph.arrived.Broadcast()
}

// returnPages makes unmapped pages idle, as addIdle does.
func (ph *Physical) returnPages(o *owner, pages []device.Page) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.addIdle(o, pages)
	ph.arrived.Broadcast()
}

// addIdle makes unmapped pages idle. Without an owner they are zeroed before their next use.
func (ph *Physical) addIdle(o *owner, pages []device.Page) {
	switch {
	case o == nil:
		ph.orphans = append(ph.orphans, pages...)
	case ph.config.Backing == device.BackingPrivate:
		ph.clean = append(ph.clean, pages...)
	default:
		o.idle = append(o.idle, pages...)
	}
	ph.idle += uint64(len(pages))
}

// updateLow updates the lowest numbers of idle and parked pages.
func (ph *Physical) updateLow() {
	ph.lowIdle = min(ph.lowIdle, ph.idle+ph.parked)
	ph.lowParked = min(ph.lowParked, ph.parked)
}

// freed has the counters of freed pages: the sum of their sizes, and how many
// allocations ended.
type freed struct {
	sizes track.Block
	ended uint64
}

func (f *freed) add(g freed) {
	f.sizes.RequestedBytes += g.sizes.RequestedBytes
	f.sizes.AllocatedBytes += g.sizes.AllocatedBytes
	f.ended += g.ended
}

// countAllocations counts charged pages as count new allocations.
func (ph *Physical) countAllocations(sizes track.Block, count uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.AllocMany(sizes, count)
}

// park turns live pages into parked ones.
func (ph *Physical) park(f freed) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.FreeMany(f.sizes, f.ended)
	ph.parkLocked(f.sizes.AllocatedBytes / ph.pageBytes)
}

// retire turns live pages into retiring ones.
func (ph *Physical) retire(f freed) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.DeferFreeMany(f.sizes, f.ended)
}

// completeFrees turns retiring pages into parked ones.
func (ph *Physical) completeFrees(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.Deactivate(pages * ph.pageBytes)
	ph.parkLocked(pages)
}

// parkLocked counts used pages as parked. The caller holds mu.
func (ph *Physical) parkLocked(pages uint64) {
	ph.used -= pages
	ph.parked += pages
	ph.arrived.Broadcast()
	ph.watchIdle()
}

// move counts parked pages as moving. They become idle or are parked again.
func (ph *Physical) move(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.parked -= pages
	ph.moving += pages
	ph.updateLow()
}

func (ph *Physical) arrive(o *owner, pages []device.Page) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.moving -= uint64(len(pages))
	ph.addIdle(o, pages)
	ph.arrived.Broadcast()
}

func (ph *Physical) parkAgain(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.moving -= pages
	ph.parked += pages
	ph.arrived.Broadcast()
}
