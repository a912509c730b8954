package virtual

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// mappings counts those that the reservations of all devices take beyond one each.
// The system ends many a program that cannot have one more, Go's runtime for one,
// and at its bound it refuses also what would take some away: so virtual memory
// leaves an eighth of them to the rest of the process.
type mappings struct {
	// bound is the system's; 0: not known.
	bound uint64
	count atomic.Int64
}

func (m *mappings) take(op string, growth int64) error {
	count := m.count.Add(growth)
	if limit := m.bound - m.bound/8; growth > 0 && m.bound != 0 && count > 0 && uint64(count) > limit {
		m.count.Add(-growth)
		return device.Errorf(device.CodeResourceExhausted, op,
			"%d mappings more: virtual memory has %d and may have %d, because vm.max_map_count is %d",
			growth, count-growth, limit, m.bound)
	}
	return nil
}

// mappingSlack is how near to the bound on mappings a call may be refused: one
// that changes the middle of a mapping needs two more.
const mappingSlack = 4

// spareMappings is how many mappings are kept for the rest of the process.
const spareMappings = 64

// spareStock is mappings of nothing that virtual memory has so that the process has
// some when it cannot have one more: what others map is not known, and a runtime that
// cannot make a further thread then ends the process. The first call that the system
// refuses gives them away, and no more are taken until there are twice as many.
type spareStock struct {
	// there says that they are, for who wants to know without the lock.
	there atomic.Bool
	mu    sync.Mutex
	// address and size are where they lie.
	address, size uint64
}

// spare is that of the process.
var spare spareStock

// have makes sure that they are there.
func (s *spareStock) have(m *mapping.VirtualCalls) error {
	if s.there.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.there.Load() {
		return nil
	}
	address, size, err := m.MakeMappings(2 * spareMappings)
	if err != nil {
		return err
	}
	if err := m.Unmap(address+size/2, size/2); err != nil {
		_ = m.Unmap(address, size)
		return err
	}
	s.address, s.size = address, size/2
	s.there.Store(true)
	return nil
}

// give gives them away, and says how many there were.
func (s *spareStock) give(m *mapping.VirtualCalls) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there.Load() || m.Unmap(s.address, s.size) != nil {
		return 0
	}
	s.there.Store(false)
	return spareMappings
}
