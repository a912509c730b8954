package vmm

import "cmp"

// look checks the range of an allocation and returns its number of pages. It waits for
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
		if s.table.free.Longest() >= pages || s.unparking > 0 {
			return pages, nil
		}
		if s.landEach() {
			continue
		}
		if again, err := s.awaitPlace(pages, &wait); !again {
			return 0, cmp.Or(err, s.table.noPlace(p))
		}
	}
}

func (s *space) hasRetiring() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.retiring > 0
}
