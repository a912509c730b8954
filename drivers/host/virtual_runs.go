package host

import (
	"slices"

	"ferrum_mem/core/device"
)

// run is a range that one call of the system puts into its state: private pages,
// or movable ones that follow each other in a file or get no access.
type run struct {
	address, size uint64
	store         *store
	file          filePart
	access        device.Access
}

func (r *run) end() uint64 { return r.address + r.size }

func (r *run) private() bool { return r.store.backing == device.BackingPrivate }

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
	return r.store == s && !s.shareable() && r.file.offset+r.size == offset
}

// pieces are the runs of a range that is mapped throughout, as they lie in files.
func (v *virtualMemory) pieces(op string, address, size uint64) ([]run, error) {
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
	return v.runs(nil, claimed{space: r, address: address, size: size},
		func(pageSlot) device.Access { return device.AccessReadWrite }), nil
}

const (
	// fewRuns have room on the stack of who asks for them: most ranges are one.
	fewRuns = 4
	// moreRuns bounds the room that is made for further ones at a time.
	moreRuns = 1024
)

// runs appends to an empty list the calls that give each page of a range its access.
// The caller holds v.mu; the range is mapped throughout.
func (v *virtualMemory) runs(list []run, c claimed, access func(pageSlot) device.Access) []run {
	var last *run
	c.space.each(c.address, c.size, func(p place) bool {
		s, index := v.of(p.page)
		address, size, file, wanted := p.address, p.pageBytes, s.part(index), access(*p.pageSlot)
		if cut := max(c.address, address) - address; cut > 0 {
			address, size, file.offset = c.address, size-cut, file.offset+cut
		}
		size = min(size, c.address+c.size-address)
		if last != nil && last.reaches(address, s, file.offset, wanted) {
			last.size += size
			return true
		}
		if len(list) == cap(list) {
			list = slices.Grow(list, int(min((c.address+c.size-address-1)/s.pageBytes+1, moreRuns)))
		}
		list = append(list, run{address: address, size: size, store: s, file: file, access: wanted})
		last = &list[len(list)-1]
		return true
	})
	return list
}

// sight is what a mapping of the system looks like at a page: the zero value is
// bare address space, which pages without access are as well.
type sight struct {
	store  *store
	end    uint64
	access device.Access
}

// parted says whether the system needs two mappings where one sight ends and the
// next one begins.
func (s sight) parted(store *store, offset uint64, access device.Access) bool {
	switch {
	case access == device.AccessNone || s.access == device.AccessNone:
		return s.access != access
	case s.access != access || s.store.backing != store.backing || store.shareable():
		return true
	}
	return store.backing == device.BackingMovable && (s.store != store || s.end != offset)
}

// growth is how many mappings more there are when a range gets its new access. The
// caller holds v.mu.
func (v *virtualMemory) growth(c claimed, access func(pageSlot) device.Access) int64 {
	var before, after sight
	var growth int64
	// What lies in front of the reservation and behind it is no part of it.
	edge := c.address == c.space.base()
	look := func(p place, old, renewed device.Access) {
		s, index := v.of(p.page)
		if !edge && s == before.store && s.backing == device.BackingPrivate && old == before.access && renewed == after.access {
			// Private pages of one kind in a row: neither is parted from the last.
			return
		}
		offset := index * s.pageBytes
		if !edge && before.parted(s, offset, old) {
			growth--
		}
		if !edge && after.parted(s, offset, renewed) {
			growth++
		}
		edge = false
		before, after = sight{store: s, end: offset + s.pageBytes, access: old}, sight{store: s, end: offset + s.pageBytes, access: renewed}
	}
	same := func(p place) bool {
		look(p, device.Access(p.counted), device.Access(p.counted))
		return false
	}
	if !edge {
		edge = true
		c.space.each(c.address-1, 1, same)
		edge = false
	}
	c.space.each(c.address, c.size, func(p place) bool {
		look(p, device.Access(p.counted), access(*p.pageSlot))
		return true
	})
	end := c.address + c.size
	if end == c.space.base()+c.space.size() {
		return growth
	}
	if next, _ := c.space.find(end - c.space.base()); next != nil {
		c.space.each(end, 1, same)
		return growth
	}
	if before.access != device.AccessNone {
		growth--
	}
	if after.access != device.AccessNone {
		growth++
	}
	return growth
}

func hasPrivate(runs []run) bool { return firstPrivate(runs) >= 0 }

func firstPrivate(runs []run) int {
	return slices.IndexFunc(runs, func(r run) bool { return r.private() })
}

// apply calls the system for each run. When it fails, done says up to which
// address something may have changed; else it is 0.
func (v *virtualMemory) apply(r *reservation, runs []run) (done uint64, err error) {
	m := v.owner.driver.mapper.virtual
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
			if err := m.mapFile(runs[i].address, runs[i].size, runs[i].file, runs[i].access); err != nil {
				return runs[i].end(), err
			}
		}
		end := runs[i-1].end()
		if err := m.keepFromChildren(row, end-row); err != nil {
			return end, err
		}
	}
	return 0, nil
}

// applyBare is apply for what needs no file. Bare space in a reservation that has
// had private pages gets their advice, or it would stay a mapping of its own.
func (v *virtualMemory) applyBare(r *reservation, bare run) error {
	m := v.owner.driver.mapper
	if bare.private() {
		return m.virtual.protect(bare.address, bare.size, bare.access)
	}
	if err := m.virtual.clear(bare.address, bare.size); err != nil {
		return err
	}
	if r.primed.Load() {
		m.adviseHuge(bare.address, bare.size)
	}
	return nil
}

// loosen empties the page tables of runs of movable pages that have access. To put
// bare space in their place holds up every thread that maps or touches something,
// for as long as they are not empty.
func (v *virtualMemory) loosen(runs []run) {
	for _, r := range runs {
		if !r.private() && r.access != device.AccessNone {
			v.owner.driver.mapper.virtual.loosen(r.address, r.size)
		}
	}
}

// forget gives back what private pages have. Memory that is locked cannot be
// forgotten; it is replaced. So is that of a system that promises no more than it has:
// what may not be touched any more is still promised.
func (v *virtualMemory) forget(runs []run) error {
	m := v.owner.driver.mapper
	for _, r := range runs {
		if !r.private() || !v.owner.driver.strict && m.virtual.forget(r.address, r.size) == nil {
			continue
		}
		if err := m.virtual.clear(r.address, r.size); err != nil {
			return err
		}
		m.adviseHuge(r.address, r.size)
	}
	return nil
}

// undo puts the part of a range up to done, or all of it where that is 0, back as
// the notes say and ends the claim. Pages that the system refuses that for as well
// are left without access in the notes, so that nobody is led to touch them: giving
// access again, or taking them out, sets them right.
func (v *virtualMemory) undo(c claimed, done uint64) {
	part := claimed{space: c.space, address: c.address, size: c.size}
	if done != 0 {
		part.size = done - c.address
	}
	v.mu.Lock()
	runs := v.runs(nil, part, func(s pageSlot) device.Access { return device.Access(s.access) })
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
	v.owner.driver.mappings.count.Add(v.growth(c, func(s pageSlot) device.Access { return device.Access(s.access) }))
	c.space.each(c.address, c.size, func(p place) bool {
		p.counted, p.changing = p.access, false
		return true
	})
}

// prime gives a reservation what mappings of private memory must share to be
// joined by the system when they get the same protection: the wish for huge pages,
// and one record of anonymous memory, which the first touch of a small page makes
// for all that is later split off. Without it each range that was ever touched
// alone would stay a mapping. What of it fails does no harm.
func (o *openDevice) prime(r *reservation, runs []run) {
	m := o.driver.mapper
	address := runs[firstPrivate(runs)].address
	page := o.driver.granularity
	if m.virtual.protect(address, page, device.AccessReadWrite) == nil {
		m.virtual.touch(address)
		_ = m.virtual.protect(address, page, device.AccessNone)
		_ = m.virtual.forget(address, page)
	}
	m.adviseHuge(r.base(), r.size())
}
