package manager

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"ferrum_mem/core/track"
)

// AccessPattern is how a block is used, as far as the last accesses show.
type AccessPattern int32

// The patterns. AccessStats says by which rules they are told apart.
const (
	PatternUnknown    AccessPattern = 0 // too few accesses
	PatternSequential AccessPattern = 1 // one after the other
	PatternRandom     AccessPattern = 2 // scattered
	PatternBurst      AccessPattern = 3 // clusters in time
	PatternMixed      AccessPattern = 4 // more than one kind
)

var patternNames = []string{"unknown", "sequential", "random", "burst", "mixed"}

// String is the pattern as a word in lower case.
func (p AccessPattern) String() string { return wordOf(patternNames, int32(p)) }

const (
	// patternWindow is how many steps a pattern is told from, patternLeast the least.
	patternWindow = 16
	patternLeast  = 4
	// pauseLeast is the least gap between two accesses that is a pause, if it is also
	// pauseFactor times the median gap.
	pauseLeast  = time.Millisecond
	pauseFactor = 10
	// pausesLeast pauses make bursts.
	pausesLeast = 2
)

// AccessStats is what copies, fills, writes, reads and mappings did with a block.
//
// A copy counts as a read of its source and a write of its destination when it is
// queued; a mapping as a read when it is made, if its access includes reading, and
// as a write when it has ended, if it includes writing. What programs do through an
// address by themselves is not seen.
//
// The pattern is told from the last 16 steps; a step is from one access to the next
// of the same kind, read or write. Less than 4 steps are PatternUnknown. A step is
// in order when an access starts where the last one of its kind ended, or at the
// block's start after one that ended at the block's end. A pause is a step whose
// access came at least 1 ms after the access before it and at least 10 times the
// median of the window later. Pauses in at least 2 steps and at most a quarter of
// them are bursts. Three quarters or more in order are sequential, a quarter or less
// random. Bursts that are sequential, and what is neither, are PatternMixed; other
// bursts PatternBurst.
type AccessStats struct {
	ReadCount  uint64 `json:"read_count"`
	WriteCount uint64 `json:"write_count"`
	// The averages are rounded down, and 0 when there was none.
	AvgReadBytes  uint64 `json:"avg_read_bytes"`
	AvgWriteBytes uint64 `json:"avg_write_bytes"`
	// Accessed is false when there was no access yet; LastAccess, on the clock of
	// track.Now, means nothing then.
	Accessed   bool          `json:"accessed"`
	LastAccess time.Duration `json:"last_access_ns"`
	Pattern    AccessPattern `json:"pattern"`
}

// accessLog is the accesses of a block. It is there from the first one on, and only
// with tracking.
type accessLog struct {
	kinds [2]accessKind
	last  time.Duration
	// steps is a ring of the last ones, of which there were seen in all.
	steps [patternWindow]accessStep
	seen  uint64
}

type accessKind struct {
	count, bytes uint64
	// end is where the last access ended.
	end uint64
}

type accessStep struct {
	inOrder bool
	gap     time.Duration
}

// use is a range of a block that work reads or writes.
type use struct {
	block  *block
	offset uint64
	size   uint64
	writes bool
}

func blocksOf(uses []use) []*block {
	blocks := make([]*block, len(uses))
	for i, u := range uses {
		blocks[i] = u.block
	}
	return blocks
}

// recordLocked enters accesses to blocks. The caller holds the mu of each.
func recordLocked(uses []use) {
	for _, u := range uses {
		if u.size != 0 {
			u.recordLocked()
		}
	}
}

// recordLocked enters an access to a block. The caller holds the mu of the block.
func (u use) recordLocked() {
	if !u.block.manager.config.EnableTracking {
		return
	}
	if u.block.access == nil {
		u.block.access = &accessLog{}
	}
	u.block.access.record(u, u.block.memory.RequestedBytes, track.Now())
}

func (a *accessLog) record(u use, blockBytes uint64, now time.Duration) {
	kind := &a.kinds[0]
	if u.writes {
		kind = &a.kinds[1]
	}
	if kind.count > 0 {
		restarts := u.offset == 0 && kind.end == blockBytes
		a.steps[a.seen%patternWindow] = accessStep{
			inOrder: u.offset == kind.end || restarts, gap: now - a.last,
		}
		a.seen++
	}
	kind.end = u.offset + u.size
	a.last = now
	// The counts and sums stand still together, so that averages stay right.
	if sum, carry := bits.Add64(kind.bytes, u.size, 0); carry == 0 && kind.count < math.MaxUint64 {
		kind.count++
		kind.bytes = sum
	}
}

func (a *accessLog) stats() AccessStats {
	if a == nil {
		return AccessStats{}
	}
	reads, writes := a.kinds[0], a.kinds[1]
	return AccessStats{
		ReadCount: reads.count, WriteCount: writes.count,
		AvgReadBytes: reads.bytes / max(reads.count, 1), AvgWriteBytes: writes.bytes / max(writes.count, 1),
		Accessed: true, LastAccess: a.last, Pattern: a.pattern(),
	}
}

func (a *accessLog) pattern() AccessPattern {
	steps := a.steps[:min(a.seen, patternWindow)]
	n := len(steps)
	if n < patternLeast {
		return PatternUnknown
	}
	gaps := make([]time.Duration, n)
	inOrder := 0
	for i, s := range steps {
		gaps[i] = s.gap
		if s.inOrder {
			inOrder++
		}
	}
	slices.Sort(gaps)
	median := gaps[(n-1)/2]
	pauses := 0
	for _, gap := range gaps {
		if gap >= pauseLeast && gap/pauseFactor >= median {
			pauses++
		}
	}
	bursts := pauses >= pausesLeast && 4*pauses <= n
	sequential := 4*inOrder >= 3*n
	switch {
	case bursts && !sequential:
		return PatternBurst
	case sequential && !bursts:
		return PatternSequential
	case 4*inOrder <= n:
		return PatternRandom
	}
	return PatternMixed
}

// AccessStats gives the access statistics of a live block; false without tracking.
// It only looks at the books.
func (f *Factory) AccessStats(h MemoryHandle) (stats AccessStats, tracked bool, err error) {
	err = f.withLive("manager.access_stats", h, func(b *block) error {
		stats, tracked = b.access.stats(), b.manager.config.EnableTracking
		return nil
	})
	return stats, tracked, err
}
