package virtual

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

func (r *run) end() uint64 { return r.address + r.size }

// reaches states whether a page at an address, with an offset in a file, can be part of the
// same system call.
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

// pieces returns the runs of a completely mapped range, as they lie in files.
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

// wantedAccess is the new access of pages: one for all, or the recorded one of each page.
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
	// moreRuns is the capacity of a new list of runs, and half of the maximum capacity of a
	// list that is kept.
	moreRuns = 1024
	// keptLists is the number of lists of runs that are kept for later calls.
	keptLists = 4
)

// takeList returns an empty list of runs with capacity, or nil. The caller holds v.mu, and
// returns the list by lent or leaves it to the garbage collector.
func (v *Memory) takeList() []run {
	n := len(v.lists)
	if n == 0 {
		return nil
	}
	list := v.lists[n-1]
	v.lists = v.lists[:n-1]
	return list[:0]
}

// returnList takes a list back that is no longer in use. The caller holds v.mu.
func (v *Memory) returnList(list []run) {
	if len(v.lists) < keptLists && cap(list) <= 2*moreRuns {
		v.lists = append(v.lists, list)
	}
}

// runs appends to an empty list the system calls that give each page of a range its access.
// The caller holds v.mu. The whole range is mapped.
func (v *Memory) runs(list []run, c claimed, w wantedAccess) []run {
	end := c.address + c.size
	c.space.eachSpan(c.address, c.size, func(part pageSpan) bool {
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

// countedPage is a page for the count of mappings: where it lies, and its access before and
// after a change. The zero value is bare address space. For the system, pages without
// access are bare address space too.
type countedPage struct {
	store        *store
	offset       uint64
	old, renewed device.Access
}

func (v *Memory) countedPage(p *pageSlot, renewed device.Access) countedPage {
	s, index := v.of(p.page)
	return countedPage{store: s, offset: index * s.pageBytes, old: device.Access(p.counted), renewed: renewed}
}

// joins states whether a page and the page in front of it can be one mapping, if both have
// the same access.
func (s *countedPage) joins(front *countedPage) bool {
	switch s.store.backing {
	case device.BackingPrivate:
		return front.store.backing == device.BackingPrivate
	case device.BackingMovable:
		return s.store == front.store && s.offset == front.offset+s.store.pageBytes
	}
	return false
}

// mappingsAdded returns how many mappings the change adds between a page and what is in front of it.
func (s *countedPage) mappingsAdded(front *countedPage) (more int64) {
	if s.old != front.old || s.old != device.AccessNone && !s.joins(front) {
		more--
	}
	if s.renewed != front.renewed || s.renewed != device.AccessNone && !s.joins(front) {
		more++
	}
	return more
}

// growth returns how many mappings the new access of a range adds. It ignores what lies in
// front of the reservation and behind it. The caller holds v.mu.
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
	c.space.eachSpan(c.address, c.size, func(part pageSpan) bool {
		front, more := last, int64(0)
		for i := range part.slots {
			page := v.countedPage(&part.slots[i], w.of(&part.slots[i]))
			if !first {
				more += page.mappingsAdded(&front)
			}
			first, front = false, page
		}
		last, growth = front, growth+more
		return true
	})
	if end := c.address + c.size; end != c.space.base()+c.space.size() {
		next := beside(end)
		growth += next.mappingsAdded(&last)
	}
	return growth
}

func hasPrivate(runs []run) bool { return firstPrivate(runs) >= 0 }

func firstPrivate(runs []run) int {
	return slices.IndexFunc(runs, func(r run) bool { return r.private() })
}

// apply makes the system call of each run. If a call fails, done is the address up to which
// something may have changed. Else it is 0.
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

// applyBare is apply for a run without a file. Bare space in a reservation that has had
// private pages gets the same advice as these, or it would stay a separate mapping.
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

// loosen empties the page tables of runs of movable pages that have access. While the
// tables are not empty, replacing the run by bare space blocks every thread that maps or
// touches memory.
func (v *Memory) loosen(runs []run) {
	for _, r := range runs {
		if !r.private() && r.access != device.AccessNone {
			v.system.calls.Virtual.Loosen(r.address, r.size)
		}
	}
}

// forget releases the memory of private pages.
func (v *Memory) forget(runs []run) error {
	for _, r := range runs {
		if !r.private() {
			continue
		}
		if err := v.forgetRange(r.address, r.size); err != nil {
			return err
		}
	}
	return nil
}

// forgetRange releases the memory of a range of private memory without access. Locked memory
// cannot be released in place, so it is replaced. So is memory of a system with strict
// accounting, which would still count memory without access.
func (v *Memory) forgetRange(address, size uint64) error {
	m := v.system.calls
	if !v.system.strict && m.Virtual.Forget(address, size) == nil {
		return nil
	}
	if err := m.Virtual.Clear(address, size); err != nil {
		return err
	}
	m.AdviseHuge(address, size)
	return nil
}

// undo restores the recorded access to the part of a range up to done, or to all of it if
// done is 0, and ends the claim. If the system rejects that too, the pages are recorded as
// without access, so that no work uses them. Setting access again, or unmapping them,
// repairs them.
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

// prime prepares a reservation so that the system can join mappings of private memory with
// the same protection. They must share the advice to use huge pages and one record of
// anonymous memory. The first touch of a small page creates that record for everything that
// is later split off. Without it each range that was touched alone would stay a mapping. A
// failure here does no harm.
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

// run is a range that one system call brings into its state: private pages, or movable
// pages that are adjacent in a file or get no access.
type run struct {
	address, size uint64
	store         *store
	file          mapping.FilePart
	access        device.Access
}

func (r *run) private() bool { return r.store.backing == device.BackingPrivate }

// claimed is a range of a reservation that a call changes without a lock.
type claimed struct {
	space         *reservation
	address, size uint64
}
