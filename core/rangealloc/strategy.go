package rangealloc

import (
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
)

// Config describes the range that a strategy manages.
type Config struct {
	// SizeBytes is the length of the range: a multiple of GranuleBytes, not 0.
	SizeBytes uint64
	// BaseAddr is the address of offset 0, a multiple of GranuleBytes. Alignment is a
	// property of the address, BaseAddr + offset, not of the offset. The range may end at
	// 2^64, but not beyond it.
	BaseAddr uint64
	// GranuleBytes is a power of two: sizes are rounded up to a multiple of it, and every
	// offset is a multiple of it.
	GranuleBytes uint64
	// BlockBytes is the size of every block of "fixed", a multiple of GranuleBytes; 0 for
	// every other strategy.
	BlockBytes uint64
	// PageBytes is the size of the pages that "fixed" tries to keep empty: a power of two
	// of at least GranuleBytes. 0 means 2 MiB. It is 0 for every other strategy.
	PageBytes uint64
}

// Request describes a block to allocate, in bytes.
type Request struct {
	// Size is not 0. Align is a power of two; the address of the block is a multiple of
	// it.
	Size, Align uint64
	// End is the time when the block is expected to be freed, on a clock that all
	// requests of the strategy use; 0 means unknown. It influences only the placement and
	// may be wrong.
	End uint64
	// Group is a number shared by blocks that are expected to be freed together; 0 means
	// none. It influences only the placement.
	Group uint64
}

// Range is a live block, in bytes from the start of the range.
type Range struct {
	Offset uint64
	// Size is the size after rounding, at least the requested size.
	Size uint64
	// Slot is a number that no other live block has, so that the owner of the strategy
	// can store data of a block in a plain table. Slots of freed blocks are reused: the
	// highest slot is in proportion to the most blocks, live and free, that existed at
	// one time.
	Slot uint32
}

// Block is one part of the range, live or free, in bytes.
type Block struct {
	Offset uint64
	Size   uint64
	Live   bool
}

// Stats is the state of a range. FreeRuns counts maximal free runs for a strategy that
// coalesces, and free blocks for any other.
type Stats struct {
	SizeBytes uint64
	FreeBytes uint64
	// LargestFreeBytes is the largest request with the alignment of a granule that would
	// succeed now.
	LargestFreeBytes uint64
	LiveBlocks       uint64
	FreeRuns         uint64
	// HighWaterBytes is the highest end of any block so far.
	HighWaterBytes uint64
}

// Strategy allocates and frees ranges. It is not safe for concurrent use.
type Strategy interface {
	// Name returns the name by which New knows the strategy.
	Name() string
	// Alloc allocates a block. Errors: INVALID_SIZE for size 0; INVALID_ALIGNMENT;
	// ErrNoRoom if no free run holds the request; RESOURCE_EXHAUSTED if the tables are
	// full. After an error nothing has changed.
	Alloc(r Request) (Range, error)
	// Free frees the live block that starts at offset, and returns its size. Errors:
	// DOUBLE_FREE if the byte at offset is free; INVALID_ADDRESS if it is inside a live
	// block or outside the range. After an error nothing has changed. Distinguishing the
	// two errors may take time linear in the number of blocks.
	Free(offset uint64) (size uint64, err error)
	// Lookup returns the live block that starts at offset.
	Lookup(offset uint64) (Range, bool)
	// Stats costs at most as much as one search for a free run.
	Stats() Stats
	// Walk visits every block, live and free, in address order until visit returns false.
	// visit must not change the strategy.
	Walk(visit func(Block) bool)
	// Scan visits live blocks in slices. It reads at most budget places of the tables,
	// beginning at place, which is 0 at first. It returns the place where the next call
	// continues, or 0 at the end. A block that is live during all calls is visited once,
	// whatever else changes between them. Any other block is visited once or not at all.
	// The order is unspecified. visit must not change the strategy.
	Scan(place uint64, budget int, visit func(Range)) (next uint64)
	// Around returns the block that contains a byte of the range, as Walk would visit it.
	// The search begins at the live block that starts at behind, or at the start of the
	// range with FromStart; it is faster the nearer behind is. It reads at most budget
	// blocks. It returns false if the block was not among them, or if no live block
	// starts at behind.
	Around(offset, behind uint64, budget int) (Block, bool)
	// Check verifies every invariant of the strategy's tables, in time linear in the
	// number of blocks. It is for tests and debug builds.
	Check() error
	// Close releases the tables, of which not all belong to the garbage collector. No
	// other method may be called afterwards.
	Close()
}

// Batcher is a strategy that allocates and frees many blocks at once, all or none, for
// less than one by one. Callers test for it by type assertion.
type Batcher interface {
	// AllocBatch fills all of to with blocks of one request. Errors: those of Alloc;
	// ErrNoRoom if there is no space for all of them. After an error the state is as
	// before, and the contents of to are undefined.
	AllocBatch(r Request, to []Range) error
	// FreeBatch frees the live blocks that start at the offsets, in any order. Errors:
	// those of Free, for the first invalid offset in the list. An offset that is in the
	// list twice gives DOUBLE_FREE at its second position. After an error the state is as
	// before.
	FreeBatch(offsets []uint64) error
}

// Run is a run of adjacent live blocks of one size with consecutive slots.
type Run struct {
	// Offset and Slot are those of the first of Count blocks.
	Offset      uint64
	Slot, Count uint32
}

// RunBatcher is a Batcher whose blocks all have one size and that returns them as runs.
// This saves the owner of a table by slot a lookup, and a Range in memory, for each
// block.
type RunBatcher interface {
	Batcher
	// AllocRuns is AllocBatch for count blocks. The runs contain the blocks in the order
	// in which AllocBatch would return them. It writes them to runs, or to a larger
	// slice, and returns the size of every block.
	AllocRuns(r Request, count int, runs []Run) (got []Run, size uint64, err error)
	// FreeRuns is FreeBatch. It returns the blocks in the order of the offsets, as
	// AllocRuns does.
	FreeRuns(offsets []uint64, runs []Run) (freed []Run, size uint64, err error)
}

// SlotFreer is a strategy that frees the block that Lookup has just returned, without
// another lookup.
type SlotFreer interface {
	// FreeSlot frees the live block of a slot. It returns the length of the free run that
	// contains the block then: a request of so many bytes would succeed.
	FreeSlot(slot uint32) (runBytes uint64)
}

// Retractor is a strategy whose state changes by an Alloc and a Free of the same block:
// it learns from frees, or does not reuse memory at once.
type Retractor interface {
	// Retract takes back the block that was allocated last, as if it had never been
	// allocated. For any other block it is Free.
	Retract(offset uint64) error
}

// Asker is a strategy that can ask whether a place can be used before it allocates a
// block there. Callers test for it by type assertion.
type Asker interface {
	// AllocWhere is Alloc at a place for which suits returns true. It asks about ranges
	// that would contain all of the block: at most most ranges (1 or more). It returns
	// their number. Errors: those of Alloc; ErrNoRoom also if suits accepts none. After
	// an error nothing has changed except the order in which later blocks are placed.
	// suits must not use the strategy.
	AllocWhere(r Request, most int, suits func(offset, size uint64) bool) (got Range, asked int, err error)
}

// Ender is a strategy that knows where the free rest of its range starts.
type Ender interface {
	// End returns the lowest offset behind which everything is free.
	End() uint64
}

// HoleFinder is a strategy that knows the lengths of the free runs between its blocks.
type HoleFinder interface {
	// LargestBelow returns the length of the longest free run shorter than sizeBytes that
	// is between two live blocks or before the first; 0 means there is none. It costs at
	// most as much as one search for a free run.
	LargestBelow(sizeBytes uint64) uint64
}

// SizeOrdered is a strategy in which a failed request makes all larger ones fail. After
// Alloc returned ErrNoRoom for a request with at most the alignment of a granule, it
// returns ErrNoRoom for every request of that size or larger until a block is freed,
// whatever is allocated meanwhile. If FreeSlot frees that block, only requests that are
// no longer than the returned run can succeed again. A caller that remembers failed sizes
// must test for this interface first: in other strategies a larger request may still
// succeed.
type SizeOrdered interface {
	// SizeOrdered does nothing; having the method is the promise.
	SizeOrdered()
}

// ExactSizes is a strategy that rounds a size up to the granule and no further.
type ExactSizes interface {
	// ExactSizes does nothing; having the method is the promise.
	ExactSizes()
}

// Lender is a strategy whose tables can be lent to code outside of Go.
type Lender interface {
	// Lend writes where the tables are, and the numbers that belong to them. The strategy
	// must not be used until Absorb. It returns false if it does not lend them now; the
	// strategy may be used then.
	Lend(to *lending.Places) bool
	// Absorb reads the changed numbers.
	Absorb(from *lending.Places)
}

// ErrNoRoom is the error of Alloc when no free run holds the request at its alignment.
// Its code is OUT_OF_MEMORY. It has no details, because formatting them would cost time
// at every attempt in a full range. The caller knows the request and adds them.
var ErrNoRoom error = &device.Error{
	Code:    device.CodeOutOfMemory,
	Op:      "rangealloc.alloc",
	Message: "no free run holds the request at its alignment",
}

// Default is the strategy of a pool that names none.
const Default = "best_fit"

// Traits are properties of a strategy that a caller must know before it creates one. The
// strategy itself states the others, see SizeOrdered. Each is a promise; a new strategy
// need not make it.
type Traits struct {
	// OneSize: all blocks have the size Config.BlockBytes, which the strategy needs. They
	// are placed so that pages of Config.PageBytes become empty. No other strategy uses
	// these two settings.
	OneSize bool
	// Monotonic: blocks are placed one behind the other, and freed memory is not reused
	// until no block is live.
	Monotonic bool
	// Cacheable: a cache in front of the strategy may keep freed blocks and reuse them,
	// without a loss for the strategy.
	Cacheable bool
}

var strategies = []struct {
	name   string
	make   func(Config) (Strategy, error)
	traits Traits
}{
	{Default, newBestFit, Traits{Cacheable: true}},
	{nameTLSF, newTLSF, Traits{Cacheable: true}},
	{nameBuddy, newBuddy, Traits{Cacheable: true}},
	// The memory of an arena can be reused when its last block is freed. Idle blocks of a
	// cache would delay that.
	{nameArena, newArena, Traits{Monotonic: true}},
	{nameSizeClass, newSizeClass, Traits{Cacheable: true}},
	// Fixed chooses places so that pages become empty. A cache would reuse whatever was
	// freed last.
	{nameFixed, newFixed, Traits{OneSize: true}},
}

// New creates the named strategy for an empty range. Errors: NOT_FOUND for a name that is
// not in Names, INVALID_CONFIG.
func New(name string, c Config) (Strategy, error) {
	for _, s := range strategies {
		if s.name == name {
			return s.make(c)
		}
	}
	return nil, device.Errorf(device.CodeNotFound, "rangealloc.new",
		"strategy %q is not known; the strategies are %s", name, strings.Join(Names(), ", "))
}

// TraitsOf returns the traits of the named strategy; none for a name that is not in
// Names.
func TraitsOf(name string) Traits {
	for _, s := range strategies {
		if s.name == name {
			return s.traits
		}
	}
	return Traits{}
}

// Names returns the strategies of this build, the default first.
func Names() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.name
	}
	return names
}
