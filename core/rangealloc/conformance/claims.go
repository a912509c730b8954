package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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
	if k.shortest != 0 {
		k.shortest = max(k.shortest, runBytes/m.config.GranuleBytes+1)
	}
	return nil
}

// claims: what a strategy says of itself is what its tests say it promises, and sizes are
// ordered, if they are said to be, in ranges with runs of many lengths.
func (s suite) claims(t *testing.T) {
	must(t, refusals(s.make, s.options))
	p := s.pair(t, small)
	traits := rangealloc.TraitsOf(p.strategy.Name())
	require.Equal(t, s.options.Monotonic, traits.Monotonic)
	_, exact := p.strategy.(rangealloc.ExactSizes)
	require.Equal(t, s.options.Exact || s.options.ExactSize, exact)
	require.Contains(t, rangealloc.Names(), p.strategy.Name())
}

// refusals fills a range again and again and asks for more: in any order of sizes, and
// for a little more than the largest that it is said to have room for, and then for
// that. What was refused once must not be served, nor anything larger, until the next
// free.
func refusals(construct Make, o Options) error {
	p, err := newPair(construct, rangealloc.Config{SizeBytes: 512 << 10, BaseAddr: 1 << 20, GranuleBytes: 16}, o)
	if err != nil {
		return err
	}
	defer p.strategy.Close()
	p.quick = true
	r := rand.New(rand.NewPCG(21, 22))
	ask := func(size uint64) (bool, error) {
		_, served, wrong := p.alloc(Request{Size: size, Align: 1 << r.UintN(5)})
		return served, wrong
	}
	for round := range 60 {
		most := uint64(256) << r.UintN(9)
		for range 500 {
			if _, wrong := ask(1 + r.Uint64N(most)); wrong != nil {
				return wrong
			}
		}
		if wrong := freeOneOf(p, r, 2+r.IntN(4)); wrong != nil {
			return wrong
		}
		for served := true; served; {
			largest := p.strategy.Stats().LargestFreeBytes
			if _, wrong := ask(largest + 1); wrong != nil {
				return wrong
			}
			var wrong error
			if served, wrong = ask(max(largest, 1)); wrong != nil {
				return wrong
			}
		}
		if wrong := freeOneOf(p, r, 1+round%4); wrong != nil {
			return wrong
		}
		if wrong := p.verify(); wrong != nil {
			return wrong
		}
	}
	return nil
}

// freeOneOf frees one of so many live blocks, whichever they are.
func freeOneOf(p *pair, r *rand.Rand, many int) error {
	for _, b := range p.model.live() {
		if r.IntN(many) == 0 {
			if wrong := p.free(b.Offset); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}
