package lending

import "sync/atomic"

// State has the tables that a pool lends. It is in C memory and stays there when its pool
// has ended. It has the addresses of tables outside the Go heap; they are valid while Word
// is not Owned.
type State struct {
	// Word states the owner of the rest: Owned, Lent or Working.
	Word atomic.Uint64
	// Pool is the pool's handle; 0 means that no pool lends here.
	Pool uint64

	// Segment is the segment that contains all blocks.
	Segment Segment
	// Places has the blocks and the free runs.
	Places Places
	// Pages has the pages of the segment.
	Pages Pages
	// Counters has the counters that a placement changes.
	Counters Counters
	// Queue is the queue of the default stream.
	Queue Queue
	// TagCount is the number of tags that C may use, from 0 on. TagsChanged has a bit for
	// each tag except 0 that C did use, and Tags has its changes. The entries of other
	// tags are out of date. The rest of all changes is tag 0's.
	TagCount, TagsChanged uint64
	Tags                  [TagsMost]Tag
}

// TagsMost is the most tags that C counts.
const TagsMost = 64

// Segment is the segment that contains all blocks.
type Segment struct {
	// BaseAddr is the address of offset 0; SizeBytes is the length.
	BaseAddr, SizeBytes uint64
	// Infos is the table with a 32-bit word for each block, by slot. Slots is the number
	// of slots that it has room for.
	Infos, Slots uint64
}

// Places is a best_fit strategy over a range of fewer than 2^32 granules; package
// rangealloc explains the names.
type Places struct {
	GranuleShift uint64
	// Records is the table of 24-byte records. RecordCount is the number that have been
	// in use, and RecordRoom the number that it has room for.
	Records, RecordCount, RecordRoom uint64
	Spare, SpareCount                uint64
	// Heads is the hash table of live blocks. LiveMost is the number of live blocks for
	// which it is long enough.
	Heads, HeadShift     uint64
	LiveCount, LiveMost  uint64
	FreeUnits, HighWater uint64

	// The index of free runs. Extent is the highest value of HighWater before the index
	// is rebuilt, and Most is the most runs that it may have.
	Total, Extent, Count, Most uint64
	// Binned states whether the runs are in bins; otherwise they are in FewOrder.
	Binned      uint64
	Bins        uint64
	FilledWords uint64
	FilledSums  uint64
	FilledTop   uint64
	Sub, Region uint64
	LastRegion  uint64
	FewCount    uint64
	// FewOrder has the size of each run in the high 32 bits and its offset in the low
	// ones. FewAt has the record of the run at the same index. All bits are set where
	// there is no run.
	FewOrder [FewMost]uint64
	FewAt    [FewMost]uint32
}

// FewMost is the most runs that are kept without bins. FewAgain is the number at which
// runs in bins move back.
const FewMost, FewAgain = 32, 16

// Page is a page of a segment.
type Page struct {
	// Page is the device page that is mapped; 0 means none.
	Page uint64
	// Blocks counts the blocks that start or end in the page.
	Blocks uint32
	// Large is set if the page is a part of a large page.
	Large bool
}

// Pages is the table of the pages of the segment. Entries has a Page for each of them, and
// Mapped has a bit. LargeBytes is the size of a large page, of which a block has all or
// nothing; 0 means there are none.
type Pages struct {
	LargeBytes      uint64
	Shift, Count    uint64
	Entries, Mapped uint64
	// All pages in [MappedFrom, MappedTo) are mapped and are no parts of large pages.
	MappedFrom, MappedTo uint64
	// Edges has a bit for each page, and one more. A bit is set where a run of pages that
	// became busy or idle while lent starts or ends. Two edges at one page cancel each
	// other. So a page has changed if the number of edges up to it is odd, and a block of
	// any size changes two bits. All edges are in [EdgeLow, EdgeHigh].
	Edges, EdgeLow, EdgeHigh uint64
	// Idle is the number of mapped pages of the pool that contain no part of a block. Low
	// is its lowest value in this window. IdleMost is its largest value before the pool
	// has to act.
	Idle, Low, IdleMost uint64
}

// Counters has the counters of a placement that Places has not. The allocated, active and
// cached bytes follow from Places.FreeUnits, and the live blocks from Places.LiveCount.
type Counters struct {
	RequestedBytes, RequestedHigh uint64
	// FreeLow and FreeHigh are the lowest and highest values of Places.FreeUnits in this
	// time, and LiveHigh is the highest value of Places.LiveCount.
	FreeLow, FreeHigh uint64
	LiveHigh          uint64
	// Frees counts the frees, and Looks the queries of a block.
	Frees, Looks uint64
	// FreeLeast and FreeMost bound Places.FreeUnits. Between them the totals are accurate
	// enough.
	FreeLeast, FreeMost uint64
}

// Queue has the addresses of two counts of a stream: no work is queued while they are
// equal. Completed is read first. 0 means that a free has to ask Go.
type Queue struct{ Completed, Submitted uint64 }

// Tag is the change of a tag. A number may be negative, which is a very large number
// here.
type Tag struct{ RequestedBytes, AllocatedBytes, Blocks uint64 }
