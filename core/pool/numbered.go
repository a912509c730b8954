package pool

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// numbered is a table outside of the Go heap whose items are known by number, and whose
// places are used again.
type numbered[T any] struct {
	items       []T
	spares      []int32
	memory      offheap.Table[T]
	spareMemory offheap.Table[int32]
}

// reserve has room for so many items more: CodeResourceExhausted.
func (n *numbered[T]) reserve(count int) error {
	want := len(n.items) - len(n.spares) + count
	if want <= cap(n.items) && want <= cap(n.spares) {
		return nil
	}
	if want > math.MaxInt32 {
		return device.Errorf(device.CodeResourceExhausted, "pool.reserve", "%d items are more than a table has numbers", want)
	}
	if err := n.memory.Leaves(want, leftBytes); err != nil {
		return err
	}
	if err := n.memory.Grow(&n.items, want); err != nil {
		return err
	}
	// Every place may come to be a spare one.
	return n.spareMemory.Grow(&n.spares, want)
}

// leftBytes is what the tables leave to the process: the Go heap, whose end is the end
// of the process, grows by 64 MiB of addresses.
const leftBytes = 80 << 20

// take gives a place that is not in use, with anything in it. There is room.
func (n *numbered[T]) take() int32 {
	if last := len(n.spares) - 1; last >= 0 {
		at := n.spares[last]
		n.spares = n.spares[:last]
		return at
	}
	n.items = n.items[:len(n.items)+1]
	return int32(len(n.items) - 1)
}

// put ends the use of a place.
func (n *numbered[T]) put(at int32) {
	var empty T
	n.items[at] = empty
	n.spares = n.spares[:len(n.spares)+1]
	n.spares[len(n.spares)-1] = at
}

// detach takes the memory out of the table, which is as new then.
func (n *numbered[T]) detach() offheap.Detached {
	return offheap.Detached{n.memory.Detach(&n.items), n.spareMemory.Detach(&n.spares)}
}
