package vmm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// errAsleep is the cause of refusals because something sleeps.
var errAsleep = errors.New("asleep")

// sleeper is what of a space sleeps. Beside turn it is under the space's lock.
type sleeper struct {
	// turn is taken by who puts something to sleep or wakes it.
	turn sleep.Turn
	// saved is what is kept of the pages that sleep.
	saved sleep.Saved
	// asleep are the pages of allocations that sleep, shifting those that are being
	// put to sleep (and live) or woken (and asleep).
	asleep, shifting pageset.Set
	// jammed counts pages that sleep but are still mapped, because the device would
	// not unmap them after a Wake that failed: they are used, and have their number.
	jammed uint64
	// forced says that the space is being closed whatever sleeps or wakes.
	forced bool
	// sleepWaits counts the allocations that wait for what sleeps.
	sleepWaits int
	counts     SleepStats
}

func (l *sleeper) open(e *extent.Extent, books *engine.Engine) error {
	l.turn = sleep.NewTurn()
	err := l.asleep.Open(e.Pages)
	if err == nil {
		err = l.shifting.Open(e.Pages)
	}
	if err == nil {
		err = l.saved.Open(e, books)
	}
	return err
}

func (l *sleeper) detach() offheap.Detached {
	return append(l.saved.Detach(), l.asleep.Detach(), l.shifting.Detach())
}

// bytes is the address space of its tables.
func (l *sleeper) bytes() uint64 { return l.asleep.Bytes() + l.shifting.Bytes() + l.saved.Bytes() }

// stopped says why a transfer must not go on.
func (s *space) stopped(ctx context.Context, op string) error {
	if ctx.Err() != nil {
		return sleep.Ended(ctx, &s.table.extent, op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.forced {
		return s.table.extent.Closed(op)
	}
	return nil
}

// waitChanged waits until something has changed or the context is over. The caller
// holds mu, which is let go meanwhile.
func (s *space) waitChanged(ctx context.Context) {
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
		defer stop()
	}
	s.changed.Wait()
}

// tagName is the tag that a request means: its own name for an allocation without.
func (t *pageTable) tagName(tag string) string {
	if tag == "" {
		return t.extent.Name
	}
	return tag
}

func (s *space) isAsleep(tag string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag == "" {
		return s.table.saved.Tags.All()
	}
	return s.table.saved.Tags.Sleeps(tag)
}

// sleeping is the error of an allocation whose tag or range sleeps; nil: it may go
// on. The caller holds mu.
func (t *pageTable) sleeping(p placing) error {
	if tag := t.tagName(p.tag); t.saved.Tags.Any() && t.saved.Tags.Sleeps(tag) {
		return t.extent.Fault(device.CodeInvalidState, p.op, "%q, tag %q is %w", t.extent.Name, tag, errAsleep)
	}
	if p.anywhere || t.asleep.Count() == 0 {
		return nil
	}
	r, err := t.extent.RunOf(p.op, p.at)
	if err != nil {
		return err
	}
	if page, asleep := t.asleep.FirstIn(r); asleep {
		return t.extent.Fault(device.CodeInvalidState, p.op,
			"%q, offset %d, size %d: the page at offset %d is of an allocation of tag %q, which is %w", t.extent.Name, p.at.Offset,
			p.at.Size, page*t.extent.PageBytes, t.tags.Name(t.records.all[t.allocated[page]-1].tag), errAsleep)
	}
	return nil
}

// whileAwake tries an allocation, and as long as the request allows again when what
// it needs sleeps.
func (s *space) whileAwake(p placing, try func() error) error {
	err := try()
	if p.wait == 0 || !errors.Is(err, errAsleep) || !s.physical.engine.MayWait() {
		return err
	}
	ctx := context.Background()
	if p.wait != device.Forever {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, max(p.wait, 0))
		defer cancel()
	}
	for errors.Is(err, errAsleep) {
		if err := s.awaitAwake(ctx, p); err != nil {
			return err
		}
		err = try()
	}
	return err
}

func (s *space) awaitAwake(ctx context.Context, p placing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.table.state == stateClosed || s.table.forced {
			return s.table.extent.Closed(p.op)
		}
		err := s.table.sleeping(p)
		if !errors.Is(err, errAsleep) {
			return err
		}
		if ctx.Err() != nil {
			return s.table.extent.Fault(device.CodeTimeout, p.op, "waited %v: %w", p.wait.Round(time.Microsecond), err)
		}
		s.table.sleepWaits++
		s.waitChanged(ctx)
		s.table.sleepWaits--
	}
}

// hold enters what is held elsewhere.
func (s *space) hold(a engine.Asleep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.Hold(a)
}

// sweep gives back what was kept of chunks that nobody needs, and tries again to
// close streams. The caller holds no lock.
func (s *space) sweep() error {
	s.mu.Lock()
	w := s.table.saved.Take()
	s.mu.Unlock()
	err := w.Close()
	s.mu.Lock()
	s.table.saved.Settle(w)
	s.mu.Unlock()
	for _, failure := range w.Drop() {
		s.physical.engine.Log(engine.Warning, fmt.Sprintf("%q: a file of what slept could not be removed: %v", s.table.extent.Name, failure))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.End(w)
	return err
}
