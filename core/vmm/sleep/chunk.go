package sleep

import (
	"reflect"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/vmm/pageset"
)

const (
	// defaultChunkBytes is the number of bytes of one copy. It is large enough that the fixed
	// cost of a copy is small, and small enough that the context is checked often.
	defaultChunkBytes = 8 << 20
	// defaultPinnedBytes is the same for page-locked memory, which is allocated and freed
	// chunk by chunk. Each of these calls may wait for the device, so there are few.
	defaultPinnedBytes = 64 << 20
	// defaultLateBytes is the default of LateBytes. The free of less page-locked memory takes
	// only a few milliseconds.
	defaultLateBytes = 256 << 20
	// defaultBufferBytes bounds a staging buffer. Longer copies are not faster.
	defaultBufferBytes = 8 << 20
)

// Chunk is a run of adjacent pages of one tag that went to sleep together.
type Chunk struct {
	Run pageset.Run
	// Tag is the number of the tag in the user's table.
	Tag uint32
	// left counts its pages that are still asleep.
	left uint64
	// number is its index in the list of kept chunks.
	number uint32
	// uses counts the streams that could not be closed and may still use block.
	uses int
	// At most one of block, file and mark is set. Without them, the contents were discarded.
	block *Block
	file  *savedFile
	// mark is the mark of contents that are kept in place (device.ContentKeeper).
	mark uint32
	// index is the number of the chunk in the file.
	index int
}

// Left returns how many of its pages are still asleep.
func (c *Chunk) Left() uint64 { return c.left }

// Discarded reports whether the contents were discarded: the pages wake as zeros.
func (c *Chunk) Discarded() bool { return c.block == nil && c.file == nil && c.mark == 0 }

// InPlace returns the mark of contents that are kept in place; 0: they are not.
func (c *Chunk) InPlace() (mark uint32) { return c.mark }

// lastMark is the last mark that a chunk of the process got.
var lastMark atomic.Uint32

// KeepInPlace gives a chunk a mark: its contents stay where they are.
func (c *Chunk) KeepInPlace() {
	for c.mark == 0 {
		c.mark = lastMark.Add(1)
	}
}

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

// heldBy returns what pages of a chunk hold whose contents have no block and no file.
func (c *Chunk) heldBy(bytes uint64) (held engine.Asleep) {
	if c.mark != 0 {
		held.HostBytes = bytes
	} else if c.Discarded() {
		held.DiscardedBytes = bytes
	}
	return held
}

// dropBlock frees the kept contents in host memory, and returns their size. If that
// fails, the chunk keeps them. The next Sweep may come late, so a second attempt follows
// at once.
func (c *Chunk) dropBlock() (was engine.Asleep, err error) {
	if c.block == nil {
		return was, nil
	}
	if err = c.block.Free(); err != nil {
		err = c.block.Free()
	}
	if err == nil {
		was, c.block = c.Held(), nil
	}
	return was, err
}

// dropFile ends the use of the file, and returns the size of the contents there.
func (c *Chunk) dropFile() (was engine.Asleep, err error) {
	if c.file != nil {
		was = c.Held()
		err = c.file.release()
		c.file = nil
	}
	return was, err
}

// Block is host memory.
type Block struct {
	Addr device.HostAddr
	// Bytes may be longer than requested.
	Bytes []byte
	// Locked states that the memory is page-locked.
	Locked bool
	// Free frees it. If Free fails, the memory does not change.
	Free func() error
}

// Keepers provides the memory and the files for the contents of sleeping pages.
type Keepers struct {
	// TakeBlock allocates host memory. OpenFile creates a file in a directory ("": the
	// system's directory for temporary files).
	TakeBlock func(bytes uint64) (*Block, error)
	OpenFile  func(dir string) (File, error)
	// TakePinned allocates page-locked memory; nil: it has no use for the device.
	TakePinned func(bytes uint64) (*Block, error)
	// ChunkBytes is the number of bytes of one copy. PinnedBytes is this number for contents
	// that go to page-locked memory. BufferBytes is the largest size of a staging buffer.
	ChunkBytes, PinnedBytes, BufferBytes uint64
	// LateBytes is the size of page-locked memory from which on it is freed after the end of
	// a Wake, so that the caller does not wait for it.
	LateBytes uint64
}

// takeBlock allocates memory that returns to the system when it is freed.
func takeBlock(bytes uint64) (*Block, error) {
	memory, err := offheap.NewBlock(int(bytes))
	if err != nil {
		return nil, device.Errorf(device.CodeResourceExhausted, "vmm.sleep", "no %v of host memory: %w", device.Size(bytes), err)
	}
	items := memory.Bytes()
	return &Block{Addr: device.HostAddr(reflect.ValueOf(items).Pointer()), Bytes: items, Free: func() error {
		memory.Free()
		return nil
	}}, nil
}
