package offheap

import (
	"math"
	"sync/atomic"

	"ferrum_mem/core/device"
)

const opGrow = "offheap.grow"

// inUse is what all tables have mapped, and most what they may have.
var (
	inUse atomic.Int64
	most  atomic.Int64
)

func init() { most.Store(math.MaxInt64) }

// Mapped is how many bytes all tables of the process have outside of the Go heap.
func Mapped() uint64 { return uint64(inUse.Load()) }

// SetLimit bounds Mapped from now on: a table that would go beyond it does not
// grow. It gives the limit before. There is none at first.
func SetLimit(bytes uint64) (before uint64) {
	return uint64(most.Swap(int64(min(bytes, math.MaxInt64))))
}

// admit counts more bytes, or refuses them.
func admit(bytes int) error {
	sum, limit := inUse.Add(int64(bytes)), most.Load()
	if sum <= limit {
		return nil
	}
	release(bytes)
	return device.Errorf(device.CodeResourceExhausted, opGrow,
		"%d bytes more would make %d bytes of tables, beyond the limit of %d", bytes, sum, limit)
}

func release(bytes int) { inUse.Add(-int64(bytes)) }
