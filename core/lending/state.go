package lending

import "sync/atomic"

// State is what a pool lends. It lies in memory of C, and stays there when its pool has
// ended. Addresses are of tables outside of the Go heap; they are good while Word is not
// Owned.
type State struct {
	// Word says who owns the rest: Owned, Lent or Working.
	Word atomic.Uint64
	// Pool is the pool's handle; 0: no pool lends here.
	Pool uint64
	// Calls counts what C has done in this loan.
	Calls uint64

	// Segment is where blocks lie.
	Segment Segment
	// Places is where they may come to lie.
	Places Places
	// Pages is what of that is mapped.
	Pages Pages
	// Books is what of the books a placement changes.
	Books Books
	// Queue is the default stream's.
	Queue Queue
	// TagCount is how many tags C may use: the lowest ones, of which TagsChanged has a bit
	// for each that it did use, and Tags what has changed of it. Tags of others are old.
	TagCount, TagsChanged uint64
	Tags                  [TagsMost]Tag
}

// TagsMost bounds the tags that C counts.
const TagsMost = 64

// Segment is a segment of which all blocks are.
type Segment struct {
	// BaseAddr is where offset 0 is, and SizeBytes how long it is.
	BaseAddr, SizeBytes uint64
	// Blocks counts what the strategy has out.
	Blocks uint64
	// Full is a size that is known not to fit, nor any larger one.
	Full uint64
	// Infos is the table of what is known of blocks, a word of 32 bits for each slot, and
	// Slots how many it has room for.
	Infos, Slots uint64
}

// Places is a best_fit strategy over a range of fewer than 2^32 granules; package
// rangealloc tells what the names mean.
type Places struct {
	GranuleShift uint64
	// Records is the table of 24-byte records, of which RecordCount have been in use and
	// RecordRoom is room for.
	Records, RecordCount, RecordRoom uint64
	Spare, SpareCount                uint64
	// Heads is the hash table of live blocks.
	Heads, HeadCount, HeadShift uint64
	LiveCount                   uint64
	FreeUnits, HighWater        uint64

	// The index of free runs. Extent is as far as HighWater may go before it is renewed,
	// and Most how many runs there may be.
	Total, Extent, Count, Most uint64
	// Binned says whether the runs are in bins: FewOrder has them otherwise.
	Binned      uint64
	Bins        uint64
	FilledWords uint64
	FilledSums  uint64
	FilledTop   uint64
	Sub, Region uint64
	LastRegion  uint64
	FewCount    uint64
	// FewOrder has the size of each run above its offset, each in 32 bits, in a place that
	// FewAt has its record for; all bits are set where no run is.
	FewOrder [FewMost]uint64
	FewAt    [FewMost]uint32
}

// FewMost is how many runs are few, and FewAgain how many are few again once they are in bins.
const FewMost, FewAgain = 32, 16

// Page is a page of a segment.
type Page struct {
	// Page is what is mapped; 0: nothing.
	Page uint64
	// Blocks counts those that start or end in the page.
	Blocks uint32
	// Large says that it is a part of a large page.
	Large bool
}

// Pages is the table of the pages of the segment: Entries has a Page for each, and Mapped
// and Busy a bit. LargeBytes is how long a large page is, of which a block has all or
// nothing; 0: there are none.
type Pages struct {
	LargeBytes            uint64
	Shift, Count          uint64
	Entries, Mapped, Busy uint64
	// Idle is how many mapped pages of the pool no block touches, and Low the least of it
	// in this window. IdleMost is how many there may be before somebody is to look.
	Idle, Low, IdleMost uint64
}

// Books are the present values of gauges, in the order of their names, and the highest
// since these were shown last.
type Books struct {
	RequestedBytes, AllocatedBytes, ActiveBytes, CachedBytes, LiveBlocks uint64
	High                                                                 [5]uint64
	Allocations, Frees                                                   uint64
	// Low and Above bound the active bytes: the totals are near enough in between.
	Low, Above uint64
}

// Queue is where two counts of a stream lie: no work is queued while they are equal. Completed
// is read first. 0: a free has to ask Go.
type Queue struct{ Completed, Submitted uint64 }

// Tag is what has changed of a tag; a number may be below 0, which is a very large one here.
type Tag struct{ RequestedBytes, AllocatedBytes, Blocks uint64 }
