package pool

import (
	"errors"
	"slices"
	"sync/atomic"

	"ferrum_mem/core/device"
)

const opReset = "pool.reset"

// Reset frees every block that is live when it is called, as Free does on a stream (nil:
// the default one), and takes back what the caches hold. A block that another thread
// takes meanwhile may go with them or stay: Reset goes over the blocks in slices, and
// holds others up for one of them at most. It does not wait. Errors: those of the
// stream; then nothing was freed.
func (p *Pool) Reset(stream device.Stream) error {
	if stream == nil {
		stream = p.defaultStream
	}
	p.Flush()
	idle, err := isDry(stream)
	if err != nil {
		return err
	}
	j := &leave{stream: stream, idle: idle}
	if !idle {
		if err := j.mark(stream); err != nil {
			return err
		}
	}
	p.adoptAll()
	err = p.freeAll(j)
	p.changed()
	return p.told(j, errors.Join(err, j.closeMarks()))
}

// freeAll frees the live blocks of the pool's own behind the marks of a free, which
// stay that free's.
func (p *Pool) freeAll(j *leave) error {
	w := tour{pool: p}
	for more := true; more; {
		var err error
		if more, err = p.freeSome(j, &w); err != nil {
			return err
		}
	}
	return nil
}

// freeSome is a slice of freeAll. One in which a stream has no mark yet comes again.
func (p *Pool) freeSome(j *leave, w *tour) (more bool, err error) {
	before := *w
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return false, p.closedError(opReset)
	}
	found := p.scratch.slice[:0]
	more = w.next(func(l located) {
		if l.info().state() == blockLive {
			found = append(found, l)
		}
	})
	p.scratch.slice = found
	if missing := p.unmarked(j, found); len(missing) > 0 {
		p.mu.Unlock()
		*w = before
		p.markAll(j, missing)
		return true, nil
	}
	part := *j
	part.marks = j.lendMarks()
	p.retireFound(&part, found)
	j.reports = part.reports
	if p.flights.count > 0 {
		p.land(pollBudget)
	}
	overfull := p.overfull
	p.mu.Unlock()
	if overfull {
		p.shrink()
	}
	return more, nil
}

// lendMarks gives marks that stand for those of a free as often as they are lent, and
// that are all to be closed.
func (j *leave) lendMarks() []device.Event {
	lent := slices.Clone(j.marks)
	for i, mark := range j.marks {
		if mark == nil {
			continue
		}
		shared, ok := mark.(*sharedMark)
		if !ok {
			shared = &sharedMark{Event: mark}
			shared.uses.Store(1)
			j.marks[i] = shared
		}
		shared.uses.Add(1)
		lent[i] = shared
	}
	return lent
}

// sharedMark is an event that several fences stand on. Each closes it, and the last
// does so in truth.
type sharedMark struct {
	device.Event
	uses atomic.Int32
}

// Close implements device.Event. One that fails may be called again.
func (m *sharedMark) Close() error {
	if m.uses.Add(-1) > 0 {
		return nil
	}
	err := m.Event.Close()
	if err != nil {
		m.uses.Add(1)
	}
	return err
}
