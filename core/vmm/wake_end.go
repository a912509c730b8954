package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// undoWake releases the pages of a failed Wake. All copies still exist, so everything
// is asleep as before. Pages that the device fails to unmap are asleep but stay mapped,
// and the next Wake uses them as they are.
func (s *space) undoWake(w *wakeCall) {
	s.mu.Lock()
	for _, m := range w.Mapped {
		copy(s.table.numbers[m.Run.Start:m.Run.End()], m.Pages)
	}
	s.mu.Unlock()
	loose := append(s.unmapRuns(w.Fresh(s.table.isMappedAt)), w.Unmapped()...)
	s.physical.returnPages(nil, loose)
	left := uint64(len(loose))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.used -= left
	s.physical.discharge(left, 0)
	if s.left != nil && left > 0 {
		s.left(left)
	}
}

// unmapRuns unmaps runs, and returns the pages that were unmapped.
func (s *space) unmapRuns(runs []sleep.FreshRun) (loose []device.Page) {
	for _, fresh := range runs {
		r := fresh.Run
		failed := s.physical.mapper.unmap(&s.table.extent, r, fresh.Mark) != nil
		numbers := s.table.numbers[r.Start:r.End()]
		s.mu.Lock()
		if failed {
			s.table.stillMapped += r.Pages
			s.physical.addStillMapped(r.Pages)
		} else {
			loose = append(loose, numbers...)
			clear(numbers)
		}
		s.mu.Unlock()
	}
	return loose
}

// endWake makes the pages of a Wake live, or leaves them asleep. It reports whether another
// thread frees the contents.
func (s *space) endWake(w *wakeCall, awake bool, ns uint64) (later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range w.Jobs {
		for _, r := range j.Runs {
			s.table.shifting.Remove(r)
		}
	}
	if awake {
		for _, m := range w.Mapped {
			copy(s.table.numbers[m.Run.Start:m.Run.End()], m.Pages)
		}
		for _, j := range w.Jobs {
			s.markAwake(j, w.AlreadyMapped(j.Runs))
		}
		s.table.saved.Tags.End(w.Tag, s.table.asleep.Count() == 0)
		s.table.counts.add(&SleepStats{Wakes: 1, WakeNs: ns})
		later = s.table.late.freeLater(s)
	} else {
		s.table.counts.WakeFailures++
	}
	s.unclaim()
	return later
}

// markAwake makes the pages of a chunk live after they were mapped again; some were still mapped.
func (s *space) markAwake(j sleep.Job, jammed []pageset.Run) {
	unjammed := sleep.LengthOf(jammed)
	s.table.stillMapped -= unjammed
	s.physical.removeStillMapped(unjammed)
	for _, r := range j.Runs {
		s.physical.countAwake(s.table.markLive(r, j.Chunk.Tag))
	}
	s.table.saved.RemoveAwake(j)
}

// addStillMapped counts pages without a live allocation as active: they are used, but not live.
func (ph *Physical) addStillMapped(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.Activate(pages * ph.pageBytes)
}

// removeStillMapped undoes addStillMapped.
func (ph *Physical) removeStillMapped(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.Deactivate(pages * ph.pageBytes)
}

// countAwake counts charged pages as the memory of allocations that were asleep.
func (ph *Physical) countAwake(sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.AllocMany(sizes, 0)
}
