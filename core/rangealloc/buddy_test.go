package rangealloc_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeBuddy(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New("buddy", c) }

// buddies returns the free blocks that must exist: at every offset of a free run, the
// longest power of two granules that divides the offset and fits into the run.
func buddies(c rangealloc.Config, free []rangealloc.Range) []rangealloc.Range {
	var blocks []rangealloc.Range
	for _, run := range free {
		at, left := run.Offset/c.GranuleBytes, run.Size/c.GranuleBytes
		for left > 0 {
			size := uint64(1)
			for at%(2*size) == 0 && 2*size <= left && size < 1<<62 {
				size *= 2
			}
			blocks = append(blocks, rangealloc.Range{Offset: at * c.GranuleBytes, Size: size * c.GranuleBytes})
			at, left = at+size, left-size
		}
	}
	return blocks
}

// powerOfTwo returns the block size of a request, in granules; 0 if there is no such
// size.
func powerOfTwo(c rangealloc.Config, size uint64) uint64 {
	granules, block := (size-1)/c.GranuleBytes+1, uint64(1)
	for block != 0 && block < granules {
		block *= 2
	}
	return block
}

// leastBuddy checks that the block has the size of the next power of two, and is at the
// first place with its alignment in a free buddy. No smaller buddy is as long as the
// block and its alignment. Without a special alignment, no smaller buddy is as long as
// the block.
func leastBuddy(c rangealloc.Config, free []rangealloc.Range, r conformance.Request, got rangealloc.Range) error {
	size := powerOfTwo(c, r.Size) * c.GranuleBytes
	if got.Size != size || got.Offset%size != 0 {
		return fmt.Errorf("%+v is not a buddy of %d bytes", got, size)
	}
	sure := size
	if r.Align > c.GranuleBytes {
		sure = max(size, r.Align)
	}
	var taken rangealloc.Range
	for _, b := range buddies(c, free) {
		if got.Offset >= b.Offset && got.Offset-b.Offset < b.Size {
			taken = b
		}
	}
	if at, _ := conformance.FirstAligned(c, taken, conformance.Request{Size: size, Align: r.Align}); at != got.Offset {
		return fmt.Errorf("%+v is not at the first place in the buddy %+v", got, taken)
	}
	for _, b := range buddies(c, free) {
		if b.Size >= sure && b.Size < taken.Size {
			return fmt.Errorf("%+v was taken out of %+v, though the lesser %+v is free", got, taken, b)
		}
	}
	return nil
}

// noBuddy reports whether a request may fail: no free buddy is as long as its size and
// its alignment, or both are above the alignment of the base.
func noBuddy(c rangealloc.Config, free []rangealloc.Range, r conformance.Request) bool {
	block := powerOfTwo(c, r.Size)
	high, size := bits.Mul64(block, c.GranuleBytes)
	if block == 0 || high != 0 {
		return true
	}
	if c.BaseAddr%size != 0 && c.BaseAddr%r.Align != 0 {
		return true
	}
	for _, b := range buddies(c, free) {
		if b.Size >= max(size, r.Align) {
			return false
		}
	}
	return true
}

var buddyPromises = conformance.Options{ServesLargest: true, Admits: leastBuddy, MayRefuse: noBuddy}

func TestBuddy(t *testing.T) { conformance.Run(t, makeBuddy, buddyPromises) }

func FuzzBuddy(f *testing.F) { conformance.Fuzz(f, makeBuddy, buddyPromises) }

// freeBlocks returns the free blocks of the walk, as they are and with neighbours merged.
func freeBlocks(s rangealloc.Strategy) (blocks, runs []rangealloc.Range) {
	s.Walk(func(b rangealloc.Block) bool {
		if b.Live {
			return true
		}
		blocks = append(blocks, rangealloc.Range{Offset: b.Offset, Size: b.Size})
		if last := len(runs) - 1; last >= 0 && runs[last].Offset+runs[last].Size == b.Offset {
			runs[last].Size += b.Size
		} else {
			runs = append(runs, rangealloc.Range{Offset: b.Offset, Size: b.Size})
		}
		return true
	})
	return blocks, runs
}

// After every operation the number of free blocks is the smallest possible, so no two
// buddies are both free. When everything is free, the free blocks are those of the
// beginning.
func TestBuddyMergesAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		granule := uint64(1) << rapid.IntRange(0, 12).Draw(t, "granule bits")
		c := rangealloc.Config{
			GranuleBytes: granule,
			SizeBytes:    rapid.Uint64Range(1, 5000).Draw(t, "granules") * granule,
			BaseAddr:     rapid.Uint64Range(0, 100).Draw(t, "base") * granule,
		}
		s, err := makeBuddy(c)
		require.NoError(t, err)
		merged := func() {
			blocks, runs := freeBlocks(s)
			require.Equal(t, buddies(c, runs), blocks)
		}
		merged()
		whole, _ := freeBlocks(s)
		require.Len(t, whole, bits.OnesCount64(c.SizeBytes/granule))
		var live []uint64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "free") == 0 {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				_, err := s.Free(live[i])
				require.NoError(t, err)
				live = append(live[:i], live[i+1:]...)
			} else if got, err := s.Alloc(rangealloc.Request{
				Size:  rapid.Uint64Range(1, 300).Draw(t, "size") * granule,
				Align: granule << rapid.IntRange(0, 8).Draw(t, "alignment"),
			}); err == nil {
				live = append(live, got.Offset)
			}
			merged()
		}
		for _, offset := range live {
			_, err := s.Free(offset)
			require.NoError(t, err)
		}
		last, _ := freeBlocks(s)
		require.Equal(t, whole, last)
	})
}

// The rule for alignments above that of the base: it bounds only the size.
func TestBuddyAlignmentBeyondTheBase(t *testing.T) {
	const granule = 256
	s, err := makeBuddy(rangealloc.Config{SizeBytes: 1 << 20, BaseAddr: 1<<30 + 4096, GranuleBytes: granule})
	require.NoError(t, err)
	for _, size := range []uint64{1, granule, 4096} {
		got, err := s.Alloc(rangealloc.Request{Size: size, Align: 1 << 18})
		require.NoError(t, err)
		require.Zero(t, (1<<30+4096+got.Offset)%(1<<18))
	}
	_, err = s.Alloc(rangealloc.Request{Size: 4097, Align: 8192})
	require.Equal(t, rangealloc.ErrNoRoom, err)
	_, err = s.Alloc(rangealloc.Request{Size: 4097, Align: 4096})
	require.NoError(t, err)
	require.NoError(t, s.Check())
}
