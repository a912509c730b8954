package rangealloc_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/rangealloc"
)

func TestSizeClasses(t *testing.T) {
	// The sizes are enumerated here, without a formula.
	class := 0
	for size := uint64(1); size <= 16; size++ {
		require.Equal(t, size, rangealloc.ClassGranules(class))
		class++
	}
	for power := uint64(16); power != 0 && power < rangealloc.MaxClassGranules; power *= 2 {
		for eighth := uint64(1); eighth <= 8; eighth++ {
			size := power + eighth*(power/8)
			require.Equal(t, size, rangealloc.ClassGranules(class))
			require.Equal(t, class, rangealloc.SizeClass(size))
			require.Equal(t, class, rangealloc.SizeClass(size-power/8+1), "just above the class before")
			class++
		}
	}
	require.Equal(t, class-1, rangealloc.SizeClass(rangealloc.MaxClassGranules))
}

func TestSizeClassesWasteLessThanAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, rangealloc.MaxClassGranules).Draw(t, "size")
		class := rangealloc.SizeClass(size)
		rounded := rangealloc.ClassGranules(class)
		require.GreaterOrEqual(t, rounded, size)
		require.True(t, class == 0 || rangealloc.ClassGranules(class-1) < size)
		if size <= 16 {
			require.Equal(t, size, rounded)
		}
		high, low := bits.Mul64(rounded-size, 8)
		require.True(t, high == 0 && (low < size || low == 0), "%d granules are rounded up to %d", size, rounded)
	})
}
