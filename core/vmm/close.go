package vmm

import (
	"errors"

	"ferrum_mem/core/device"
)

// close gives the address space and all pages in it back. It is CodeBusy, and
// changes nothing, while pages are live, unless force; then it waits for all work
// of the device, and the allocations end. It waits for the work that retiring
// ranges wait for. When the driver fails, what could not be given back stays, the
// space is open as before, and close may be called again.
func (s *space) close(op string, force bool) error {
	if err := s.beginClose(op, force); err != nil {
		return err
	}
	err := s.drain()
	if err == nil {
		err = s.unparkAll()
	}
	if err == nil {
		err = s.physical.virtual.Unreserve(s.base, s.capacity())
	}
	s.mu.Lock()
	if err != nil {
		s.state, s.forced = stateOpen, false
		s.changed.Broadcast()
		s.mu.Unlock()
		return err
	}
	s.state = stateClosed
	s.closeTables()
	s.changed.Broadcast()
	s.mu.Unlock()
	s.physical.removeSpace(s)
	s.physical.removeOwner(s.owner)
	s.physical.engine.Changed()
	return nil
}

// unparkAll takes everything that is parked out of the address space, and waits for
// other threads that do the same.
func (s *space) unparkAll() error {
	for {
		if _, err := s.unpark(s.pages); err != nil {
			return err
		}
		s.mu.Lock()
		for s.unparking > 0 {
			s.changed.Wait()
		}
		left := s.parked.count
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
	}
}

// beginClose refuses new allocations and waits for those under way.
func (s *space) beginClose(op string, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateOpen {
		return s.closedError(op)
	}
	// One that is refused disturbs nobody.
	if s.live.count+s.asleep.count > 0 && !force {
		return s.inUse(op)
	}
	s.state, s.forced = stateClosing, force
	s.changed.Broadcast()
	for s.claims > 0 {
		s.changed.Wait()
	}
	if s.live.count+s.asleep.count > 0 && !force {
		s.state = stateOpen
		s.changed.Broadcast()
		return s.inUse(op)
	}
	return nil
}

// inUse is the error of a space that cannot be closed because pages are live.
func (s *space) inUse(op string) error {
	return s.fault(device.CodeBusy, op, "%q has %d allocations of %d pages of %d bytes, of which %d are asleep", s.owner.name,
		s.records.count(), s.live.count+s.asleep.count, s.pageBytes, s.asleep.count)
}

// drain waits for queued work and parks everything.
func (s *space) drain() error {
	if err := s.synchronize(); err != nil {
		return err
	}
	s.mu.Lock()
	live := s.live.count
	s.mu.Unlock()
	if live > 0 {
		if err := s.physical.engine.Synchronize(device.Forever); err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	s.mu.Lock()
	s.endAllSleepers()
	s.mu.Unlock()
	if err := s.sweep(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.live.count > 0 {
		start, _ := s.live.next(0)
		r := s.live.runFrom(start, s.pages)
		s.physical.park(s.endLives(r))
		s.parkRun(r)
	}
	s.closeLeft()
	if n := len(s.unclosed); n > 0 {
		return s.fault(device.CodeBusy, "close", "%d events of %q could not be closed", n, s.owner.name)
	}
	return nil
}
