package fallback_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

func TestPresets(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct{ got, want fallback.MemoryConfig }{
		"default":     {fallback.DefaultMemoryConfig(), fallback.MemoryConfig{GPUMemoryFraction: 0.9, CPUFallback: true, MinFreeBytes: 512 * mib, MaxPooledPerBucket: 8, MaxPooledBytes: 1024 * mib}},
		"inference":   {fallback.ForInference(), fallback.MemoryConfig{GPUMemoryFraction: 0.95, CPUFallback: true, MinFreeBytes: 256 * mib, MaxPooledPerBucket: 4, MaxPooledBytes: 512 * mib}},
		"training":    {fallback.ForTraining(), fallback.MemoryConfig{GPUMemoryFraction: 0.8, MinFreeBytes: 1024 * mib, MaxPooledPerBucket: 16, MaxPooledBytes: 4096 * mib}},
		"constrained": {fallback.ForConstrained(), fallback.MemoryConfig{GPUMemoryFraction: 0.7, CPUFallback: true, MinFreeBytes: 128 * mib, MaxPooledPerBucket: 2, MaxPooledBytes: 64 * mib}},
	} {
		require.Equal(t, c.want, c.got, name)
		require.NoError(t, c.got.Check(), name)
	}
}

func TestFractionIsClamped(t *testing.T) {
	for given, want := range map[float64]float64{
		-1: 0.1, 0: 0.1, 0.05: 0.1, 0.1: 0.1, 0.5: 0.5, 1: 1, 1.5: 1, math.Inf(1): 1, math.Inf(-1): 0.1,
	} {
		require.InDelta(t, want, fallback.DefaultMemoryConfig().WithGPUMemoryFraction(given).GPUMemoryFraction, 0, "%v", given)
	}
	require.ErrorIs(t, fallback.DefaultMemoryConfig().WithGPUMemoryFraction(math.NaN()).Check(), device.CodeInvalidConfig)
}

func TestConfigRefuses(t *testing.T) {
	base := fallback.DefaultMemoryConfig()
	for want, change := range map[string]func(*fallback.MemoryConfig){
		"gpu_memory_fraction 0 ":             func(c *fallback.MemoryConfig) { c.GPUMemoryFraction = 0 },
		"gpu_memory_fraction 1.01":           func(c *fallback.MemoryConfig) { c.GPUMemoryFraction = 1.01 },
		"max_pooled_per_bucket 2147483648":   func(c *fallback.MemoryConfig) { c.MaxPooledPerBucket = math.MaxInt32 + 1 },
		"pre_allocate_sizes is empty":        func(c *fallback.MemoryConfig) { c.PreAllocate = true },
		"pre_allocate_sizes[1] is 0":         func(c *fallback.MemoryConfig) { *c = c.WithPreAllocation([]uint64{1, 0}) },
		"pre_allocate_sizes[0]: ":            func(c *fallback.MemoryConfig) { *c = c.WithPreAllocation([]uint64{math.MaxUint64}) },
		"pre_allocate_sizes[2] is 900":       func(c *fallback.MemoryConfig) { *c = c.WithMaxPooled(2).WithPreAllocation([]uint64{1000, 1024, 900}) },
		"pre_allocate_sizes up to [1] are 9": func(c *fallback.MemoryConfig) { *c = c.WithMaxPooledBytes(8).WithPreAllocation([]uint64{4, 5}) },
	} {
		c := base
		change(&c)
		err := c.Check()
		require.ErrorIs(t, err, device.CodeInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
}

func TestRatiosOfStatistics(t *testing.T) {
	var none fallback.MemoryStats
	require.Zero(t, none.HitRate())
	require.Zero(t, none.Utilization())
	require.InDelta(t, 1, none.Efficiency(), 0)
	some := fallback.MemoryStats{TotalAllocatedBytes: 400, InUseBytes: 100, PooledBytes: 300, PeakBytes: 200, PoolHits: 3, PoolMisses: 1, CPUFallbacks: 2, ActiveBuffers: 5}
	require.InDelta(t, 0.75, some.HitRate(), 0)
	require.InDelta(t, 0.25, some.Utilization(), 0)
	require.InDelta(t, 0.25, some.Efficiency(), 0)
	both := some.Merge(fallback.MemoryStats{TotalAllocatedBytes: math.MaxUint64, InUseBytes: 1, PooledBytes: 2, PeakBytes: 150, PoolHits: 4, PoolMisses: 5, CPUFallbacks: 6, ActiveBuffers: 7})
	require.Equal(t, fallback.MemoryStats{
		TotalAllocatedBytes: math.MaxUint64, InUseBytes: 101, PooledBytes: 302, PeakBytes: 200, PoolHits: 7, PoolMisses: 6, CPUFallbacks: 8, ActiveBuffers: 12,
	}, both)
}

func TestShapes(t *testing.T) {
	widths := map[fallback.DType]uint64{
		fallback.F32: 4, fallback.F16: 2, fallback.BF16: 2, fallback.F64: 8, fallback.F8: 1,
		fallback.I8: 1, fallback.U8: 1, fallback.I16: 2, fallback.I32: 4, fallback.I64: 8,
	}
	for dtype, width := range widths {
		bytes, err := fallback.Shape{DType: dtype, Len: 7}.Bytes()
		require.NoError(t, err)
		require.Equal(t, 7*width, bytes, dtype.String())
	}
	_, err := fallback.Shape{DType: 10, Len: 1}.Bytes()
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorContains(t, err, "dtype 10")
	_, err = fallback.Shape{DType: fallback.F32, Len: math.MaxUint64 / 2}.Bytes()
	require.ErrorIs(t, err, device.CodeOverflow)
	require.Equal(t, "unknown", fallback.DType(-1).String())
	require.Zero(t, fallback.DType(-1).Width())
	require.Equal(t, "unknown", fallback.Side(9).String())
}
