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
		need, err := u.tryNoting(search)
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
		err = u.mapMissing(&need)
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

// growth is what an allocation needs to have mapped.
type growth struct {
	// runs lack pages, and are count pages together.
	runs  []pageRun
	count uint64
	// larges are the places in them that get large pages, in order.
	larges []pageRun
	// split are idle large pages of which blocks want a part: they are given back first.
	split chosenPages
}

// tryNoting tries to take blocks, and gives what is missing when the error is
// errUnmapped. The caller holds layout.
func (u *supply) tryNoting(search *search) (growth, error) {
	u.heap.lock()
	defer u.heap.mu.Unlock()
	if u.heap.state != stateOpen {
		return growth{}, u.heap.closedError(opAlloc)
	}
	g := u.heap.paged
	g.noting, g.wanted = true, g.wanted[:0]
	err := search.take(inflight.Fits)
	g.noting = false
	if err != errUnmapped {
		return growth{}, err
	}
	need := growth{split: u.takeSplit(), larges: g.largePlaces()}
	need.runs = g.missingRuns()
	for _, run := range need.runs {
		need.count += run.Count()
	}
	return need, err
}

// takeSplit takes the large pages out of the tables of which wanted blocks would have a
// part. Where the pool may not hold less than it does, all of such a page is wanted in
// its place. The caller holds layout and mu.
func (u *supply) takeSplit() (c chosenPages) {
	g := u.heap.paged
	if g.largeBytes == 0 {
		return c
	}
	for _, w := range slices.Clone(g.wanted) {
		for page := range w.segment.pages.Split(w.offset, w.size, w.count) {
			whole := w.segment.pages.Whole(page)
			c.take(w.segment, page)
			if u.heap.held-min(u.heap.held, c.count()*g.pageBytes) < u.heap.leastHeld() {
				g.wanted = append(g.wanted, wantedBlocks{w.segment, whole.First * g.pageBytes, g.pageBytes, whole.Count()})
			}
		}
	}
	return c
}

// mapMissing maps pages that an allocation needs. Idle pages that lie elsewhere
// are given up for them where the bound or the device leave no room. The caller
// holds layout.
func (u *supply) mapMissing(need *growth) error {
	g := u.heap.paged
	if need.split.count() > 0 {
		if _, err := u.returnPages(need.split); err != nil {
			return err
		}
	}
	if _, err := u.releaseLargeSpares(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	room := u.heap.bound()
	room -= min(room, u.heap.held)
	room = room/g.pageBytes + uint64(len(g.spares))
	u.heap.mu.Unlock()
	if need.count > room {
		if err := u.giveUpIdle(need.count - room); err != nil {
			return err
		}
	}
	err := u.mapRuns(need)
	if err != nil && errors.Is(err, device.CodeOutOfMemory) && u.giveUpIdle(need.count) == nil {
		err = u.mapRuns(need)
	}
	return err
}

// giveUpIdle gives back so many idle pages that no allocation wants right now, or
// none and is CodeOutOfMemory.
func (u *supply) giveUpIdle(count uint64) error {
	g := u.heap.paged
	u.heap.mu.Lock()
	given := g.chooseIdle(u.heap.segments, func(taken uint64, run pageRun) bool {
		return taken < count && !g.isWanted(run)
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
	first := growth{runs: []pageRun{{s, pages.Run{Last: count - 1}}}, count: count}
	if err := u.mapRuns(&first); err != nil {
		return false, err
	}
	u.heap.mu.Lock()
	u.heap.paged.floorBytes = bytes
	u.heap.mu.Unlock()
	return true, nil
}
