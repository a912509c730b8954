package virtual

import (
	"fmt"

	"ferrum_mem/core/device"
)

// Kept contents. Private pages have no memory of their own: their bytes are in the
// reservation, so they can stay there when the pages are unmapped. The range has no access
// then, and the place of each page has the mark of its contents.

var _ device.ContentKeeper = (*Memory)(nil)

// KeepsContents reports true for private pages.
func (v *Memory) KeepsContents(backing device.Backing) bool {
	return backing == device.BackingPrivate && v.system.calls.Virtual != nil
}

// DropKept makes one call of the system for each run of places.
func (v *Memory) DropKept(addr device.Addr, size uint64, mark uint32) error {
	const op = "host.drop_kept"
	if err := v.usable(op); err != nil {
		return err
	}
	if mark == 0 {
		return v.errorf(device.CodeInvalidArgument, op, "mark 0: another value is required")
	}
	if err := v.checkRange(op, addr, size); err != nil {
		return err
	}
	return v.about(v.drop(op, uint64(addr), size, mark))
}

// checkKeeping returns an error for a range with pages that are not private, if their
// contents shall be kept. The caller holds v.mu.
func (v *Memory) checkKeeping(op string, address, size uint64, mark uint32) error {
	r := v.reservationOf(address, size)
	if mark == 0 || r == nil {
		return nil
	}
	isPrivate := true
	r.each(address, size, func(p place) bool {
		s, _ := v.of(p.page)
		isPrivate = s.backing == device.BackingPrivate
		return isPrivate
	})
	if !isPrivate {
		return device.Errorf(device.CodeUnsupported, op, "address %#x, size %d: only the contents of private pages are kept", address, size)
	}
	return nil
}

// keep records that places without a page keep contents.
func (t *slotTable) keep(slots []pageSlot, mark uint32) {
	for i := range slots {
		slots[i].kept, slots[i].uses = true, mark
	}
	t.kept += len(slots)
}

// keeps states whether contents are kept in a range.
func (r *reservation) keeps(address, size uint64) (found bool) {
	r.eachKept(address, size, func(*slotTable, uint64) { found = true })
	return found
}

// takeKept ends the record about contents that become those of private pages: all of them
// or none.
func (r *reservation) takeKept(op string, t *slotTable, pages []listed, first uint64, mark uint32) error {
	for i, l := range pages {
		s := t.at(first + uint64(i))
		switch {
		case l.store.backing != device.BackingPrivate:
			return device.Errorf(device.CodeUnsupported, op, "only private pages can have kept contents")
		case s == nil || !s.kept || s.uses != mark:
			return device.Errorf(device.CodeNotFound, op,
				"address %#x: no contents are kept there under the mark %d", r.base()+(first+uint64(i))*t.pageBytes, mark)
		case s.changing:
			return device.Errorf(device.CodeBusy, op, "address %#x: another call drops the contents", r.base()+(first+uint64(i))*t.pageBytes)
		}
	}
	t.kept -= len(pages)
	return nil
}

// keptRun is a run of places that keep contents.
type keptRun struct {
	table      *slotTable
	start, end uint64
}

// drop releases contents that are kept in a range under a mark; 0: under any.
func (v *Memory) drop(op string, address, size uint64, mark uint32) (err error) {
	r, runs, err := v.claimKept(op, address, size, mark)
	if err != nil || len(runs) == 0 {
		return err
	}
	for _, run := range runs {
		at, length := r.base()+run.start*run.table.pageBytes, (run.end-run.start)*run.table.pageBytes
		failure := v.forgetRange(at, length)
		if failure != nil {
			err = v.systemError(op, device.CodeUnmappingFailed, v.refused(failure), fmt.Sprintf("address %#x, size %d", at, length))
		}
		v.settleKept(run, failure == nil)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r.dropping--
	return err
}

// claimKept claims the places that drop works on.
func (v *Memory) claimKept(op string, address, size uint64, mark uint32) (r *reservation, runs []keptRun, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r = v.reservationOf(address, size); r == nil {
		return nil, nil, device.Errorf(device.CodeInvalidAddress, op, "address %#x, size %d: not within one reservation", address, size)
	}
	r.eachKept(address, size, func(t *slotTable, index uint64) {
		switch s := t.at(index); {
		case mark != 0 && s.uses != mark:
		case s.changing:
			err = device.Errorf(device.CodeBusy, op, "address %#x: another call drops the contents", r.base()+index*t.pageBytes)
		case len(runs) > 0 && runs[len(runs)-1].table == t && runs[len(runs)-1].end == index:
			runs[len(runs)-1].end++
		default:
			runs = append(runs, keptRun{table: t, start: index, end: index + 1})
		}
	})
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	for _, run := range runs {
		for index := run.start; index < run.end; index++ {
			run.table.at(index).changing = true
		}
	}
	r.dropping++
	return r, runs, nil
}

// settleKept ends a claim of claimKept.
func (v *Memory) settleKept(run keptRun, isDropped bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for index := run.start; index < run.end; index++ {
		s := run.table.at(index)
		if s.changing = false; isDropped {
			*s = pageSlot{}
		}
	}
	if isDropped {
		run.table.kept -= int(run.end - run.start)
	}
}
