package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
)

// undoWake gives the pages of a Wake that failed back: all that was kept is kept still,
// so all of it sleeps as before. What the device does not unmap is jammed: it sleeps and
// has its pages, and the next Wake uses them as they are.
func (s *space) undoWake(w *waking) {
	s.mu.Lock()
	for _, m := range w.mapped {
		copy(s.numbers[m.run.Start:m.run.End()], m.pages)
	}
	s.mu.Unlock()
	var mapped []pageset.Run
	for _, j := range w.jobs {
		for _, r := range j.runs {
			mapped = s.appendMapped(mapped, r, w.jammed)
		}
	}
	loose := s.takeBack(mapped)
	at := lengthOf(mappedRuns(w.mapped))
	for _, pages := range [][]device.Page{w.keptPages, w.zeroPages} {
		skip := min(at, uint64(len(pages)))
		loose = append(loose, pages[skip:]...)
		at -= skip
	}
	s.physical.give(s.owner, loose)
	left := uint64(len(loose))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= left
	s.physical.discharge(left, 0)
	if s.left != nil && left > 0 {
		s.left(left)
	}
}

func mappedRuns(mapped []mappedRun) (runs []pageset.Run) {
	for _, m := range mapped {
		runs = append(runs, m.run)
	}
	return runs
}

// appendMapped lengthens a list by what of a run this Wake has mapped.
func (s *space) appendMapped(list []pageset.Run, r pageset.Run, jammed []pageset.Run) []pageset.Run {
	for at := r.Start; at < r.End(); at++ {
		if s.numbers[at] != 0 && !contains(jammed, at) {
			list = appendRun(list, pageset.Run{Start: at, Pages: 1})
		}
	}
	return list
}

func contains(runs []pageset.Run, page uint64) bool {
	for _, r := range runs {
		if r.Start <= page && page < r.End() {
			return true
		}
	}
	return false
}

// takeBack unmaps runs, and gives the pages of those that the device unmaps.
func (s *space) takeBack(runs []pageset.Run) (loose []device.Page) {
	for _, r := range runs {
		failed := s.physical.virtual.Unmap(s.extent.Addr(r.Start), r.Pages*s.extent.PageBytes) != nil
		numbers := s.numbers[r.Start:r.End()]
		s.mu.Lock()
		if failed {
			s.jammed += r.Pages
			s.physical.jam(r.Pages)
		} else {
			loose = append(loose, numbers...)
			clear(numbers)
		}
		s.mu.Unlock()
	}
	return loose
}

// endWake makes the pages of a Wake live, or leaves them asleep.
func (s *space) endWake(w *waking, awake bool, ns uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range w.jobs {
		for _, r := range j.runs {
			s.shifting.Remove(r)
		}
	}
	if awake {
		for _, m := range w.mapped {
			copy(s.numbers[m.run.Start:m.run.End()], m.pages)
		}
		for _, j := range w.jobs {
			s.rouse(j, s.jammedOf(w, j.runs))
		}
		s.getUp(w.Tag)
		s.counts.add(&SleepStats{Wakes: 1, WakeNs: ns})
	} else {
		s.counts.WakeFailures++
	}
	s.unclaim()
}

// rouse makes the pages of a chunk live, which are mapped again; some were jammed.
func (s *space) rouse(j job, jammed []pageset.Run) {
	c, unjammed := j.chunk, lengthOf(jammed)
	s.jammed -= unjammed
	s.physical.unjam(unjammed)
	if c.block == nil && c.file == nil {
		s.release(engine.Asleep{DiscardedBytes: c.left * s.extent.PageBytes})
	}
	for _, r := range j.runs {
		s.standUp(r, c.tag)
		s.kept.leave(r, func(*chunk, pageset.Run) {})
	}
	if !c.pinned {
		s.dropped = append(s.dropped, c)
	}
}

// getUp notes that a tag, or everything, sleeps no more.
func (s *space) getUp(tag string) {
	b := &s.bed
	switch {
	case tag == "":
		*b = bedtime{}
	case b.all:
		b.awake[tag] = true
	default:
		delete(b.tags, tag)
	}
	if b.all && s.asleep.Count() == 0 {
		*b = bedtime{}
	}
}

// jam makes pages without an allocation active: they are used, but not live.
func (ph *Physical) jam(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.Board(pages * ph.pageBytes)
}

// unjam takes that back.
func (ph *Physical) unjam(pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.Land(pages * ph.pageBytes)
}

// wakeUp enters charged pages as the memory of allocations that slept.
func (ph *Physical) wakeUp(sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.AllocMany(sizes, 0)
}
