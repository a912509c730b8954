package engine

import (
	"slices"

	"ferrum_mem/core/mirror"
)

// published has the published counters of a device. Engine.mu guards all fields.
type published struct {
	place  *mirror.Device
	handle uint64
	// pools has the pool of each place; nil: the place is free.
	pools [mirror.PoolCount]Pool
	// others counts the pools without a place.
	others int
}

// add finds a place for a new pool, or returns nil.
func (s *published) add(p Pool) *mirror.Pool {
	if _, ok := p.(publisher); ok && s.place != nil {
		if i := slices.Index(s.pools[:], nil); i >= 0 {
			s.pools[i] = p
			return &s.place.Pool[i]
		}
	}
	s.others++
	return nil
}

// remove removes a pool that publishes nothing any more.
func (s *published) remove(p Pool) {
	if i := slices.Index(s.pools[:], p); i >= 0 {
		s.pools[i] = nil
	} else {
		s.others--
	}
}
