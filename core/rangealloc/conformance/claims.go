package conformance

import (
	"fmt"
	"math"

	"ferrum_mem/core/rangealloc"
)

// claims holds a strategy to what it says of itself: to be a rangealloc.SizeOrdered,
// and its traits. All the memory that it takes is the shortest size that was refused.
type claims struct {
	ordered, oneSize bool
	// shortest is the least number of granules that was refused since the last free, by
	// a request of no more than a granule's alignment; 0: none was.
	shortest uint64
	// blockBytes is the size of all blocks, if they are of one; 0: none was served yet.
	blockBytes uint64
	// frees counts those of live blocks.
	frees int
}

func claimsOf(s rangealloc.Strategy) claims {
	_, ordered := s.(rangealloc.SizeOrdered)
	return claims{ordered: ordered, oneSize: rangealloc.TraitsOf(s.Name()).OneSize}
}

// granules rounds the size of a request up.
func granules(c rangealloc.Config, r Request) uint64 { return (r.Size-1)/c.GranuleBytes + 1 }

// served judges the block that a request was served with.
func (k *claims) served(c rangealloc.Config, r Request, got rangealloc.Range) error {
	if n := granules(c, r); k.ordered && r.Align <= c.GranuleBytes && k.shortest != 0 && n >= k.shortest {
		return fmt.Errorf("sizes are said to be ordered: %d granules were refused, and then %d served, with no free between", k.shortest, n)
	}
	if k.oneSize && k.blockBytes != 0 && k.blockBytes != got.Size {
		return fmt.Errorf("blocks are said to be of one size: %+v, after one of %d bytes", got, k.blockBytes)
	}
	k.blockBytes = got.Size
	return nil
}

func (k *claims) refused(c rangealloc.Config, r Request) {
	if n := granules(c, r); r.Align <= c.GranuleBytes && (k.shortest == 0 || n < k.shortest) {
		k.shortest = n
	}
}

// bySlot says how to free the next block, of a strategy that can do it by slot: in
// turns.
func (k *claims) bySlot() bool { return k.frees%2 == 1 }

// freed forgets refusals: whatever was refused may have room now.
func (k *claims) freed() {
	k.frees++
	k.shortest = 0
}

// freedSlot judges the run that FreeSlot gave for a block that the model has freed. What
// was refused before and is longer still has no room.
func (k *claims) freedSlot(m *model, offset, runBytes uint64) error {
	k.frees++
	if run := m.blocks[m.at(offset)]; run.Size != runBytes {
		return fmt.Errorf("free by slot gave a run of %d bytes, where %+v is due", runBytes, run)
	}
	// Longer than all addresses is no size: nothing is known then.
	if run := runBytes / m.config.GranuleBytes; run == math.MaxUint64 {
		k.shortest = 0
	} else if k.shortest != 0 {
		k.shortest = max(k.shortest, run+1)
	}
	return nil
}
