package pool

import (
	"errors"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
)

// How a pool with pages grows. An allocation that finds addresses whose pages are
// not all mapped gives them back, maps what is missing with only supply.layout held,
// and tries again: it then comes to lie at the same place, unless other threads
// have moved on meanwhile, and then there is something else to map.

// growPaged is grow for a pool with pages.
func (u *supply) growPaged(search *search) (found bool, err error) {
	grown := false
	defer func() {
		if grown {
			u.heap.engine.SegmentsChanged()
		}
	}()
	u.layout.Lock()
	defer u.layout.Unlock()
	for spaces, tries := 0, 0; tries < mapTries; tries++ {
		runs, err := u.tryNoting(search)
		switch {
		case err == nil:
			return true, nil
		case err == rangealloc.ErrNoRoom:
			if spaces++; spaces > growTries {
				return false, nil
			}
			more, err := u.addSpace(&search.need)
			search.need.addressless = !more && err == nil
			if !more || err != nil {
				return false, err
			}
			continue
		case err != errUnmapped:
			return false, err
		}
		err = u.mapMissing(runs)
		if err != nil {
			return u.makeDo(search, err)
		}
		grown = true
	}
	return false, nil
}

// makeDo ends a growth whose pages could not be mapped: a place whose pages are
// there does as well. That the device has no memory is for the search to deal with;
// that the system has no further mapping for a hole between pages is not.
func (u *supply) makeDo(search *search, failure error) (found bool, err error) {
	u.heap.engine.NoteRefusal(failure)
	outOfMemory := errors.Is(failure, device.CodeOutOfMemory)
	if !outOfMemory && !errors.Is(failure, device.CodeResourceExhausted) {
		return false, failure
	}
	if found, err = u.tryChoosy(search); found || err != nil || outOfMemory {
		return found, err
	}
	return false, failure
}

// mapTries bounds how often pages are mapped for an allocation that then lies
// somewhere else, because other threads were faster.
const mapTries = 1000

// tryNoting tries to take blocks, and gives the pages that are missing when the
// error is errUnmapped. The caller holds layout.
func (u *supply) tryNoting(search *search) ([]pageRun, error) {
	u.heap.lock()
	defer u.heap.mu.Unlock()
	if u.heap.state != stateOpen {
		return nil, u.heap.closedError(opAlloc)
	}
	g := u.heap.paged
	g.noting, g.wanted = true, g.wanted[:0]
	err := search.take(inflight.Fits)
	g.noting = false
	if err != errUnmapped {
		return nil, err
	}
	return g.missingRuns(), err
}

// mapMissing maps pages that an allocation needs. Idle pages that lie elsewhere
// are given up for them where the bound or the device leave no room. The caller
// holds layout.
func (u *supply) mapMissing(runs []pageRun) error {
	g, count := u.heap.paged, uint64(0)
	for _, run := range runs {
		count += run.Count()
	}
	u.heap.mu.Lock()
	room := u.heap.bound()
	room -= min(room, u.heap.held)
	room = room/g.pageBytes + uint64(len(g.spares))
	u.heap.mu.Unlock()
	if count > room {
		if err := u.giveUpIdle(count - room); err != nil {
			return err
		}
	}
	err := u.mapRuns(runs, count)
	if err != nil && errors.Is(err, device.CodeOutOfMemory) && u.giveUpIdle(count) == nil {
		err = u.mapRuns(runs, count)
	}
	return err
}

// giveUpIdle gives back so many idle pages that no allocation wants right now, or
// none and is CodeOutOfMemory.
func (u *supply) giveUpIdle(count uint64) error {
	g := u.heap.paged
	u.heap.mu.Lock()
	given := g.chooseIdle(u.heap.segments, func(taken uint64, s *segment, page uint64) bool {
		return taken < count && !g.isWanted(s, page)
	})
	u.heap.mu.Unlock()
	enough := given.count() >= count
	if !enough {
		u.heap.mu.Lock()
		given.restore()
		u.heap.mu.Unlock()
		return errUnmapped
	}
	_, err := u.returnPages(given)
	return err
}

// mapRuns has pages created and mapped at all the runs, which lack them, or
// changes nothing. The caller holds layout.
func (u *supply) mapRuns(runs []pageRun, count uint64) error {
	g := u.heap.paged
	if err := u.freeStuck(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	for _, run := range runs {
		if err := run.segment.pages.Reach(run.Last); err != nil {
			u.heap.mu.Unlock()
			return err
		}
	}
	reused := min(uint64(len(g.spares)), count)
	mapped := make([]device.Page, count)
	copy(mapped, g.spares[uint64(len(g.spares))-reused:])
	u.heap.mu.Unlock()
	created := mapped[reused:]
	if len(created) > 0 {
		if err := u.heap.engine.CreatePages(created, g.pageBytes, device.BackingPrivate); err != nil {
			return err
		}
	}
	if err := u.install(runs, mapped); err != nil {
		u.endMapping(mapped, reused)
		return err
	}
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g.spares = g.spares[:uint64(len(g.spares))-reused]
	u.enterPages(uint64(len(created)))
	g.keeper.Created(count, g.clock())
	for _, run := range runs {
		run.segment.pages.Set(run.First, mapped[:run.Count()])
		mapped = mapped[run.Count():]
	}
	return nil
}

// enterPages counts new pages. The caller holds layout and mu.
func (u *supply) enterPages(count uint64) {
	bytes := count * u.heap.paged.pageBytes
	u.heap.held += bytes
	u.heap.paged.held += count
	u.heap.books.AddPages(bytes)
}

// install maps pages at the runs and makes them accessible, or takes out again
// what it has mapped.
func (u *supply) install(runs []pageRun, pages []device.Page) error {
	virtual, at := u.heap.paged.device, uint64(0)
	for i, run := range runs {
		err := virtual.Map(run.addr(), pages[at:at+run.Count()])
		if err == nil {
			at += run.Count()
			if err = virtual.SetAccess(run.addr(), run.bytes(), device.AccessReadWrite); err == nil {
				continue
			}
			i++
		}
		u.uninstall(runs[:i], pages)
		return err
	}
	return nil
}

// uninstall takes pages out again. What the device does not let go of now is kept
// apart.
func (u *supply) uninstall(runs []pageRun, pages []device.Page) {
	for _, run := range runs {
		if u.heap.paged.device.Unmap(run.addr(), run.bytes()) != nil {
			u.heap.mu.Lock()
			u.heap.paged.stuck = append(u.heap.paged.stuck, stuckRun{run, slices.Clone(pages[:run.Count()])})
			u.heap.mu.Unlock()
		}
		pages = pages[run.Count():]
	}
}

// endMapping ends a mapping that failed, of pages of which the first reused are
// spares and the others new. New ones are given back to the device; what it does
// not take stays in the pool.
func (u *supply) endMapping(pages []device.Page, reused uint64) {
	g, created := u.heap.paged, pages[reused:]
	if len(g.stuck) == 0 && (len(created) == 0 || u.heap.engine.ReleasePages(created, g.pageBytes) == nil) {
		return
	}
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g.spares = g.spares[:uint64(len(g.spares))-reused]
	u.enterPages(uint64(len(created)))
	for _, page := range pages {
		if !slices.ContainsFunc(g.stuck, func(s stuckRun) bool { return slices.Contains(s.pages, page) }) {
			g.spares = append(g.spares, page)
		}
	}
}

// freeStuck tries again to take out pages that a mapping left behind when it
// failed. The caller holds layout.
func (u *supply) freeStuck() error {
	g := u.heap.paged
	for n := len(g.stuck); n > 0; n = len(g.stuck) {
		run := g.stuck[n-1]
		if err := g.device.Unmap(run.addr(), run.bytes()); err != nil {
			return err
		}
		u.heap.mu.Lock()
		g.stuck, g.spares = g.stuck[:n-1], append(g.spares, run.pages...)
		u.heap.mu.Unlock()
	}
	return nil
}

// ceilPowerOfTwo is 0 where that overflows.
func ceilPowerOfTwo(n uint64) uint64 { return 1 << bits.Len64(n-1) }

func shiftOf(powerOfTwo uint64) uint { return uint(bits.TrailingZeros64(powerOfTwo)) }

// mapFirst has the first pages of the first segment mapped, so many bytes or none,
// and kept. The caller holds layout.
func (u *supply) mapFirst(bytes uint64) (bool, error) {
	if len(u.heap.segments) == 0 {
		ok, err := u.addSpace(nil)
		if err == nil && !ok {
			err = device.Errorf(device.CodeOutOfVirtualMemory, "pool.new",
				"no addresses for a pool of %d bytes", bytes).On(u.heap.engine.ID())
		}
		if err != nil {
			return false, err
		}
	}
	s, count := u.heap.segments[0], bytes/u.heap.paged.pageBytes
	if err := u.mapRuns([]pageRun{{s, pages.Run{Last: count - 1}}}, count); err != nil {
		return false, err
	}
	u.heap.mu.Lock()
	u.heap.paged.floorBytes = bytes
	u.heap.mu.Unlock()
	return true, nil
}
