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

// charge enters pages as used, of which some were parked, if the limit allows.
func (ph *Physical) charge(pages, revived uint64) bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	if pages > ph.available() {
		return false
	}
	ph.used += pages
	ph.parked -= revived
	ph.sink()
	return true
}

// discharge takes pages out of use again that no books know of; some of them are
// parked.
func (ph *Physical) discharge(pages, parked uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.used -= pages
	ph.parked += parked
	ph.arrived.Broadcast()
}

// overLimit is the error of pages that charge refused.
func (ph *Physical) overLimit(op string, pages uint64) error {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	// Pages of an address space: their bytes do not overflow.
	requested, available := pages*ph.pageBytes, ph.available()*ph.pageBytes
	return device.Errorf(device.CodeOutOfPhysicalMemory, op,
		"requested %d bytes, available %d: the limit of %q is %d, and %d are in use", requested, available,
		ph.config.Name, ph.limitLocked(), ph.used*ph.pageBytes).On(ph.engine.ID()).
		Stating(device.FactRequestedBytes, requested).Stating(device.FactAvailableBytes, available)
}

// fetching is one search for pages that are charged already.
type fetching struct {
	space *space
	op    string
	pages uint64
	// zeros says that not even what the owner itself had written may be there.
	zeros bool
	// noWait says that nobody else is to be asked for room on the device.
	noWait bool
	// got may be mapped as they are; dirty ones have to be made zeros first.
	got, dirty []device.Page
	// moved is how many of them another owner had last.
	moved uint64
}

func (f *fetching) short() uint64 { return f.pages - uint64(len(f.got)+len(f.dirty)) }

// fetch gives pages that are not mapped anywhere: idle ones, then parked ones, then
// new ones; when the device has no room for new ones it goes through the search for room of the
// engine. They are all there or none is taken. No lock is held.
func (ph *Physical) fetch(f *fetching) ([]device.Page, error) {
	err := ph.collect(f)
	if errors.Is(err, device.CodeOutOfMemory) && !f.noWait {
		err = ph.findRoom(f)
	}
	if err == nil && len(f.dirty) > 0 {
		if err = ph.virtual.Zero(f.dirty); err == nil {
			f.got, f.dirty = append(f.got, f.dirty...), nil
		}
	}
	if err != nil {
		ph.putBack(f)
		return nil, err
	}
	if f.moved > 0 {
		ph.noteMoved(f)
	}
	// Pages in the order of their numbers lie together as far as they can.
	slices.Sort(f.got)
	return f.got, nil
}

func (ph *Physical) findRoom(f *fetching) error {
	carry, size := bits.Mul64(f.pages, ph.pageBytes)
	what := fmt.Sprintf("%d pages of %d bytes", f.pages, ph.pageBytes)
	if carry != 0 {
		return device.Errorf(device.CodeOverflow, f.op, "%s overflow", what).On(ph.engine.ID())
	}
	err := ph.engine.NeverFits(f.op, what, size)
	if err == nil {
		err = ph.engine.FindRoom(engine.Need{
			Pool: ph, Op: f.op, SizeBytes: size, AlignmentBytes: ph.pageBytes,
			Bound: fmt.Sprintf("limit of the pages: %d", ph.Limit()), BoundRoomBytes: ph.room(),
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

// room is what the limit lets be had from the device besides what is.
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
	ph.books.Fail()
}

// collect goes on until a fetch has its pages. What it found is kept when it
// fails, so that it can be called again.
func (ph *Physical) collect(f *fetching) error {
	var unparking error
	ph.mu.Lock()
	defer ph.mu.Unlock()
	for {
		ph.grab(f)
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
			fresh, err := ph.create(short)
			if err != nil {
				return err
			}
			f.got = append(f.got, fresh...)
		case ph.moving > 0:
			ph.arrived.Wait()
		case unparking != nil:
			return unparking
		default:
			// The limit was lowered meanwhile.
			return device.Errorf(device.CodeOutOfPhysicalMemory, f.op,
				"requested %d bytes, available %d: %d pages are had from the device, the limit of %q is %d",
				f.pages*ph.pageBytes, (f.pages-short)*ph.pageBytes, ph.created, ph.config.Name,
				ph.limitLocked()).On(ph.engine.ID()).Stating(device.FactRequestedBytes, f.pages*ph.pageBytes).
				Stating(device.FactAvailableBytes, (f.pages-short)*ph.pageBytes)
		}
	}
}

// create has new pages from the device. The caller holds mu, which is let go
// meanwhile.
func (ph *Physical) create(count uint64) ([]device.Page, error) {
	ph.created += count
	ph.mu.Unlock()
	fresh := make([]device.Page, count)
	err := ph.engine.CreatePages(fresh, ph.pageBytes, ph.config.Backing)
	ph.mu.Lock()
	if err != nil {
		ph.created -= count
		ph.arrived.Broadcast()
		return nil, err
	}
	ph.books.AddPages(count * ph.pageBytes)
	return fresh, nil
}

// grab takes idle pages for a fetch: the owner's own, zeros, those that need not
// be made zeros, then any.
func (ph *Physical) grab(f *fetching) {
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
	ph.sink()
}

// noteMoved counts the pages of a fetch that come from other owners.
func (ph *Physical) noteMoved(f *fetching) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	f.space.owner.moved += f.moved
}

// putBack makes what a fetch has found idle again.
func (ph *Physical) putBack(f *fetching) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.lay(f.space.owner, f.got)
	ph.orphans = append(ph.orphans, f.dirty...)
	ph.idle += uint64(len(f.dirty))
	f.got, f.dirty, f.moved = nil, nil, 0
	ph.arrived.Broadcast()
}

// give makes pages idle that an owner had and that are not mapped any more.
func (ph *Physical) give(o *owner, pages []device.Page) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.lay(o, pages)
	ph.arrived.Broadcast()
}

func (ph *Physical) lay(o *owner, pages []device.Page) {
	if ph.config.Backing == device.BackingPrivate {
		ph.clean = append(ph.clean, pages...)
	} else {
		o.idle = append(o.idle, pages...)
	}
	ph.idle += uint64(len(pages))
}

// sink notes how low the stock has been.
func (ph *Physical) sink() {
	ph.lowIdle = min(ph.lowIdle, ph.idle+ph.parked)
	ph.lowParked = min(ph.lowParked, ph.parked)
}

// freed is the books' side of pages that are freed: their sizes in all, and how
// many allocations ended with them.
type freed struct {
	sizes track.Block
	ended uint64
}

// enter makes charged pages the memory of a new allocation.
func (ph *Physical) enter(sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.Alloc(sizes)
}

// park makes pages that were live parked ones.
func (ph *Physical) park(f freed) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.FreeMany(f.sizes, f.ended)
	ph.parkLocked(f.sizes.AllocatedBytes / ph.pageBytes)
}

// retire makes pages that were live retiring ones.
func (ph *Physical) retire(f freed) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.RetireMany(f.sizes, f.ended)
}

// land makes retiring pages parked ones.
func (ph *Physical) land(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.Land(pages * ph.pageBytes)
	ph.parkLocked(pages)
}

// parkLocked counts pages that ranges keep parked. The caller holds mu.
func (ph *Physical) parkLocked(pages uint64) {
	ph.used -= pages
	ph.parked += pages
	ph.arrived.Broadcast()
	ph.watchIdle()
}

// move takes parked pages on their way; they arrive idle, or are parked again.
func (ph *Physical) move(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.parked -= pages
	ph.moving += pages
	ph.sink()
}

func (ph *Physical) arrive(o *owner, pages []device.Page) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.moving -= uint64(len(pages))
	ph.lay(o, pages)
	ph.arrived.Broadcast()
}

func (ph *Physical) parkAgain(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.moving -= pages
	ph.parked += pages
	ph.arrived.Broadcast()
}
