package inflight

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// table is a table outside of the Go heap whose items are known by number, and whose
// places are used again.
type table[T any] struct {
	items       []T
	spares      []int32
	memory      offheap.Table[T]
	spareMemory offheap.Table[int32]
}

// reserve has room for so many items more: CodeResourceExhausted.
func (t *table[T]) reserve(count int) error {
	want := len(t.items) - len(t.spares) + count
	if want <= cap(t.items) && want <= cap(t.spares) {
		return nil
	}
	if want > math.MaxInt32 {
		return device.Errorf(device.CodeResourceExhausted, "pool.reserve", "%d items are more than a table has numbers", want)
	}
	if err := t.memory.Leaves(want, leftBytes); err != nil {
		return err
	}
	if err := t.memory.Grow(&t.items, want); err != nil {
		return err
	}
	// Every place may come to be a spare one.
	return t.spareMemory.Grow(&t.spares, want)
}

// leftBytes is what the tables leave to the process: the Go heap, whose end is the end
// of the process, grows by 64 MiB of addresses.
const leftBytes = 80 << 20

// take gives a place that is not in use, with anything in it. There is room.
func (t *table[T]) take() int32 {
	if last := len(t.spares) - 1; last >= 0 {
		at := t.spares[last]
		t.spares = t.spares[:last]
		return at
	}
	t.items = t.items[:len(t.items)+1]
	return int32(len(t.items) - 1)
}

// put ends the use of a place.
func (t *table[T]) put(at int32) {
	var empty T
	t.items[at] = empty
	t.spares = t.spares[:len(t.spares)+1]
	t.spares[len(t.spares)-1] = at
}

// detach takes the memory out of the table, which is as new then.
func (t *table[T]) detach() offheap.Detached {
	return offheap.Detached{t.memory.Detach(&t.items), t.spareMemory.Detach(&t.spares)}
}
