package fallback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/pressure"
)

// The tests in this file check the numbers of the specification, such as levels and
// buckets, with one test for each subject.

func TestBufferIDUniqueness(t *testing.T) {
	a, b := fallback.NewBufferID(), fallback.NewBufferID()
	require.Greater(t, a, fallback.BufferID(0))
	require.Greater(t, b, a)
	require.Equal(t, "Buffer#42", fallback.BufferID(42).String())
}

func TestBucketsArePowersOfTwo(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 1, 1: 1, 2: 2, 3: 4, 1000: 1024, 1024: 1024, 1025: 2048, 1 << 63: 1 << 63} {
		got, err := fallback.RoundUpPowerOf2(n)
		require.NoError(t, err)
		require.Equal(t, want, got, "%d", n)
	}
	_, err := fallback.RoundUpPowerOf2(1<<63 + 1)
	require.ErrorIs(t, err, device.CodeOverflow)
}

func TestMemoryPressureOfFallbackManagers(t *testing.T) {
	for ratio, want := range map[float64]pressure.Level{0.3: pressure.Low, 0.7: pressure.Medium, 0.9: pressure.High, 0.98: pressure.Critical} {
		got, err := pressure.Early.FromUtilization(ratio)
		require.NoError(t, err)
		require.Equal(t, want, got, "%v", ratio)
	}
}

func TestMemoryConfigBuilder(t *testing.T) {
	c := fallback.DefaultMemoryConfig().WithGPUMemoryFraction(0.8).WithCPUFallback(false).WithMinFreeBytes(1 << 30).
		WithTracking(true).WithMaxPooled(3).WithMaxPooledBytes(99).WithPreAllocation([]uint64{7, 9})
	require.Equal(t, fallback.MemoryConfig{
		GPUMemoryFraction: 0.8, MinFreeBytes: 1 << 30, TrackAllocations: true, MaxPooledPerBucket: 3,
		MaxPooledBytes: 99, PreAllocate: true, PreAllocSizes: []uint64{7, 9},
	}, c)
	require.NoError(t, c.Check())
}

func TestAllocationTrackerCounts(t *testing.T) {
	tracker := fallback.NewAllocationTracker()
	first := fallback.NewBufferMetadata(fallback.NewBufferID(), fallback.Extent{SizeBytes: 1 << 20, NumElements: 1 << 18},
		fallback.BufferLocation{}).WithTag("attention_scores")
	second := fallback.NewBufferMetadata(fallback.NewBufferID(), fallback.Extent{SizeBytes: 512}, fallback.BufferLocation{Side: fallback.CPU})
	require.NoError(t, tracker.Track(first))
	require.NoError(t, tracker.Track(second))
	require.Equal(t, 2, tracker.Count())
	require.EqualValues(t, 1<<20+512, tracker.TotalBytes())
	gone, ok := tracker.Untrack(first.ID)
	require.True(t, ok)
	require.Equal(t, first, gone)
	require.Equal(t, "attention_scores", gone.Tag)
	require.Equal(t, "GPU", gone.Location.String())
	require.Equal(t, "CPU", second.Location.String())
	require.Equal(t, 1, tracker.Count())
	require.EqualValues(t, 512, tracker.TotalBytes())
	require.EqualValues(t, 1<<20+512, tracker.PeakBytes())
}

func TestGenericMemoryPoolByTheSeedsNumbers(t *testing.T) {
	pool, err := fallback.NewGenericMemoryPool[[]byte](fallback.DefaultMemoryConfig(), nil)
	require.NoError(t, err)
	for _, bytes := range []uint64{1024, 2048} {
		_, err := pool.RecordAllocation(bytes, fallback.Use{})
		require.NoError(t, err)
	}
	stats := pool.Stats()
	require.EqualValues(t, 3072, stats.TotalAllocatedBytes)
	require.EqualValues(t, 3072, stats.InUseBytes)

	kept, err := pool.ReturnBuffer(fallback.Lease[[]byte]{Buffer: make([]byte, 1024), Bytes: 1024})
	require.NoError(t, err)
	require.True(t, kept)
	stats = pool.Stats()
	require.EqualValues(t, 2048, stats.InUseBytes)
	require.EqualValues(t, 1024, stats.PooledBytes)

	got, ok, err := pool.TryGet(1024, fallback.Use{})
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, got.Buffer, 1024)
	require.Equal(t, fallback.MemoryStats{
		TotalAllocatedBytes: 3072, InUseBytes: 3072, PeakBytes: 3072, PoolHits: 1, ActiveBuffers: 2,
	}, pool.Stats())
}

func TestMemoryStatsDisplay(t *testing.T) {
	stats := fallback.MemoryStats{TotalAllocatedBytes: 1 << 30, InUseBytes: 1 << 29, PoolHits: 100, PoolMisses: 10}
	require.Contains(t, stats.String(), "1024.00 MB")
	require.Contains(t, stats.String(), "90.9%")
	require.Contains(t, stats.String(), "512.00 MB")
}

func TestFallbackBufferOnBothSides(t *testing.T) {
	sides := fallback.Sides[string, []byte]{GPU: named{}, CPU: fallback.Heap{}}
	gpu, err := fallback.NewGPUBuffer(sides, fallback.Shape{Len: 100}, "storage")
	require.NoError(t, err)
	require.True(t, gpu.IsGPU())
	require.False(t, gpu.IsCPUFallback())
	require.EqualValues(t, 100, gpu.Len())
	require.False(t, gpu.IsEmpty())
	storage, ok := gpu.AsGPU()
	require.True(t, ok)
	require.Equal(t, "storage", storage)
	_, ok = gpu.AsCPU()
	require.False(t, ok)

	cpu, err := fallback.NewFloat32Buffer(sides, []float32{1, 2, 3})
	require.NoError(t, err)
	require.True(t, cpu.IsCPUFallback())
	require.EqualValues(t, 3, cpu.Len())
	require.EqualValues(t, 12, cpu.SizeBytes())
	require.NotEqual(t, gpu.ID(), cpu.ID())
	_, ok = cpu.TakeGPU()
	require.False(t, ok)
	bytes, ok := cpu.TakeCPU()
	require.True(t, ok)
	require.Equal(t, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}, bytes)
	_, ok = cpu.AsCPU()
	require.False(t, ok, "the buffer was taken before")
	require.ErrorIs(t, cpu.Close(), device.CodeInvalidState)

	empty, err := fallback.NewFloat32Buffer(sides, nil)
	require.NoError(t, err)
	require.True(t, empty.IsEmpty())
}

// named is a storage whose buffers are strings.
type named struct{}

func (named) Alloc(uint64) (string, error) { return "new", nil }
func (named) Bytes(string) uint64          { return 400 }
func (named) Release(string) error         { return nil }
