package sleep

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/vmm/pageset"
)

// TestKeptPagesAreOfTheirChunks compares what is kept with one entry for each page.
func TestKeptPagesAreOfTheirChunks(t *testing.T) {
	const pages = 96
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 11))
		var k kept
		require.NoError(t, k.open(pages))
		of := map[uint64]*Chunk{}
		chunks, most := map[*Chunk]bool{}, 0
		for range 300 {
			start := random.Uint64N(pages)
			r := pageset.Run{Start: start, Pages: 1 + random.Uint64N(min(12, pages-start))}
			if random.IntN(2) == 0 {
				free := true
				for page := r.Start; page < r.End(); page++ {
					free = free && of[page] == nil
				}
				if !free {
					continue
				}
				c := &Chunk{Run: r}
				k.add(c)
				require.Equal(t, r.Pages, c.Left())
				for page := r.Start; page < r.End(); page++ {
					of[page] = c
				}
				chunks[c] = true
			} else {
				gone := uint64(0)
				k.remove(r, func(c *Chunk, part pageset.Run) {
					for page := part.Start; page < part.End(); page++ {
						require.Same(t, of[page], c)
						delete(of, page)
						gone++
					}
					if c.Left() == 0 {
						delete(chunks, c)
					}
				})
				for page := r.Start; page < r.End(); page++ {
					require.Nil(t, of[page])
				}
				require.LessOrEqual(t, gone, r.Pages)
			}
			most = max(most, len(chunks))
			agrees(t, &k, of, chunks)
		}
		require.LessOrEqual(t, len(k.all), most, "numbers are used again")
		k.detach()()
	}
}

func agrees(t *testing.T, k *kept, of map[uint64]*Chunk, chunks map[*Chunk]bool) {
	t.Helper()
	ordered := k.ordered()
	require.Len(t, ordered, len(chunks))
	require.True(t, slices.IsSortedFunc(ordered, func(a, b *Chunk) int { return int(a.Run.Start) - int(b.Run.Start) }))
	sum := 0
	for _, c := range ordered {
		require.True(t, chunks[c])
		left := uint64(0)
		for _, part := range k.partsOf(c) {
			left += part.Pages
			for page := part.Start; page < part.End(); page++ {
				require.Same(t, c, of[page])
			}
		}
		require.Equal(t, left, c.Left())
		sum += int(left)
	}
	require.Len(t, of, sum)
}

// The cost of an operation on one page does not depend on the number of sleeping
// chunks.
func TestRemoveVisitsItsOwnChunksOnly(t *testing.T) {
	const all = 1000
	var k kept
	require.NoError(t, k.open(all))
	for page := range uint64(all) {
		k.add(&Chunk{Run: pageset.Run{Start: page, Pages: 1}})
	}
	steps := func(at pageset.Run) (seen int) {
		k.each(at, func(*Chunk, pageset.Run) { seen++ })
		return seen
	}
	require.Equal(t, 1, steps(pageset.Run{Start: 500, Pages: 1}))
	require.Equal(t, 3, steps(pageset.Run{Start: 500, Pages: 3}))
	k.remove(pageset.Run{Start: 500, Pages: 2}, func(*Chunk, pageset.Run) {})
	require.Zero(t, steps(pageset.Run{Start: 500, Pages: 2}))
	require.Len(t, k.spare, 2)
	k.add(&Chunk{Run: pageset.Run{Start: 500, Pages: 2}})
	require.Len(t, k.all, all, "numbers are used again")
	k.detach()()
}
