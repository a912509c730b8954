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
	// BaseAddr is the address of offset 0, a multiple of GranuleBytes. Alignment
	// is a property of the address, BaseAddr + offset, and not of the offset.
	// The range may end at 2^64 but not pass it.
	BaseAddr uint64
	// GranuleBytes is a power of two: sizes are rounded up to it and every
	// offset is a multiple of it.
	GranuleBytes uint64
	// BlockBytes is the size of every block of "fixed", a multiple of
	// GranuleBytes; 0 for every other strategy.
	BlockBytes uint64
	// PageBytes is the length of what "fixed" tries to leave empty: a power of
	// two of at least GranuleBytes; 0 is 2 MiB. 0 for every other strategy.
	PageBytes uint64
}

// Request is a block as asked for, in bytes.
type Request struct {
	// Size is not 0. Align is a power of two, of the address.
	Size, Align uint64
	// End is when the block is expected to be freed, on a clock that all
	// requests of the strategy share; 0: not known. It bears on the place only,
	// and may be wrong.
	End uint64
	// Group is a number that blocks share which are expected to be freed
	// together; 0: none. It bears on the place only.
	Group uint64
}

// Range is a live block, in bytes from the start of the range.
type Range struct {
	Offset uint64
	// Size is the size after rounding, at least what was asked for.
	Size uint64
	// Slot is a number that no other live block has while this one lives, so
	// that the owner of the strategy can keep what it knows of a block in a plain
	// table. Slots of dead blocks come back: the highest stays in proportion to
	// the most blocks, live and free, that there were at one time.
	Slot uint32
}

// Block is one stretch of the range, live or free, in bytes.
type Block struct {
	Offset uint64
	Size   uint64
	Live   bool
}

// Stats is the state of a range. FreeRuns counts maximal free runs for a
// strategy that coalesces, and free blocks otherwise.
type Stats struct {
	SizeBytes uint64
	FreeBytes uint64
	// LargestFreeBytes is the largest request, aligned to a granule, that would
	// be served now.
	LargestFreeBytes uint64
	LiveBlocks       uint64
	FreeRuns         uint64
	// HighWaterBytes is the highest end of any block that ever was live.
	HighWaterBytes uint64
}

// Strategy hands out ranges. It is not safe for concurrent use.
type Strategy interface {
	// Name is the name that New knows the strategy by.
	Name() string
	// Alloc takes a block. Errors: INVALID_SIZE for size 0, INVALID_ALIGNMENT, ErrNoRoom when
	// no free run holds the request, RESOURCE_EXHAUSTED when the tables are full.
	// A failed Alloc changes nothing.
	Alloc(r Request) (Range, error)
	// Free gives back the live block that starts at offset, and says how long it
	// was. Errors: DOUBLE_FREE when the byte at offset is free, INVALID_ADDRESS
	// when it is inside a live block or outside the range. A failed Free changes
	// nothing; telling its two errors apart may take time linear in the blocks.
	Free(offset uint64) (size uint64, err error)
	// Lookup is the live block that starts at offset.
	Lookup(offset uint64) (Range, bool)
	// Stats costs no more than one search for a free run.
	Stats() Stats
	// Walk visits every block, live and free, in address order until visit says
	// false. visit must not change the strategy.
	Walk(visit func(Block) bool)
	// Scan visits live blocks in slices: it looks at no more places of the tables
	// than budget, from a place on, 0 at first, and gives the place to go on from, 0
	// when there are no more. A block that lives from the first of the calls to the
	// last is visited once, whatever else changes between them; any other once or
	// not at all. The order is none. visit must not change the strategy.
	Scan(place uint64, budget int, visit func(Range)) (next uint64)
	// Around is the block that a byte of the range lies in, as Walk has it, found
	// from the live block on that starts at behind, or with FromStart from the start:
	// the nearer, the faster. It looks at no more blocks than budget; false: it was
	// not among them, or no live block starts at behind.
	Around(offset, behind uint64, budget int) (Block, bool)
	// Check verifies every invariant of the strategy's tables, in time linear
	// in the blocks. It is for tests and debug builds.
	Check() error
	// Close gives the tables back, which are not all the garbage collector's. No
	// other method may be called afterwards.
	Close()
}

// Batcher is a strategy that takes and gives many blocks at once, cheaper than
// one by one. All or nothing. Callers ask for it by type assertion.
type Batcher interface {
	// AllocBatch fills all of to with blocks of one request. Errors: those of
	// Alloc; ErrNoRoom when not all of them have room. After an error the state
	// is as before, and what to holds means nothing.
	AllocBatch(r Request, to []Range) error
	// FreeBatch frees the live blocks that start at the offsets, in any order.
	// Errors: those of Free, for the first offset in the list that is bad; one
	// that is in the list twice is DOUBLE_FREE at its second place. After an
	// error the state is as before.
	FreeBatch(offsets []uint64) error
}

// Run is live blocks of one size that lie behind each other, and whose slots
// follow each other.
type Run struct {
	// Offset and Slot are those of the first of Count blocks.
	Offset      uint64
	Slot, Count uint32
}

// RunBatcher is a Batcher all of whose blocks have one size, and that tells them
// in runs: the owner of a table by slot is spared a look-up, and a range in
// memory, for each.
type RunBatcher interface {
	Batcher
	// AllocRuns is AllocBatch for count blocks, which the runs have in the order
	// in which AllocBatch would give them. It puts them where runs is, or into a
	// larger slice, and gives the size of every block.
	AllocRuns(r Request, count int, runs []Run) (got []Run, size uint64, err error)
	// FreeRuns is FreeBatch, and tells the blocks in the order of the offsets, in
	// the same way.
	FreeRuns(offsets []uint64, runs []Run) (freed []Run, size uint64, err error)
}

// SlotFreer is a strategy that frees the block that Lookup has just given, without
// looking it up again.
type SlotFreer interface {
	// FreeSlot frees the live block of that slot, and says how long the free run is
	// that it is part of then: a request of so many bytes would be served.
	FreeSlot(slot uint32) (runBytes uint64)
}

// Retractor is a strategy that would be another one after Alloc and Free: it
// learns from frees, or does not use memory again at once.
type Retractor interface {
	// Retract takes back the block that was taken last, as if it never had been;
	// for any other it is Free.
	Retract(offset uint64) error
}

// Asker is a strategy that can ask whether a place suits before it takes a block there.
// Callers ask for it by type assertion.
type Asker interface {
	// AllocWhere is Alloc at a place that suits. It asks about stretches in which all of
	// the block would lie, at most so many (most, 1 or more), and says how many. Errors:
	// those of Alloc; ErrNoRoom also when none suits. A failed call changes nothing but
	// the order in which later blocks are placed. suits must not use the strategy.
	AllocWhere(r Request, most int, suits func(offset, size uint64) bool) (got Range, asked int, err error)
}

// Ender is a strategy that knows where the free rest of its range starts.
type Ender interface {
	// End is the lowest offset from which on all is free.
	End() uint64
}

// HoleFinder is a strategy that knows how long the free runs between its blocks
// are.
type HoleFinder interface {
	// LargestBelow is the longest free run between two live blocks, or before the
	// first, that is shorter than sizeBytes; 0: there is none. It costs no more
	// than one search for a free run.
	LargestBelow(sizeBytes uint64) uint64
}

// SizeOrdered is a strategy in which a size that has no room tells about all larger
// ones: after Alloc refused a request that asks for no more than the alignment of a
// granule, it refuses every one that is as large or larger, until a block is freed,
// whatever is taken meanwhile. Where SlotFreer frees that block, only requests that
// are no longer than the run it gives can have got room. Whoever remembers refusals
// asks for this first: in a strategy that does not say so, a larger size may well
// have room.
type SizeOrdered interface {
	// SizeOrdered does nothing: to have it is the promise.
	SizeOrdered()
}

// ExactSizes is a strategy that rounds a size up to the granule and no further.
type ExactSizes interface {
	// ExactSizes does nothing: to have it is the promise.
	ExactSizes()
}

// Lender is a strategy whose tables code outside of Go can place blocks in for a while.
type Lender interface {
	// Lend says where the tables are, and the numbers beside them. Until Absorb the
	// strategy may not be used. false: it does not lend them now, and may be used.
	Lend(to *lending.Places) bool
	// Absorb takes in what has become of the numbers.
	Absorb(from *lending.Places)
}

// ErrNoRoom is what Alloc returns when no free run holds the request at its
// alignment: OUT_OF_MEMORY, without the formatting that a full range would pay
// for at every attempt. The caller knows the request and adds what matters.
var ErrNoRoom error = &device.Error{
	Code:    device.CodeOutOfMemory,
	Op:      "rangealloc.alloc",
	Message: "no free run holds the request at its alignment",
}

// Default is the strategy of a pool that names none.
const Default = "best_fit"

// Traits is what must be known of a strategy before it has a range; the rest is said
// by the strategy itself, see SizeOrdered. Each is a promise that a new strategy may
// leave out.
type Traits struct {
	// OneSize: all blocks have Config.BlockBytes, which the strategy needs, and are
	// placed so that pages of Config.PageBytes empty out. No other strategy has these
	// two settings.
	OneSize bool
	// Monotonic: blocks are placed one behind the other, and nothing that is freed is
	// used again until no block is live.
	Monotonic bool
	// Cacheable: nothing is lost while freed blocks wait in a cache in front of the
	// strategy, and are used again from there.
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
	// The room of an arena comes back when its last block does, for which the idle
	// blocks of a cache would have to be waited for.
	{nameArena, newArena, Traits{Monotonic: true}},
	{nameSizeClass, newSizeClass, Traits{Cacheable: true}},
	// Fixed chooses places so that pages empty out; a cache would hand out whatever
	// was freed last.
	{nameFixed, newFixed, Traits{OneSize: true}},
}

// New makes the named strategy over an empty range. Errors: NOT_FOUND for a name
// that is not in Names, INVALID_CONFIG.
func New(name string, c Config) (Strategy, error) {
	for _, s := range strategies {
		if s.name == name {
			return s.make(c)
		}
	}
	return nil, device.Errorf(device.CodeNotFound, "rangealloc.new",
		"strategy %q is not known; the strategies are %s", name, strings.Join(Names(), ", "))
}

// TraitsOf is what is promised of the named strategy; nothing for a name that is not in
// Names.
func TraitsOf(name string) Traits {
	for _, s := range strategies {
		if s.name == name {
			return s.traits
		}
	}
	return Traits{}
}

// Names lists the strategies of this build, the default first.
func Names() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.name
	}
	return names
}
