package sleep

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// Saved has the state of the sleeping pages of one address space: the tags that are
// asleep, the chunks, the sizes for the engine's counters, and the resources to free.
// The lock of its user guards it.
type Saved struct {
	Tags Tags

	kept     kept
	extent   *extent.Extent
	counters *engine.Engine
	held     engine.Asleep
	// dropped has chunks that are not needed any more. leftovers has streams of
	// transfers that could not be closed.
	dropped   []*Chunk
	leftovers []Leftover
	// stale has pages that were freed, with their contents kept in place.
	stale []stalePages
}

// stalePages are pages that were freed while their contents were kept in place.
type stalePages struct {
	run  pageset.Run
	mark uint32
}

// Open prepares Saved for an address space in which nothing is asleep.
func (s *Saved) Open(e *extent.Extent, counters *engine.Engine) error {
	s.extent, s.counters = e, counters
	return s.kept.open(e.Pages)
}

// Detach detaches the memory of its table. The caller frees it without a lock.
func (s *Saved) Detach() offheap.Detached { return offheap.Detached{s.kept.detach()} }

// Bytes returns the address space that its table reserves.
func (s *Saved) Bytes() uint64 { return s.kept.bytes() }

// Held returns the bytes that are held outside the device.
func (s *Saved) Held() engine.Asleep { return s.held }

// Hold counts bytes that are held outside the device.
func (s *Saved) Hold(a engine.Asleep) {
	s.held = s.held.Plus(a)
	s.counters.AddAsleep(a)
}

// release undoes Hold.
func (s *Saved) release(a engine.Asleep) {
	s.held = s.held.Minus(a)
	s.counters.RemoveAsleep(a)
}

// Add makes all pages of a chunk asleep in it.
func (s *Saved) Add(c *Chunk) {
	s.kept.add(c)
	s.Hold(c.heldBy(c.Run.Pages * s.extent.PageBytes))
}

// Abandon drops the kept contents of a chunk that is not asleep any more, or did not
// fall asleep.
func (s *Saved) Abandon(c *Chunk) {
	if c.uses == 0 {
		s.dropped = append(s.dropped, c)
	}
}

// RemoveAwake removes all sleeping pages of a chunk, because they are awake.
func (s *Saved) RemoveAwake(j Job) {
	s.release(j.Chunk.heldBy(j.Chunk.left * s.extent.PageBytes))
	for _, r := range j.Runs {
		s.kept.remove(r, func(*Chunk, pageset.Run) {})
	}
	s.Abandon(j.Chunk)
}

// Forget removes freed pages that were asleep.
func (s *Saved) Forget(r pageset.Run) {
	s.kept.remove(r, func(c *Chunk, part pageset.Run) {
		s.release(c.heldBy(part.Pages * s.extent.PageBytes))
		if c.mark != 0 {
			s.stale = append(s.stale, stalePages{run: part, mark: c.mark})
		}
		if c.left == 0 {
			s.Abandon(c)
		}
	})
}

// Keep takes over the objects that a transfer could not close.
func (s *Saved) Keep(left []Leftover) {
	for _, l := range left {
		for _, c := range l.chunks {
			c.uses++
		}
	}
	s.leftovers = append(s.leftovers, left...)
}

// Clean reports whether nothing has to be freed.
func (s *Saved) Clean() bool { return len(s.dropped)+len(s.leftovers)+len(s.stale) == 0 }

// DroppedPinned returns the size of the page-locked memory that has to be freed.
func (s *Saved) DroppedPinned() (bytes uint64) {
	for _, c := range s.dropped {
		if c.block != nil && c.block.Locked {
			bytes += uint64(len(c.block.Bytes))
		}
	}
	return bytes
}

// Jobs returns the sleeping pages of the chunks whose tag some accepts, in the order of
// their first pages.
func (s *Saved) Jobs(some func(tag uint32) bool) (jobs []Job) {
	for _, c := range s.kept.ordered() {
		if some(c.Tag) {
			jobs = append(jobs, Job{Chunk: c, Runs: s.kept.partsOf(c)})
		}
	}
	return jobs
}
