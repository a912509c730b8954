package rangealloc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// spread returns the blocks of runs one by one.
func spread(runs []Run, size uint64) (ranges []Range) {
	for _, run := range runs {
		for i := range run.Count {
			ranges = append(ranges, Range{Offset: run.Offset + uint64(i)*size, Size: size, Slot: run.Slot + i})
		}
	}
	return ranges
}

// Runs contain the blocks that a batch returns one by one. The blocks that are freed as
// runs are those that Lookup returned before. A batch changes nothing if one of its
// offsets is invalid, at any position.
func TestFixedRunsEqualTheBlocksOfABatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{SizeBytes: 1 << 20, BaseAddr: 1 << 30, GranuleBytes: 256,
			BlockBytes: 256 * rapid.Uint64Range(1, 40).Draw(t, "block"), PageBytes: 8 << 10}
		if rapid.Bool().Draw(t, "a page each") {
			c.BlockBytes = c.PageBytes
		}
		make := func() RunBatcher {
			s, err := New("fixed", c)
			require.NoError(t, err)
			return s.(RunBatcher)
		}
		s, twin := make(), make()
		request := Request{Size: c.BlockBytes, Align: 1}
		live := map[uint64]Range{}
		var order []uint64
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			count := rapid.IntRange(0, 30).Draw(t, "count")
			if rapid.Bool().Draw(t, "free") && len(order) > 0 {
				order = rapid.Permutation(order).Draw(t, "order")
				freeRuns(t, s, c, live, order[:1+count%len(order)])
				require.NoError(t, twin.FreeBatch(order[:1+count%len(order)]))
				order = order[1+count%len(order):]
				continue
			}
			want := append([]Range(nil), repeated(count)...)
			runs, size, err := s.AllocRuns(request, count, []Run{{Offset: 1}})
			require.Equal(t, err, twin.AllocBatch(request, want))
			if err != nil {
				require.Empty(t, runs)
				continue
			}
			require.Equal(t, c.BlockBytes, size)
			require.Equal(t, append([]Range(nil), want...), append([]Range(nil), spread(runs, size)...))
			for i, run := range runs[:max(len(runs), 1)-1] {
				next := runs[i+1]
				require.False(t, run.Slot+run.Count == next.Slot && run.Offset+uint64(run.Count)*size == next.Offset, "a run is cut in two")
			}
			for _, block := range want {
				live[block.Offset] = block
				order = append(order, block.Offset)
			}
		}
		require.NoError(t, s.(Strategy).Check())
		require.Equal(t, twin.(Strategy).Stats(), s.(Strategy).Stats())
	})
}

func repeated(count int) []Range { return make([]Range, count) }

// freeRuns frees live blocks, once with an invalid offset among them.
func freeRuns(t *rapid.T, s RunBatcher, c Config, live map[uint64]Range, offsets []uint64) {
	before, at := s.(Strategy).Stats(), rapid.IntRange(0, len(offsets)).Draw(t, "place")
	bad := append([]uint64(nil), offsets[:at]...)
	code := device.CodeInvalidAddress
	switch kind := rapid.IntRange(0, 2).Draw(t, "bad"); {
	case kind == 0 && at > 0:
		bad, code = append(bad, offsets[rapid.IntRange(0, at-1).Draw(t, "twice")]), device.CodeDoubleFree
	case kind == 1 && c.BlockBytes > 256:
		bad = append(bad, offsets[min(at, len(offsets)-1)]+256)
		if at == len(offsets) { // inside a block that is free by then
			code = device.CodeDoubleFree
		}
	default:
		bad = append(bad, c.SizeBytes)
	}
	runs, _, err := s.FreeRuns(append(bad, offsets[at:]...), nil)
	require.ErrorIs(t, err, code)
	require.Empty(t, runs)
	require.Equal(t, before, s.(Strategy).Stats())
	require.NoError(t, s.(Strategy).Check())

	runs, size, err := s.FreeRuns(offsets, []Run{{Offset: 1}})
	require.NoError(t, err)
	require.Equal(t, c.BlockBytes, size)
	var want []Range
	for _, offset := range offsets {
		want = append(want, live[offset])
	}
	require.Equal(t, want, spread(runs, size))
	require.NoError(t, s.(Strategy).Check())
}
