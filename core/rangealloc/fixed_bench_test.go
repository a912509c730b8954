package rangealloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func benchFixed(tb testing.TB, blockBytes uint64) *fixed {
	s, err := New(nameFixed, Config{SizeBytes: 1 << 40, BaseAddr: 1 << 44, GranuleBytes: 256, BlockBytes: blockBytes})
	require.NoError(tb, err)
	return s.(*fixed)
}

// BenchmarkFixedPair allocates and frees one block among 100,000 live ones.
func BenchmarkFixedPair(b *testing.B) {
	f := benchFixed(b, 64<<10)
	offsets := make([]uint64, 100_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range offsets {
		got, err := f.Alloc(Request{Size: 1, Align: 1})
		require.NoError(b, err)
		offsets[i] = got.Offset
	}
	r.Shuffle(len(offsets), func(i, j int) { offsets[i], offsets[j] = offsets[j], offsets[i] })
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := i % len(offsets)
		if _, err := f.Free(offsets[at]); err != nil {
			b.Fatal(err)
		}
		got, err := f.Alloc(Request{Size: 1, Align: 1})
		if err != nil {
			b.Fatal(err)
		}
		offsets[at] = got.Offset
	}
}

// BenchmarkFixedBatch allocates and frees 256 blocks at once. About 100 requests of 256
// or more blocks are live, and one of them is replaced each time. A page has 32 blocks,
// 2, and 1.
func BenchmarkFixedBatch(b *testing.B) {
	for _, blockBytes := range []uint64{64 << 10, 1 << 20, 2 << 20} {
		b.Run(fmt.Sprint(blockBytes), func(b *testing.B) { fixedBatches(b, blockBytes) })
	}
}

func fixedBatches(b *testing.B, blockBytes uint64) {
	const size, live = 256, 100
	f := benchFixed(b, blockBytes)
	r := rand.New(rand.NewPCG(1, 2))
	batches := make([][]uint64, live)
	ranges := make([]Range, size)
	take := func(at int) {
		if err := f.AllocBatch(Request{Size: 1, Align: 1, Group: uint64(at + 1)}, ranges); err != nil {
			b.Fatal(err)
		}
		for i, got := range ranges {
			batches[at][i] = got.Offset
		}
	}
	for i := range batches {
		batches[i] = make([]uint64, size)
		take(i)
		if _, err := f.Alloc(Request{Size: 1, Align: 1, Group: uint64(i + 1)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		at := r.IntN(live)
		if err := f.FreeBatch(batches[at]); err != nil {
			b.Fatal(err)
		}
		take(at)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/pair")
}
