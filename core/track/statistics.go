package track

// Gauge is a number with its highest value so far.
type Gauge struct {
	Current uint64 `json:"current"`
	Peak    uint64 `json:"peak"`
}

// Statistics is a record of the counters. The values are bytes, except LiveBlocks,
// Segments, Allocations, Frees and Failures, which are counts.
type Statistics struct {
	// Requested is the requested size of the live blocks.
	Requested Gauge `json:"requested"`
	// Allocated is the size of the live blocks after rounding.
	Allocated Gauge `json:"allocated"`
	// Active is the size of blocks that are live, or freed and still used by queued work.
	Active Gauge `json:"active"`
	// Cached is free memory that can be allocated.
	Cached Gauge `json:"cached"`
	// Unusable is held memory that is too small or badly placed to be allocated.
	Unusable Gauge `json:"unusable"`
	// Reserved is the memory that the pool holds from its device: active + cached +
	// unusable.
	Reserved Gauge `json:"reserved"`
	// VirtualReserved is reserved address space, of which only a part may have memory.
	// Reserved does not include it.
	VirtualReserved Gauge `json:"virtual_reserved"`
	LiveBlocks      Gauge `json:"live_blocks"`
	Segments        Gauge `json:"segments"`
	// Allocations counts successful allocations, and Failures those that ran out of
	// memory.
	Allocations uint64 `json:"allocations"`
	Frees       uint64 `json:"frees"`
	Failures    uint64 `json:"failures"`
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes uint64 `json:"largest_free_bytes"`
	// ThreadCachedBytes is the part of Cached that is in thread caches.
	ThreadCachedBytes uint64 `json:"thread_cached_bytes"`
}

// The gauges by number.
const (
	requested = iota
	allocated
	active
	cached
	unusable
	reserved
	liveBlocks
	segments
	virtualReserved
	gaugeCount
)

// gauges returns the gauges of a record, in the order of Totals.
func (s *Statistics) gauges() [gaugeCount]*Gauge {
	return [gaugeCount]*Gauge{
		requested: &s.Requested, allocated: &s.Allocated, active: &s.Active,
		cached: &s.Cached, unusable: &s.Unusable, reserved: &s.Reserved,
		liveBlocks: &s.LiveBlocks, segments: &s.Segments, virtualReserved: &s.VirtualReserved,
	}
}

// Plus returns the record of two owners together. Present values and counts add up
// exactly. The sum of the peaks is an upper bound, because the two need not have had
// their peaks at the same time; Totals has the exact peaks.
func (s Statistics) Plus(other Statistics) Statistics {
	theirs := other.gauges()
	for i, mine := range s.gauges() {
		mine.Current += theirs[i].Current
		mine.Peak += theirs[i].Peak
	}
	s.Allocations += other.Allocations
	s.Frees += other.Frees
	s.Failures += other.Failures
	s.ThreadCachedBytes += other.ThreadCachedBytes
	s.LargestFreeBytes = max(s.LargestFreeBytes, other.LargestFreeBytes)
	return s
}
