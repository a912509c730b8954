package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// In every state of a pool, its Brief equals that part of its Statistics.
func TestBriefIsPartOfTheStatistics(t *testing.T) {
	for _, strategy := range []string{"best_fit", "size_class", "tlsf", "buddy", "arena"} {
		dev := devicetest.Open(devicetest.Config{TotalBytes: 64 << 20})
		e := engine.New(dev, engine.Options{})
		c := DefaultConfig()
		c.Strategy, c.InitialSizeBytes, c.GrowthIncrementBytes = strategy, 1<<20, 1<<20
		p, err := New(e, c)
		require.NoError(t, err)
		p.PauseReturn()
		random := rand.New(rand.NewPCG(1, 2))
		var live []device.Addr
		for range 500 {
			if len(live) > 0 && random.IntN(2) == 0 {
				require.NoError(t, p.Free(live[len(live)-1], nil))
				live = live[:len(live)-1]
			} else if block, err := p.Alloc(Request{SizeBytes: 1 + random.Uint64N(200<<10)}); err == nil {
				live = append(live, block.Addr)
			}
			require.Equal(t, p.Statistics().Brief(), p.Brief(), strategy)
		}
		require.NoError(t, p.Close(true))
		require.Zero(t, p.Brief())
		require.NoError(t, e.Close())
	}
}

// BenchmarkRecentMemoryInfo measures the device's memory information from the counters of
// one pool and an old reading.
func BenchmarkRecentMemoryInfo(b *testing.B) {
	p := quickPool(b, nil)
	if _, err := p.Alloc(Request{SizeBytes: 1 << 20}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.heap.engine.RecentMemoryInfo(time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}
