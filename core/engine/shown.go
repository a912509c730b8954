package engine

import (
	"slices"

	"ferrum_mem/core/mirror"
)

// shown is where the books of a device can be read. All of it is under Engine.mu.
type shown struct {
	place  *mirror.Device
	handle uint64
	// pools has whose each place of a pool is; nil: nobody's.
	pools [mirror.PoolCount]Pool
	// others counts the pools that are shown nowhere.
	others int
}

// add finds a place for a new pool, or nil.
func (s *shown) add(p Pool) *mirror.Pool {
	if _, ok := p.(shower); ok && s.place != nil {
		if i := slices.Index(s.pools[:], nil); i >= 0 {
			s.pools[i] = p
			return &s.place.Pool[i]
		}
	}
	s.others++
	return nil
}

// remove takes out a pool that shows nothing any more.
func (s *shown) remove(p Pool) {
	if i := slices.Index(s.pools[:], p); i >= 0 {
		s.pools[i] = nil
	} else {
		s.others--
	}
}
