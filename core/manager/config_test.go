package manager

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
)

func TestTheDefaultManagerConfigurationIsTheDocumentedOne(t *testing.T) {
	c := DefaultConfig()
	require.Equal(t, map[MemoryType]pool.Config{General: pool.DefaultConfig()}, c.PoolConfigs)
	require.True(t, c.EnableTracking)
	require.True(t, c.EnableAutoGC)
	require.Equal(t, float32(0.85), c.GCThreshold)
	require.False(t, c.EnableDebug)
	require.Equal(t, 4, c.MaxConcurrentTransfers)

	text, err := json.Marshal(c)
	require.NoError(t, err)
	var back Config
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, c, back)
}

func TestTheDefaultPoolConfigurationIsTheDocumentedOne(t *testing.T) {
	c := pool.DefaultConfig()
	require.EqualValues(t, uint64(pool.InitialSizeAuto), c.InitialSizeBytes)
	require.Zero(t, c.MaxSizeBytes)
	require.EqualValues(t, 512<<20, c.GrowthIncrementBytes)
	require.True(t, c.AutoExpansion)
	require.EqualValues(t, 256, c.AlignmentBytes)
	require.False(t, c.PreAlloc)
	require.True(t, c.Stats)
}

func TestBadManagerConfigIsRefused(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	cases := map[string]struct {
		change func(*Config)
		code   device.Code
		words  []string
	}{
		"threshold 0":        {func(c *Config) { c.GCThreshold = 0 }, device.CodeInvalidConfig, []string{"gc_threshold 0"}},
		"threshold below 0":  {func(c *Config) { c.GCThreshold = -0.5 }, device.CodeInvalidConfig, []string{"gc_threshold -0.5"}},
		"threshold above 1":  {func(c *Config) { c.GCThreshold = 1.5 }, device.CodeInvalidConfig, []string{"gc_threshold 1.5"}},
		"threshold NaN":      {func(c *Config) { c.GCThreshold = float32(math.NaN()) }, device.CodeInvalidConfig, []string{"gc_threshold NaN"}},
		"threshold infinite": {func(c *Config) { c.GCThreshold = float32(math.Inf(1)) }, device.CodeInvalidConfig, []string{"gc_threshold +Inf"}},
		"no transfers":       {func(c *Config) { c.MaxConcurrentTransfers = 0 }, device.CodeInvalidConfig, []string{"max_concurrent_transfers 0"}},
		"many transfers":     {func(c *Config) { c.MaxConcurrentTransfers = 1025 }, device.CodeInvalidConfig, []string{"1025", "1024"}},
		"unknown type": {func(c *Config) { c.PoolConfigs[MemoryType(9)] = smallPool() },
			device.CodeInvalidConfig, []string{"memory_type 9"}},
		"pinned": {func(c *Config) { c.PoolConfigs[Pinned] = smallPool() },
			device.CodeUnsupported, []string{"pinned", "test:0"}},
		"initial above max": {func(c *Config) {
			bad := smallPool()
			bad.MaxSizeBytes = 4096
			c.PoolConfigs[Cache] = bad
		}, device.CodeInvalidConfig, []string{"cache"}},
		"expansion without growth": {func(c *Config) {
			bad := smallPool()
			bad.GrowthIncrementBytes = 0
			c.PoolConfigs[General] = bad
		}, device.CodeInvalidConfig, []string{"general", "growth_increment_bytes"}},
		"alignment": {func(c *Config) {
			bad := smallPool()
			bad.AlignmentBytes = 48
			c.PoolConfigs[General] = bad
		}, device.CodeInvalidAlignment, []string{"48"}},
		"strategy": {func(c *Config) {
			bad := smallPool()
			bad.Strategy = "wishful"
			c.PoolConfigs[Tensor] = bad
		}, device.CodeNotFound, []string{"wishful"}},
		"pre-allocation too large": {func(c *Config) {
			bad := smallPool()
			bad.InitialSizeBytes, bad.PreAlloc = 1<<30, true
			c.PoolConfigs[Tensor] = bad
		}, device.CodeOutOfMemory, []string{"tensor"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := smallConfig()
			c.change(&config)
			m, err := r.factory.CreateMemoryManager(r.engine, config)
			require.Nil(t, m)
			requireError(t, err, c.code, c.words...)
			require.False(t, r.factory.Leftovers(r.engine).Any())
			require.Zero(t, r.dev.HeldBytes())
			require.Zero(t, r.engine.Statistics().Reserved.Current)
		})
	}
}

func TestManagerConfigIsCopied(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	c := smallConfig()
	m, err := r.factory.CreateMemoryManager(r.engine, c)
	require.NoError(t, err)
	delete(c.PoolConfigs, General)
	require.Contains(t, m.Config().PoolConfigs, General)
}

func TestConfigWithoutPoolsHasTheDefaults(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.PoolConfigs = nil })
	require.Equal(t, map[MemoryType]pool.Config{General: pool.DefaultConfig()}, m.Config().PoolConfigs)
}

// The reference is exact arithmetic with rational numbers.
func TestCollectionThresholdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millionths := rapid.Uint64Range(1, 1_000_000).Draw(t, "millionths")
		total := rapid.Uint64Min(1).Draw(t, "total")
		c := Config{EnableAutoGC: true, GCThreshold: float32(millionths) / 1e6}
		exact := new(big.Int).Mul(new(big.Int).SetUint64(total), new(big.Int).SetUint64(millionths))
		exact.Add(exact, big.NewInt(999_999)).Div(exact, big.NewInt(1_000_000))
		require.Equal(t, exact.Uint64(), gcBytes(c.shareToCollect(), total))
	})
	eighty := Config{EnableAutoGC: true, GCThreshold: 0.85}
	require.EqualValues(t, 73014444032, gcBytes(eighty.shareToCollect(), 80<<30), "one byte less is below 85 %")
	require.EqualValues(t, uint64(math.MaxUint64), gcBytes(eighty.shareToCollect(), 0), "an unknown capacity has no share")
	eighty.EnableAutoGC = false
	require.EqualValues(t, uint64(math.MaxUint64), gcBytes(eighty.shareToCollect(), 80<<30))
}
