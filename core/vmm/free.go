package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// deallocate ends the life of live pages. It does not wait: pages that work queued
// on the stream may still use retire until that is done. A failed call changes
// nothing.
func (s *space) deallocate(op string, b span, stream device.Stream) error {
	r, err := s.runOf(op, b)
	if err != nil {
		return err
	}
	if asleep, err := s.leaveAsleep(op, b, r); asleep {
		s.sweepQuietly()
		return err
	}
	if stream == nil {
		stream = s.physical.engine.Device().DefaultStream()
	}
	idle, err := stream.Idle()
	if err != nil {
		return err
	}
	var event device.Event
	if !idle {
		if event, err = device.Mark(op, stream); err != nil {
			return err
		}
	}
	slept, err := s.leave(op, b, r, stream, event)
	if slept {
		s.sweepQuietly()
	}
	if err != nil {
		return err
	}
	s.physical.engine.Changed()
	return nil
}

// leave is deallocate with the event that the pages wait for, nil for none; slept says
// that they slept, and wait for nothing.
func (s *space) leave(op string, b span, r run, stream device.Stream, event device.Event) (slept bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// They may have fallen asleep since leaveAsleep looked.
	if slept, err = s.leaveAsleepLocked(op, b, r); !slept {
		err = s.mayFree(op, b, r)
	}
	if slept || err != nil {
		if event != nil {
			s.closeEvent(event)
		}
		return slept, err
	}
	if event != nil {
		s.physical.retire(s.endLives(r))
		s.retiring += r.pages
		s.enqueue(stream, event, r)
	} else {
		s.physical.park(s.endLives(r))
		s.parkRun(r)
	}
	s.land(pollBudget)
	return false, nil
}

// mayFree says why a range cannot be freed.
func (s *space) mayFree(op string, b span, r run) error {
	if s.state != stateOpen {
		return s.closedError(op)
	}
	if page, hole := s.live.firstNotIn(r); hole {
		return s.notLive(op, b, r, page)
	}
	return s.mayFreeWhole(op, b, r)
}

// mayFreeWhole is mayFree for pages that all have allocations: whole pages, of whatever
// allocations, or all that one allocation ever had.
func (s *space) mayFreeWhole(op string, b span, r run) error {
	if err := s.shiftingNow(op, b, r); err != nil {
		return err
	}
	if b.offset%s.pageBytes == 0 && b.size%s.pageBytes == 0 {
		return nil
	}
	if a := s.records.all[s.allocated[r.start]-1]; a.offset != b.offset || a.size != b.size {
		return s.badRange(op, b,
			"offset %d, size %d, capacity %d: neither whole pages of %d bytes nor the range of one allocation (the one there has offset %d, size %d)",
			b.offset, b.size, s.capacity(), s.pageBytes, a.offset, a.size)
	}
	for at := r.start; at < r.end(); at++ {
		if s.allocated[at] != s.allocated[r.start] {
			return s.badRange(op, b,
				"offset %d, size %d, capacity %d: a part of that allocation was freed, and the page at offset %d is of another one; what is left of it is freed by whole pages of %d bytes",
				b.offset, b.size, s.capacity(), at*s.pageBytes, s.pageBytes)
		}
	}
	return nil
}

// endLives takes live pages out of their allocations and gives what the books have
// to know.
func (s *space) endLives(r run) freed {
	sum := freed{sizes: track.Block{AllocatedBytes: r.pages * s.pageBytes}}
	for at := r.start; at < r.end(); {
		number, first := s.allocated[at], at
		for ; at < r.end() && s.allocated[at] == number; at++ {
			s.allocated[at] = 0
		}
		a := &s.records.all[number-1]
		part := track.Block{
			RequestedBytes: a.share(first*s.pageBytes, at*s.pageBytes), AllocatedBytes: (at - first) * s.pageBytes,
		}
		sum.sizes.RequestedBytes += part.RequestedBytes
		a.left -= uint32(at - first)
		ended := uint64(0)
		if a.left == 0 {
			ended = 1
		}
		s.tags.Leave(a.tag, part, ended)
		sum.ended += ended
		if ended == 1 {
			s.records.remove(number - 1)
		}
	}
	s.requested -= sum.sizes.RequestedBytes
	s.live.remove(r)
	return sum
}

// unpark takes parked pages out of the address space until want of them are idle
// or none is left. What the device does not unmap stays parked.
func (s *space) unpark(want uint64) (done uint64, err error) {
	runs := s.claimParked(want)
	if len(runs) == 0 {
		return 0, nil
	}
	for i, r := range runs {
		failure := s.physical.virtual.Unmap(s.addr(r.start), r.pages*s.pageBytes)
		if failure != nil {
			err = failure
			s.settleParked(runs[i:], false)
			break
		}
		done += r.pages
		s.settleParked(runs[i:i+1], true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unparking--
	s.changed.Broadcast()
	return done, err
}

// claimParked takes parked runs for the calling thread, want pages at most.
func (s *space) claimParked(want uint64) (runs []run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == stateClosed {
		return nil
	}
	taken := uint64(0)
	for taken < want && s.parked.count > 0 {
		start, ok := s.parked.next(s.hand)
		if !ok {
			s.hand = 0
			continue
		}
		r := s.parked.runFrom(start, want-taken)
		s.parked.remove(r)
		s.free.take(r)
		s.hand = r.end() % s.pages
		taken += r.pages
		runs = append(runs, r)
	}
	if taken > 0 {
		s.unparking++
		s.physical.move(taken)
	}
	return runs
}

// settleParked ends the claims of runs that were unmapped, or could not be.
func (s *space) settleParked(runs []run, unmapped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		if unmapped {
			numbers := s.numbers[r.start:r.end()]
			s.physical.arrive(s.owner, numbers)
			clear(numbers)
			s.stuck.remove(r)
		} else {
			s.parked.add(r)
			s.physical.parkAgain(r.pages)
		}
		s.free.put(r)
	}
	s.changed.Broadcast()
}
