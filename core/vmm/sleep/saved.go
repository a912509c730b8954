package sleep

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// Saved is what is kept of the pages of one address space that sleep: which tags sleep,
// the chunks, what they hold by the books of the engine, and what has to be given back.
// Its user's lock guards it.
type Saved struct {
	Tags Tags

	kept   kept
	extent *extent.Extent
	books  *engine.Engine
	held   engine.Asleep
	// dropped are chunks that nobody needs any more and leftovers streams of transfers
	// that could not be closed.
	dropped   []*Chunk
	leftovers []Leftover
}

// Open is for the pages of an address space, of which nothing sleeps.
func (s *Saved) Open(e *extent.Extent, books *engine.Engine) error {
	s.extent, s.books = e, books
	return s.kept.open(e.Pages)
}

// Detach takes the memory of its table, for the caller to free without a lock.
func (s *Saved) Detach() offheap.Detached { return offheap.Detached{s.kept.detach()} }

// Bytes is the address space that its table has for itself.
func (s *Saved) Bytes() uint64 { return s.kept.bytes() }

// Held is what is held elsewhere.
func (s *Saved) Held() engine.Asleep { return s.held }

// Hold enters what is held elsewhere.
func (s *Saved) Hold(a engine.Asleep) {
	s.held = s.held.Plus(a)
	s.books.AddAsleep(a)
}

// release takes out what Hold has entered.
func (s *Saved) release(a engine.Asleep) {
	s.held = s.held.Minus(a)
	s.books.RemoveAsleep(a)
}

// Add makes all pages of a chunk ones that sleep in it.
func (s *Saved) Add(c *Chunk) {
	s.kept.add(c)
	if c.Discarded() {
		s.Hold(engine.Asleep{DiscardedBytes: c.Run.Pages * s.extent.PageBytes})
	}
}

// Abandon drops what is kept of a chunk that is not to sleep after all.
func (s *Saved) Abandon(c *Chunk) {
	if !c.pinned {
		s.dropped = append(s.dropped, c)
	}
}

// Rouse takes all pages of a chunk that sleep out: they are awake.
func (s *Saved) Rouse(j Job) {
	if j.Chunk.Discarded() {
		s.release(engine.Asleep{DiscardedBytes: j.Chunk.left * s.extent.PageBytes})
	}
	for _, r := range j.Runs {
		s.kept.remove(r, func(*Chunk, pageset.Run) {})
	}
	s.Abandon(j.Chunk)
}

// Forget takes freed pages that sleep out of what is kept.
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

// Clean says that nothing has to be given back.
func (s *Saved) Clean() bool { return len(s.dropped)+len(s.leftovers) == 0 }

// Jobs is what sleeps of the chunks of some tags, in the order of their first pages.
func (s *Saved) Jobs(some func(tag uint32) bool) (jobs []Job) {
	for _, c := range s.kept.ordered() {
		if some(c.Tag) {
			jobs = append(jobs, Job{Chunk: c, Runs: s.kept.partsOf(c)})
		}
	}
	return jobs
}

// Sweep is what nobody needs any more on its way back: Take, Close, Settle, Drop and End,
// one after the other.
type Sweep struct {
	dropped      []*Chunk
	open, closed []Leftover
	was          engine.Asleep
}

// Take begins one with all that there is.
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

// Settle takes back the streams that are still open, and frees what the others used.
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

// Drop gives back what was kept of chunks, and says which files could not be removed. The
// caller holds no lock.
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

// End takes what was given back out of what is held.
func (s *Saved) End(w *Sweep) { s.release(w.was) }
