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
)

// The tables of a pool take at most 64 bytes a live block, the strategy's
// included: growth of the heap over 100,000 blocks.
func TestTablesTakeAtMost64BytesABlock(t *testing.T) {
	const blocks = 100_000
	b := newBench(devicetest.Config{TotalBytes: 64 << 30}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.InitialSizeBytes = 32 << 30 })
	mustAlloc(t, p, 256)
	r := rand.New(rand.NewPCG(1, 2))
	before := heapBytes()
	for range blocks {
		mustAlloc(t, p, uint64(256*math.Exp(r.Float64()*math.Log(4096))))
	}
	grown := heapBytes() - before
	t.Logf("%.1f bytes a block", float64(grown)/blocks)
	require.Less(t, grown, uint64(64*blocks))
	b.closeAll(t, p)
}

func heapBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Nothing is allocated on the heap for an operation in the steady state.
func TestOperationsDoNotAllocate(t *testing.T) {
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
