package vmm

// look says what is wrong with an allocation as far as its place is concerned,
// before others have to give pages for it, and how many pages it takes.
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
	if s.state != stateOpen {
		return 0, s.closedError(p.op)
	}
	if err := s.sleeping(p); err != nil {
		return 0, err
	}
	switch {
	case !p.anywhere:
		return r.pages, s.clash(p, r)
	case s.free.longest() < r.pages && s.unparking == 0 && !s.land(pollAll):
		return 0, s.noPlace(p)
	}
	return r.pages, nil
}

func (s *space) hasRetiring() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retiring > 0
}
