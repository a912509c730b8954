package plan

import (
	"context"
	"math/rand/v2"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The tests compare Place with programs that share no code with it: check compares all
// pairs of buffers, peakOf sums at every time, and smallestArena tries every offset.

// check fails unless the placement is right for the buffers.
func check(t require.TestingT, buffers []Buffer, p *Placement) {
	require.Len(t, p.OffsetsBytes, len(buffers))
	granule := granuleOf(buffers)
	var arena uint64
	for i, a := range buffers {
		offset := p.OffsetsBytes[i]
		require.Zero(t, offset%max(a.AlignmentBytes, 1), "alignment of buffer %d", i)
		arena = max(arena, offset+rounded(a.SizeBytes, granule))
		for j, b := range buffers[:i] {
			inTime := a.Lower < b.Upper && b.Lower < a.Upper
			inBytes := offset < p.OffsetsBytes[j]+b.SizeBytes && p.OffsetsBytes[j] < offset+a.SizeBytes
			require.False(t, inTime && inBytes, "buffers %d and %d overlap", j, i)
		}
	}
	require.Equal(t, arena, p.ArenaBytes)
	require.Equal(t, peakOf(buffers), p.PeakBytes)
	require.LessOrEqual(t, p.PeakBytes, p.LowerBoundBytes)
	require.LessOrEqual(t, p.LowerBoundBytes, p.ArenaBytes)
	require.LessOrEqual(t, p.ArenaBytes, p.GreedyBytes)
}

func granuleOf(buffers []Buffer) uint64 {
	granule := uint64(1) << 63
	for _, b := range buffers {
		granule = min(granule, max(b.AlignmentBytes, 1))
	}
	return granule
}

func rounded(size, granule uint64) uint64 { return (size + granule - 1) / granule * granule }

func peakOf(buffers []Buffer) uint64 {
	var peak uint64
	for _, at := range buffers {
		var live uint64
		for _, b := range buffers {
			if b.Lower <= at.Lower && at.Lower < b.Upper {
				live += rounded(b.SizeBytes, granuleOf(buffers))
			}
		}
		peak = max(peak, live)
	}
	return peak
}

// smallestArena finds the smallest arena: for each size from the peak on it tries every
// offset of every buffer. It is for a few buffers of a few bytes.
func smallestArena(buffers []Buffer) uint64 {
	granule := granuleOf(buffers)
	offsets := make([]uint64, len(buffers))
	var fits func(n int, arena uint64) bool
	fits = func(n int, arena uint64) bool {
		if n == len(buffers) {
			return true
		}
		b := buffers[n]
		size := rounded(b.SizeBytes, granule)
		for offset := uint64(0); offset+size <= arena; offset += max(b.AlignmentBytes, 1) {
			clear := true
			for j, other := range buffers[:n] {
				if b.Lower < other.Upper && other.Lower < b.Upper &&
					offset < offsets[j]+rounded(other.SizeBytes, granule) && offsets[j] < offset+size {
					clear = false
				}
			}
			if offsets[n] = offset; clear && fits(n+1, arena) {
				return true
			}
		}
		return false
	}
	arena := peakOf(buffers)
	for !fits(0, arena) {
		arena += granule
	}
	return arena
}

// someBuffers draws buffers for which smallestArena is fast.
func someBuffers(aligned bool) *rapid.Generator[[]Buffer] {
	return rapid.Custom(func(t *rapid.T) []Buffer {
		buffers := make([]Buffer, rapid.IntRange(1, 7).Draw(t, "buffers"))
		for i := range buffers {
			lower := rapid.Int64Range(-3, 5).Draw(t, "lower")
			buffers[i] = Buffer{
				Lower: lower, Upper: lower + rapid.Int64Range(1, 5).Draw(t, "duration"),
				SizeBytes: rapid.Uint64Range(1, 5).Draw(t, "size"),
			}
			if aligned {
				buffers[i].AlignmentBytes = rapid.SampledFrom([]uint64{0, 1, 2, 4}).Draw(t, "alignment")
			}
		}
		return buffers
	})
}

// cut divides a rectangle of time and bytes into buffers that fill it. So the smallest
// arena is the height of the rectangle.
func cut(random *rand.Rand, pieces int, duration int64, height uint64) []Buffer {
	buffers := []Buffer{{Lower: 0, Upper: duration, SizeBytes: height}}
	for len(buffers) < pieces {
		i := random.IntN(len(buffers))
		b := &buffers[i]
		rest := *b
		if random.IntN(2) == 0 && b.Upper-b.Lower > 1 {
			at := b.Lower + 1 + random.Int64N(b.Upper-b.Lower-1)
			b.Upper, rest.Lower = at, at
		} else if b.SizeBytes > 1 {
			size := 1 + random.Uint64N(b.SizeBytes-1)
			b.SizeBytes, rest.SizeBytes = size, b.SizeBytes-size
		} else {
			continue
		}
		buffers = append(buffers, rest)
	}
	random.Shuffle(pieces, func(i, j int) { buffers[i], buffers[j] = buffers[j], buffers[i] })
	return buffers
}

// place calls Place and checks its result.
func place(t require.TestingT, buffers []Buffer, o Options) *Placement {
	p, err := Place(context.Background(), buffers, o)
	require.NoError(t, err)
	check(t, buffers, p)
	return p
}
