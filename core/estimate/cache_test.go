package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A layer with a window keeps the whole blocks that cover the window, and the blocks of one
// step. The plan also has a lower and an upper bound of the cache.
func TestWindowsAreKeptInWholeBlocks(t *testing.T) {
	x := subject(t, "gemma-3-1b") // 4 layers attend to all tokens, 22 to the last 512
	const token = 2 * 1 * 256 * 2
	kept := func(s Serving) (least, paged, most uint64) {
		p := planOf(t, x, s)
		return p.KVCacheLeastBytes / token, p.KVCacheBytes / token, p.KVCacheMostBytes / token
	}
	for _, c := range []struct {
		s                  Serving
		least, paged, most uint64
	}{
		// One token per step: 32 blocks for the window, and one because the window may
		// begin inside a block.
		{Serving{Context: 8192, Batch: 1, PrefillTokens: 1}, 4*8192 + 22*512, 4*8192 + 22*33*16, 26 * 8192},
		{Serving{Context: 8192, Batch: 8, PrefillTokens: 1}, 8 * (4*8192 + 22*512), 8 * (4*8192 + 22*33*16), 8 * 26 * 8192},
		// Other block sizes.
		{Serving{Context: 8192, Batch: 1, PrefillTokens: 1, BlockTokens: 1}, 4*8192 + 22*512, 4*8192 + 22*513, 26 * 8192},
		{Serving{Context: 8192, Batch: 1, PrefillTokens: 1, BlockTokens: 1024}, 4*8192 + 22*512, 4*8192 + 22*2*1024, 26 * 8192},
		// A step of 2048 tokens has 2047 tokens more than a step of one token. They need at
		// most 128 more blocks.
		{Serving{Context: 8192, Batch: 1, PrefillTokens: 2048}, 4*8192 + 22*512, 4*8192 + 22*(33+128)*16, 26 * 8192},
		// The cache never exceeds the whole context in whole blocks.
		{Serving{Context: 520, Batch: 1, PrefillTokens: 2048}, 4*520 + 22*512, 4*520 + 22*528, 4*520 + 22*528},
		{Serving{Context: 1, Batch: 5}, 26 * 5, 5 * (4 + 22*16), 5 * (4 + 22*16)},
		// Whole prompts in one step.
		{Serving{Context: 8192, Batch: 1}, 4*8192 + 22*512, 26 * 8192, 26 * 8192},
	} {
		least, paged, most := kept(c.s)
		assert.Equal(t, [3]uint64{c.least, c.paged, c.most}, [3]uint64{least, paged, most}, "%+v", c.s)
	}
	// Without windows, the cache equals both bounds.
	p := planOf(t, subject(t, "llama-3.1-8b"), Serving{Context: 1000, Batch: 1})
	assert.Equal(t, [2]uint64{p.KVCacheBytes, p.KVCacheBytes}, [2]uint64{p.KVCacheLeastBytes, p.KVCacheMostBytes})
}

// The test simulates a cache block by block: after each step of the inference engine, each
// sequence drops the blocks that its window has left. The cache never needs more blocks
// than planned.
func TestNoCourseNeedsMoreBlocksThanPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window, block := rapid.Uint64Range(1, 40).Draw(t, "window"), rapid.Uint64Range(1, 16).Draw(t, "block")
		s := Serving{
			Context: rapid.Uint64Range(1, 100).Draw(t, "context"), Batch: rapid.Uint64Range(1, 6).Draw(t, "batch"),
			PrefillTokens: rapid.Uint64Range(0, 100).Draw(t, "prefill"), BlockTokens: block,
		}
		var c calculation
		planned, all := c.windowBlocks(window, s)
		require.LessOrEqual(t, planned, all)
		// at has the number of computed tokens of each sequence.
		at := make([]uint64, s.Batch)
		for {
			budget := c.stepTokens(s)
			var blocks uint64
			moved := false
			for i := range at {
				// The step leaves one token for each of the later sequences.
				room := budget - min(budget, s.Batch-uint64(i)-1)
				step := rapid.Uint64Range(0, min(room, s.Context-at[i])).Draw(t, "step")
				if step == 0 && at[i] < s.Context && room > 0 {
					step = 1
				}
				budget -= step
				moved = moved || step > 0
				// The cache needs the keys from the window of the first new token to the
				// last new token.
				first := at[i] + 1 - min(at[i]+1, window)
				at[i] += step
				if at[i] > first {
					blocks += ceilDiv(at[i], block) - first/block
				}
			}
			require.LessOrEqual(t, blocks, planned, "%+v, window %d", s, window)
			if !moved {
				return
			}
		}
	})
}
