package rangealloc_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeArena(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New("arena", c) }

// With Monotonic, the suite derives the place of each block, and each failure, from the
// blocks before it.
var arenaPromises = conformance.Options{ExactSize: true, ServesLargest: true, Monotonic: true}

func TestArena(t *testing.T) { conformance.Run(t, makeArena, arenaPromises) }

func FuzzArena(f *testing.F) { conformance.Fuzz(f, makeArena, arenaPromises) }

// However many blocks are allocated and freed while one is live, the walk shows only the
// live blocks, what was freed between them, and the rest. All memory is free again when
// the last block is freed, whichever it is.
func TestArenaIsFreeAfterTheLastFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const granule = 256
		s, err := makeArena(rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: granule})
		require.NoError(t, err)
		var live []uint64
		end := uint64(0)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				_, err := s.Free(live[i])
				require.NoError(t, err)
				_, err = s.Free(live[i])
				require.ErrorIs(t, err, device.CodeDoubleFree)
				live = append(live[:i], live[i+1:]...)
			} else if got, err := s.Alloc(rangealloc.Request{
				Size:  rapid.Uint64Range(1, 20_000).Draw(t, "size"),
				Align: granule << rapid.IntRange(0, 4).Draw(t, "alignment"),
			}); err == nil {
				require.GreaterOrEqual(t, got.Offset, end)
				end = got.Offset + got.Size
				live = append(live, got.Offset)
			}
			if len(live) == 0 {
				end = 0
			}
			require.Equal(t, 1<<20-end, s.Stats().LargestFreeBytes)
			require.LessOrEqual(t, s.Stats().FreeRuns, uint64(len(live)+2))
		}
	})
}

// A step is freed in the order in which it was allocated, again and again: no Go memory
// is allocated, and no table grows.
func TestArenaReusesItsTablesAfterEachStep(t *testing.T) {
	s, err := makeArena(rangealloc.Config{SizeBytes: 1 << 30, GranuleBytes: 256})
	require.NoError(t, err)
	var offsets [500]uint64
	highest := uint32(0)
	step := func() {
		for i := range offsets {
			got, err := s.Alloc(rangealloc.Request{Size: uint64(i+1) * 1000, Align: 256 << (i % 5)})
			if err != nil {
				t.Fatal(err)
			}
			offsets[i], highest = got.Offset, max(highest, got.Slot)
		}
		for _, offset := range offsets {
			if _, err := s.Free(offset); err != nil {
				t.Fatal(err)
			}
		}
	}
	step()
	require.Zero(t, testing.AllocsPerRun(20, step))
	require.LessOrEqual(t, highest, uint32(2*len(offsets)+2))
	require.Equal(t, uint64(1<<30), s.Stats().LargestFreeBytes)
	require.NoError(t, s.Check())
}
