package vmm

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/pace"
	"ferrum_mem/core/vmm/pageset"
)

// close releases the address space and all pages in it. Without force it returns
// CodeBusy, and changes nothing, while pages are live. With force it waits for all work
// of the device and for those who keep a tag awake, and ends the allocations. It waits for the work that retiring ranges
// wait for. If the driver fails, close keeps what it could not release, the space stays
// open, and close may be called again.
func (s *space) close(op string, force bool) error {
	if err := s.beginClose(op, force); err != nil {
		return err
	}
	return s.finishClose()
}

// finishClose destroys a space that is closing.
func (s *space) finishClose() error {
	s.mu.Lock()
	for s.claims > 0 {
		s.changed.Wait()
	}
	s.mu.Unlock()
	err := s.drain()
	if err == nil {
		err = s.unparkAll()
	}
	if err == nil {
		err = s.physical.virtual.Unreserve(s.table.extent.Base, s.table.extent.Bytes())
	}
	if err != nil {
		s.reopen()
		return err
	}
	s.mu.Lock()
	s.table.state = stateClosed
	tables := s.table.detachTables()
	s.changed.Broadcast()
	s.mu.Unlock()
	tables.Free()
	s.physical.removeSpace(s)
	s.physical.removeOwner(s.owner)
	s.physical.engine.Changed()
	return nil
}

// unparkAll unmaps all parked pages, and waits for other threads that unmap parked
// pages or sweep.
func (s *space) unparkAll() error {
	for {
		if _, err := s.unpark(s.table.extent.Pages); err != nil {
			return err
		}
		s.mu.Lock()
		for s.unparking > 0 || s.table.sweeps > 0 {
			s.changed.Wait()
		}
		left := s.table.parked.Count()
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
	}
}

// reopen returns a closing space to the open state.
func (s *space) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.state, s.table.forced = stateOpen, false
	s.changed.Broadcast()
}

// beginClose makes the space reject new allocations, or returns the reason why the
// space stays open.
func (s *space) beginClose(op string, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateOpen {
		return s.table.extent.Closed(op)
	}
	if err := s.inUse(op); err != nil && !force {
		return err
	}
	s.setClosing(force)
	return nil
}

// setClosing marks the space as closing. The caller holds mu.
func (s *space) setClosing(force bool) {
	s.table.state, s.table.forced = stateClosing, force
	s.changed.Broadcast()
}

// inUse returns an error if the space cannot be closed because pages are live or a call
// may make pages live, and nil otherwise. The caller holds mu.
func (s *space) inUse(op string) error {
	if used := s.table.live.Count() + s.table.asleep.Count(); used > 0 {
		return s.table.extent.Fault(device.CodeBusy, op, "%s has %s of %s of %v, of which %d are asleep", s.table.extent.Title(),
			device.Count(s.table.records.count(), "allocation"), device.Count(used, "page"), device.Size(s.table.extent.PageBytes), s.table.asleep.Count())
	}
	if s.claims > 0 {
		return s.table.extent.Fault(device.CodeBusy, op, "%s has no allocation yet, and %s that allocate or start a sleep or a wake still running",
			s.table.extent.Title(), device.Count(s.claims, "call"))
	}
	return nil
}

// yieldLock releases mu between two slices, so that other threads can take it. The
// caller holds mu.
func (s *space) yieldLock(steps *pace.Pace) {
	s.mu.Unlock()
	steps.Rest()
	s.mu.Lock()
}

// drain waits for queued work and parks all pages.
func (s *space) drain() error {
	if err := s.synchronize(); err != nil {
		return err
	}
	s.mu.Lock()
	live, isKept := s.table.live.Count(), len(s.table.keptAwake) > 0
	s.mu.Unlock()
	if live > 0 {
		err := s.physical.engine.Synchronize(device.Forever)
		if err == nil && isKept {
			err = sleepWait{space: s}.beforeEnd()
		}
		if err == nil {
			err = s.awaitForeign()
		}
		if err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	s.endAllSleepers()
	s.table.late.wait(context.Background())
	if err := s.sweep(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for steps := (pace.Pace{}); s.table.live.Count() > 0; {
		start, _ := s.table.live.Next(0)
		r := s.table.live.RunFrom(start, slicePages)
		s.physical.park(s.table.endLives(r))
		s.parkRuns([]pageset.Run{r})
		s.yieldLock(&steps)
	}
	s.retirees.closeLeft()
	if n := len(s.retirees.unclosed); n > 0 {
		return s.table.extent.Fault(device.CodeBusy, "close", "%s of %s could not be closed", device.Count(n, "event"), s.table.extent.Title())
	}
	return nil
}
