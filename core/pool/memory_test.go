package pool

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
)

// The tables of a pool take at most 64 bytes for each live block, including those of the
// strategy and space for the caches. The test measures the growth of the heap and of
// memory outside it, over 100,000 blocks in segments of default size. A closed pool has
// no tables.
func TestTablesTakeAtMost64BytesForABlock(t *testing.T) {
	devicetest.SkipShortRace(t)
	const blocks = 100_000
	b := newBench(devicetest.Config{TotalBytes: 64 << 30}, engine.Options{})
	open := offheap.Mapped()
	p := b.pool(t, func(c *Config) { *c = DefaultConfig(); c.PhysicalPageBytes = kind(0, 2*mib) })
	mustAlloc(t, p, 256)
	r := rand.New(rand.NewPCG(1, 2))
	before := heapBytes() + offheap.Mapped()
	for range blocks {
		mustAlloc(t, p, uint64(256*math.Exp(r.Float64()*math.Log(4096))))
	}
	grown := int64(heapBytes() + offheap.Mapped() - before)
	t.Logf("%.1f bytes a block, %d segments", float64(grown)/blocks, len(p.heap.segments))
	require.Greater(t, grown, int64(32*blocks), "records and words alone are that much")
	require.Less(t, grown, int64(kind(42, 51)*blocks), "in pages, the test device keeps about 8 bytes a block")
	b.closeAll(t, p)
	require.Equal(t, open, offheap.Mapped())
}

func heapBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Without memory for longer tables, only the allocation that needs them fails, and the
// pool works again when there is memory.
func TestAllocationFailsAloneWithoutMemoryForTables(t *testing.T) {
	if !offheap.Pages {
		t.Skip("tables are on the Go heap")
	}
	for _, tracking := range []bool{false, true} {
		b := newBench(devicetest.Config{TotalBytes: 64 << 20}, engine.Options{})
		p := b.pool(t, func(c *Config) {
			c.Tracking, c.Strategy = tracking, "fixed"
			c.FixedBlockBytes = 512
			c.PhysicalPageBytes = kind(0, 2*mib)
		})
		mustAlloc(t, p, 512)
		limit := offheap.SetLimit(offheap.Mapped())
		t.Cleanup(func() { offheap.SetLimit(limit) })
		kinds := map[string]func() error{
			"alloc": func() error { _, err := p.Alloc(Request{SizeBytes: 512}); return err },
			"batch": func() error { return p.AllocBatch(Request{SizeBytes: 512}, make([]device.Addr, 300)) },
			"lease": func() error { _, err := p.Lease(512, nil, make([]device.Addr, 300), nil); return err },
		}
		for name, kind := range kinds {
			var err error
			for range 10_000 {
				if err = kind(); err != nil {
					break
				}
			}
			require.ErrorIs(t, err, device.CodeResourceExhausted, name)
			before := p.Statistics()
			require.ErrorIs(t, kind(), device.CodeResourceExhausted, name)
			after := p.Statistics()
			require.Equal(t, before.Allocated, after.Allocated, name)
			require.Equal(t, before.LiveBlocks, after.LiveBlocks, name)
		}
		offheap.SetLimit(limit)
		for name, kind := range kinds {
			require.NoError(t, kind(), name)
		}
		b.closeAll(t, p)
	}
}

// In the steady state, no operation allocates memory on the Go heap.
func TestOperationsDoNotUseTheGoHeap(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 64 << 20}, engine.Options{})
	p := b.pool(t, nil)
	mustAlloc(t, p, 256)
	s := newStream(t, b)
	busy(t, s)
	var held device.Stream = heldStream{}
	for name, pair := range map[string]func(){
		"idle": func() { require.NoError(t, p.Free(mustAlloc(t, p, 4096).Addr, nil)) },
		"busy": func() {
			block, err := p.Alloc(Request{SizeBytes: 4096, Stream: held})
			require.NoError(t, err)
			require.NoError(t, p.Free(block.Addr, held))
		},
	} {
		pair()
		require.Zero(t, testing.AllocsPerRun(200, pair), name)
	}
	require.NoError(t, s.Close())
}
