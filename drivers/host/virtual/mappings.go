package virtual

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// mappings counts the mappings of the reservations of all devices beyond one for each
// reservation. A process often ends when it cannot get one more mapping; Go's runtime is an
// example. At the limit, the system also rejects calls that would lower the number. So
// virtual memory leaves an eighth of the mappings to the rest of the process.
type mappings struct {
	// bound is the limit of the system. 0: not known.
	bound uint64
	count atomic.Int64
}

func (m *mappings) take(op string, growth int64) error {
	count := m.count.Add(growth)
	if limit := m.bound - m.bound/8; growth > 0 && m.bound != 0 && count > 0 && uint64(count) > limit {
		m.count.Add(-growth)
		return device.Errorf(device.CodeResourceExhausted, op,
			"%s more: virtual memory has %d and may have %d, because vm.max_map_count is %d",
			device.Count(growth, "mapping"), count-growth, limit, m.bound)
	}
	return nil
}

// mappingSlack is the distance to the limit at which a call may fail: a call that changes
// the middle of a mapping needs two more mappings.
const mappingSlack = 4

// spareMappings is the number of mappings that are kept for the rest of the process.
const spareMappings = 64

// spareStock holds empty mappings in reserve, for a process that cannot get one more
// mapping. The number of mappings of other code is unknown, and a runtime that cannot
// create another thread ends the process. The first call that the system rejects releases
// them. No more mappings are used until twice as many are free.
type spareStock struct {
	// there states that they exist. It can be read without the lock.
	there atomic.Bool
	mu    sync.Mutex
	// address and size are the range of the mappings.
	address, size uint64
}

// spare is the reserve of the process.
var spare spareStock

// have creates the spare mappings if they do not exist.
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

// give releases the spare mappings and returns their number.
func (s *spareStock) give(m *mapping.VirtualCalls) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there.Load() || m.Unmap(s.address, s.size) != nil {
		return 0
	}
	s.there.Store(false)
	return spareMappings
}
