package events

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Events are added and taken at random. Each is returned once, as its kind, and no more are
// kept than the bound.
func TestEachSpareEventIsTakenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spare Spare
		kept := map[bool]map[uintptr]bool{true: {}, false: {}}
		last, ended := uintptr(0), false
		give := func(timed bool) {
			last++
			put := spare.Put(last, timed)
			require.Equal(t, !ended && len(kept[timed]) < Most, put)
			if put {
				kept[timed][last] = true
			}
		}
		for range rapid.IntRange(0, Most+2).Draw(t, "first") {
			give(true)
		}
		for range 40 {
			timed := rapid.Bool().Draw(t, "timed")
			switch step := rapid.IntRange(0, 20).Draw(t, "step"); {
			case step < 10:
				give(timed)
			case step < 20:
				handle, found := spare.Take(timed)
				require.Equal(t, len(kept[timed]) > 0, found)
				if found {
					require.True(t, kept[timed][handle])
					delete(kept[timed], handle)
				}
			default:
				var want []uintptr
				for _, list := range kept {
					for handle := range list {
						want = append(want, handle)
					}
					clear(list)
				}
				require.ElementsMatch(t, want, spare.End())
				ended = true
			}
		}
	})
}
