package vmm

import (
	"cmp"

	"ferrum_mem/core/vmm/pageset"
)

// look checks the range of an allocation and returns its number of pages. It waits for
// address space that is being freed, before other models have to release pages for the
// allocation.
func (s *space) look(p placing) (pages uint64, err error) {
	var r pageset.Run
	if p.anywhere {
		r.Pages, err = s.table.extent.PagesFor(p.op, p.at.Size)
	} else {
		r, err = s.table.extent.RunOf(p.op, p.at)
	}
	if err != nil {
		return 0, err
	}
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
			return r.Pages, s.table.clash(p, r)
		}
		if s.table.free.Longest() >= r.Pages || s.unparking > 0 {
			return r.Pages, nil
		}
		if s.landEach() {
			continue
		}
		if again, err := s.awaitPlace(r.Pages, &wait); !again {
			return 0, cmp.Or(err, s.table.noPlace(p))
		}
	}
}

func (s *space) hasRetiring() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.retiring > 0
}
