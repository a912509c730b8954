package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// Reset frees every block that is live when it is called, as Free does on a stream (nil:
// the default one), and takes back the blocks of the caches. A block that another thread
// allocates meanwhile may be freed too, or stay. Reset processes the blocks in slices;
// other threads wait for one slice at most. It does not wait for queued work.
//
// Errors: those of the stream; CodeResourceExhausted if there is no memory to put the
// blocks behind queued work. After an error nothing was freed, unless another thread
// allocated blocks or used that memory meanwhile; then the blocks that were not freed are
// live.
func (p *Pool) Reset(stream device.Stream) error {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	p.Flush()
	idle, err := device.IsDry(stream)
	if err != nil {
		return err
	}
	j := &pendingFree{stream: stream, idle: idle, sliced: true}
	if !idle {
		if err := j.mark(stream); err != nil {
			return err
		}
	}
	p.leases.adoptAll()
	if err = p.frees.roomForAll(j, p.Statistics().LiveBlocks.Current); err != nil {
		p.CompleteFrees()
		err = p.frees.roomForAll(j, p.Statistics().LiveBlocks.Current)
	}
	if err == nil {
		err = p.frees.freeAll(j)
	}
	p.heap.changed()
	return p.frees.report(j, errors.Join(err, j.closeMarks()))
}

// roomForAll reserves space to put the given number of live blocks behind queued work, as
// far as they need it, so that a reset fails before it has freed a block.
func (f *frees) roomForAll(j *pendingFree, live uint64) error {
	f.heap.lock()
	defer f.heap.mu.Unlock()
	links := f.heap.streams.linked()
	if j.waits() {
		links += live
	}
	blocks := min(live, links)
	if err := f.heap.inFlight.Reserve(int(blocks), int(links)); err != nil {
		return f.heap.noRoomInFlight(opReset, int(blocks), err)
	}
	return nil
}

// freeAll frees the live blocks of the pool itself behind the events of a free. The free
// keeps its events.
func (f *frees) freeAll(j *pendingFree) error {
	w := tour{heap: f.heap}
	for more := true; more; {
		var err error
		if more, err = f.freeSome(j, &w); err != nil {
			return err
		}
		w.pace.Rest()
	}
	return nil
}

// freeSome is one slice of freeAll. If a stream of the slice has no event yet, the next
// call processes the same slice again.
func (f *frees) freeSome(j *pendingFree, w *tour) (more bool, err error) {
	before := *w
	f.heap.lock()
	if f.heap.state != stateOpen {
		f.heap.mu.Unlock()
		return false, f.heap.closedError(opReset)
	}
	found := f.heap.scratch.slice[:0]
	more = w.next(func(l located) {
		if l.info().state() == blockLive {
			found = append(found, l)
		}
	})
	f.heap.scratch.slice = found
	j.missing = nil
	if f.unmarked(j, found); len(j.missing) > 0 {
		f.heap.mu.Unlock()
		*w = before
		f.markAll(j, j.missing)
		return true, nil
	}
	if err := f.roomFor(j, len(found), f.linksOf(j, found)); err != nil {
		f.heap.mu.Unlock()
		*w = before
		if j.completed {
			return false, err
		}
		j.completed = true
		f.completeFrees()
		return true, nil
	}
	f.retireFound(j, found)
	f.dropUnused(j)
	if f.heap.inFlight.Count() > 0 {
		f.heap.completeFrees(inflight.PollBudget)
	}
	overfull := f.heap.overfull
	f.heap.mu.Unlock()
	if overfull {
		f.supply.shrink()
	}
	return more, nil
}
