package rangealloc

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func newTestSizeClass(tb testing.TB, granules uint64) *sizeClass {
	s, err := New(nameSizeClass, Config{SizeBytes: granules * 256, BaseAddr: 1 << 40, GranuleBytes: 256})
	require.NoError(tb, err)
	return s.(*sizeClass)
}

func mustAlloc(tb testing.TB, s Strategy, size, align uint64) Range {
	tb.Helper()
	got, err := s.Alloc(Request{Size: size, Align: align})
	require.NoError(tb, err)
	return got
}

func mustFree(tb testing.TB, s Strategy, offset uint64) {
	tb.Helper()
	_, err := s.Free(offset)
	require.NoError(tb, err)
}

// A slab has only blocks of its class, and small blocks are in slabs.
func TestSlabsNeverMixClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := New(nameSizeClass, Config{SizeBytes: 16 << 20, BaseAddr: 1 << 40, GranuleBytes: 256})
		require.NoError(t, err)
		s := c.(*sizeClass)
		live := map[uint64]uint64{}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				size := rapid.Uint64Range(1, 20<<10).Draw(t, "size")
				got, err := s.Alloc(Request{Size: size, Align: 256})
				require.NoError(t, err)
				live[got.Offset] = got.Size
				granules := s.granules(size)
				if granules > s.small {
					require.Equal(t, granules*256, got.Size)
					return
				}
				require.Equal(t, ClassGranules(SizeClass(granules))*256, got.Size)
				id, _, starts := s.locate(got.Offset/256, noSlab)
				require.NotEqual(t, noSlab, id)
				require.True(t, starts)
				slab := s.slabs.all[id]
				require.Equal(t, got.Size, s.classes[slab.class].granules*256)
				require.Zero(t, (1<<40+slab.start*256)%(256<<s.slabShift))
			},
			"free": func(t *rapid.T) {
				for offset, size := range live {
					freed, err := s.Free(offset)
					require.NoError(t, err)
					require.Equal(t, size, freed)
					delete(live, offset)
					break
				}
			},
			"": func(t *rapid.T) { require.NoError(t, s.Check()) },
		})
	})
}

// Empty slabs return to best_fit, except one slab of a class that has no other; that one
// is released before a request fails.
func TestEmptySlabsAreReleased(t *testing.T) {
	const granules = 64 << 10 // 16 MiB
	s := newTestSizeClass(t, granules)
	r := rand.New(rand.NewPCG(1, 2))
	var offsets []uint64
	for range 3000 {
		offsets = append(offsets, mustAlloc(t, s, 1+r.Uint64N(4<<10), 256).Offset)
	}
	most := s.slabs.count
	require.Greater(t, most, uint64(80))
	r.Shuffle(len(offsets), func(i, j int) { offsets[i], offsets[j] = offsets[j], offsets[i] })
	for _, offset := range offsets {
		mustFree(t, s, offset)
	}
	require.NoError(t, s.Check())
	require.Equal(t, s.slabs.count, uint64(s.kept))
	require.Equal(t, 16, s.kept, "sizes up to 4 KiB are of 16 classes")
	require.Equal(t, uint64(16), s.inner.Stats().LiveBlocks)
	stats := s.Stats()
	require.Equal(t, Stats{
		SizeBytes: granules * 256, FreeBytes: granules * 256, LargestFreeBytes: granules * 256, FreeRuns: 1,
		HighWaterBytes: stats.HighWaterBytes,
	}, stats, "kept slabs are free space")
	require.Equal(t, uint64(granules*256), mustAlloc(t, s, granules*256, 256).Size)
	require.Zero(t, s.slabs.count)
	require.NoError(t, s.Check())
}

// A block that is allocated and freed repeatedly does not create a slab each time.
func TestOneEmptySlabIsKept(t *testing.T) {
	s := newTestSizeClass(t, 64<<10)
	first := mustAlloc(t, s, 1000, 256)
	mustFree(t, s, first.Offset)
	require.Equal(t, uint64(1), s.slabs.count)
	require.Equal(t, first, mustAlloc(t, s, 1000, 256))
	// With free blocks elsewhere in the class, an empty slab is not kept.
	var second Range
	for s.slabs.count == 1 {
		second = mustAlloc(t, s, 1000, 256)
	}
	mustFree(t, s, first.Offset)
	mustFree(t, s, second.Offset)
	require.Equal(t, uint64(1), s.slabs.count)
	require.Zero(t, s.kept)
}

// The fuller slab is used, so that the other one can become empty.
func TestFullerSlabIsUsedFirst(t *testing.T) {
	s := newTestSizeClass(t, 64<<10)
	var blocks []Range
	for s.slabs.count < 3 {
		blocks = append(blocks, mustAlloc(t, s, 1024, 256))
	}
	mustFree(t, s, blocks[len(blocks)-1].Offset)
	inSlab := func(r Range) uint64 { return r.Offset >> 16 }
	first, second := inSlab(blocks[0]), inSlab(blocks[len(blocks)-2])
	require.NotEqual(t, first, second)
	kept := 0
	for i, block := range blocks[:len(blocks)-1] {
		// Half of one slab stays, and all except one block of the other are freed.
		if inSlab(block) == first && i%2 == 0 || inSlab(block) == second && kept > 0 {
			mustFree(t, s, block.Offset)
		} else if inSlab(block) == second {
			kept++
		}
	}
	for range 20 {
		require.Equal(t, first, inSlab(mustAlloc(t, s, 1024, 256)))
	}
}

// If nothing else is left, a small request uses a block of a larger class.
func TestLargerClassIsTheLastResort(t *testing.T) {
	s := newTestSizeClass(t, 64<<10)
	block := mustAlloc(t, s, 2048, 256)
	require.NotZero(t, mustAlloc(t, s, s.inner.Stats().LargestFreeBytes, 256).Size)
	for s.inner.Stats().FreeBytes > 0 {
		mustAlloc(t, s, s.inner.Stats().LargestFreeBytes, 256)
	}
	require.Equal(t, uint64(2048), s.Stats().LargestFreeBytes)
	got := mustAlloc(t, s, 256, 2048)
	require.Equal(t, uint64(2048), got.Size)
	require.NotEqual(t, block.Offset, got.Offset)
	_, err := s.Alloc(Request{Size: 2049, Align: 256})
	require.ErrorIs(t, err, ErrNoRoom)
	_, err = s.Alloc(Request{Size: 256, Align: 4096})
	require.ErrorIs(t, err, ErrNoRoom, "its blocks are aligned to 2048")
	require.NoError(t, s.Check())
}

// Blocks above the limit are placed as best_fit places them, including hints.
func TestLargeBlocksArePlacedAsByBestFit(t *testing.T) {
	s := newTestSizeClass(t, 1<<20)
	want, err := newBestFit(s.config)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	var live []uint64
	for range 5000 {
		if len(live) > 300 || len(live) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(live))
			mustFree(t, s, live[i])
			mustFree(t, want, live[i])
			live = append(live[:i], live[i+1:]...)
		}
		request := Request{
			Size: s.small<<s.shift + 1 + r.Uint64N(1<<20), Align: 256 << r.UintN(5),
			End: r.Uint64N(2000), Group: r.Uint64N(5),
		}
		got, err := s.Alloc(request)
		expected, wantErr := want.Alloc(request)
		require.Equal(t, wantErr, err)
		if err == nil {
			require.Equal(t, expected.Offset, got.Offset)
			require.Equal(t, expected.Size, got.Size)
			live = append(live, got.Offset)
		}
	}
	require.Positive(t, len(live))
	require.Equal(t, want.Stats(), s.Stats())
}

// A live block may cost 64 bytes of tables; here it is far less.
func TestBytesPerBlockOfSizeClass(t *testing.T) {
	const live = 100_000
	s := newTestSizeClass(t, 1<<28)
	replace := replacer(t, s, live)
	for range 2 * live {
		replace()
	}
	require.NoError(t, s.Check())
	inner := s.inner
	bytes := cap(inner.records.all)*32 + 4*len(inner.live.heads) + 4*len(inner.free.bins) +
		8*len(inner.free.filled.words) + 8*len(inner.free.filled.sums)
	bytes += cap(s.slabs.all)*24 + 8*cap(s.slabs.words) + 4*cap(s.slabs.chunks) + 4*len(s.slabs.cells)
	bytes += 4*cap(s.slots.records) + 4*cap(s.slots.spare)
	require.LessOrEqual(t, bytes, 48*live)
	t.Logf("%d bytes a live block", bytes/live)
}

// Check must detect damage: each case damages one thing.
func TestCheckFindsDamageInSlabs(t *testing.T) {
	for name, damage := range map[string]func(s *sizeClass){
		"a bit":             func(s *sizeClass) { s.slabs.words[0] ^= 1 },
		"a bit behind":      func(s *sizeClass) { s.slabs.wordsOf(0)[3] |= 1 << 63; s.slabs.all[0].live-- },
		"a count":           func(s *sizeClass) { s.slabs.all[0].live++ },
		"a class's count":   func(s *sizeClass) { s.classes[3].live++ },
		"a class's slabs":   func(s *sizeClass) { s.classes[3].slabs++ },
		"all slabs":         func(s *sizeClass) { s.slabs.count++ },
		"a start":           func(s *sizeClass) { s.slabs.all[0].start += 256 },
		"a record":          func(s *sizeClass) { s.slabs.all[0].record++ },
		"a cell":            func(s *sizeClass) { s.slabs.cells[s.slabs.home(s.slabs.all[0].start)] = noSlab },
		"a list":            func(s *sizeClass) { s.classes[s.slabs.all[0].class].lists[s.slabs.all[0].list] = noSlab },
		"a slab's list":     func(s *sizeClass) { s.slabs.all[0].list ^= 1 },
		"what is kept":      func(s *sizeClass) { s.kept++ },
		"the kept slab":     func(s *sizeClass) { s.classes[0].kept = 0 },
		"a chunk":           func(s *sizeClass) { s.slabs.chunks[0] = s.slots.records[0] },
		"a lost chunk":      func(s *sizeClass) { s.slots.next++ },
		"a mark":            func(s *sizeClass) { s.marks = []uint64{4} },
		"the spare records": func(s *sizeClass) { s.slabs.all = append(s.slabs.all, slab{}) },
		"the high water":    func(s *sizeClass) { s.highWater = 1 },
		"best_fit":          func(s *sizeClass) { s.inner.freeUnits++ },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestSizeClass(t, 64<<10)
			mustAlloc(t, s, 1<<20, 256)
			for range 3 {
				mustAlloc(t, s, 1500, 256)
				mustFree(t, s, mustAlloc(t, s, 1, 256).Offset)
			}
			require.NoError(t, s.Check())
			require.Equal(t, 1, s.kept)
			damage(s)
			require.ErrorIs(t, s.Check(), device.CodeInternal)
		})
	}
}
