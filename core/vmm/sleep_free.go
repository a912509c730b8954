package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// isAsleep reports whether all pages of a run are asleep. The caller holds mu.
func (t *pageTable) isAsleep(r pageset.Run) bool {
	if t.asleep.Count() == 0 {
		return false
	}
	_, mixed := t.asleep.FirstNotIn(r)
	return !mixed
}

// notLive returns the error for a range with a page that is not live: the page has no
// allocation, or a part of the range is asleep. The caller holds mu.
func (t *pageTable) notLive(op string, b extent.Span, r pageset.Run, page uint64) error {
	asleep, mixed := t.asleep.FirstIn(r)
	for at := r.Start; mixed && at < r.End(); at++ {
		if t.allocated[at] == 0 {
			page, mixed = at, false
		} else if t.live.Has(at) {
			page = at
		}
	}
	if mixed {
		if err := t.shiftingNow(op, b, r); err != nil {
			return err
		}
		return t.extent.Fault(device.CodeInvalidState, op,
			"offset %d, size %d: the page at offset %d is asleep and the page at offset %d is not; free them in separate calls",
			b.Offset, b.Size, asleep*t.extent.PageBytes, page*t.extent.PageBytes)
	}
	return t.extent.BadPage(device.CodeNotMapped, op, page, b)
}

// shiftingNow returns an error if a part of a range is being put to sleep or woken, and
// nil otherwise. The caller holds mu.
func (t *pageTable) shiftingNow(op string, b extent.Span, r pageset.Run) error {
	if page, shifting := t.shifting.FirstIn(r); shifting {
		return t.extent.Fault(device.CodeBusy, op, "offset %d, size %d: the page at offset %d is being put to sleep or woken",
			b.Offset, b.Size, page*t.extent.PageBytes)
	}
	return nil
}

// endSleepers removes sleeping pages from their allocations and makes them free.
func (s *space) endSleepers(r pageset.Run) {
	s.table.saved.Forget(r)
	ended := uint64(0)
	for at := r.Start; at < r.End(); {
		number, first := s.table.allocated[at], at
		for ; at < r.End() && s.table.allocated[at] == number; at++ {
			s.table.allocated[at] = 0
		}
		a := &s.table.records.all[number-1]
		if a.left -= uint32(at - first); a.left == 0 {
			s.table.tags.Remove(a.tag, track.Block{}, 1)
			s.table.records.remove(number - 1)
			ended++
		}
	}
	s.physical.endSlept(ended)
	s.table.users.End(r)
	s.table.asleep.Remove(r)
	if s.table.stillMapped == 0 {
		s.table.free.Put(r)
		s.changed.Broadcast()
		return
	}
	for at := r.Start; at < r.End(); at++ {
		page := pageset.Run{Start: at, Pages: 1}
		if s.table.numbers[at] == 0 {
			s.table.free.Put(page)
			continue
		}
		s.table.stillMapped--
		s.physical.completeFrees(1)
		s.table.stuck.Add(page)
		s.parkRuns([]pageset.Run{page})
	}
	s.changed.Broadcast()
}

// endSlept counts allocations that were freed while they were asleep.
func (ph *Physical) endSlept(ended uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.FreeMany(track.Block{}, ended)
}

// endAllSleepers calls endSleepers for all sleeping pages, in slices.
func (s *space) endAllSleepers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for steps := (pace.Pace{}); s.table.asleep.Count() > 0; {
		start, _ := s.table.asleep.Next(0)
		s.endSleepers(s.table.asleep.RunFrom(start, slicePages))
		s.yieldLock(&steps)
	}
	s.table.saved.Tags = sleep.Tags{}
}
