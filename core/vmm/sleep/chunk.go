package sleep

import (
	"reflect"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/pageset"
)

// defaultChunkBytes is how much is copied at once. It is large enough that the fixed
// cost of a copy is small, and small enough that the context is checked often. A page
// is never divided.
const defaultChunkBytes = 8 << 20

// Chunk is a run of adjacent pages of one tag that went to sleep together.
type Chunk struct {
	Run pageset.Run
	// Tag is the number of the tag in the user's table.
	Tag uint32
	// left counts its pages that are still asleep.
	left uint64
	// number is its index in the list of kept chunks.
	number uint32
	// pinned states that a copy may still use block.
	pinned bool
	// At most one of block and file is set. Without both, the contents were discarded.
	block *Block
	file  *savedFile
	// index is the number of the chunk in the file.
	index int
}

// Left returns how many of its pages are still asleep.
func (c *Chunk) Left() uint64 { return c.left }

// Discarded reports whether the contents were discarded: the pages wake as zeros.
func (c *Chunk) Discarded() bool { return c.block == nil && c.file == nil }

// Held returns the bytes in host memory and files that the chunk holds.
func (c *Chunk) Held() (held engine.Asleep) {
	if c.block != nil {
		held.HostBytes = uint64(len(c.block.Bytes))
	}
	if c.file != nil {
		held.FileBytes = c.file.entries[c.index].size
	}
	return held
}

// drop frees the kept contents, and returns their size.
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

// Keepers provides the memory and the files for the contents of sleeping pages.
type Keepers struct {
	// TakeBlock allocates host memory. OpenFile creates a file in a directory ("": the
	// system's directory for temporary files).
	TakeBlock func(bytes uint64) (*Block, error)
	OpenFile  func(dir string) (File, error)
	// ChunkBytes is how much is copied at once.
	ChunkBytes uint64
}

// takeBlock allocates memory that returns to the system when it is freed.
func takeBlock(bytes uint64) (*Block, error) {
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeResourceExhausted, "vmm.sleep", "no %v of host memory: %w", device.Size(bytes), err)
	}
	items := memory.Bytes()
	return &Block{Addr: device.HostAddr(reflect.ValueOf(items).Pointer()), Bytes: items, Free: memory.Free}, nil
}

// Leftover is a stream that could not be closed, with the memory that its last copy may
// still use, or a chunk that is still in use after its stream was closed.
type Leftover struct {
	stream device.Stream
	chunk  *Chunk
	buffer *Block
}
