package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/trace"
)

// promises is a memory that records the request for each block and the time when the block
// was freed.
type promises struct {
	counter // as the observer, it knows the time of the trace
	asked   []blockRequest
	ended   map[device.Addr]int64
}

func (p *promises) alloc(w blockRequest) (block, *refusal, error) {
	p.asked = append(p.asked, w)
	return block{addr: device.Addr(len(p.asked) - 1), size: w.size}, nil, nil
}

func (p *promises) free(b block) error {
	p.ended[b.addr] = p.demand.last
	return nil
}

// With hints, a block is freed at the time that the hint stated, or later if other requests
// came to share the block. The blocks of one group have one end. Without hints, the memory
// gets no end; a paged block still has the group of its request.
func TestHintsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		mode := rapid.SampledFrom([]trace.Mode{trace.Contiguous, trace.Paged}).Draw(t, "mode")
		hints := rapid.Bool().Draw(t, "hints")
		schedule, err := trace.NewSchedule(tr, trace.Rules{Mode: mode})
		require.NoError(t, err)
		m := &promises{ended: map[device.Addr]int64{}}
		p := newPlayer(schedule, m, m)
		p.hints = hints
		require.NoError(t, play(testContext, p, func(int) {}))
		require.Len(t, m.ended, len(m.asked))
		groups := map[uint64]uint64{}
		for i, w := range m.asked {
			require.Equal(t, mode == trace.Paged, w.group != 0)
			if !hints {
				require.Zero(t, w.end)
				continue
			}
			require.NotZero(t, w.end)
			require.LessOrEqual(t, w.end, uint64(m.ended[device.Addr(i)]))
			if mode == trace.Contiguous {
				require.Equal(t, w.end, uint64(m.ended[device.Addr(i)]))
				continue
			}
			if end, ok := groups[w.group]; ok {
				require.Equal(t, end, w.end)
			}
			groups[w.group] = w.end
		}
	})
}

// The pool of a replay passes the hints on: the replay has the fragmentation that the
// strategy alone reaches.
func TestHintsReachTheStrategy(t *testing.T) {
	tr := exampleTrace(t)
	rules := trace.Rules{JitterNS: 50_000_000, Seed: 1}
	with, without := must(t, tr, Options{Rules: rules, LifetimeHints: true}), must(t, tr, Options{Rules: rules})
	assert.True(t, with.LifetimeHints)
	assert.False(t, without.LifetimeHints)
	assert.InDelta(t, fragmentation(t, tr, rules, "best_fit", true), with.Fragmentation, 1e-9)
	assert.InDelta(t, fragmentation(t, tr, rules, "best_fit", false), without.Fragmentation, 1e-9)
	assert.NotEqual(t, with.HighWaterBytes, without.HighWaterBytes)
}

// Every strategy replays every mode that it can serve. The strategy "fixed" serves only the
// mode whose blocks all have one size.
func TestEveryStrategy(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":700,"output_length":40,"hash_ids":[1,2]}
{"timestamp":100,"input_length":1500,"output_length":3,"hash_ids":[1]}
{"timestamp":900,"input_length":30,"output_length":100,"hash_ids":[]}
{"timestamp":2500,"input_length":600,"output_length":9,"hash_ids":[1]}
`)
	for _, name := range rangealloc.Names() {
		for _, mode := range []trace.Mode{trace.Contiguous, trace.Paged} {
			for _, hints := range []bool{false, true} {
				// 17 bytes per token make blocks of 272 bytes, which is more than one
				// granule.
				o := Options{Strategy: name, LifetimeHints: hints, Rules: trace.Rules{Mode: mode, BytesPerToken: 17}}
				if name == "fixed" && mode != trace.Paged {
					_, err := Run(testContext, tr, o)
					require.ErrorIs(t, err, device.CodeInvalidArgument)
					require.ErrorContains(t, err, "needs mode paged, and the mode is contiguous")
					continue
				}
				r := must(t, tr, o)
				assert.Equal(t, name, r.Strategy)
				assert.Zero(t, r.Failed, "%s %s", name, mode)
			}
		}
	}
}

// An arena reuses no memory, so its range must hold the sum of all blocks.
func TestArenaHasRoom(t *testing.T) {
	r := must(t, exampleTrace(t), Options{Strategy: "arena"})
	assert.Zero(t, r.Failed)
	assert.Greater(t, r.Fragmentation, float64(rangeFactor))
}
