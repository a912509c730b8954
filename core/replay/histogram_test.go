package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHistogramAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h histogram
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(-5, 1).Draw(t, "low") + rapid.Int64Max(math.MaxInt64>>rapid.IntRange(1, 62).Draw(t, "shift")).Draw(t, "value")
		}), 1, 300).Draw(t, "values")
		for i, v := range values {
			h.add(v)
			values[i] = max(v, 0)
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.5, 0.9, 0.99} {
			want := values[int(q*float64(len(values)))]
			got := h.quantile(q)
			require.LessOrEqual(t, got, want)
			require.LessOrEqual(t, want-got, want>>subBits)
			if want < 1<<exactBits {
				require.Equal(t, want, got)
			}
		}
	})
}

func TestHistogramEdges(t *testing.T) {
	var h histogram
	require.Zero(t, h.quantile(0.5))
	h.add(math.MaxInt64)
	require.Positive(t, h.quantile(0.99))
	for bucket := range h.counts {
		require.Equal(t, bucket, bucketOf(uint64(lowest(bucket))))
	}
}
