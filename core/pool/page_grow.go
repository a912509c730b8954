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

// How a paged pool grows. An allocation may find free addresses whose pages are not all
// mapped. Then it releases the addresses, maps the missing pages with only supply.layout
// held, and tries again. Usually it gets the same addresses. If other threads allocated
// meanwhile, it may get others, and then maps the pages of those.

// growPaged is grow for a paged pool.
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
			return u.retryMapped(search, err)
		}
		grown = true
	}
	return false, nil
}

// retryMapped completes a growth whose pages could not be mapped: it tries a place with mapped
// pages. If the device is out of memory, the search continues with the reclaim path. If
// the system has no more mappings for the range, the failure is returned.
func (u *supply) retryMapped(search *search, failure error) (found bool, err error) {
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

// mapTries is the number of attempts of an allocation to map pages. An attempt fails if
// other threads use the place first.
const mapTries = 1000

// growth describes what has to be mapped for an allocation.
type growth struct {
	// runs are the runs of missing pages; count is the number of their pages.
	runs  []pageRun
	count uint64
	// larges are the places in runs that get large pages, in order.
	larges []pageRun
	// split are idle large pages of which blocks need a part. They are released first.
	split chosenPages
}

// tryNoting tries to allocate. If the error is errUnmapped, it returns what is missing.
// The caller holds layout.
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

// takeSplit takes large pages out of the tables if wanted blocks would occupy a part of
// them. If the pool may not hold less than now, it adds all pages of such a large page to
// the wanted ones, to replace it. The caller holds layout and mu.
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

// mapMissing maps pages that an allocation needs. If the bound or the device has no space
// for them, it first releases idle pages elsewhere. The caller holds layout.
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

// giveUpIdle releases count idle pages that no allocation needs now. If there are not so
// many, it releases none and returns errUnmapped, which is a CodeOutOfMemory.
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

// ceilPowerOfTwo rounds up to a power of two; it returns 0 if that overflows.
func ceilPowerOfTwo(n uint64) uint64 { return 1 << bits.Len64(n-1) }

func shiftOf(powerOfTwo uint64) uint { return uint(bits.TrailingZeros64(powerOfTwo)) }

// mapFirst maps the first pages of the first segment, exactly bytes of them or none. The
// worker never releases these bytes. The caller holds layout.
func (u *supply) mapFirst(bytes uint64) (bool, error) {
	if len(u.heap.segments) == 0 {
		ok, err := u.addSpace(nil)
		if err == nil && !ok {
			err = device.Errorf(device.CodeOutOfVirtualMemory, "pool.new",
				"no address space for a pool of %v", device.Size(bytes)).On(u.heap.engine.ID())
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
