package vmm

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// deallocation is a free in progress, of one range or of a list.
type deallocation struct {
	op string
	targets
	// stream is the stream that the caller named; nil: none.
	stream device.Stream
	// marks are the events that are known for the streams that may use the pages.
	marks []mark
}

// mark is the end of a stream's queue; event is nil if there is no work to wait for.
type mark struct {
	stream device.Stream
	event  device.Event
	// behind has the ranges that wait for the event.
	behind []*retiree
}

// deallocate ends the life of live pages, of all ranges or of none, and does not wait. If
// queued work may still use pages, they retire until that work has completed. stream (nil:
// none) is an additional stream to wait for. A failed call changes nothing: the only calls
// of the driver mark the ends of queues, before the first change.
func (s *space) deallocate(op string, ranges targets, stream device.Stream) error {
	l := &deallocation{op: op, targets: ranges, stream: stream}
	if err := l.locate(&s.table.extent, op); err != nil {
		return err
	}
	for {
		missing, slept, err := s.freeWithMarks(l)
		if err == nil && len(missing) > 0 {
			if err = l.markEnds(missing); err == nil {
				continue
			}
		}
		if err != nil {
			s.closeMarks(l.marks)
			return err
		}
		if slept {
			s.sweepQuietly()
		}
		s.physical.engine.Changed()
		return nil
	}
}

// unmarked lists the streams that have no mark yet: the stream of the free and those
// that use the pages.
func (l *deallocation) unmarked(users []device.Stream) (missing []device.Stream) {
	if l.stream != nil {
		users = append(users, l.stream)
	}
	for _, stream := range users {
		marked := slices.ContainsFunc(l.marks, func(m mark) bool { return m.stream == stream })
		if !marked && !slices.Contains(missing, stream) {
			missing = append(missing, stream)
		}
	}
	return missing
}

// markEnds records an event at the end of each queue.
func (l *deallocation) markEnds(streams []device.Stream) error {
	for _, stream := range streams {
		event, err := device.MarkEnd(l.op, stream)
		if err != nil {
			return err
		}
		l.marks = append(l.marks, mark{stream: stream, event: event})
	}
	return nil
}

// retire makes a range wait for the marks of the streams that use it and of the stream that
// the caller named. It returns nil if none of these streams has work to wait for.
func (l *deallocation) retire(t *target) *retiree {
	var made *retiree
	for i := range l.marks {
		m := &l.marks[i]
		if m.event == nil || (m.stream != l.stream && !slices.Contains(t.users, m.stream)) {
			continue
		}
		if made == nil {
			made = &retiree{run: t.run}
		}
		made.behind++
		m.behind = append(m.behind, made)
	}
	return made
}

func (s *space) closeMarks(marks []mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range marks {
		if m.event != nil {
			s.retirees.closeEvent(m.event)
		}
	}
}

// freeWithMarks implements deallocate with the present marks. missing lists the streams
// that need a mark first. slept reports that some pages were asleep, which wait for nothing.
func (s *space) freeWithMarks(l *deallocation) (missing []device.Stream, slept bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateOpen {
		return nil, false, s.table.extent.Closed(l.op)
	}
	var users []device.Stream
	err = l.each(func(t *target) error {
		t.users = nil
		if s.table.isAsleep(t.run) {
			return s.table.mayFreeWhole(l.op, t.span, t.run)
		}
		t.users = s.table.users.Streams(t.run)
		if users == nil {
			users = slices.Clip(t.users) // a single range needs no copy
		} else {
			users = append(users, t.users...)
		}
		return s.table.mayFree(l.op, t.span, t.run)
	})
	if err != nil {
		return nil, false, err
	}
	if missing = l.unmarked(users); len(missing) > 0 {
		return missing, false, nil
	}
	slept = s.endTargets(l)
	s.completeFrees(pollBudget)
	return nil, slept, nil
}

// endTargets frees ranges that freeWithMarks has checked. It cannot fail. The caller holds mu.
func (s *space) endTargets(l *deallocation) (slept bool) {
	var one [1]pageset.Run
	parked := one[:0]
	var unused, retiring freed
	for i := range l.all {
		t := &l.all[i]
		if s.table.isAsleep(t.run) {
			s.endSleepers(t.run)
			slept = true
			continue
		}
		waits := l.retire(t) != nil
		ended := s.table.endLives(t.run)
		if waits {
			retiring.add(ended)
			s.table.retiring += t.run.Pages
		} else {
			unused.add(ended)
			parked = addRun(parked, t.run)
		}
	}
	if retiring.sizes.AllocatedBytes > 0 {
		s.physical.retire(retiring)
	}
	s.retirees.enqueue(l.marks)
	if len(parked) > 0 {
		s.physical.park(unused)
		s.parkRuns(parked)
	}
	return slept
}

// mayFree returns an error if a range cannot be freed.
func (t *pageTable) mayFree(op string, b extent.Span, r pageset.Run) error {
	if page, hole := t.live.FirstNotIn(r); hole {
		return t.notLive(op, b, r, page)
	}
	return t.mayFreeWhole(op, b, r)
}

// mayFreeWhole implements mayFree for pages that all belong to allocations. The range
// must be whole pages of any allocations, or exactly one allocation of which nothing
// was freed.
func (t *pageTable) mayFreeWhole(op string, b extent.Span, r pageset.Run) error {
	if err := t.shiftingNow(op, b, r); err != nil {
		return err
	}
	if b.Offset%t.extent.PageBytes == 0 && b.Size%t.extent.PageBytes == 0 {
		return nil
	}
	if a := t.records.all[t.allocated[r.Start]-1]; a.offset != b.Offset || a.size != b.Size {
		return t.extent.BadRange(op, b,
			"offset %d, size %d, capacity %d: neither whole pages of %v nor the range of one allocation (the one there has offset %d, size %d)",
			b.Offset, b.Size, t.extent.Bytes(), device.Size(t.extent.PageBytes), a.offset, a.size)
	}
	for at := r.Start; at < r.End(); at++ {
		if t.allocated[at] != t.allocated[r.Start] {
			return t.extent.BadRange(op, b,
				"offset %d, size %d, capacity %d: a part of that allocation was freed, and the page at offset %d is of another one; what is left of it is freed by whole pages of %v",
				b.Offset, b.Size, t.extent.Bytes(), at*t.extent.PageBytes, device.Size(t.extent.PageBytes))
		}
	}
	return nil
}

// endLives removes live pages from their allocations and returns the change for the
// counters.
func (t *pageTable) endLives(r pageset.Run) freed {
	sum := freed{sizes: track.Block{AllocatedBytes: r.Pages * t.extent.PageBytes}}
	for at := r.Start; at < r.End(); {
		number, first := t.allocated[at], at
		for ; at < r.End() && t.allocated[at] == number; at++ {
			t.allocated[at] = 0
		}
		a := &t.records.all[number-1]
		part := track.Block{
			RequestedBytes: a.share(first*t.extent.PageBytes, at*t.extent.PageBytes), AllocatedBytes: (at - first) * t.extent.PageBytes,
		}
		sum.sizes.RequestedBytes += part.RequestedBytes
		a.left -= uint32(at - first)
		ended := uint64(0)
		if a.left == 0 {
			ended = 1
		}
		t.tags.Remove(a.tag, part, ended)
		sum.ended += ended
		if ended == 1 {
			t.records.remove(number - 1)
		}
	}
	t.requested -= sum.sizes.RequestedBytes
	t.users.End(r)
	t.live.Remove(r)
	return sum
}

// unpark unmaps parked pages until want of them are idle or none is left. Pages that
// the device fails to unmap stay parked.
func (s *space) unpark(want uint64) (done uint64, err error) {
	for steps := (pace.Pace{}); done < want && err == nil; steps.Rest() {
		runs := s.claimParked(want - done)
		if len(runs) == 0 {
			break
		}
		var some uint64
		some, err = s.unparkRuns(runs)
		done += some
	}
	return done, err
}

// unparkRuns unmaps the pages of claimed runs.
func (s *space) unparkRuns(runs []pageset.Run) (done uint64, err error) {
	for i, r := range runs {
		failure := s.physical.virtual.Unmap(s.table.extent.Addr(r.Start), r.Pages*s.table.extent.PageBytes)
		if failure != nil {
			err = failure
			s.settleParked(runs[i:], false)
			break
		}
		done += r.Pages
		s.settleParked(runs[i:i+1], true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unparking--
	s.changed.Broadcast()
	return done, err
}

// claimedPages bounds the pages that are claimed at a time. It is large because one
// driver call unmaps a long run.
const claimedPages = 64 * slicePages

// claimParked claims parked runs for the calling thread, at most want pages.
func (s *space) claimParked(want uint64) (runs []pageset.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state == stateClosed {
		return nil
	}
	taken, want := uint64(0), min(want, claimedPages)
	for taken < want && s.table.parked.Count() > 0 && len(runs) < slicePages {
		start, ok := s.table.parked.Next(s.hand)
		if !ok {
			s.hand = 0
			continue
		}
		r := s.table.parked.RunFrom(start, want-taken)
		s.table.parked.Remove(r)
		s.table.free.Take(r)
		s.hand = r.End() % s.table.extent.Pages
		taken += r.Pages
		runs = append(runs, r)
	}
	if taken > 0 {
		s.unparking++
		s.physical.move(taken)
	}
	return runs
}

// settleParked ends the claims of runs that were unmapped, or that the device failed to
// unmap.
func (s *space) settleParked(runs []pageset.Run, unmapped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		if unmapped {
			numbers, owner := s.table.numbers[r.Start:r.End()], s.owner
			if _, stuck := s.table.stuck.FirstIn(r); stuck {
				owner = nil
			}
			s.physical.arrive(owner, numbers)
			clear(numbers)
			s.table.stuck.Remove(r)
		} else {
			s.table.parked.Add(r)
			s.physical.parkAgain(r.Pages)
		}
		s.table.free.Put(r)
	}
	s.changed.Broadcast()
}

// slicePages bounds the pages that are ended, or the parked runs that are claimed,
// before the lock is released for other threads.
const slicePages = 256
