package vmm

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func lineOf(l *line) (names []int) {
	for _, c := range l.waiting {
		names = append(names, int(c.pages))
	}
	return names
}

func TestLineIsByGuaranteeThenPriorityThenArrival(t *testing.T) {
	low, high := &share{priority: 1, most: noBound}, &share{priority: 2, most: noBound}
	owed := &share{priority: 0, guaranteed: 100, most: noBound}
	l := &line{}
	for i, s := range []*share{low, low, high, owed, high, low, owed} {
		l.join(newWaiter(s, uint64(i+1)))
	}
	require.Equal(t, []int{1, 4, 7, 3, 5, 2, 6}, lineOf(l), "the first request keeps its position")
}

func TestHighPriorityWaitersStarveNoOther(t *testing.T) {
	low, high := &share{priority: 1, most: noBound}, &share{priority: 2, most: noBound}
	l := &line{}
	l.join(newWaiter(high, 1))
	waits := newWaiter(low, 2)
	l.join(waits)
	served := 0
	for !closed(waits.turn) {
		l.join(newWaiter(high, 3))
		l.remove(l.first(), nil)
		served++
		require.LessOrEqual(t, served, maxOvertaken+1)
	}
	require.Equal(t, maxOvertaken+1, served)
}

// In random sequences of joins and removals one waiter has the turn, it is the first,
// and each waiter that waits long enough gets the turn.
func TestFirstWaiterHasTheTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &line{}
		var all []*waiter
		left := map[*waiter]error{}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				s := &share{priority: rapid.Int32Range(0, 2).Draw(t, "priority"), most: noBound}
				s.guaranteed = uint64(rapid.IntRange(0, 1).Draw(t, "guaranteed"))
				c := newWaiter(s, 1)
				all = append(all, c)
				l.join(c)
			},
			"leave": func(t *rapid.T) {
				if len(all) == 0 {
					return
				}
				c := rapid.SampledFrom(all).Draw(t, "claim")
				err := errors.New("gone")
				if _, ok := left[c]; !ok {
					left[c] = err
				}
				l.remove(c, err)
			},
			"": func(t *rapid.T) {
				require.Len(t, l.waiting, len(all)-len(left))
				for i, c := range l.waiting {
					require.Equal(t, i == 0, closed(c.turn))
					require.False(t, c.over())
					require.True(t, c.guaranteed || c.overtaken <= maxOvertaken)
				}
				for c, err := range left {
					require.True(t, c.over())
					require.Equal(t, err, c.err)
				}
			},
		})
	})
}
