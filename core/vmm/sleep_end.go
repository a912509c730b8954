package vmm

import (
	"cmp"
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// remap takes back what unmapDozing has done before it failed. What cannot be mapped
// again stays unmapped: that sleeps all the same.
func (s *space) remap(d *dozing) (asleep []job) {
	at := 0
	for _, r := range d.runs[:d.unmapped] {
		first := at
		for at < len(d.jobs) && d.jobs[at].chunk.run.start < r.end() {
			at++
		}
		restored, mapped := s.restore(d, r, d.jobs[first:at])
		for _, j := range d.jobs[first:at] {
			if j.mapped = mapped; !restored {
				asleep = append(asleep, j)
			}
		}
	}
	return asleep
}

// restore maps a run again, with what it held. If that fails, it is mapped only if
// the device does not unmap it.
func (s *space) restore(d *dozing, r run, jobs []job) (restored, mapped bool) {
	virtual := s.physical.virtual
	if virtual.Map(s.addr(r.start), s.numbers[r.start:r.end()]) != nil {
		return false, false
	}
	err := s.grant(r)
	if err == nil && s.physical.config.Backing == device.BackingPrivate && d.Backing != SleepDiscard {
		t := &transfer{space: s, ctx: context.Background(), op: "sleep", jobs: jobs, copy: s.copyBack}
		err = t.run(1)
	}
	if err == nil {
		return true, true
	}
	return false, virtual.Unmap(s.addr(r.start), r.pages*s.pageBytes) != nil
}

// endSleep makes jobs sleep and leaves the others of a Sleep as they were.
func (s *space) endSleep(d *dozing, asleep []job, counts *SleepStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, any := uint64(0), len(asleep) > 0
	for _, j := range d.jobs {
		s.shifting.remove(j.chunk.run)
		if len(asleep) > 0 && asleep[0].chunk == j.chunk {
			left += s.lull(asleep[0])
			asleep = asleep[1:]
		} else if !j.chunk.pinned {
			s.dropped = append(s.dropped, j.chunk)
		}
	}
	if counts.Sleeps == 0 && !any {
		s.bed = d.before
	}
	slices.SortFunc(s.chunks, func(a, b *chunk) int { return cmp.Compare(a.run.start, b.run.start) })
	s.counts.add(counts)
	if left > 0 && s.left != nil {
		s.left(left)
	}
	s.unclaim()
}

// lull makes the pages of a chunk ones that sleep, and says how many are not used any
// more.
func (s *space) lull(j job) (left uint64) {
	c := j.chunk
	numbers, sizes := s.numbers[c.run.start:c.run.end()], s.asked(c.run)
	if j.mapped {
		s.jammed += c.run.pages
		s.physical.drowse(sizes)
	} else {
		left = c.run.pages
		s.physical.doze(s.owner, numbers, sizes)
		clear(numbers)
	}
	s.live.remove(c.run)
	s.asleep.add(c.run)
	s.requested -= sizes.RequestedBytes
	s.tags.Leave(c.tag, sizes, 0)
	s.used -= left
	if c.left = c.run.pages; c.block == nil && c.file == nil {
		s.hold(engine.Asleep{DiscardedBytes: c.run.pages * s.pageBytes})
	}
	s.chunks = append(s.chunks, c)
	return left
}

// asked is the sizes of pages of allocations.
func (s *space) asked(r run) (sum track.Block) {
	sum.AllocatedBytes = r.pages * s.pageBytes
	for at := r.start; at < r.end(); {
		number, first := s.allocated[at], at
		for at < r.end() && s.allocated[at] == number {
			at++
		}
		sum.RequestedBytes += s.records.all[number-1].share(first*s.pageBytes, at*s.pageBytes)
	}
	return sum
}

// doze makes used pages idle whose allocations go to sleep.
func (ph *Physical) doze(o *owner, pages []device.Page, sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.FreeMany(sizes, 0)
	ph.used -= uint64(len(pages))
	ph.lay(o, pages)
	ph.arrived.Broadcast()
	ph.watchIdle()
}

// drowse makes pages used ones of no allocation that is awake.
func (ph *Physical) drowse(sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.FreeMany(sizes, 0)
	ph.books.Board(sizes.AllocatedBytes)
}

func (c *SleepStats) add(other *SleepStats) {
	c.Sleeps += other.Sleeps
	c.Wakes += other.Wakes
	c.SleepNs += other.SleepNs
	c.WakeNs += other.WakeNs
	c.SleepFailures += other.SleepFailures
	c.WakeFailures += other.WakeFailures
}
