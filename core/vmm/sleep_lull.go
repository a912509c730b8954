package vmm

import (
	"context"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// How pages fall asleep. The bytes of a chunk are copied, the chunk is unmapped, and
// its pages go back to the device at once, while other chunks are still being copied:
// beside what is kept no more than a chunk for each stream is there twice. The pages
// stay charged to the space until the Sleep is over, so that nobody else can have
// them while it may have to be undone. What is discarded keeps its pages until all of
// it is unmapped: nothing else could bring it back.

// lull puts the jobs of a Sleep to sleep, until one fails.
func (s *space) lull(ctx context.Context, d *dozing) (err error) {
	const op = "sleep"
	if d.Backing == SleepDiscard {
		for _, j := range d.jobs {
			if err = s.stopped(ctx, op); err == nil {
				err = s.unmapChunk(j.chunk)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if len(d.jobs) == 0 {
		return nil
	}
	keep := s.copyToBlock
	if d.Backing == SleepToFile {
		if err = s.openSleepFile(d); err != nil {
			return err
		}
		keep = s.copyToFile
	}
	t := &transfer{space: s, ctx: ctx, op: op, jobs: d.jobs, copy: func(l *lane, j job) error {
		err := keep(l, j)
		if err == nil {
			err = s.unmapChunk(j.chunk)
		}
		if err == nil {
			s.giveUp(j.chunk)
		}
		return err
	}}
	if err = t.run(d.Streams); err == nil && d.file != nil {
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
	s.hold(engine.Asleep{FileBytes: pagesOf(d.jobs) * s.pageBytes})
	return nil
}

func (s *space) copyToBlock(l *lane, j job) error {
	size := j.chunk.run.pages * s.pageBytes
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
	size := j.chunk.run.pages * s.pageBytes
	buffer, err := l.staging(size)
	if err != nil {
		return err
	}
	if err := l.toHost(j, buffer.addr); err != nil {
		return err
	}
	return s.writeChunk(j.chunk, buffer.bytes[:size])
}

func (s *space) unmapChunk(c *chunk) error {
	err := s.physical.virtual.Unmap(s.addr(c.run.start), c.run.pages*s.pageBytes)
	if err == nil {
		c.stage = chunkUnmapped
	}
	return err
}

// giveUp gives the pages of an unmapped chunk back to the device. They stay charged.
func (s *space) giveUp(c *chunk) {
	ph := s.physical
	s.mu.Lock()
	numbers := s.numbers[c.run.start:c.run.end()]
	pages := slices.Clone(numbers)
	clear(numbers)
	ph.giveUp(s.layDown(c), uint64(len(pages)))
	c.stage = chunkGiven
	s.mu.Unlock()
	if err := ph.surrender(s.owner, pages); err != nil {
		ph.engine.Log(engine.Warning, fmt.Sprintf("%q could not give back pages of what sleeps: %v", s.owner.name, err))
	}
}

// layDown makes live pages ones that sleep, and says what they were asked for with.
// The caller holds mu.
func (s *space) layDown(c *chunk) track.Block {
	sizes := s.asked(c.run)
	s.live.remove(c.run)
	s.asleep.add(c.run)
	s.requested -= sizes.RequestedBytes
	s.tags.Leave(c.tag, sizes, 0)
	return sizes
}

// standUp makes pages live that slept. The caller holds mu.
func (s *space) standUp(r run, tag uint32) {
	sizes := s.asked(r)
	s.asleep.remove(r)
	s.live.add(r)
	s.requested += sizes.RequestedBytes
	s.tags.Enter(tag, sizes, 0)
	s.physical.wakeUp(sizes)
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
