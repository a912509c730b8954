package vmm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/pageset"
)

// errAsleep is the cause of refusals because something sleeps.
var errAsleep = errors.New("asleep")

// bedtime says which tags sleep.
type bedtime struct {
	// all but those in awake sleep; without all only those in tags.
	all         bool
	tags, awake map[string]bool
}

func (b bedtime) clone() bedtime {
	return bedtime{all: b.all, tags: maps.Clone(b.tags), awake: maps.Clone(b.awake)}
}

func (b bedtime) sleeps(tag string) bool {
	if b.all {
		return !b.awake[tag]
	}
	return b.tags[tag]
}

// anything says that some tag sleeps.
func (b bedtime) anything() bool { return b.all || len(b.tags) > 0 }

// sleeper is what of a space sleeps. Beside turn it is under the space's lock.
type sleeper struct {
	// turn is full while a thread puts something to sleep or wakes it; it stands above
	// all locks.
	turn chan struct{}
	bed  bedtime
	// asleep are the pages of allocations that sleep, shifting those that are being
	// put to sleep (and live) or woken (and asleep).
	asleep, shifting pageset.Set
	// jammed counts pages that sleep but are still mapped, because the device would
	// not unmap them after a Wake that failed: they are used, and have their number.
	jammed uint64
	// kept is what is kept of the pages that sleep.
	kept keptChunks
	held engine.Asleep
	// dropped are chunks that nobody needs any more and streams leftovers of transfers
	// that could not be closed.
	dropped   []*chunk
	leftovers []leftover
	// forced says that the space is being closed whatever sleeps or wakes.
	forced bool
	// sleepWaits counts the allocations that wait for what sleeps.
	sleepWaits int
	counts     SleepStats
}

// leftover is a stream that could not be closed, and the chunk that its last copy may
// still use.
type leftover struct {
	stream device.Stream
	chunk  *chunk
	buffer *block
}

func (s *space) openSleeper() error {
	s.turn = make(chan struct{}, 1)
	err := s.asleep.Open(s.extent.Pages)
	if err == nil {
		err = s.shifting.Open(s.extent.Pages)
	}
	if err == nil {
		err = s.kept.open(s.extent.Pages)
	}
	return err
}

func (s *space) detachSleeper() offheap.Detached {
	return offheap.Detached{s.asleep.Detach(), s.shifting.Detach(), s.kept.detach()}
}

// sleeperBytes is the address space of its tables.
func (s *space) sleeperBytes() uint64 { return s.asleep.Bytes() + s.shifting.Bytes() + s.kept.bytes() }

// takeTurn makes the calling thread the one that puts to sleep or wakes.
func (s *space) takeTurn(ctx context.Context, op string, noWait bool) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	if noWait {
		return s.extent.Fault(device.CodeTimeout, op, "another sleep or wake of %q is under way, and the call is not to wait for it", s.owner.name)
	}
	if !s.physical.engine.MayWait() {
		return s.extent.Fault(device.CodeBusy, op, "another sleep or wake of %q is under way, and this thread may not wait for it", s.owner.name)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return s.ended(ctx, op)
	}
}

func (s *space) endTurn() { <-s.turn }

// ended is the error of a call whose context is over.
func (s *space) ended(ctx context.Context, op string) error {
	code := device.CodeCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = device.CodeTimeout
	}
	return s.extent.Fault(code, op, "%q: %v", s.owner.name, context.Cause(ctx))
}

// stopped says why a transfer must not go on.
func (s *space) stopped(ctx context.Context, op string) error {
	if ctx.Err() != nil {
		return s.ended(ctx, op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forced {
		return s.extent.Closed(op)
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
func (s *space) tagName(tag string) string {
	if tag == "" {
		return s.owner.name
	}
	return tag
}

func (s *space) isAsleep(tag string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag == "" {
		return s.bed.all && len(s.bed.awake) == 0
	}
	return s.bed.sleeps(tag)
}

// sleeping is the error of an allocation whose tag or range sleeps; nil: it may go
// on. The caller holds mu.
func (s *space) sleeping(p placing) error {
	if tag := s.tagName(p.tag); s.bed.anything() && s.bed.sleeps(tag) {
		return s.extent.Fault(device.CodeInvalidState, p.op, "%q, tag %q is %w", s.owner.name, tag, errAsleep)
	}
	if p.anywhere || s.asleep.Count() == 0 {
		return nil
	}
	r, err := s.extent.RunOf(p.op, p.at)
	if err != nil {
		return err
	}
	if page, asleep := s.asleep.FirstIn(r); asleep {
		return s.extent.Fault(device.CodeInvalidState, p.op,
			"%q, offset %d, size %d: the page at offset %d is of an allocation of tag %q, which is %w", s.owner.name, p.at.Offset,
			p.at.Size, page*s.extent.PageBytes, s.tags.Name(s.records.all[s.allocated[page]-1].tag), errAsleep)
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
		if s.state == stateClosed || s.forced {
			return s.extent.Closed(p.op)
		}
		err := s.sleeping(p)
		if !errors.Is(err, errAsleep) {
			return err
		}
		if ctx.Err() != nil {
			return s.extent.Fault(device.CodeTimeout, p.op, "waited %v: %w", p.wait.Round(time.Microsecond), err)
		}
		s.sleepWaits++
		s.waitChanged(ctx)
		s.sleepWaits--
	}
}

// hold enters what is kept elsewhere; release takes it out. The caller holds mu.
func (s *space) hold(a engine.Asleep) {
	s.held = s.held.Plus(a)
	s.physical.engine.AddAsleep(a)
}

func (s *space) release(a engine.Asleep) {
	s.held = s.held.Minus(a)
	s.physical.engine.RemoveAsleep(a)
}

// forget takes freed pages that sleep out of what is kept. The caller holds mu.
func (s *space) forget(r pageset.Run) {
	s.kept.leave(r, func(c *chunk, part pageset.Run) {
		if c.block == nil && c.file == nil {
			s.release(engine.Asleep{DiscardedBytes: part.Pages * s.extent.PageBytes})
		}
		if c.left == 0 && !c.pinned {
			s.dropped = append(s.dropped, c)
		}
	})
}

// sweep gives back what was kept of chunks that nobody needs, and tries again to
// close streams. The caller holds no lock.
func (s *space) sweep() (err error) {
	s.mu.Lock()
	dropped, leftovers := s.dropped, s.leftovers
	s.dropped, s.leftovers = nil, nil
	s.mu.Unlock()
	var closed, open []leftover
	for _, l := range leftovers {
		if failure := l.stream.Close(); failure != nil && !errors.Is(failure, device.CodeInvalidState) {
			open, err = append(open, l), failure
		} else {
			closed = append(closed, l)
		}
	}
	s.mu.Lock()
	s.leftovers = append(s.leftovers, open...)
	for _, l := range closed {
		if l.buffer != nil {
			l.buffer.free()
		}
		if l.chunk != nil {
			if l.chunk.pinned = false; l.chunk.left == 0 {
				dropped = append(dropped, l.chunk)
			}
		}
	}
	s.mu.Unlock()
	s.drop(dropped)
	return err
}

// drop gives back what was kept of chunks. The caller holds no lock.
func (s *space) drop(chunks []*chunk) {
	sum := engine.Asleep{}
	for _, c := range chunks {
		was, err := c.drop()
		sum = sum.Plus(was)
		if err != nil {
			s.physical.engine.Log(engine.Warning, fmt.Sprintf("%q: a file of what slept could not be removed: %v", s.owner.name, err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(sum)
}
