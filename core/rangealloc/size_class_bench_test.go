package rangealloc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkSpace replaces blocks as BenchmarkReplace does, 20 times over, and reports
// what the strategy wastes: allocated over requested bytes, the highest high water over
// the highest sum of live requests, and table bytes for each live block.
func BenchmarkSpace(b *testing.B) {
	for _, name := range []string{Default, nameSizeClass} {
		for _, live := range []int{1000, 100_000} {
			for _, high := range []float64{64 << 10, 1 << 20} {
				b.Run(fmt.Sprintf("%s/live=%d/high=%.0f", name, live, high), func(b *testing.B) {
					for b.Loop() {
						measureSpace(b, name, live, high)
					}
				})
			}
		}
	}
}

func measureSpace(b *testing.B, name string, live int, high float64) {
	type block struct{ offset, wanted, size uint64 }
	blocks := make([]block, live)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := benchRange(b, name)
	r := rand.New(rand.NewPCG(1, 2))
	var wanted, size, peak uint64
	put := func(at int) {
		w := logUniform(r, 256, high)
		got, err := s.Alloc(Request{Size: w, Align: 256})
		require.NoError(b, err)
		blocks[at] = block{got.Offset, w, got.Size}
		wanted, size = wanted+w, size+got.Size
		peak = max(peak, wanted)
	}
	for i := range blocks {
		put(i)
	}
	for range 20 * live {
		at := r.IntN(live)
		_, err := s.Free(blocks[at].offset)
		require.NoError(b, err)
		wanted, size = wanted-blocks[at].wanted, size-blocks[at].size
		put(at)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	stats := s.Stats()
	b.ReportMetric(float64(size)/float64(wanted), "allocated/requested")
	b.ReportMetric(float64(stats.HighWaterBytes)/float64(peak), "high-water/peak")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(live), "table-B/block")
	runtime.KeepAlive(blocks)
}

// BenchmarkSmallBatch allocates and frees 64 blocks of 4 KiB, at once and one by one,
// among 1000 batches of them.
func BenchmarkSmallBatch(b *testing.B) {
	const size, live = 64, 1000
	for _, batch := range []bool{true, false} {
		b.Run(fmt.Sprintf("batch=%v", batch), func(b *testing.B) {
			s := benchRange(b, nameSizeClass).(*sizeClass)
			request := Request{Size: 4096, Align: 256}
			ranges, held := make([]Range, size), make([][size]uint64, live)
			take := func(at int) {
				if batch {
					if err := s.AllocBatch(request, ranges); err != nil {
						b.Fatal(err)
					}
				} else {
					for i := range ranges {
						got, err := s.Alloc(request)
						if err != nil {
							b.Fatal(err)
						}
						ranges[i] = got
					}
				}
				for i, got := range ranges {
					held[at][i] = got.Offset
				}
			}
			for i := range held {
				take(i)
			}
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				at := r.IntN(live)
				if batch {
					if err := s.FreeBatch(held[at][:]); err != nil {
						b.Fatal(err)
					}
				} else {
					for _, offset := range held[at] {
						if _, err := s.Free(offset); err != nil {
							b.Fatal(err)
						}
					}
				}
				take(at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/pair")
		})
	}
}
