package kvcache

// none is the end of a list of blocks, and the entry of a block that was given back.
const none = -1

// state is the state of a block.
type state uint8

const (
	// unmapped blocks have no memory.
	unmapped state = iota
	// free blocks are in the free list of their chunk.
	free
	// used blocks have references.
	used
	// cached blocks have a hash and no reference. They are in the list of evictable blocks.
	cached
)

// block is a block of the device.
type block struct {
	hash uint64
	// next and previous are the neighbours in the list of evictable blocks; next is also the one in the free
	// list. chain is the next block of the same bucket of the index.
	next, previous, chain int32
	// refs is the number of block tables with the block.
	refs int32
	// turn is the last call that counted in drops the references that the call will release, or that stored
	// in drops the partner of a swap.
	turn  uint32
	drops int32
	state state
	// published states that the index has the block.
	published bool
}

// hostBlock is a block of the host.
type hostBlock struct {
	hash uint64
	// next is that in the free list.
	next int32
	refs int32
	// turn and partner are as block.turn and block.drops in a swap.
	turn      uint32
	partner   int32
	published bool
	// copied states that the partner of a swap is not shared by its hash, but gets a copy.
	copied bool
}

// chunk is a number of adjacent blocks whose memory is mapped at once.
type chunk struct {
	// head begins the list of free blocks.
	head int32
	// blocks is the number of blocks; frees and used are those in these states.
	blocks, frees, used int32
	mapped              chunkState
}

// chunkState states whether a chunk has memory.
type chunkState uint8

const (
	chunkUnmapped chunkState = iota
	// chunkMoving: a call maps or unmaps the chunk without the lock.
	chunkMoving
	chunkMapped
)

// Sequence is the id of a sequence: its place in the table, and the generation of the place. An id is not
// used again before a place has had 2^32 sequences. 0 is no sequence.
type Sequence = uint64

// sequence is a place for a sequence.
type sequence struct {
	generation uint32
	// turn is the last call that named the sequence, to find one that is named twice.
	turn   uint32
	tokens uint32
	// The entries of the block table from first to below count have blocks. The window has given back those
	// before first.
	first, count uint32
	// published is the number of blocks from the start of the sequence that were published or shared by hash.
	published uint32
	// next is the next free place.
	next int32
	live bool
	// swapped states that the entries are blocks of the host.
	swapped bool
	// exclusive states that the last block has one reference and is not published, so that an append to the
	// block needs no look at it.
	exclusive bool
}

// item is a sequence of the present call.
type item struct {
	place int32
	// tokens is the length of the sequence after the call.
	tokens uint32
	// first and count are those of the sequence after the call.
	first, count uint32
	// copied is the block that replaces the last one; none: it stays.
	copied int32
	// hits is the number of blocks that are shared by hash.
	hits uint32
}

// counts are the counters of a cache.
type counts struct {
	free, used, cached, unmapped, hostUsed int
	published, references                  int
	live, swapped                          int
	tokens                                 uint64
	hits, misses, evictions, copies        uint64
	swappedOut, swappedIn, failures        uint64
}
