package engine

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// reportedTags is the largest number of tags that an out-of-memory report names.
const reportedTags = 5

// outOfMemory is the error of an allocation for which no memory was found. It states
// the request, the free bytes, the largest free run, the bounds, the tags that hold
// most, and the driver's error during the search, unless that is nil.
func (e *Engine) outOfMemory(need Need, driverError *device.Error) error {
	var text strings.Builder
	room := uint64(0)
	fmt.Fprintf(&text, "no memory for %v aligned to %d in pool %q", device.Size(need.SizeBytes),
		need.AlignmentBytes, need.Pool.Name())

	if reading, err := e.dev.Memory(); err != nil {
		fmt.Fprintf(&text, "; free in the device: unknown (%v)", err)
	} else {
		fmt.Fprintf(&text, "; free in the device: %v of %v", device.Size(reading.FreeBytes), device.Size(reading.TotalBytes))
		room = reading.FreeBytes
	}
	own := need.Pool.Statistics()
	fmt.Fprintf(&text, "; free in the pool: %v, largest run %v", device.Size(own.Cached.Current),
		device.Size(own.LargestFreeBytes))
	if inFlight := own.Active.Current - own.Allocated.Current; inFlight > 0 {
		fmt.Fprintf(&text, "; freed but in use by queued work: %v", device.Size(inFlight))
	}
	// The two values are of two moments.
	if all := e.Statistics().Cached.Current; all > own.Cached.Current {
		fmt.Fprintf(&text, "; cached by other pools, beside live blocks: %v", device.Size(all-own.Cached.Current))
	}
	if need.Bound != "" {
		fmt.Fprintf(&text, "; %s", need.Bound)
		room = min(room, need.BoundRoomBytes)
	}
	e.mu.LockToRead()
	limit, held := e.limit.Load(), e.held
	room = min(room, e.headroom())
	e.mu.Unlock()
	if limit != 0 {
		fmt.Fprintf(&text, "; limit of the device: %v, held: %v", device.Size(limit), device.Size(held))
	}
	e.writeHolders(&text)
	native := int64(0)
	if driverError != nil {
		native = driverError.Native
		fmt.Fprintf(&text, "; error of the driver: %s", driverError.Message)
	}
	return device.Errorf(device.CodeOutOfMemory, need.Op, "%s", text.String()).On(e.ID()).WithNative(native).
		Stating(device.FactRequestedBytes, need.SizeBytes).
		Stating(device.FactAvailableBytes, saturatingAdd(room, own.Cached.Current)).
		Stating(device.FactLargestFreeBytes, own.LargestFreeBytes)
}

func (e *Engine) writeHolders(text *strings.Builder) {
	tags := e.Tags()
	if len(tags) == 0 {
		text.WriteString("; no block is live on the device")
		return
	}
	text.WriteString("; held by ")
	for i, use := range tags[:min(len(tags), reportedTags)] {
		if i > 0 {
			text.WriteString(", ")
		}
		name := use.Tag
		if name == "" {
			name = "(no tag)"
		}
		fmt.Fprintf(text, "%s: %v in %s", name, device.Size(use.AllocatedBytes), device.Count(use.Blocks, "block"))
	}
	if more := len(tags) - reportedTags; more > 0 {
		fmt.Fprintf(text, " and %d more tags", more)
	}
}

// Need is an allocation that found no memory in its pool and none on the device.
type Need struct {
	Pool Pool
	// Op is the operation for the error, such as "pool.alloc".
	Op             string
	SizeBytes      uint64
	AlignmentBytes uint64
	// Bound describes for the report what bounds the pool; "" if nothing does.
	Bound string
	// BoundRoomBytes is the number of bytes that the pool may still allocate under
	// that bound.
	BoundRoomBytes uint64
	// Spare tries to serve the allocation from freed blocks that its stream may reuse
	// at once, even if that wastes most of a block; nil: there are none.
	Spare func() (bool, error)
}
