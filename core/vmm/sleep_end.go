package vmm

import (
	"context"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// undoSleep takes back what lull has done before it failed. What cannot be brought
// back sleeps all the same, and so does what a forced end of the space will free
// anyway.
func (s *space) undoSleep(d *dozing) (asleep []job) {
	for _, j := range d.jobs {
		if j.chunk.stage == chunkWhole {
			continue
		}
		restored := false
		switch {
		case s.stopped(context.Background(), "sleep") != nil:
		case j.chunk.stage == chunkGiven:
			restored, j.mapped = s.haveAgain(j)
		default:
			restored, j.mapped = s.mapAgain(d, j)
		}
		if !restored {
			asleep = append(asleep, j)
		}
	}
	return asleep
}

// mapAgain maps a chunk again that has its pages, with what it held. If that fails,
// it is mapped only if the device does not unmap it.
func (s *space) mapAgain(d *dozing, j job) (restored, mapped bool) {
	r := j.chunk.run
	if s.physical.virtual.Map(s.addr(r.start), s.numbers[r.start:r.end()]) != nil {
		return false, false
	}
	lost := s.physical.config.Backing == device.BackingPrivate && d.Backing != SleepDiscard
	if s.refill(j, lost) == nil {
		return true, true
	}
	return false, s.physical.virtual.Unmap(s.addr(r.start), r.pages*s.pageBytes) != nil
}

// haveAgain is mapAgain for a chunk that has given its pages back.
func (s *space) haveAgain(j job) (restored, mapped bool) {
	ph, r := s.physical, j.chunk.run
	pages, err := ph.fetch(&fetching{space: s, op: s.op("sleep"), pages: r.pages})
	if err != nil {
		return false, false
	}
	if ph.virtual.Map(s.addr(r.start), pages) != nil {
		ph.give(s.owner, pages)
		return false, false
	}
	err = s.refill(j, true)
	if err != nil && ph.virtual.Unmap(s.addr(r.start), r.pages*s.pageBytes) == nil {
		ph.give(s.owner, pages)
		return false, false
	}
	if err == nil {
		s.dropBlock(j.chunk)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	copy(s.numbers[r.start:r.end()], pages)
	if err == nil {
		s.standUp(r, j.chunk.tag)
	}
	return err == nil, true
}

// refill makes a mapped chunk usable, and gives it its bytes again if they are lost.
func (s *space) refill(j job, lost bool) error {
	err := s.grant(j.chunk.run)
	if err == nil && lost {
		t := &transfer{space: s, ctx: context.Background(), op: "sleep", jobs: []job{j}, copy: s.copyBack}
		err = t.run(1)
	}
	return err
}

// endSleep makes jobs sleep and leaves the others of a Sleep as they were.
func (s *space) endSleep(d *dozing, asleep []job, counts *SleepStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, any := uint64(0), len(asleep) > 0
	for _, j := range d.jobs {
		s.shifting.remove(j.chunk.run)
		if len(asleep) > 0 && asleep[0].chunk == j.chunk {
			left += s.tuckIn(asleep[0])
			asleep = asleep[1:]
		} else if !j.chunk.pinned {
			s.dropped = append(s.dropped, j.chunk)
		}
		j.chunk.stage = chunkWhole
	}
	if counts.Sleeps == 0 && !any {
		s.bed = d.before
	}
	s.counts.add(counts)
	if left > 0 && s.left != nil {
		s.left(left)
	}
	s.unclaim()
}

// tuckIn makes a chunk one that sleeps, and says how many of its pages are not used any
// more: all, or none if the device would not unmap it.
func (s *space) tuckIn(j job) (left uint64) {
	c := j.chunk
	numbers, given := s.numbers[c.run.start:c.run.end()], c.stage == chunkGiven
	switch {
	case j.mapped:
		s.jammed += c.run.pages
		if given {
			s.physical.jam(c.run.pages)
		} else {
			s.physical.drowse(s.layDown(c))
		}
	case given:
		left = c.run.pages
		s.physical.discharge(left, 0)
	default:
		left = c.run.pages
		s.physical.doze(s.owner, numbers, s.layDown(c))
		clear(numbers)
	}
	s.used -= left
	s.kept.add(c)
	if c.block == nil && c.file == nil {
		s.hold(engine.Asleep{DiscardedBytes: c.run.pages * s.pageBytes})
	}
	return left
}

func (c *SleepStats) add(other *SleepStats) {
	c.Sleeps += other.Sleeps
	c.Wakes += other.Wakes
	c.SleepNs += other.SleepNs
	c.WakeNs += other.WakeNs
	c.SleepFailures += other.SleepFailures
	c.WakeFailures += other.WakeFailures
}
