package sorting

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// item has a key with many equal values, and its place before the list is sorted.
type item struct {
	key    uint8
	place  int
	detail string
}

func compareKeys(a, b item) int { return cmp.Compare(a.key, b.key) }

func compareAll(a, b item) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place))
}

// drawItems returns lists that are sorted by insertion and longer ones.
func drawItems(t *rapid.T) []item {
	keys := rapid.SliceOfN(rapid.Uint8Range(0, 9), 0, 8*short).Draw(t, "keys")
	items := make([]item, len(keys))
	for place, key := range keys {
		items[place] = item{key: key, place: place, detail: string('a' + rune(key))}
	}
	return items
}

func TestByEqualsPackageSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t)
		backwards := func(a, b item) int { return compareAll(b, a) }
		for _, compare := range []func(a, b item) int{compareAll, backwards} {
			want := slices.Clone(items)
			slices.SortFunc(want, compare)
			By(items, compare)
			require.Equal(t, want, items)
		}
	})
}

func TestStableByKeepsTheOrderOfEqualValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t)
		want := slices.Clone(items)
		slices.SortStableFunc(want, compareKeys)
		StableBy(items, compareKeys)
		require.Equal(t, want, items)
	})
}

func TestShortListsAllocateNothing(t *testing.T) {
	items := make([]item, short)
	allocations := testing.AllocsPerRun(100, func() {
		for place := range items {
			items[place] = item{key: uint8(short - place), place: place}
		}
		By(items, compareKeys)
		StableBy(items, compareAll)
	})
	require.Zero(t, allocations)
}
