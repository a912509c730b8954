package events

import "sync"

// Most is the maximum number of spare events of each kind. So many are in use at once when
// blocks are freed behind running work.
const Most = 256

// Spare holds the spare events of a device. The zero value is empty.
type Spare struct {
	mu sync.Mutex
	// timed are handles with timing, plain are handles without.
	timed, plain []uintptr
	ended        bool
}

func (s *Spare) list(timed bool) *[]uintptr {
	if timed {
		return &s.timed
	}
	return &s.plain
}

// Put adds an event. false: the list is full or ended, and the caller keeps the event.
func (s *Spare) Put(handle uintptr, timed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list(timed)
	if s.ended || len(*list) == Most {
		return false
	}
	*list = append(*list, handle)
	return true
}

// Take removes and returns an event of this kind. false: there is none.
func (s *Spare) Take(timed bool) (handle uintptr, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list(timed)
	last := len(*list) - 1
	if last < 0 {
		return 0, false
	}
	handle = (*list)[last]
	*list = (*list)[:last]
	return handle, true
}

// End returns all events. After it, Put adds nothing.
func (s *Spare) End() []uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	all := append(s.plain, s.timed...)
	s.plain, s.timed = nil, nil
	return all
}
