package track

// Gauge is a number with the highest value that it had.
type Gauge struct {
	Current uint64 `json:"current"`
	Peak    uint64 `json:"peak"`
}

// Statistics is a record of the books. Bytes but for LiveBlocks, Segments,
// Allocations, Frees and Failures, which are counts.
type Statistics struct {
	// Requested is what the live blocks were asked for with.
	Requested Gauge `json:"requested"`
	// Allocated is the live blocks after rounding.
	Allocated Gauge `json:"allocated"`
	// Active is live, or freed and still in use by queued work.
	Active Gauge `json:"active"`
	// Cached is held and ready to be handed out.
	Cached Gauge `json:"cached"`
	// Unusable is held but too small or badly placed to be handed out.
	Unusable Gauge `json:"unusable"`
	// Reserved is had from the driver: active + cached + unusable.
	Reserved Gauge `json:"reserved"`
	// VirtualReserved is addresses reserved without memory behind all of them,
	// which Reserved has nothing of.
	VirtualReserved Gauge `json:"virtual_reserved"`
	LiveBlocks      Gauge `json:"live_blocks"`
	Segments        Gauge `json:"segments"`
	// Allocations counts the successful ones, Failures those that ran out of
	// memory.
	Allocations uint64 `json:"allocations"`
	Frees       uint64 `json:"frees"`
	Failures    uint64 `json:"failures"`
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes uint64 `json:"largest_free_bytes"`
	// ThreadCachedBytes is the part of Cached that waits in thread caches.
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

// gauges lists the gauges of a record, in the order of Totals.
func (s *Statistics) gauges() [gaugeCount]*Gauge {
	return [gaugeCount]*Gauge{
		requested: &s.Requested, allocated: &s.Allocated, active: &s.Active,
		cached: &s.Cached, unusable: &s.Unusable, reserved: &s.Reserved,
		liveBlocks: &s.LiveBlocks, segments: &s.Segments, virtualReserved: &s.VirtualReserved,
	}
}

// Plus is the record of two owners together. Present values and counts add up
// exactly. Peaks add up to an upper bound, because the two need not have peaked
// at the same time; Totals.Peaks knows the real ones.
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
