package sleep

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

// Chunk is pages of one tag, one after the other, that went to sleep together.
type Chunk struct {
	Run pageset.Run
	// Tag is what its user knows the tag by.
	Tag uint32
	// left is how many of them still
	left uint64
	// number is its place in the list of what is kept.
	number uint32
	// pinned says that a copy may still use block.
	pinned bool
	// Of block and file one at most is set: without, nothing is kept.
	block *Block
	file  *savedFile
	// index is the chunk's number in the file.
	index int
}

// Left is how many of its pages still sleep.
func (c *Chunk) Left() uint64 { return c.left }

// Discarded says that nothing is kept of it: it wakes as zeros.
func (c *Chunk) Discarded() bool { return c.block == nil && c.file == nil }

// Held is what is held for it in host memory and files.
func (c *Chunk) Held() (held engine.Asleep) {
	if c.block != nil {
		held.HostBytes = uint64(len(c.block.Bytes))
	}
	if c.file != nil {
		held.FileBytes = c.file.entries[c.index].size
	}
	return held
}

// drop gives back what is kept, and says what that was.
func (c *Chunk) drop() (was engine.Asleep, err error) {
	was = c.Held()
	if c.block != nil {
		c.block.Free()
		c.block = nil
	}
	if c.file != nil {
		err = c.file.release()
		c.file = nil
	}
	return was, err
}

// Block is host memory.
type Block struct {
	Addr  device.HostAddr
	Bytes []byte
	Free  func()
}

// Keepers is where what sleeps is kept.
type Keepers struct {
	// TakeBlock has host memory, OpenFile a file in a directory ("": the system's).
	TakeBlock func(bytes uint64) (*Block, error)
	OpenFile  func(dir string) (File, error)
	// ChunkBytes is how much is copied at once.
	ChunkBytes uint64
}

// takeBlock takes memory that goes back to the system when it is freed.
func takeBlock(bytes uint64) (*Block, error) {
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeResourceExhausted, "vmm.sleep", "no %d bytes of host memory: %w", bytes, err)
	}
	items := memory.Bytes()
	return &Block{Addr: device.HostAddr(reflect.ValueOf(items).Pointer()), Bytes: items, Free: memory.Free}, nil
}

// Leftover is a stream that could not be closed, and what its last copy may still use, or
// a chunk that is in use though its stream was closed.
type Leftover struct {
	stream device.Stream
	chunk  *Chunk
	buffer *Block
}
