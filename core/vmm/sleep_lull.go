package vmm

import (
	"context"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
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
func (s *space) copyOut(ctx context.Context, d *dozing) error {
	if d.Backing == SleepDiscard || len(d.jobs) == 0 {
		return nil
	}
	t := &transfer{space: s, ctx: ctx, op: "sleep", jobs: d.jobs, copy: s.copyToBlock}
	if d.Backing == SleepToFile {
		if err := s.openSleepFile(d); err != nil {
			return err
		}
		t.copy = s.copyToFile
	}
	err := t.run(d.Streams)
	if err == nil && d.file != nil {
		err = s.seal(d.file)
	}
	return err
}

func (s *space) openSleepFile(d *dozing) (err error) {
	chunks := make([]*chunk, len(d.jobs))
	for i, j := range d.jobs {
		chunks[i] = j.chunk
	}
	if d.file, err = s.newSleepFile(d.Dir, chunks); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(engine.Asleep{FileBytes: pagesOf(d.jobs) * s.extent.PageBytes})
	return nil
}

func (s *space) copyToBlock(l *lane, j job) error {
	size := j.chunk.run.Pages * s.extent.PageBytes
	kept, err := s.physical.keepers.takeBlock(size)
	if err != nil {
		return err
	}
	j.chunk.block = kept
	s.mu.Lock()
	s.hold(engine.Asleep{HostBytes: size})
	s.mu.Unlock()
	return l.toHost(j, kept.addr)
}

func (s *space) copyToFile(l *lane, j job) error {
	size := j.chunk.run.Pages * s.extent.PageBytes
	buffer, err := l.staging(size)
	if err != nil {
		return err
	}
	if err := l.toHost(j, buffer.addr); err != nil {
		return err
	}
	return s.writeChunk(j.chunk, buffer.bytes[:size])
}

// giveUp gives the pages of unmapped jobs back to the device. They stay charged until
// the Sleep has ended, so that they are everybody's at one moment.
func (s *space) giveUp(jobs []job) {
	for _, j := range jobs {
		if !j.unmapped {
			continue
		}
		pages := s.takePages(j.chunk)
		if err := s.physical.surrender(s.owner, pages); err != nil {
			s.physical.engine.Log(engine.Warning, fmt.Sprintf("%q could not give back pages of what sleeps: %v", s.owner.name, err))
		}
	}
}

// takePages takes the pages of an unmapped chunk out of the page table and the books.
func (s *space) takePages(c *chunk) []device.Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := s.numbers[c.run.Start:c.run.End()]
	pages := slices.Clone(numbers)
	clear(numbers)
	s.physical.giveUp(s.layDown(c), uint64(len(pages)))
	return pages
}

// layDown makes live pages ones that sleep, and says what they were asked for with.
// The caller holds mu.
func (s *space) layDown(c *chunk) track.Block {
	sizes := s.asked(c.run)
	s.live.Remove(c.run)
	s.asleep.Add(c.run)
	s.requested -= sizes.RequestedBytes
	s.tags.Leave(c.tag, sizes, 0)
	return sizes
}

// standUp makes pages live that slept. The caller holds mu.
func (s *space) standUp(r pageset.Run, tag uint32) {
	sizes := s.asked(r)
	s.asleep.Remove(r)
	s.live.Add(r)
	s.requested += sizes.RequestedBytes
	s.tags.Enter(tag, sizes, 0)
	s.physical.wakeUp(sizes)
}

// asked is the sizes of pages of allocations.
func (s *space) asked(r pageset.Run) (sum track.Block) {
	sum.AllocatedBytes = r.Pages * s.extent.PageBytes
	for at := r.Start; at < r.End(); {
		number, first := s.allocated[at], at
		for at < r.End() && s.allocated[at] == number {
			at++
		}
		sum.RequestedBytes += s.records.all[number-1].share(first*s.extent.PageBytes, at*s.extent.PageBytes)
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
