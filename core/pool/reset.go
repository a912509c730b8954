package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// Reset frees every block that is live when it is called, as Free does on a stream (nil:
// the default one), and takes back what the caches hold. A block that another thread
// takes meanwhile may go with them or stay: Reset goes over the blocks in slices, and
// holds others up for one of them at most. It does not wait. Errors: those of the
// stream; CodeResourceExhausted when there is no memory to note the blocks behind queued
// work. Then nothing was freed, unless another thread has taken blocks or that memory
// meanwhile: then what was not freed is live.
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
	if err = p.roomForAll(j); err != nil {
		p.Land()
		err = p.roomForAll(j)
	}
	if err == nil {
		err = p.freeAll(j)
	}
	p.heap.changed()
	return p.told(j, errors.Join(err, j.closeMarks()))
}

// roomForAll has room for all live blocks behind queued work, as far as they may need
// it, so that a reset fails before it has freed any.
func (p *Pool) roomForAll(j *pendingFree) error {
	live := p.Statistics().LiveBlocks.Current
	p.heap.lock()
	defer p.heap.mu.Unlock()
	links := p.heap.streams.linked()
	if j.waits() {
		links += live
	}
	blocks := min(live, links)
	if err := p.heap.inFlight.Reserve(int(blocks), int(links)); err != nil {
		return p.heap.noRoomInFlight(opReset, int(blocks), err)
	}
	return nil
}

// freeAll frees the live blocks of the pool's own behind the marks of a free, which
// stay that free's.
func (p *Pool) freeAll(j *pendingFree) error {
	w := tour{heap: &p.heap}
	for more := true; more; {
		var err error
		if more, err = p.freeSome(j, &w); err != nil {
			return err
		}
		w.pace.Rest()
	}
	return nil
}

// freeSome is a slice of freeAll. One in which a stream has no mark yet comes again.
func (p *Pool) freeSome(j *pendingFree, w *tour) (more bool, err error) {
	before := *w
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return false, p.heap.closedError(opReset)
	}
	found := p.heap.scratch.slice[:0]
	more = w.next(func(l located) {
		if l.info().state() == blockLive {
			found = append(found, l)
		}
	})
	p.heap.scratch.slice = found
	j.missing = nil
	if p.unmarked(j, found); len(j.missing) > 0 {
		p.heap.mu.Unlock()
		*w = before
		p.markAll(j, j.missing)
		return true, nil
	}
	if err := p.roomFor(j, len(found), p.linksOf(j, found)); err != nil {
		p.heap.mu.Unlock()
		*w = before
		if j.landed {
			return false, err
		}
		j.landed = true
		p.Land()
		return true, nil
	}
	p.retireFound(j, found)
	p.dropUnused(j)
	if p.heap.inFlight.Count() > 0 {
		p.heap.land(inflight.PollBudget)
	}
	overfull := p.heap.overfull
	p.heap.mu.Unlock()
	if overfull {
		p.supply.shrink()
	}
	return more, nil
}
