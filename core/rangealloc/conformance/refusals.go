package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
)

// claims checks that the strategy states of itself what its tests state, and that sizes
// are ordered, if it states that, in ranges with runs of many lengths.
func (s suite) claims(t *testing.T) {
	must(t, refusals(s.make, s.options))
	p := s.pair(t, small)
	traits := rangealloc.TraitsOf(p.strategy.Name())
	require.Equal(t, s.options.Monotonic, traits.Monotonic)
	_, exact := p.strategy.(rangealloc.ExactSizes)
	require.Equal(t, s.options.Exact || s.options.ExactSize, exact)
	require.Contains(t, rangealloc.Names(), p.strategy.Name())
}

// refusals fills a range again and again and requests more: in any order of sizes, then a
// little more than the largest size that should succeed, then that size. After a size
// failed, neither it nor a larger one may succeed until the next free.
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

// freeOneOf frees each live block with a probability of 1/many.
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
