package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
)

// exhaustion fills a range, empties it in several orders, and fills it again with the
// same requests, which must all succeed.
func (s suite) exhaustion(t *testing.T) {
	orders := map[string]func([]rangealloc.Range){
		"first to last": func([]rangealloc.Range) {},
		"last to first": slices.Reverse[[]rangealloc.Range],
		"every second first": func(blocks []rangealloc.Range) {
			var even, odd []rangealloc.Range
			for i, b := range blocks {
				if i%2 == 0 {
					even = append(even, b)
				} else {
					odd = append(odd, b)
				}
			}
			copy(blocks, append(even, odd...))
		},
		"shuffled": func(blocks []rangealloc.Range) {
			rand.New(rand.NewPCG(3, 4)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			p := s.pair(t, small)
			first := s.fill(t, p)
			require.NotEmpty(t, first)
			full := p.strategy.Stats()
			blocks := slices.Clone(first)
			order(blocks)
			for _, b := range blocks {
				must(t, p.free(b.Offset))
			}
			empty := p.strategy.Stats()
			require.Equal(t, small.SizeBytes, empty.FreeBytes)
			require.Zero(t, empty.LiveBlocks)
			require.Equal(t, full.HighWaterBytes, empty.HighWaterBytes)
			require.Len(t, s.fill(t, p), len(first))
		})
	}
}

// fill allocates mixed sizes until the smallest one fails.
func (s suite) fill(t *testing.T, p *pair) []rangealloc.Range {
	r := rand.New(rand.NewPCG(1, 2))
	var blocks []rangealloc.Range
	for {
		got, served, wrong := p.alloc(Request{Size: 1 + r.Uint64N(4000), Align: 1 << r.UintN(12)})
		must(t, wrong)
		if !served {
			got, served, wrong = p.alloc(Request{Size: 1, Align: 1})
			must(t, wrong)
		}
		if !served {
			_, err := p.strategy.Alloc(Request{Size: 1, Align: 1})
			noRoom(t, err)
			if s.options.Exact {
				require.Zero(t, p.strategy.Stats().FreeBytes)
			}
			return blocks
		}
		blocks = append(blocks, got)
	}
}

// wholeRange checks that an exact strategy that coalesces allocates all of the range as
// one block, also after it was divided.
func (s suite) wholeRange(t *testing.T) {
	if !s.options.Exact || !s.options.Coalesces {
		t.Skip("the strategy does not promise it")
	}
	p := s.pair(t, small)
	for range 2 {
		whole, served, wrong := p.alloc(Request{Size: small.SizeBytes - 1, Align: 1 << 30})
		must(t, wrong)
		require.True(t, served)
		require.Equal(t, rangealloc.Range{Size: small.SizeBytes, Slot: whole.Slot}, whole)
		must(t, p.free(0))
		must(t, p.largest())
		require.Equal(t, rangealloc.Stats{
			SizeBytes: small.SizeBytes, FreeBytes: small.SizeBytes, LargestFreeBytes: small.SizeBytes,
			FreeRuns: 1, HighWaterBytes: small.SizeBytes,
		}, p.strategy.Stats())
		for _, b := range s.fill(t, p) {
			must(t, p.free(b.Offset))
		}
	}
}

func (s suite) churn(t *testing.T) {
	must(t, churn(s.make, s.options))
}

// churn replaces random blocks among thousands, so that tables grow and there are many
// free runs.
func churn(construct Make, o Options) error {
	p, err := newPair(construct, rangealloc.Config{SizeBytes: 1 << 22, BaseAddr: 1 << 20, GranuleBytes: 64}, o)
	if err != nil {
		return err
	}
	defer p.strategy.Close()
	p.quick = true
	r := rand.New(rand.NewPCG(7, 8))
	var live []uint64
	for step := range 16_000 {
		if len(live) > 0 && (len(live) == 3000 || r.IntN(8) == 0) {
			i := r.IntN(len(live))
			if wrong := p.free(live[i]); wrong != nil {
				return wrong
			}
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		request := Request{Size: 1 + r.Uint64N(64<<r.UintN(6)), Align: 64 << (r.UintN(8) / 6)}
		if step%2 == 0 {
			request.End, request.Group = uint64(step)+r.Uint64N(3000), r.Uint64N(20)
		}
		got, served, wrong := p.alloc(request)
		if wrong != nil {
			return wrong
		}
		if served {
			live = append(live, got.Offset)
		}
		if step == 4000 && len(live) < 2000 {
			return fmt.Errorf("of 4000 requests of about 500 bytes in 4 MiB only %d blocks are live", len(live))
		}
		if step%500 == 0 {
			if wrong := p.verify(); wrong != nil {
				return wrong
			}
		}
	}
	for i, offset := range live {
		wrong := p.free(offset)
		if wrong == nil && i%500 == 0 {
			wrong = p.verify()
		}
		if wrong != nil {
			return wrong
		}
	}
	if wrong := p.verify(); wrong != nil {
		return wrong
	}
	return p.slotsInProportion()
}

// noGoAllocation checks that no operation allocates Go memory after the tables have
// grown.
func (s suite) noGoAllocation(t *testing.T) {
	strategy, err := s.make(rangealloc.Config{SizeBytes: 1 << 30, GranuleBytes: 256})
	require.NoError(t, err)
	defer strategy.Close()
	const live = 2000
	offsets := make([]uint64, 0, live)
	r := rand.New(rand.NewPCG(5, 6))
	churn := func() {
		for range live {
			if len(offsets) == live {
				i := r.IntN(live)
				_, err := strategy.Free(offsets[i])
				if err != nil {
					t.Fatal(err)
				}
				offsets[i] = offsets[live-1]
				offsets = offsets[:live-1]
			}
			if got, err := strategy.Alloc(Request{Size: 1 + r.Uint64N(1<<16), Align: 256 << r.UintN(3)}); err == nil {
				offsets = append(offsets, got.Offset)
			}
			if len(offsets) > 0 {
				strategy.Lookup(offsets[0])
			}
			strategy.Stats()
			if _, err := strategy.Alloc(Request{Size: 1 << 40, Align: 256}); err == nil {
				t.Fatal("1 TiB came out of 1 GiB")
			}
		}
	}
	for range 20 {
		churn()
	}
	require.NoError(t, strategy.Check())
	// AllocsPerRun rounds down, so one more growth of a table is accepted.
	require.Zero(t, testing.AllocsPerRun(10, churn))
}
