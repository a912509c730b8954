package plan

import (
	"cmp"
	"context"
	"slices"

	"ferrum_mem/core/device"
)

// taken is the place of a buffer in the arena.
type taken struct {
	offset, top uint64
	// first and end are the sections of the buffer.
	first, end int32
}

// contextEvery is the number of buffers after which the greedy placement looks at the
// context.
const contextEvery = 256

// greedy places items in the given order, each at the lowest offset at which it overlaps
// no item before it in both time and addresses. It returns the highest end. It compares
// each pair of items at most once.
func greedy(ctx context.Context, items []item, order []int32, offsets []uint64) (height uint64, err error) {
	placed := make([]taken, 0, len(items)) // in order of their offsets
	for n, i := range order {
		if n%contextEvery == contextEvery-1 && ctx.Err() != nil {
			return 0, stopped()
		}
		it := &items[i]
		offset := uint64(0)
		for j := range placed {
			other := &placed[j]
			if other.offset >= offset+it.size {
				break // The gap below this item, and below all after it, is large enough.
			}
			if other.top > offset && it.first < other.end && other.first < it.end {
				offset = up(other.top, it.align)
			}
		}
		top := offset + it.size
		if top > MaxArenaBytes {
			return 0, invalid(device.CodeOverflow, "buffers[%d]: its end in the arena would be above %v", it.index, device.Size(uint64(MaxArenaBytes)))
		}
		offsets[i] = offset
		height = max(height, top)
		at, _ := slices.BinarySearchFunc(placed, offset, func(p taken, offset uint64) int { return cmp.Compare(p.offset, offset) })
		placed = slices.Insert(placed, at, taken{offset, top, it.first, it.end})
	}
	return height, nil
}

func stopped() error {
	return device.Errorf(device.CodeCancelled, "plan.place", "stopped before the buffers were placed")
}
