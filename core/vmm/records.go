package vmm

import (
	"math"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// allocation is the request of one call, until all its pages were freed.
type allocation struct {
	// offset and size are the requested bytes.
	offset, size uint64
	// left counts its live pages; 0: the allocation is in progress, or the record is
	// not in use.
	left uint32
	tag  uint32
	// at is the time of the request, on the clock of track.
	at time.Duration
}

// share returns how many of the requested bytes lie in [first, end).
func (a *allocation) share(first, end uint64) uint64 {
	low, high := max(first, a.offset), min(end, a.offset+a.size)
	return high - min(low, high)
}

// records has the allocations of a space by number. The lock of its owner guards it.
type records struct {
	memory offheap.Table[allocation]
	all    []allocation
	spare  []uint32
}

// add assigns a number to an allocation whose pages are not live yet.
func (t *records) add(a allocation) (uint32, error) {
	if last := len(t.spare) - 1; last >= 0 {
		number := t.spare[last]
		t.spare = t.spare[:last]
		t.all[number] = a
		return number, nil
	}
	if len(t.all) == math.MaxUint32-1 {
		return 0, device.Errorf(device.CodeResourceExhausted, "vmm.records", "there are %d allocations", len(t.all))
	}
	if len(t.all) == cap(t.all) {
		if err := t.memory.Grow(&t.all, len(t.all)+1); err != nil {
			return 0, err
		}
	}
	t.all = append(t.all, a)
	return uint32(len(t.all) - 1), nil
}

func (t *records) remove(number uint32) {
	t.all[number] = allocation{}
	t.spare = append(t.spare, number)
}

// count returns the number of allocations, including those in progress.
func (t *records) count() uint64 { return uint64(len(t.all) - len(t.spare)) }

func (t *records) detach() (free func()) {
	t.spare = nil
	return t.memory.Detach(&t.all)
}

func (t *records) bytes() uint64 { return uint64(t.memory.Bytes()) }
