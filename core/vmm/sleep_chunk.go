package vmm

import (
	"reflect"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
)

// defaultChunkBytes is how much is copied at once: long enough that what each copy costs
// besides does not show, short enough that a context is looked at often. A page is
// never divided.
const defaultChunkBytes = 8 << 20

// chunk is pages of one tag, one after the other, that went to sleep together.
type chunk struct {
	run run
	tag uint32
	// left is how many of them still sleep.
	left uint64
	// freed are those of its pages that were freed: they may have another life by
	// now, and sleep in another chunk.
	freed []run
	// pinned says that a copy may still use block.
	pinned bool
	// Of block and file one at most is set: without, nothing is kept.
	block *block
	file  *sleepFile
	// index is the chunk's number in the file.
	index int
}

// sleepers calls fn with the runs of its pages within r that still sleep.
func (c *chunk) sleepers(asleep *pageSet, r run, fn func(run)) {
	asleep.runsIn(r, func(part run) bool {
		for at := part.start; at < part.end(); {
			next := part.end()
			gone := false
			for _, f := range c.freed {
				if f.start <= at && at < f.end() {
					next, gone = min(next, f.end()), true
				} else if f.start > at {
					next = min(next, f.start)
				}
			}
			if !gone {
				fn(run{at, next - at})
			}
			at = next
		}
		return true
	})
}

// drop gives back what is kept, and says what that was.
func (c *chunk) drop() (was engine.Asleep, err error) {
	if c.block != nil {
		was.HostBytes = uint64(len(c.block.bytes))
		c.block.free()
		c.block = nil
	}
	if c.file != nil {
		was.FileBytes, err = c.file.leave(c.index)
		c.file = nil
	}
	return was, err
}

// block is host memory.
type block struct {
	addr  device.HostAddr
	bytes []byte
	free  func()
}

// keepers is where what sleeps is kept.
type keepers struct {
	takeBlock func(bytes uint64) (*block, error)
	openFile  func(dir string) (file, error)
	// chunkBytes is how much is copied at once.
	chunkBytes uint64
}

func newKeepers() keepers {
	return keepers{takeBlock: takeBlock, openFile: openFile, chunkBytes: defaultChunkBytes}
}

// takeBlock takes memory that goes back to the system when it is freed.
func takeBlock(bytes uint64) (*block, error) {
	memory := &offheap.Table[byte]{}
	var items []byte
	if err := memory.Grow(&items, int(bytes)); err != nil {
		return nil, device.Errorf(device.CodeResourceExhausted, "vmm.sleep", "no %d bytes of host memory: %w", bytes, err)
	}
	return &block{
		addr: device.HostAddr(reflect.ValueOf(items).Pointer()), bytes: items[:bytes],
		free: func() {
			items := items[:0]
			memory.Free(&items)
		},
	}, nil
}
