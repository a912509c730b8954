package vmm

import (
	"context"
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// errAsleep is the cause of errors about sleeping allocations.
var errAsleep = errors.New("asleep")

// sleeper has the sleep state of a space. The space's lock guards all fields except
// turn.
type sleeper struct {
	// turn is held by the Sleep or Wake in progress.
	turn sleep.Turn
	// saved has the kept contents of sleeping pages.
	saved sleep.Saved
	// asleep has the pages of sleeping allocations. shifting has the pages that are
	// being put to sleep (these are live) or woken (these are asleep).
	asleep, shifting pageset.Set
	// stillMapped counts sleeping pages that are still mapped, because the device failed to
	// unmap them after a failed Wake. They count as used, and have a physical page.
	stillMapped uint64
	// forced states that the space is being closed even if allocations sleep or wake.
	forced bool
	// keptAwake counts, for each tag that must stay awake, who keeps it awake.
	keptAwake map[string]int
	// late has the threads that free contents after a Wake. It has a lock of its own.
	late lateThreads
	// sweeps counts the sweeps in progress, which may still use the address space.
	sweeps int
	// sleepWaits counts the allocations that wait for sleeping ones.
	sleepWaits int
	counts     SleepStats
}

func (l *sleeper) open(e *extent.Extent, counters *engine.Engine) error {
	l.turn = sleep.NewTurn()
	err := l.asleep.Open(e.Pages)
	if err == nil {
		err = l.shifting.Open(e.Pages)
	}
	if err == nil {
		err = l.saved.Open(e, counters)
	}
	return err
}

func (l *sleeper) detach() offheap.Detached {
	return append(l.saved.Detach(), l.asleep.Detach(), l.shifting.Detach())
}

// bytes returns the address space of its tables.
func (l *sleeper) bytes() uint64 { return l.asleep.Bytes() + l.shifting.Bytes() + l.saved.Bytes() }

// stopped returns an error if a transfer must not continue.
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

// waitChanged waits until the state of the space has changed or the context has ended.
// The caller holds mu, which is released during the wait.
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

// tagName returns the tag of a request; an allocation without a tag has the space's
// name.
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

// sleeping returns an error if the tag or the range of an allocation is asleep, and nil
// otherwise. The caller holds mu.
func (t *pageTable) sleeping(p placing) error {
	if tag := t.tagName(p.tag); t.saved.Tags.Any() && t.saved.Tags.Sleeps(tag) {
		return t.extent.Fault(device.CodeInvalidState, p.op, "%s, tag %q is %w", t.extent.Title(), tag, errAsleep)
	}
	if p.anywhere || t.asleep.Count() == 0 {
		return nil
	}
	return p.each(func(at *target) error {
		page, asleep := t.asleep.FirstIn(at.run)
		if !asleep {
			return nil
		}
		return t.extent.Fault(device.CodeInvalidState, p.op,
			"%s, offset %d, size %d: the page at offset %d is of an allocation of tag %q, which is %w", t.extent.Title(), at.span.Offset,
			at.span.Size, page*t.extent.PageBytes, t.tags.Name(t.records.all[t.allocated[page]-1].tag), errAsleep)
	})
}

// whileAwake calls try. While try fails because something is asleep, it waits for the
// wake and tries again, for as long as the request allows.
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

// hold records contents that are held outside the device.
func (s *space) hold(a engine.Asleep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.Hold(a)
}

// sweep frees the kept contents of chunks that are not needed any more, and tries again
// to close streams. The caller holds no lock.
func (s *space) sweep() error {
	s.mu.Lock()
	w := s.table.saved.Take()
	s.table.sweeps++
	s.mu.Unlock()
	return sweeping{s, w}.finish()
}
