package roster

import (
	"cmp"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestListsAgainstPlainOnes compares both lists with plain slices.
func TestListsAgainstPlainOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list List[int]
		ranks := map[int]int{}
		ranked := Ranked[int]{Compare: func(a, b int) int {
			return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b))
		}}
		var plain, visited []int
		ranks[-1] = 1
		for next := range rapid.IntRange(1, 300).Draw(t, "steps") {
			at := -1
			if len(plain) > 0 {
				at = rapid.IntRange(0, len(plain)-1).Draw(t, "at")
			}
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step < 2 || at < 0:
				ranks[next] = rapid.IntRange(0, 3).Draw(t, "rank")
				plain = append(plain, next)
				list.Add(next)
				ranked.Add(next)
			case step < 4:
				require.True(t, list.Remove(plain[at]))
				require.False(t, list.Remove(plain[at]))
				ranked.Remove(plain[at])
				ranked.Remove(plain[at])
				plain = slices.Delete(plain, at, at+1)
			case step == 4:
				ranks[plain[at]]++
				ranked.Moved()
			default:
				// The returned list does not change afterwards, so a caller may keep it.
				kept, seen := ranked.All(), slices.Clone(ranked.All())
				for range rapid.IntRange(1, 100).Draw(t, "times") {
					ranked.Add(-1)
					ranked.Remove(-1)
				}
				ranked.Remove(plain[at])
				ranked.Add(plain[at])
				ranked.All()
				require.Equal(t, seen, kept)
			}
			visited = list.Copy()
			require.Equal(t, len(plain), list.Len())
			require.Equal(t, len(plain), ranked.Len())
			require.True(t, slices.Equal(plain, visited))
			want := slices.Clone(plain)
			slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
			require.True(t, slices.Equal(want, ranked.All()))
		}
	})
}

// coming adds that many members and removes them, in an order that is neither that of the
// additions nor its reverse. It returns the allocated bytes, the moved members and the
// comparisons.
func coming(members int) (bytes uint64, moved, compared int) {
	var list List[int]
	ranked := Ranked[int]{Compare: func(a, b int) int { compared++; return cmp.Compare(a, b) }}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range members {
		list.Add(i)
		ranked.Add(i)
	}
	for i := range members {
		before := len(list.members)
		list.Remove((i * 7919) % members)
		if len(list.members) != before {
			moved += before
		}
		ranked.Remove((i * 7919) % members)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, moved, compared
}

// TestAddingAndRemovingMembersCostsLinearWork tests that the cost of one more member does
// not depend on the number of members.
func TestAddingAndRemovingMembersCostsLinearWork(t *testing.T) {
	const few = 4096
	bytes, moved, compared := coming(few)
	twice, movedTwice, comparedTwice := coming(2 * few)
	require.Less(t, twice, 3*bytes)
	require.Less(t, bytes, uint64(few*512))
	require.Positive(t, moved)
	require.LessOrEqual(t, moved, 2*few)
	require.LessOrEqual(t, movedTwice, 4*few)
	require.Zero(t, compared+comparedTwice, "without a request for the order nothing is compared")
}

// TestAListIsVisitedWhileMembersAreRemoved tests that an iteration continues while members
// are removed.
func TestAListIsVisitedWhileMembersAreRemoved(t *testing.T) {
	var list List[int]
	for i := range 100 {
		list.Add(i)
	}
	visited, last := 0, 99
	for range list.All() {
		visited++
		list.Remove(last)
		last--
	}
	require.Equal(t, 50, visited)
	require.True(t, list.Has(49))
	require.False(t, list.Has(50))
}
