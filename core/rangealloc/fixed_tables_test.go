package rangealloc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func newTestFixed(t *testing.T, blocks, perPage uint64) *fixed {
	t.Helper()
	s, err := New(nameFixed, Config{SizeBytes: blocks * 256, GranuleBytes: 256, BlockBytes: 256, PageBytes: perPage * 256})
	require.NoError(t, err)
	return s.(*fixed)
}

// Blocks beyond the last slot number are not allocated, and the error states that the
// range is not full.
func TestFixedAllocatesNothingBeyondTheLastSlot(t *testing.T) {
	f := newTestFixed(t, 1<<33, 64)
	require.Equal(t, uint64(1<<33), f.blocks)
	require.Equal(t, uint64(1<<32-64), f.usable)
	f.live = f.usable - 2
	got := make([]Range, 3)
	err := f.AllocBatch(Request{Size: 1, Align: 1}, got)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.ErrorContains(t, err, "3 blocks wanted, 4294967230 of 4294967232 possible ones live")
	f.blocks = f.usable // as if the range ended there
	require.ErrorIs(t, f.AllocBatch(Request{Size: 1, Align: 1}, got), ErrNoRoom)
}

// A block costs a few bits and a share of a page's record.
func TestBytesPerBlockOfFixed(t *testing.T) {
	for perPage, most := range map[uint64]int{4: 24, 32: 4, 512: 1} {
		const live = 100_000
		f := newTestFixed(t, 1<<30, perPage)
		require.NoError(t, f.AllocBatch(Request{Size: 1, Align: 1}, make([]Range, live)))
		bytes := 16*cap(f.table) + 8*cap(f.words) + 8*cap(f.sets.words)
		require.LessOrEqual(t, bytes, most*live, "%d blocks a page", perPage)
	}
}

// Groups that are not used for long are removed, and the table does not grow.
func TestFixedGroupsAreBounded(t *testing.T) {
	var g fixedGroups
	_, known, _ := g.find(1)
	require.False(t, known)
	for number := uint64(1); number <= 100_000; number++ {
		g.put(number, uint32(number), number%2 == 0)
		page, known, batched := g.find(number)
		require.True(t, known)
		require.Equal(t, uint32(number), page)
		require.Equal(t, number%2 == 0, batched)
	}
	require.Len(t, g.buckets, groupBuckets)
	remembered := 0
	for number := uint64(1); number <= 100_000; number++ {
		if _, known, _ := g.find(number); known {
			remembered++
		}
	}
	require.Equal(t, groupBuckets*groupWays, remembered)
	// The group that was used last stays when the bucket is full.
	bucket := *g.bucket(100_000)
	oldest := bucket[groupWays-1].number
	g.put(oldest, 7, false)
	require.Equal(t, fixedGroup{number: oldest, page: 7}, g.bucket(oldest)[0])
	require.Equal(t, bucket[0], g.bucket(oldest)[1])
}

// Check must detect damage: each case damages one thing.
func TestCheckFindsDamageInPages(t *testing.T) {
	for name, damage := range map[string]func(f *fixed){
		"a bit":             func(f *fixed) { f.words[0] ^= 1 },
		"a bit behind":      func(f *fixed) { f.words[4] |= 1 << 63; f.table[4].live-- },
		"a count":           func(f *fixed) { f.table[1].live-- },
		"live blocks":       func(f *fixed) { f.live++ },
		"the lowest word":   func(f *fixed) { f.table[2].low = 1 },
		"a list":            func(f *fixed) { f.table[2].listed = listedFull },
		"the set of empty":  func(f *fixed) { f.sets.remove(setEmpty, 3) },
		"the set in use":    func(f *fixed) { f.sets.remove(setPartial, 2) },
		"a set of room":     func(f *fixed) { f.sets.add(setRoom+2, 2) },
		"a level of a set":  func(f *fixed) { f.sets.of(setPartial)[f.sets.level[1]] ^= 1 },
		"a page not used":   func(f *fixed) { f.sets.add(setEmpty, 4000) },
		"the high water":    func(f *fixed) { f.highWater = 3 },
		"the page of group": func(f *fixed) { f.groups.put(9, 100, false) },
		"the words":         func(f *fixed) { f.words = f.words[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			f := newTestFixed(t, 1<<20, 16)
			// Pages 0, 1 and 4 are full, 2 is partly used, 3 is empty, and there are many
			// more.
			require.NoError(t, f.AllocBatch(Request{Size: 1, Align: 1, Group: 1}, make([]Range, 80)))
			var offsets []uint64
			for index := range uint32(16) {
				offsets = append(offsets, f.start(3, index)*256)
			}
			require.NoError(t, f.FreeBatch(append(offsets, f.start(2, 7)*256)))
			f.sets.reach(5000)
			require.NoError(t, f.Check())
			damage(f)
			require.ErrorIs(t, f.Check(), device.CodeInternal)
		})
	}
}
