package sleep

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
)

// Leftover has the objects that a lane could not close: its stream, the events and
// staging buffers of its last copies, and the chunks whose memory they may still use.
type Leftover struct {
	// stream is nil when it is closed.
	stream  device.Stream
	events  []device.Event
	buffers []*Block
	chunks  []*Chunk
}

// close closes and frees what is left. No memory is freed before the stream is closed.
func (l *Leftover) close() error {
	if l.stream != nil {
		if err := l.stream.Close(); err != nil && !errors.Is(err, device.CodeInvalidState) {
			return err
		}
		l.stream = nil
	}
	var failed error
	l.events = closeEach(l.events, func(e device.Event) error {
		if err := e.Close(); !errors.Is(err, device.CodeInvalidState) {
			return err
		}
		return nil
	}, &failed)
	l.buffers = closeEach(l.buffers, freeStaged, &failed)
	return failed
}

// closeEach calls end for each item, and returns those for which it failed.
func closeEach[T any](items []T, end func(T) error, failed *error) (left []T) {
	for _, item := range items {
		if err := end(item); err != nil {
			left, *failed = append(left, item), err
		}
	}
	return left
}

// Sweep frees what is not needed any more, in steps: Take, Close, Settle, DropStale, Drop and
// End.
type Sweep struct {
	dropped      []*Chunk
	open, closed []Leftover
	stale        []stalePages

	mu  sync.Mutex
	was engine.Asleep
	// kept has the chunks whose memory the device did not free.
	kept     []*Chunk
	failures []error
}

// Take begins a Sweep with everything that is to be freed.
func (s *Saved) Take() *Sweep {
	w := &Sweep{dropped: s.dropped, open: s.leftovers, stale: s.stale}
	s.dropped, s.leftovers, s.stale = nil, nil, nil
	return w
}

// Close tries again to close streams. The caller holds no lock.
func (w *Sweep) Close() (err error) {
	left := w.open
	w.open = nil
	for _, l := range left {
		if failure := l.close(); failure != nil {
			w.open, err = append(w.open, l), failure
		} else {
			w.closed = append(w.closed, l)
		}
	}
	return err
}

// Settle takes the open streams back, and releases the chunks that the closed ones used.
func (s *Saved) Settle(w *Sweep) {
	s.leftovers = append(s.leftovers, w.open...)
	for _, l := range w.closed {
		for _, c := range l.chunks {
			if c.uses--; c.uses == 0 && c.left == 0 {
				w.dropped = append(w.dropped, c)
			}
		}
	}
}

// DropStale drops what freed pages keep in place. What fails is kept for the next Sweep. The
// caller holds no lock.
func (w *Sweep) DropStale(drop func(r pageset.Run, mark uint32) error) (err error) {
	left := w.stale[:0]
	for _, p := range w.stale {
		if failure := drop(p.run, p.mark); failure != nil {
			left, err = append(left, p), failure
		}
	}
	w.stale = left
	return err
}

// Drop frees the kept contents of chunks. It returns the errors of files that could not
// be removed, and the error of memory that could not be freed, which is kept for the
// next Sweep. The caller holds no lock.
func (w *Sweep) Drop() (failures []error, err error) {
	var next atomic.Int64
	work := func() {
		for {
			at := next.Add(1) - 1
			if at >= int64(len(w.dropped)) {
				return
			}
			w.drop(w.dropped[at], &err)
		}
	}
	var helpers []<-chan struct{}
	for range w.helpers() {
		helpers = append(helpers, device.Go("vmm.sleep", work))
	}
	work()
	for _, ended := range helpers {
		<-ended
	}
	return w.failures, err
}

// helpers returns how many further threads free memory. Unlocking pages takes about as
// long as locking them, and each call waits for the device, so several run at once.
func (w *Sweep) helpers() int {
	locked := 0
	for _, c := range w.dropped {
		if c.block != nil && c.block.Locked {
			locked++
		}
	}
	return max(0, min(locked, runtime.GOMAXPROCS(0), defaultStreams)-1)
}

func (w *Sweep) drop(c *Chunk, failed *error) {
	freed, err := c.dropBlock()
	removed, failure := c.dropFile()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.was = w.was.Plus(freed).Plus(removed)
	if err != nil {
		w.kept, *failed = append(w.kept, c), err
	}
	if failure != nil {
		w.failures = append(w.failures, failure)
	}
}

// End subtracts the freed bytes from those that are held.
func (s *Saved) End(w *Sweep) {
	s.release(w.was)
	s.dropped = append(s.dropped, w.kept...)
	s.stale = append(s.stale, w.stale...)
}
