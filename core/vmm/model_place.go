package vmm

import "cmp"

// look says what is wrong with an allocation as far as its place is concerned, and
// waits for address space that is on its way, before others have to give pages for it;
// and how many pages it takes.
func (s *space) look(p placing) (pages uint64, err error) {
	var r run
	if p.anywhere {
		r.pages, err = s.pagesFor(p.op, p.at.size)
	} else {
		r, err = s.runOf(p.op, p.at)
	}
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for wait := (placeWait{}); ; {
		if s.state != stateOpen {
			return 0, s.closedError(p.op)
		}
		if err := s.sleeping(p); err != nil {
			return 0, err
		}
		if !p.anywhere {
			return r.pages, s.clash(p, r)
		}
		if s.free.longest() >= r.pages || s.unparking > 0 {
			return r.pages, nil
		}
		if s.landEach() {
			continue
		}
		if again, err := s.awaitPlace(r.pages, &wait); !again {
			return 0, cmp.Or(err, s.noPlace(p))
		}
	}
}

func (s *space) hasRetiring() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retiring > 0
}
