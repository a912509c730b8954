package offheap

import (
	"math"
	"sync/atomic"

	"ferrum_mem/core/device"
)

const opGrow = "offheap.grow"

// inUse is the number of bytes that all tables have mapped, most its limit.
var (
	inUse atomic.Int64
	most  atomic.Int64
)

func init() { most.Store(math.MaxInt64) }

// Mapped returns how many bytes all tables of the process have outside the Go heap.
func Mapped() uint64 { return uint64(inUse.Load()) }

// SetLimit sets the limit of Mapped: a table that would exceed it does not grow. It
// returns the previous limit. At first there is none.
func SetLimit(bytes uint64) (before uint64) {
	return uint64(most.Swap(int64(min(bytes, math.MaxInt64))))
}

// admit counts more bytes, or rejects them.
func admit(bytes int) error {
	sum, limit := inUse.Add(int64(bytes)), most.Load()
	if sum <= limit {
		return nil
	}
	release(bytes)
	return device.Errorf(device.CodeResourceExhausted, opGrow,
		"%v more would make %v of internal tables, above the limit of %v", device.Size(bytes), device.Size(sum), device.Size(limit))
}

func release(bytes int) { inUse.Add(-int64(bytes)) }
