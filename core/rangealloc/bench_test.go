package rangealloc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// logUniform draws sizes so that every power of two between the bounds is equally likely.
func logUniform(r *rand.Rand, low, high float64) uint64 {
	return uint64(low * math.Exp(r.Float64()*math.Log(high/low)))
}

func benchRange(tb testing.TB, name string) Strategy {
	s, err := New(name, Config{SizeBytes: 64 << 30, BaseAddr: 1 << 40, GranuleBytes: 256})
	require.NoError(tb, err)
	return s
}

// anySize returns the strategies for blocks of any size.
func anySize() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return name == nameFixed })
}

// BenchmarkHotPair frees what it has just allocated, in an otherwise empty range.
func BenchmarkHotPair(b *testing.B) {
	for _, name := range anySize() {
		b.Run(name, func(b *testing.B) {
			s := benchRange(b, name)
			b.ReportAllocs()
			for b.Loop() {
				r, err := s.Alloc(Request{Size: 4096, Align: 256})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Free(r.Offset); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplace frees a random block of a full set and allocates another one of a
// random size, 256 B to 1 MiB.
func BenchmarkReplace(b *testing.B) {
	for _, name := range anySize() {
		for _, live := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("%s/live=%d", name, live), func(b *testing.B) {
				s := benchRange(b, name)
				replace := replacer(b, s, live)
				for range 20 * live {
					replace()
				}
				b.ReportAllocs()
				for b.Loop() {
					replace()
				}
			})
		}
	}
}

// replacer fills s with live blocks and returns a function that replaces one. Sizes and
// blocks are drawn before, so that drawing is not measured.
func replacer(tb testing.TB, s Strategy, live int) func() {
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 1 << 16
	sizes, picks := make([]uint64, draws), make([]uint32, draws)
	for i := range draws {
		sizes[i] = logUniform(r, 256, 1<<20)
		picks[i] = r.Uint32()
	}
	offsets := make([]uint64, live)
	for i := range offsets {
		got, err := s.Alloc(Request{Size: logUniform(r, 256, 1<<20), Align: 256})
		require.NoError(tb, err)
		offsets[i] = got.Offset
	}
	step, spin := 0, uint32(0)
	return func() {
		i := step & (draws - 1)
		if i == 0 {
			spin = spin*1664525 + 1013904223
		}
		step++
		victim := uint64(picks[i]^spin) * uint64(live) >> 32
		if _, err := s.Free(offsets[victim]); err != nil {
			tb.Fatal(err)
		}
		got, err := s.Alloc(Request{Size: sizes[i], Align: 256})
		if err != nil {
			tb.Fatal(err)
		}
		offsets[victim] = got.Offset
	}
}
