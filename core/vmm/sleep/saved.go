package sleep

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// Saved has what is kept for the sleeping pages of one address space: the tags that are
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
	if c.Discarded() {
		s.Hold(engine.Asleep{DiscardedBytes: c.Run.Pages * s.extent.PageBytes})
	}
}

// Abandon drops the kept contents of a chunk that is not asleep any more, or did not
// fall asleep.
func (s *Saved) Abandon(c *Chunk) {
	if !c.pinned {
		s.dropped = append(s.dropped, c)
	}
}

// RemoveAwake removes all sleeping pages of a chunk, because they are awake.
func (s *Saved) RemoveAwake(j Job) {
	if j.Chunk.Discarded() {
		s.release(engine.Asleep{DiscardedBytes: j.Chunk.left * s.extent.PageBytes})
	}
	for _, r := range j.Runs {
		s.kept.remove(r, func(*Chunk, pageset.Run) {})
	}
	s.Abandon(j.Chunk)
}

// Forget removes freed pages that were asleep.
func (s *Saved) Forget(r pageset.Run) {
	s.kept.remove(r, func(c *Chunk, part pageset.Run) {
		if c.Discarded() {
			s.release(engine.Asleep{DiscardedBytes: part.Pages * s.extent.PageBytes})
		}
		if c.left == 0 {
			s.Abandon(c)
		}
	})
}

// Keep takes over what a transfer could not close.
func (s *Saved) Keep(left []Leftover) {
	for _, l := range left {
		if l.chunk != nil {
			l.chunk.pinned = true
		}
	}
	s.leftovers = append(s.leftovers, left...)
}

// Clean reports whether nothing has to be freed.
func (s *Saved) Clean() bool { return len(s.dropped)+len(s.leftovers) == 0 }

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

// Sweep frees what is not needed any more, in steps: Take, Close, Settle, Drop and End.
type Sweep struct {
	dropped      []*Chunk
	open, closed []Leftover
	was          engine.Asleep
}

// Take begins a Sweep with everything that is to be freed.
func (s *Saved) Take() *Sweep {
	w := &Sweep{dropped: s.dropped, open: s.leftovers}
	s.dropped, s.leftovers = nil, nil
	return w
}

// Close tries again to close streams. The caller holds no lock.
func (w *Sweep) Close() (err error) {
	left := w.open
	w.open = nil
	for _, l := range left {
		if failure := l.stream.Close(); failure != nil && !errors.Is(failure, device.CodeInvalidState) {
			w.open, err = append(w.open, l), failure
		} else {
			w.closed = append(w.closed, l)
		}
	}
	return err
}

// Settle takes the open streams back, and frees what the closed ones used.
func (s *Saved) Settle(w *Sweep) {
	s.leftovers = append(s.leftovers, w.open...)
	for _, l := range w.closed {
		if l.buffer != nil {
			l.buffer.Free()
		}
		if l.chunk != nil {
			if l.chunk.pinned = false; l.chunk.left == 0 {
				w.dropped = append(w.dropped, l.chunk)
			}
		}
	}
}

// Drop frees the kept contents of chunks, and returns the errors of files that could
// not be removed. The caller holds no lock.
func (w *Sweep) Drop() (failures []error) {
	for _, c := range w.dropped {
		was, err := c.drop()
		w.was = w.was.Plus(was)
		if err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}

// End subtracts the freed bytes from those that are held.
func (s *Saved) End(w *Sweep) { s.release(w.was) }
