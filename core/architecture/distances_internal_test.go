package architecture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The oracle is the rule of transformers in its words, with floating-point logarithms. The small addend keeps
// the logarithms of exact powers of two from being rounded down.
func TestKindsOfDistances(t *testing.T) {
	seen := map[int64]bool{}
	for distance := int64(-600); distance <= 600; distance++ {
		far := math.Abs(float64(distance))
		want := far
		if far >= 8 {
			want = math.Min(15, 8+math.Floor(math.Log(far/8)/math.Log(16)*8+1e-9))
		}
		if distance > 0 {
			want += 16
		}
		got := distanceKind(distance)
		assert.Equal(t, int64(want), got, "distance %d", distance)
		seen[got] = true
	}
	assert.Len(t, seen, distanceBuckets-1, "no distance is 0 and after the query")
}
