package fallback

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestTrackerAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker, model, peak := NewAllocationTracker(), map[BufferID]uint64{}, uint64(0)
		sum := func() (total uint64) {
			for _, size := range model {
				total += size
			}
			return total
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := BufferID(rapid.IntRange(1, 6).Draw(t, "id"))
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				tracker.Clear()
				clear(model)
			case 1, 2, 3:
				gone, ok := tracker.Untrack(id)
				size, known := model[id]
				require.Equal(t, known, ok)
				require.Equal(t, size, gone.SizeBytes)
				delete(model, id)
			default:
				size := rapid.Uint64Range(0, 1<<40).Draw(t, "size")
				require.NoError(t, tracker.Track(NewBufferMetadata(id, Extent{SizeBytes: size}, BufferLocation{})))
				model[id] = size
			}
			peak = max(peak, sum())
			require.Equal(t, sum(), tracker.TotalBytes())
			require.Equal(t, len(model), tracker.Count())
			require.Equal(t, peak, tracker.PeakBytes())
		}
		for _, m := range tracker.AllAllocations() {
			require.Equal(t, model[m.ID], m.SizeBytes)
		}
	})
}

func TestTrackerUnderEightThreads(t *testing.T) {
	tracker := NewAllocationTracker()
	const threads, rounds = 8, 2000
	var all sync.WaitGroup
	for n := range threads {
		all.Go(func() {
			var mine []BufferID
			for i := range rounds {
				m := NewBufferMetadata(NewBufferID(), Extent{SizeBytes: uint64(n + 1)}, BufferLocation{})
				if err := tracker.Track(m); err != nil {
					t.Error(err)
				}
				mine = append(mine, m.ID)
				if i%3 == 2 {
					if _, ok := tracker.Untrack(mine[0]); !ok {
						t.Error("an own buffer was not known")
					}
					mine = mine[1:]
				}
				if tracker.TotalBytes() > tracker.PeakBytes() {
					t.Error("the total is above the peak")
				}
				tracker.SetLocation(mine[len(mine)-1], BufferLocation{Side: CPU})
			}
			for _, id := range mine[len(mine)/2:] {
				tracker.Untrack(id)
			}
		})
	}
	all.Wait()
	total := uint64(0)
	for _, m := range tracker.AllAllocations() {
		total += m.SizeBytes
	}
	require.Equal(t, total, tracker.TotalBytes())
	require.Len(t, tracker.AllAllocations(), tracker.Count())
	require.NotZero(t, total)
}

func TestOldAllocationsAreStrictlyOlderAndOldestFirst(t *testing.T) {
	all := []BufferMetadata{{ID: 3, AllocatedAt: 10}, {ID: 1, AllocatedAt: 20}, {ID: 2, AllocatedAt: 30}}
	ids := func(found []BufferMetadata) (list []BufferID) {
		for _, m := range found {
			list = append(list, m.ID)
		}
		return list
	}
	require.Equal(t, []BufferID{3}, ids(olderThan(all, 100, 80)), "20 is 80 old, which is not older")
	require.Equal(t, []BufferID{3, 1}, ids(olderThan(all, 100, 79)))
	require.Equal(t, []BufferID{3, 1, 2}, ids(olderThan(all, 100, 0)))
	require.Empty(t, olderThan(all, 100, 90))

	tracker := NewAllocationTracker()
	for _, at := range []time.Duration{30, 10, 20} {
		require.NoError(t, tracker.Track(BufferMetadata{ID: BufferID(at), AllocatedAt: at}))
	}
	require.Equal(t, []BufferID{10, 20, 30}, ids(tracker.FindOldAllocations(0)))
	require.Empty(t, tracker.FindOldAllocations(math.MaxInt64))
}

func TestTrackerRefuses(t *testing.T) {
	tracker := NewAllocationTracker()
	require.ErrorIs(t, tracker.Track(BufferMetadata{}), device.CodeInvalidArgument)
	require.NoError(t, tracker.Track(BufferMetadata{ID: 1, SizeBytes: math.MaxUint64}))
	err := tracker.Track(BufferMetadata{ID: 2, SizeBytes: 1})
	require.ErrorIs(t, err, device.CodeOverflow)
	require.ErrorContains(t, err, "Buffer#2")
	require.NoError(t, tracker.Track(BufferMetadata{ID: 1, SizeBytes: 5}), "the record replaces the record with the same id before the sum is computed")
	require.EqualValues(t, 5, tracker.TotalBytes())
	require.False(t, tracker.SetLocation(7, BufferLocation{}))
	_, ok := tracker.Get(7)
	require.False(t, ok)
}
