package virtual

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

func (r *run) end() uint64 { return r.address + r.size }

// reaches says whether a page at an address, of a place of a file, can be in the
// same call.
func (r *run) reaches(address uint64, s *store, offset uint64, access device.Access) bool {
	switch {
	case r.address+r.size != address || r.access != access:
		return false
	case s.backing == device.BackingPrivate || r.private():
		return s.backing == r.store.backing
	case access == device.AccessNone:
		return true
	}
	return r.store == s && !s.shareable() && r.file.Offset+r.size == offset
}

// pieces are the runs of a range that is mapped throughout, as they lie in files.
func (v *Memory) pieces(op string, address, size uint64) ([]run, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.reservationOf(address, size)
	if r == nil {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: not within one reservation", address, size)
	}
	if !r.covered(address, size) {
		return nil, device.Errorf(device.CodeNotMapped, op, "address %#x, size %d: not mapped throughout", address, size)
	}
	return v.runs(nil, claimed{space: r, address: address, size: size}, wantedAccess{access: device.AccessReadWrite}), nil
}

// wantedAccess is the access that pages are to have: one for all, or what the notes say.
type wantedAccess struct {
	access device.Access
	noted  bool
}

func (w wantedAccess) of(s *pageSlot) device.Access {
	if w.noted {
		return device.Access(s.access)
	}
	return w.access
}

const (
	// moreRuns bounds the room that is made for further runs at a time, and what is
	// kept of it.
	moreRuns = 1024
	// keptLists is how many lists of runs are kept for later calls.
	keptLists = 4
)

// lend gives an empty list of runs that has room, or nil. The caller holds v.mu, and
// gives the list back with lent or leaves it to the collector.
func (v *Memory) lend() []run {
	n := len(v.lists)
	if n == 0 {
		return nil
	}
	list := v.lists[n-1]
	v.lists = v.lists[:n-1]
	return list[:0]
}

// lent takes a list back that nobody reads any more. The caller holds v.mu.
func (v *Memory) lent(list []run) {
	if len(v.lists) < keptLists && cap(list) <= 2*moreRuns {
		v.lists = append(v.lists, list)
	}
}

// runs appends to an empty list the calls that give each page of a range its access.
// The caller holds v.mu; the range is mapped throughout.
func (v *Memory) runs(list []run, c claimed, w wantedAccess) []run {
	end := c.address + c.size
	c.space.stretches(c.address, c.size, func(part stretch) bool {
		address, found := part.address, list
		for i := range part.slots {
			s, index := v.of(part.slots[i].page)
			size, file, wanted := part.pageBytes, s.part(index), w.of(&part.slots[i])
			if address < c.address {
				cut := c.address - address
				address, size, file.Offset = c.address, size-cut, file.Offset+cut
			}
			size = min(size, end-address)
			if n := len(found); n > 0 && found[n-1].reaches(address, s, file.Offset, wanted) {
				found[n-1].size += size
			} else {
				if n == cap(found) {
					found = slices.Grow(found, int(min((end-address-1)/s.pageBytes+1, moreRuns)))
				}
				found = append(found, run{address: address, size: size, store: s, file: file, access: wanted})
			}
			address += size
		}
		list = found
		return true
	})
	return list
}

// countedPage is a page as mappings are counted: where it lies, and its access before a
// change and after it. The zero value is bare address space, which pages without
// access are to the system as well.
type countedPage struct {
	store        *store
	offset       uint64
	old, renewed device.Access
}

func (v *Memory) countedPage(p *pageSlot, renewed device.Access) countedPage {
	s, index := v.of(p.page)
	return countedPage{store: s, offset: index * s.pageBytes, old: device.Access(p.counted), renewed: renewed}
}

// joins says whether a page and the one in front of it can be one mapping, where both
// have the same access.
func (s *countedPage) joins(front *countedPage) bool {
	switch s.store.backing {
	case device.BackingPrivate:
		return front.store.backing == device.BackingPrivate
	case device.BackingMovable:
		return s.store == front.store && s.offset == front.offset+s.store.pageBytes
	}
	return false
}

// seam is how many mappings more there are between a page and what is in front of it
// after the change.
func (s *countedPage) seam(front *countedPage) (more int64) {
	if s.old != front.old || s.old != device.AccessNone && !s.joins(front) {
		more--
	}
	if s.renewed != front.renewed || s.renewed != device.AccessNone && !s.joins(front) {
		more++
	}
	return more
}

// growth is how many mappings more there are when a range gets its new access. What
// lies in front of the reservation and behind it is no part of it. The caller holds
// v.mu.
func (v *Memory) growth(c claimed, w wantedAccess) (growth int64) {
	beside := func(address uint64) (found countedPage) {
		c.space.each(address, 1, func(p place) bool {
			found = v.countedPage(p.pageSlot, device.Access(p.counted))
			return true
		})
		return found
	}
	var last countedPage
	first := c.address == c.space.base()
	if !first {
		last = beside(c.address - 1)
	}
	c.space.stretches(c.address, c.size, func(part stretch) bool {
		front, more := last, int64(0)
		for i := range part.slots {
			page := v.countedPage(&part.slots[i], w.of(&part.slots[i]))
			if !first {
				more += page.seam(&front)
			}
			first, front = false, page
		}
		last, growth = front, growth+more
		return true
	})
	if end := c.address + c.size; end != c.space.base()+c.space.size() {
		next := beside(end)
		growth += next.seam(&last)
	}
	return growth
}

func hasPrivate(runs []run) bool { return firstPrivate(runs) >= 0 }

func firstPrivate(runs []run) int {
	return slices.IndexFunc(runs, func(r run) bool { return r.private() })
}

// apply calls the system for each run. When it fails, done says up to which
// address something may have changed; else it is 0.
func (v *Memory) apply(r *reservation, runs []run) (done uint64, err error) {
	m := v.system.calls.Virtual
	for i := 0; i < len(runs); {
		if runs[i].private() || runs[i].access == device.AccessNone {
			if err := v.applyBare(r, runs[i]); err != nil {
				return runs[i].end(), err
			}
			i++
			continue
		}
		row := runs[i].address
		for ; i < len(runs) && !runs[i].private() && runs[i].access != device.AccessNone; i++ {
			if err := m.MapFile(runs[i].address, runs[i].size, runs[i].file, runs[i].access); err != nil {
				return runs[i].end(), err
			}
		}
		end := runs[i-1].end()
		if err := m.KeepFromChildren(row, end-row); err != nil {
			return end, err
		}
	}
	return 0, nil
}

// applyBare is apply for what needs no file. Bare space in a reservation that has
// had private pages gets their advice, or it would stay a mapping of its own.
func (v *Memory) applyBare(r *reservation, bare run) error {
	m := v.system.calls
	if bare.private() {
		return m.Virtual.Protect(bare.address, bare.size, bare.access)
	}
	if err := m.Virtual.Clear(bare.address, bare.size); err != nil {
		return err
	}
	if r.primed.Load() {
		m.AdviseHuge(bare.address, bare.size)
	}
	return nil
}

// loosen empties the page tables of runs of movable pages that have access. To put
// bare space in their place holds up every thread that maps or touches something,
// for as long as they are not empty.
func (v *Memory) loosen(runs []run) {
	for _, r := range runs {
		if !r.private() && r.access != device.AccessNone {
			v.system.calls.Virtual.Loosen(r.address, r.size)
		}
	}
}

// forget gives back what private pages have. Memory that is locked cannot be
// forgotten; it is replaced. So is that of a system that promises no more than it has:
// what may not be touched any more is still promised.
func (v *Memory) forget(runs []run) error {
	m := v.system.calls
	for _, r := range runs {
		if !r.private() || !v.system.strict && m.Virtual.Forget(r.address, r.size) == nil {
			continue
		}
		if err := m.Virtual.Clear(r.address, r.size); err != nil {
			return err
		}
		m.AdviseHuge(r.address, r.size)
	}
	return nil
}

// undo puts the part of a range up to done, or all of it where that is 0, back as
// the notes say and ends the claim. Pages that the system refuses that for as well
// are left without access in the notes, so that nobody is led to touch them: giving
// access again, or taking them out, sets them right.
func (v *Memory) undo(c claimed, done uint64) {
	part := claimed{space: c.space, address: c.address, size: c.size}
	if done != 0 {
		part.size = done - c.address
	}
	v.mu.Lock()
	runs := v.runs(nil, part, wantedAccess{noted: true})
	v.mu.Unlock()
	left := runs[:0]
	for _, old := range runs {
		if _, err := v.apply(c.space, []run{old}); err != nil {
			left = append(left, old)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, old := range left {
		c.space.each(old.address, old.size, func(p place) bool {
			p.access = uint8(device.AccessNone)
			return true
		})
	}
	v.system.mappings.count.Add(v.growth(c, wantedAccess{noted: true}))
	c.space.each(c.address, c.size, func(p place) bool {
		p.counted, p.changing = p.access, false
		return true
	})
}

// prime gives a reservation what mappings of private memory must share to be
// joined by the system when they get the same protection: the advice to use huge pages,
// and one record of anonymous memory, which the first touch of a small page makes
// for all that is later split off. Without it each range that was ever touched
// alone would stay a mapping. What of it fails does no harm.
func (v *Memory) prime(r *reservation, runs []run) {
	m := v.system.calls
	address := runs[firstPrivate(runs)].address
	page := v.system.granularity
	if m.Virtual.Protect(address, page, device.AccessReadWrite) == nil {
		m.Virtual.Touch(address)
		_ = m.Virtual.Protect(address, page, device.AccessNone)
		_ = m.Virtual.Forget(address, page)
	}
	m.AdviseHuge(r.base(), r.size())
}

// run is a range that one call of the system puts into its state: private pages,
// or movable ones that follow each other in a file or get no access.
type run struct {
	address, size uint64
	store         *store
	file          mapping.FilePart
	access        device.Access
}

func (r *run) private() bool { return r.store.backing == device.BackingPrivate }

// claimed is a range of a reservation that a call changes with no lock held.
type claimed struct {
	space         *reservation
	address, size uint64
}
