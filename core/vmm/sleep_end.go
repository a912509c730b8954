package vmm

import (
	"context"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// unmapJobs unmaps all pages that go to sleep. If the device fails to unmap a job, the
// jobs before it are mapped again. If that fails as well, the Sleep continues to its
// end: every byte has a copy, so nothing is lost, and only the pages that stay mapped
// are not released.
func (s *space) unmapJobs(d *sleepCall) error {
	for i := range d.jobs {
		err := s.unmapJob(&d.jobs[i])
		if err == nil {
			continue
		}
		if s.mapAgain(d, d.jobs[:i+1]) {
			return err
		}
		s.unmapTheRest(d)
		s.physical.engine.Log(engine.Warning, fmt.Sprintf("%s is asleep, but the device did not unmap all of it: %v", s.table.extent.Title(), err))
		return nil
	}
	return nil
}

func (s *space) unmapJob(j *sleep.Job) error {
	err := s.physical.mapper.unmap(&s.table.extent, j.Chunk.Run, j.Chunk.InPlace())
	j.Unmapped = err == nil
	return err
}

// mapAgain maps jobs again with their pages, and reports whether they are as before.
// Unmapping loses the bytes of private pages, even if it fails, unless they are kept in
// place. They are copied back from the copy, if there is one.
func (s *space) mapAgain(d *sleepCall, jobs []sleep.Job) bool {
	lost := s.physical.config.Backing == device.BackingPrivate && !s.physical.mapper.keeps(d.Backing)
	if lost && d.Backing == SleepDiscard {
		return false
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.Unmapped {
			continue
		}
		r := j.Chunk.Run
		if s.physical.mapper.mapPages(&s.table.extent, r.Start, s.table.numbers[r.Start:r.End()], j.Chunk.InPlace()) != nil {
			return false
		}
		j.Unmapped = false
		if s.table.grant(s.physical.virtual, r) != nil {
			return false
		}
	}
	if !lost {
		return true
	}
	return s.copyBack(s.transfer(context.Background(), "sleep", jobs), d.Streams) == nil
}

// unmapTheRest unmaps the remaining jobs, as far as the device can.
func (s *space) unmapTheRest(d *sleepCall) {
	for i := range d.jobs {
		if j := &d.jobs[i]; !j.Unmapped {
			_ = s.unmapJob(j)
		}
	}
}

// endSleep ends a Sleep. If asleep, all its jobs are asleep now. Otherwise they are as
// before, and their copies are dropped. It returns how many pages were released.
func (s *space) endSleep(d *sleepCall, asleep bool, counts *SleepStats) (left uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range d.jobs {
		s.table.shifting.Remove(j.Chunk.Run)
		if asleep {
			left += s.endChunkSleep(d, j)
		} else {
			s.table.saved.Abandon(j.Chunk)
		}
	}
	if !asleep {
		s.table.saved.Tags = d.before
	}
	s.table.counts.add(counts)
	if left > 0 && s.left != nil {
		s.left(left)
	}
	s.unclaim()
	return left
}

// endChunkSleep marks a chunk as asleep and returns how many of its pages are not used any
// more: all, or none if the device failed to unmap the chunk.
func (s *space) endChunkSleep(d *sleepCall, j sleep.Job) (left uint64) {
	c := j.Chunk
	numbers := s.table.numbers[c.Run.Start:c.Run.End()]
	switch {
	case !j.Unmapped:
		s.table.stillMapped += c.Run.Pages
		s.physical.countMapped(s.table.markAsleep(c))
	case d.Backing == SleepDiscard:
		left = c.Run.Pages
		s.physical.makeIdle(s.owner, numbers, s.table.markAsleep(c))
		clear(numbers)
	default:
		left = c.Run.Pages
		s.physical.discharge(left, 0)
	}
	s.table.used -= left
	s.table.saved.Add(c)
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
