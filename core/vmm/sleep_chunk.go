package vmm

import (
	"reflect"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/pageset"
)

// defaultChunkBytes is how much is copied at once: long enough that what each copy costs
// besides does not show, short enough that a context is looked at often. A page is
// never divided.
const defaultChunkBytes = 8 << 20

// chunk is pages of one tag, one after the other, that went to sleep together.
type chunk struct {
	run pageset.Run
	tag uint32
	// left is how many of them still sleep.
	left uint64
	// number is its place in the list of what is kept.
	number uint32
	// pinned says that a copy may still use block.
	pinned bool
	// Of block and file one at most is set: without, nothing is kept.
	block *block
	file  *sleepFile
	// index is the chunk's number in the file.
	index int
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
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeResourceExhausted, "vmm.sleep", "no %d bytes of host memory: %w", bytes, err)
	}
	items := memory.Bytes()
	return &block{addr: device.HostAddr(reflect.ValueOf(items).Pointer()), bytes: items, free: memory.Free}, nil
}
