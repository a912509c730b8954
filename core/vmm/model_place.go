package vmm

import (
	"cmp"

	"ferrum_mem/core/device"
)

// look checks the ranges of an allocation and returns their number of pages. It waits for
// address space that is being freed, before other models have to release pages for the
// allocation.
func (s *space) look(p placing) (pages uint64, err error) {
	pages = p.targets.pages()
	s.mu.Lock()
	defer s.mu.Unlock()
	for wait := (placeWait{}); ; {
		if s.table.state != stateOpen {
			return 0, s.table.extent.Closed(p.op)
		}
		if err := s.table.sleeping(p); err != nil {
			return 0, err
		}
		if !p.anywhere {
			return pages, s.table.clash(p)
		}
		p.inListOrder()
		left := s.table.unplaced(p.all)
		if left == nil || s.unparking > 0 {
			return pages, nil
		}
		if s.completeEach() {
			continue
		}
		if again, err := s.awaitPlace(p.all, &wait); !again {
			return 0, cmp.Or(err, p.named(left, s.table.noPlace(p.op, left)))
		}
	}
}

func (m *Model) hasRetiring() bool {
	m.space.mu.Lock()
	defer m.space.mu.Unlock()
	return m.space.table.retiring > 0
}

// findPlaces removes the first free runs that are long enough from the free map, for a claim
// without offsets. again reports that it has waited, and that the caller must check again.
func (s *space) findPlaces(c *claim, wait *placeWait) (again bool, err error) {
	c.inListOrder()
	unplaced := s.table.takeFirst(c.all)
	switch {
	case unplaced == nil:
		for i := range c.all {
			c.all[i].span.Offset = c.all[i].run.Start * s.table.extent.PageBytes
		}
		c.inOffsetOrder()
		return false, nil
	case s.completeEach():
		return true, nil
	case s.unparking > 0:
		s.changed.Wait()
		return true, nil
	}
	if again, err = s.awaitPlace(c.all, wait); again {
		return true, nil
	}
	return false, cmp.Or(err, c.named(unplaced, s.table.noPlace(c.op, unplaced)))
}

// noPlace is the error of a range for which no free run is long enough.
func (t *pageTable) noPlace(op string, at *target) error {
	size := at.span.Size
	return t.extent.Fault(device.CodeOutOfVirtualMemory, op,
		"size %d: the longest free run of %s is %v of %v, %v are retiring", size, t.extent.Title(),
		device.Size(t.free.Longest()*t.extent.PageBytes), device.Size(t.extent.Bytes()),
		device.Size(t.retiring*t.extent.PageBytes)).
		Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, t.extent.Bytes()).
		Stating(device.FactLargestFreeBytes, t.free.Longest()*t.extent.PageBytes)
}
