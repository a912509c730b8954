package placement

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

// AlignmentMax is the largest alignment of a request: 1 GiB.
const AlignmentMax = uint64(1) << 30

// LongLived is the expected lifetime from which a request counts as long-lived. A
// device that it brings to High stays there, so such a device already gets a lower
// tier.
const LongLived = time.Minute

// Requirements has the requirements of a request other than its size. The zero value
// has none: memory of type General, of any alignment, on any device.
type Requirements struct {
	// Preferred has devices in the order of preference. It adds to scores, or with
	// Strict is the order of choice.
	Preferred []device.ID
	// Strict chooses the first of Preferred that can serve the request, regardless of
	// its tier and score. Only if none can, other devices are chosen.
	Strict bool
	// Type is the memory type.
	Type manager.MemoryType
	// AlignmentBytes is a power of two up to AlignmentMax; 0: any.
	AlignmentBytes uint64
	// Critical states that the request must not wait: a device that would have to
	// reclaim memory first is excluded.
	Critical bool
	// RefuseCritical excludes devices that the request would bring to the level
	// Critical; otherwise they come last.
	RefuseCritical bool
	// Lifetime is the expected time of use of the memory; 0: not known.
	Lifetime time.Duration
}

// Request is a size with its requirements.
type Request struct {
	SizeBytes uint64
	Requirements
}

// check rejects an invalid request.
func (r Request) check() error {
	const op = "placement.select"
	if r.SizeBytes == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0")
	}
	if a := r.AlignmentBytes; a&(a-1) != 0 || a > AlignmentMax {
		return device.Errorf(device.CodeInvalidAlignment, op,
			"alignment_bytes %d is not a power of two up to %d", a, AlignmentMax)
	}
	if r.Type < 0 || r.Type >= manager.MemoryTypeCount {
		return device.Errorf(device.CodeInvalidArgument, op,
			"memory_type %d is not from 0 to %d", int32(r.Type), manager.MemoryTypeCount-1)
	}
	if r.Lifetime < 0 {
		return device.Errorf(device.CodeInvalidArgument, op, "expected lifetime %v is negative", r.Lifetime)
	}
	return nil
}

// rank returns the position of a device among the preferred ones, from 1; 0: none.
func (r Request) rank(id device.ID) int {
	for i, preferred := range r.Preferred {
		if preferred == id {
			return i + 1
		}
	}
	return 0
}
