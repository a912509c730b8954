package manager

import (
	"cmp"
	"math"
	"slices"

	"ferrum_mem/core/device"
)

// CopyBatch queues copies by address on a stream, within its device, and returns. It
// checks all copies before it queues the first. Their order is not defined, so no
// destination may overlap the source or the destination of another copy. The two ranges
// of one copy may overlap, as with memmove. The memory must stay until the copies have
// completed: this call does not know blocks. Errors name a copy by its index:
// CodeInvalidSize for a size of 0, CodeOverflow, CodeInvalidArgument for an overlap,
// CodeInvalidAddress for memory of no segment of the device, and those of the queue.
func (f *Factory) CopyBatch(on StreamHandle, copies []device.Move) error {
	const op = "stream.copy_batch"
	s, err := f.lookUpStream(op, on)
	if err != nil {
		return err
	}
	if err := checkMoves(op, copies); err != nil {
		return device.About(s.owner.engine.ID(), err)
	}
	return s.queue(op, func(dev device.Stream) error { return dev.CopyBatch(copies) })
}

// checkMoves rejects copies whose result depends on their order.
func checkMoves(op string, copies []device.Move) error {
	for i, c := range copies {
		if c.SizeBytes == 0 {
			return device.Errorf(device.CodeInvalidSize, op, "copies[%d]: size_bytes is 0", i)
		}
		if uint64(max(c.Dst, c.Src)) > math.MaxUint64-c.SizeBytes {
			return device.Errorf(device.CodeOverflow, op, "copies[%d]: destination %#x or source %#x + size_bytes %d does not fit 64 bits",
				i, uint64(c.Dst), uint64(c.Src), c.SizeBytes)
		}
	}
	order := make([]int32, len(copies))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(copies[a].Dst, copies[b].Dst) })
	for at := 1; at < len(order); at++ {
		before, after := order[at-1], order[at]
		if end := copies[before].Dst + device.Addr(copies[before].SizeBytes); end > copies[after].Dst {
			return overlaps(op, copies, int(max(before, after)), "destination", int(min(before, after)))
		}
	}
	for i, c := range copies {
		// The first destination that ends behind the start of the source.
		at, _ := slices.BinarySearchFunc(order, c.Src, func(j int32, addr device.Addr) int {
			return cmp.Compare(copies[j].Dst+device.Addr(copies[j].SizeBytes), addr+1)
		})
		for ; at < len(order) && copies[order[at]].Dst < c.Src+device.Addr(c.SizeBytes); at++ {
			if j := int(order[at]); j != i {
				return overlaps(op, copies, i, "source", j)
			}
		}
	}
	return nil
}

// overlaps is the error of two copies that must not run concurrently.
func overlaps(op string, copies []device.Move, i int, what string, j int) error {
	addr := copies[i].Dst
	if what == "source" {
		addr = copies[i].Src
	}
	return device.Errorf(device.CodeInvalidArgument, op,
		"copies[%d]: the %s of %v at %#x overlaps the destination of copies[%d], %v at %#x: the copies of one call have no order",
		i, what, device.Size(copies[i].SizeBytes), uint64(addr), j, device.Size(copies[j].SizeBytes), uint64(copies[j].Dst))
}
