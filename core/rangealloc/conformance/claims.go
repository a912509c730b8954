package conformance

import (
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// claims checks what a strategy states of itself: rangealloc.SizeOrdered, and its traits.
// It stores only the shortest size that failed.
type claims struct {
	ordered, oneSize bool
	// shortest is the smallest number of granules that failed since the last free, in a
	// request with at most the alignment of a granule; 0 means none.
	shortest uint64
	// blockBytes is the size of all blocks, if they have one size; 0 means that none was
	// allocated yet.
	blockBytes uint64
	// frees is the number of frees of live blocks.
	frees int
}

func claimsOf(s rangealloc.Strategy) claims {
	_, ordered := s.(rangealloc.SizeOrdered)
	return claims{ordered: ordered, oneSize: rangealloc.TraitsOf(s.Name()).OneSize}
}

// granules returns the rounded size of a request in granules.
func granules(c rangealloc.Config, r Request) uint64 { return (r.Size-1)/c.GranuleBytes + 1 }

// served checks the block of a successful request.
func (k *claims) served(c rangealloc.Config, r Request, got rangealloc.Range) error {
	if n := granules(c, r); k.ordered && r.Align <= c.GranuleBytes && k.shortest != 0 && n >= k.shortest {
		return fmt.Errorf("sizes are said to be ordered: %d granules were refused, and then %d served, with no free between", k.shortest, n)
	}
	if k.oneSize && k.blockBytes != 0 && k.blockBytes != got.Size {
		return fmt.Errorf("blocks are said to be of one size: %+v, after one of %v", got, device.Size(k.blockBytes))
	}
	k.blockBytes = got.Size
	return nil
}

func (k *claims) refused(c rangealloc.Config, r Request) {
	if n := granules(c, r); r.Align <= c.GranuleBytes && (k.shortest == 0 || n < k.shortest) {
		k.shortest = n
	}
}

// bySlot states whether to free the next block by slot, if the strategy can: every other
// time.
func (k *claims) bySlot() bool { return k.frees%2 == 1 }

// freed resets shortest: any size may succeed now.
func (k *claims) freed() {
	k.frees++
	k.shortest = 0
}

// freedSlot checks the run that FreeSlot returned for a block that the model has freed.
// Sizes that failed before and are longer than the run still fail.
func (k *claims) freedSlot(m *model, offset, runBytes uint64) error {
	k.frees++
	if run := m.blocks[m.at(offset)]; run.Size != runBytes {
		return fmt.Errorf("free by slot gave a run of %v, where %+v is due", device.Size(runBytes), run)
	}
	// A run of all addresses has no longer size, so nothing is known then.
	if run := runBytes / m.config.GranuleBytes; run == math.MaxUint64 {
		k.shortest = 0
	} else if k.shortest != 0 {
		k.shortest = max(k.shortest, run+1)
	}
	return nil
}
