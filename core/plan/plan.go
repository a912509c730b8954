package plan

import (
	"time"

	"ferrum_mem/core/device"
)

// Limits of the input. With them no sum of sizes overflows 64 bits.
const (
	// MaxBuffers is the most buffers of one plan.
	MaxBuffers = 1 << 16
	// MaxArenaBytes is the largest arena and the largest buffer.
	MaxArenaBytes = 1 << 60
	// MaxAlignmentBytes is the largest alignment.
	MaxAlignmentBytes = 1 << 40
)

// Buffer is a buffer with its lifetime.
type Buffer struct {
	// Lower is the time at which the buffer begins to live. It lives until just before
	// Upper, which is later. The unit of time does not matter.
	Lower, Upper int64
	// SizeBytes is at least 1.
	SizeBytes uint64
	// AlignmentBytes is a power of two of which the offset is a multiple. 0 means 1.
	AlignmentBytes uint64
}

// Options states when a placement is good enough and how long to search for a better one.
// The zero Options mean the greedy placement without a search.
type Options struct {
	// LimitBytes is the size of an arena that is small enough: the search ends when it has
	// found one. With 0 it ends when no smaller arena is possible.
	LimitBytes uint64
	// Time is the longest time of the search, and Steps the most attempts to place a
	// buffer. 0 means no bound of this kind; if both are 0 there is no search. A search
	// that is bounded by Steps alone always gives the same placement.
	Time  time.Duration
	Steps uint64
	// Seed selects the random orders in which the search tries the buffers.
	Seed uint64
	// Progress, if not nil, is called on the goroutine of Place for each better placement
	// and at intervals of about a tenth of a second.
	Progress func(Progress)
}

// Progress is the state of a search.
type Progress struct {
	// ArenaBytes is the smallest arena so far. No arena is smaller than LowerBoundBytes.
	ArenaBytes, LowerBoundBytes uint64
	Steps                       uint64
}

// Placement is the result of Place.
type Placement struct {
	// OffsetsBytes has the offset of each buffer in the arena.
	OffsetsBytes []uint64
	// ArenaBytes is the size of the arena: the highest end of a buffer, where each size
	// counts as rounded up to the smallest alignment of all buffers.
	ArenaBytes uint64
	// PeakBytes is the largest sum of the sizes, rounded in this way, of buffers that live
	// at the same time.
	PeakBytes uint64
	// LowerBoundBytes is a size below which there is no arena. It is PeakBytes, or more if
	// the search has excluded all smaller arenas.
	LowerBoundBytes uint64
	// GreedyBytes is the arena of the greedy placement alone.
	GreedyBytes uint64
	// Steps is the number of attempts to place a buffer during the search.
	Steps uint64
}

// Optimal states whether no smaller arena is possible.
func (p *Placement) Optimal() bool { return p.ArenaBytes == p.LowerBoundBytes }

// invalid returns the error of a wrong argument.
func invalid(code device.Code, format string, args ...any) *device.Error {
	return device.Errorf(code, "plan.place", format, args...)
}

// up returns the multiple of a power of two that is at or above n.
func up(n, alignment uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }
