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

// How pages fall asleep, so that a Sleep is all or nothing. First all bytes are copied;
// the pages stay mapped and are not touched, so until the last copy is made there is
// nothing to take back but the copies. Then everything is unmapped, and the pages are
// still the space's: what the device refuses is undone by mapping the same ones again
// (sleep_end.go). Only then are they given up, all in one step for whoever counts them:
// no page that was given up is ever needed again. The price is that the bytes are there
// twice for the length of the call, in the pages and in what is kept of them.

// lull copies the jobs of a Sleep and unmaps them, all or none.
func (s *space) lull(ctx context.Context, d *dozing) error {
	if err := s.copyOut(ctx, d); err != nil {
		return err
	}
	// From here on nothing waits, and nothing stops it.
	if err := s.stopped(ctx, "sleep"); err != nil {
		return err
	}
	return s.unmapJobs(d)
}

// copyOut keeps the bytes of all jobs.
func (s *space) copyOut(ctx context.Context, d *dozing) (err error) {
	if d.Backing == SleepDiscard || len(d.jobs) == 0 {
		return nil
	}
	t := s.transfer(ctx, "sleep", d.jobs)
	var left []sleep.Leftover
	if d.Backing == SleepToFile {
		d.path, left, err = t.ToFile(d.Dir, d.Streams)
	} else {
		left, err = t.ToMemory(d.Streams)
	}
	s.keepOpen(left)
	return err
}

// transfer is one of the bytes of jobs, as long as the context and the space allow it.
func (s *space) transfer(ctx context.Context, op string, jobs []sleep.Job) *sleep.Transfer {
	return &sleep.Transfer{
		Device: s.physical.engine.Device(), Extent: &s.table.extent, Keepers: &s.physical.keepers, Op: op, Jobs: jobs,
		Stopped: func() error { return s.stopped(ctx, op) }, Held: s.hold,
	}
}

// copyBack gives the pages of jobs what is kept of them.
func (s *space) copyBack(t *sleep.Transfer, streams int) error {
	left, err := t.Back(streams)
	s.keepOpen(left)
	return err
}

// keepOpen keeps what a transfer could not close.
func (s *space) keepOpen(left []sleep.Leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.Keep(left)
}

// giveUp gives the pages of unmapped jobs back to the device. They stay charged until
// the Sleep has ended, so that they are everybody's at one moment.
func (s *space) giveUp(jobs []sleep.Job) {
	for _, j := range jobs {
		if !j.Unmapped {
			continue
		}
		pages := s.takePages(j.Chunk)
		if err := s.physical.surrender(s.owner, pages); err != nil {
			s.physical.engine.Log(engine.Warning, fmt.Sprintf("%q could not give back pages of what sleeps: %v", s.owner.name, err))
		}
	}
}

// takePages takes the pages of an unmapped chunk out of the page table and the books.
func (s *space) takePages(c *sleep.Chunk) []device.Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := s.table.numbers[c.Run.Start:c.Run.End()]
	pages := slices.Clone(numbers)
	clear(numbers)
	s.physical.giveUp(s.table.layDown(c), uint64(len(pages)))
	return pages
}

// layDown makes live pages ones that sleep, and says what they were asked for with.
// The caller holds mu.
func (t *pageTable) layDown(c *sleep.Chunk) track.Block {
	sizes := t.asked(c.Run)
	t.live.Remove(c.Run)
	t.asleep.Add(c.Run)
	t.requested -= sizes.RequestedBytes
	t.tags.Remove(c.Tag, sizes, 0)
	return sizes
}

// standUp makes pages live that slept, and gives their sizes. The caller holds mu.
func (t *pageTable) standUp(r pageset.Run, tag uint32) track.Block {
	sizes := t.asked(r)
	t.asleep.Remove(r)
	t.live.Add(r)
	t.requested += sizes.RequestedBytes
	t.tags.Add(tag, sizes, 0)
	return sizes
}

// asked is the sizes of pages of allocations.
func (t *pageTable) asked(r pageset.Run) (sum track.Block) {
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

// giveUp takes pages of allocations out of the books that are on their way to the
// device, and stay charged.
func (ph *Physical) giveUp(sizes track.Block, pages uint64) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.books.FreeMany(sizes, 0)
	ph.moving += pages
}

// surrender gives moving pages back to the device; those that it does not take are
// idle.
func (ph *Physical) surrender(o *owner, pages []device.Page) error {
	err := ph.engine.ReleasePages(pages, ph.pageBytes)
	ph.mu.Lock()
	defer ph.mu.Unlock()
	defer ph.arrived.Broadcast()
	count := uint64(len(pages))
	ph.moving -= count
	if err != nil {
		ph.lay(o, pages)
		ph.watchIdle()
		return err
	}
	ph.created -= count
	ph.books.RemovePages(count * ph.pageBytes)
	return nil
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
