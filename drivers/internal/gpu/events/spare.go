package events

import "sync"

// Most bounds the events of each sort that are kept: as many as are in use at once where
// blocks are freed behind running work.
const Most = 256

// Spare has the spare events of a device. The zero value has none.
type Spare struct {
	mu sync.Mutex
	// timed and plain are handles with timing and without.
	timed, plain []uintptr
	ended        bool
}

func (s *Spare) list(timed bool) *[]uintptr {
	if timed {
		return &s.timed
	}
	return &s.plain
}

// Put keeps an event; false: there is no room, and the caller still has it.
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

// Take gives one of that sort; false: there is none.
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

// End gives out all that is kept, and keeps nothing from now on.
func (s *Spare) End() []uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	all := append(s.plain, s.timed...)
	s.plain, s.timed = nil, nil
	return all
}
