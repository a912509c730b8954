package inflight

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// table is a table outside the Go heap. Its items are named by index, and free indices
// are reused.
type table[T any] struct {
	items       []T
	spares      []int32
	memory      offheap.Table[T]
	spareMemory offheap.Table[int32]
}

// reserve makes room for count more items. It returns CodeResourceExhausted if there is
// no memory.
func (t *table[T]) reserve(count int) error {
	want := len(t.items) - len(t.spares) + count
	if want <= cap(t.items) && want <= cap(t.spares) {
		return nil
	}
	if want > math.MaxInt32 {
		return device.Errorf(device.CodeResourceExhausted, "pool.reserve", "%d items are more than a table can number", want)
	}
	if err := t.memory.Leaves(want, leftBytes); err != nil {
		return err
	}
	if err := t.memory.Grow(&t.items, want); err != nil {
		return err
	}
	// Every index may become a spare one.
	return t.spareMemory.Grow(&t.spares, want)
}

// leftBytes is the memory that the tables leave for the process. The Go heap grows by 64
// MiB of addresses at a time, and the process ends when that fails.
const leftBytes = 80 << 20

// take returns an unused index. Its item may have any value. The caller has reserved the
// room.
func (t *table[T]) take() int32 {
	if last := len(t.spares) - 1; last >= 0 {
		at := t.spares[last]
		t.spares = t.spares[:last]
		return at
	}
	t.items = t.items[:len(t.items)+1]
	return int32(len(t.items) - 1)
}

// put clears an item and makes its index unused.
func (t *table[T]) put(at int32) {
	var empty T
	t.items[at] = empty
	t.spares = t.spares[:len(t.spares)+1]
	t.spares[len(t.spares)-1] = at
}

// detach takes the memory out of the table, which is empty afterwards.
func (t *table[T]) detach() offheap.Detached {
	return offheap.Detached{t.memory.Detach(&t.items), t.spareMemory.Detach(&t.spares)}
}
