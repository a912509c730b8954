package vmm

import (
	"context"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// How pages fall asleep, all or nothing. First all bytes are copied. The pages stay
// mapped and unchanged, so until the last copy is made only the copies have to be
// undone. Then everything is unmapped, and the pages still belong to the space: if the
// device fails, the same pages are mapped again (sleep_end.go). Only then are the pages
// released, in one step for all counters. So no released page is ever needed again. The
// price is that the bytes exist twice during the call: in the pages and in the copies.
// Contents that are kept in place (in_place.go) need no copies.

// copyAndUnmap copies and unmaps the jobs of a Sleep, all or none.
func (s *space) copyAndUnmap(ctx context.Context, d *sleepCall) error {
	if err := s.copyOut(ctx, d); err != nil {
		return err
	}
	// From here on nothing waits and nothing stops the Sleep.
	if err := s.stopped(ctx, "sleep"); err != nil {
		return err
	}
	return s.unmapJobs(d)
}

// copyOut copies the bytes of all jobs, unless they are kept in place.
func (s *space) copyOut(ctx context.Context, d *sleepCall) (err error) {
	if d.Backing == SleepDiscard || len(d.jobs) == 0 {
		return nil
	}
	if s.physical.mapper.keeps(d.Backing) {
		for _, j := range d.jobs {
			j.Chunk.KeepInPlace()
		}
		return nil
	}
	t := s.transfer(ctx, "sleep", d.jobs)
	var left []sleep.Leftover
	if d.Backing == SleepToFile {
		d.path, left, err = t.ToFile(d.Dir, d.Streams)
	} else {
		left, err = t.ToMemory(d.Streams)
		if reason := t.Pageable(); reason != nil {
			s.physical.engine.Log(engine.Warning, fmt.Sprintf("%s sleeps in pageable memory, from which it wakes more slowly: %v", s.table.extent.Title(), reason))
		}
	}
	s.keepOpen(left)
	return err
}

// transfer returns a Transfer of jobs. It stops when the context ends or the space
// closes.
func (s *space) transfer(ctx context.Context, op string, jobs []sleep.Job) *sleep.Transfer {
	return &sleep.Transfer{
		Device: s.physical.engine.Device(), Extent: &s.table.extent, Keepers: &s.physical.keepers, Op: op, Jobs: jobs,
		Stopped: func() error { return s.stopped(ctx, op) }, Held: s.hold,
	}
}

// copyBack copies the kept bytes back to the pages of jobs.
func (s *space) copyBack(t *sleep.Transfer, streams int) error {
	left, err := t.Back(streams)
	s.keepOpen(left)
	return err
}

// keepOpen records the resources that a transfer could not close.
func (s *space) keepOpen(left []sleep.Leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.Keep(left)
}

// releaseUnmapped releases the pages of unmapped jobs to the device. They stay charged until the
// Sleep has ended, so that all become available at one moment.
func (s *space) releaseUnmapped(jobs []sleep.Job) {
	for _, j := range jobs {
		if !j.Unmapped {
			continue
		}
		pages := s.takePages(j.Chunk)
		if err := s.physical.releaseMoving(s.owner, pages); err != nil {
			s.physical.engine.Log(engine.Warning, fmt.Sprintf("%s could not release pages of a sleeping range: %v", s.table.extent.Title(), err))
		}
	}
}

// takePages removes the pages of an unmapped chunk from the page table and the
// counters.
func (s *space) takePages(c *sleep.Chunk) []device.Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := s.table.numbers[c.Run.Start:c.Run.End()]
	pages := slices.Clone(numbers)
	clear(numbers)
	s.physical.uncount(s.table.markAsleep(c), uint64(len(pages)))
	return pages
}

// markAsleep marks live pages as asleep, and returns their sizes. The caller holds mu.
func (t *pageTable) markAsleep(c *sleep.Chunk) track.Block {
	sizes := t.sizesOf(c.Run)
	t.live.Remove(c.Run)
	t.asleep.Add(c.Run)
	t.requested -= sizes.RequestedBytes
	t.tags.Remove(c.Tag, sizes, 0)
	return sizes
}

// markLive marks sleeping pages as live, and returns their sizes. The caller holds mu.
func (t *pageTable) markLive(r pageset.Run, tag uint32) track.Block {
	sizes := t.sizesOf(r)
	t.asleep.Remove(r)
	t.live.Add(r)
	t.requested += sizes.RequestedBytes
	t.tags.Add(tag, sizes, 0)
	return sizes
}

// sizesOf returns the requested and allocated bytes of allocated pages.
func (t *pageTable) sizesOf(r pageset.Run) (sum track.Block) {
	sum.AllocatedBytes = r.Pages * t.extent.PageBytes
	for at := r.Start; at < r.End(); {
		number, first := t.allocated[at], at
		for at < r.End() && t.allocated[at] == number {
			at++
		}
		sum.RequestedBytes += t.records.all[number-1].share(first*t.extent.PageBytes, at*t.extent.PageBytes)
	}
	return sum
}

// uncount removes the pages of allocations from the counters while they are being
// released. They stay charged.
func (ph *Physical) uncount(sizes track.Block, pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.FreeMany(sizes, 0)
	ph.moving += pages
}

// releaseMoving releases moving pages to the device. Pages that the device fails to release
// become idle.
func (ph *Physical) releaseMoving(o *owner, pages []device.Page) error {
	err := ph.engine.ReleasePages(pages, ph.pageBytes)
	ph.mu.Lock()
	defer ph.mu.Unlock()
	defer ph.arrived.Broadcast()
	count := uint64(len(pages))
	ph.moving -= count
	if err != nil {
		ph.addIdle(o, pages)
		ph.watchIdle()
		return err
	}
	ph.created -= count
	ph.counters.RemovePages(count * ph.pageBytes)
	return nil
}

// makeIdle makes the used pages of allocations that go to sleep idle.
func (ph *Physical) makeIdle(o *owner, pages []device.Page, sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.FreeMany(sizes, 0)
	ph.used -= uint64(len(pages))
	ph.addIdle(o, pages)
	ph.arrived.Broadcast()
	ph.watchIdle()
}

// countMapped counts pages as active without a live allocation, because their allocation is
// asleep and the pages are still mapped.
func (ph *Physical) countMapped(sizes track.Block) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.counters.FreeMany(sizes, 0)
	ph.counters.Activate(sizes.AllocatedBytes)
}
