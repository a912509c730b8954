package kvcache

// Copy is a copy of a whole block, with its keys and values of all layers.
type Copy struct {
	From, To int32
}

// Direction states between which blocks a copy is made.
type Direction int32

const (
	// Within is from one block of the device to another.
	Within Direction = iota
	// ToHost is from a block of the device to one of the host.
	ToHost
	// FromHost is from a block of the host to one of the device.
	FromHost
)

// Store owns the memory of the blocks. The cache calls Map and Unmap without its lock, for one chunk in one
// call at a time, and Copy with its lock.
type Store interface {
	// ChunkBlocks is the number of blocks that are mapped at once. The last chunk may have fewer.
	ChunkBlocks() uint32
	// Always is the number of chunks, from the first one, that keep their memory.
	Always() uint32
	// Map gives chunks memory: all, or none.
	Map(chunks []uint32) error
	// Unmap releases the memory of chunks, after the work that is queued on the stream of the store: of all,
	// or of none.
	Unmap(chunks []uint32) error
	// Copy queues copies on the stream of the store. No block is the target of two copies, or the source of
	// one and the target of another.
	Copy(direction Direction, copies []Copy) error
	// KeepAwake keeps the memory from going to sleep until release is called.
	KeepAwake() (release func(), err error)
	// Close releases all memory. Mapped chunks are those given.
	Close(mapped []uint32) error
}
