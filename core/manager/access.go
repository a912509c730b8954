package manager

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"ferrum_mem/core/track"
)

// AccessPattern describes the last accesses to a block.
type AccessPattern int32

// The patterns. AccessStats documents the rules that distinguish them.
const (
	PatternUnknown    AccessPattern = 0 // too few accesses
	PatternSequential AccessPattern = 1 // one after the other
	PatternRandom     AccessPattern = 2 // scattered
	PatternBurst      AccessPattern = 3 // clusters in time
	PatternMixed      AccessPattern = 4 // more than one kind
)

var patternNames = []string{"unknown", "sequential", "random", "burst", "mixed"}

// String returns the pattern as a word in lower case.
func (p AccessPattern) String() string { return wordOf(patternNames, int32(p)) }

const (
	// patternWindow is the number of last steps that decide the pattern, patternLeast
	// the smallest number.
	patternWindow = 16
	patternLeast  = 4
	// pauseLeast is the smallest gap between two accesses that counts as a pause. The
	// gap must also be at least pauseFactor times the median gap.
	pauseLeast  = time.Millisecond
	pauseFactor = 10
	// pausesLeast is the smallest number of pauses after which accesses count as bursts.
	pausesLeast = 2
)

// AccessStats counts the accesses to a block by copies, fills, writes, reads and
// mappings.
//
// A copy counts as a read of its source and a write of its destination when it is
// queued. A mapping counts as a read when it is created, if its access includes
// reading, and as a write when it ends, if its access includes writing. Accesses of
// programs through an address are not counted.
//
// The last 16 steps decide the pattern. A step leads from one access to the next of the
// same kind, read or write. Fewer than 4 steps are PatternUnknown. A step is in order
// if an access starts where the last one of its kind ended, or at the start of the
// block after one that ended at the end of the block. A step is a pause if its access
// came at least 1 ms after the access before it, and if this gap is at least 10 times
// the median gap of the window. Pauses in at least 2 steps and in at most a quarter of
// the steps are bursts. Three quarters or more steps in order are sequential; a quarter
// or fewer are random. Bursts that are sequential are PatternMixed, and so are steps
// that are neither sequential nor random; other bursts are PatternBurst.
type AccessStats struct {
	ReadCount  uint64 `json:"read_count"`
	WriteCount uint64 `json:"write_count"`
	// The averages are rounded down, and 0 if there was no access.
	AvgReadBytes  uint64 `json:"avg_read_bytes"`
	AvgWriteBytes uint64 `json:"avg_write_bytes"`
	// Accessed is false before the first access; LastAccess, on the clock of track.Now,
	// is not valid then.
	Accessed   bool          `json:"accessed"`
	LastAccess time.Duration `json:"last_access_ns"`
	Pattern    AccessPattern `json:"pattern"`
}

// accessLog records the accesses to a block. It exists from the first access on, and
// only with tracking.
type accessLog struct {
	kinds [2]accessKind
	last  time.Duration
	// steps is a ring of the last steps; seen is the number of all steps.
	steps [patternWindow]accessStep
	seen  uint64
}

type accessKind struct {
	count, bytes uint64
	// end is the offset where the last access ended.
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

// recordLocked records accesses to blocks. The caller holds the mu of each.
func recordLocked(uses []use) {
	for _, u := range uses {
		if u.size != 0 {
			u.recordLocked()
		}
	}
}

// recordLocked records an access to a block. The caller holds the mu of the block.
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
	// Count and sum stop together, so that the averages stay right.
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

// AccessStats returns the access statistics of a live block; false without tracking. It
// does not wait for the device.
func (f *Factory) AccessStats(h MemoryHandle) (stats AccessStats, tracked bool, err error) {
	err = f.withLive("manager.access_stats", h, func(b *block) error {
		stats, tracked = b.access.stats(), b.manager.config.EnableTracking
		return nil
	})
	return stats, tracked, err
}
