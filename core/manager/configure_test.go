package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
)

func TestConfigurePoolAppliesToLaterAllocations(t *testing.T) {
	overBoth(t, configureWithLiveBlocks)
}

func configureWithLiveBlocks(t *testing.T, small pool.Config) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
	old := m.mustAlloc(t, 1000)
	tensor, err := m.AllocTyped(Request{Type: Tensor, SizeBytes: 1000})
	require.NoError(t, err)
	content := counting(1000)
	r.write(t, old, content)

	other := small
	other.AlignmentBytes = 4096
	require.NoError(t, m.ConfigurePool(General, other))
	require.Len(t, m.Pools(), 2, "the former pool is kept for its blocks")
	for _, kind := range []MemoryType{General, Temporary} {
		h, err := m.AllocTyped(Request{Type: kind, SizeBytes: 10})
		require.NoError(t, err)
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.EqualValues(t, 4096, info.AllocatedBytes)
	}
	require.Equal(t, content, r.bytes(t, old), "a live block stays where it is")

	// The replaced pool is closed with its last block, when no work uses it.
	_, held := r.heldStream(t)
	stream := StreamHandle(0)
	r.factory.EachStream(func(s StreamInfo) bool {
		if !s.IsDefault {
			stream = s.Handle
		}
		return true
	})
	require.NoError(t, r.factory.FillAsync(Fill{Memory: old, SizeBytes: 8, Pattern: device.Pattern{WidthBytes: 1}}, stream))
	allocations := m.Statistics().Allocations
	require.NoError(t, r.factory.Free(tensor))
	require.NoError(t, r.factory.Free(old))
	require.Len(t, m.Pools(), 2, "queued work still uses the block")
	pieces := r.pieces()
	held.Release()
	h := m.mustAlloc(t, 10)
	require.Len(t, m.Pools(), 1)
	require.Equal(t, pieces-1, r.pieces())
	stats := m.Statistics()
	require.Equal(t, allocations+1, stats.Allocations, "counts of a closed pool stay counted")
	require.EqualValues(t, 2, stats.Frees)
	require.EqualValues(t, 4, stats.LiveBlocks.Peak)
	require.NoError(t, stats.Check())
	require.NoError(t, r.factory.Free(h))
}

func TestConfigurePoolOfATypeThatSharedGeneral(t *testing.T) {
	overBoth(t, configureShared)
}

func configureShared(t *testing.T, small pool.Config) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
	shared, err := m.AllocTyped(Request{Type: Cache, SizeBytes: 10})
	require.NoError(t, err)
	require.NoError(t, m.ConfigurePool(Cache, small))
	own, err := m.AllocTyped(Request{Type: Cache, SizeBytes: 10})
	require.NoError(t, err)
	require.Equal(t, 2, r.pieces())
	require.NoError(t, r.factory.Free(shared))
	require.NoError(t, r.factory.Free(own))
	require.Len(t, m.Pools(), 2)
	// A replaced pool without blocks is closed at once.
	require.NoError(t, m.ConfigurePool(Cache, small))
	require.Len(t, m.Pools(), 2)
	require.Equal(t, 1, r.pieces())
}

func TestBadPoolSettingsChangeNothing(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, nil)
	pools := m.Pools()
	bad := smallPool()
	bad.MaxSizeBytes = 4096
	requireError(t, m.ConfigurePool(General, bad), device.CodeInvalidConfig, "general", "4096")
	requireError(t, m.ConfigurePool(17, smallPool()), device.CodeInvalidArgument, "17")
	requireError(t, m.ConfigurePool(Pinned, smallPool()), device.CodeUnsupported, "pinned", "test:0")
	requireError(t, m.ConfigurePool(Mapped, smallPool()), device.CodeUnsupported, "mapped", "test:0")
	large := smallPool()
	large.InitialSizeBytes, large.PreAlloc = 2<<20, true
	requireError(t, m.ConfigurePool(General, large), device.CodeOutOfMemory)
	require.Equal(t, pools, m.Pools())
	m.mustAlloc(t, 10)
	require.NoError(t, m.Close(true))
	requireError(t, m.ConfigurePool(General, smallPool()), device.CodeInvalidHandle)
}

func TestFailedAllocationDoesNotKeepItsPool(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, nil)
	_, err := m.Alloc(2 << 20)
	requireError(t, err, device.CodeOutOfMemory)
	require.NoError(t, m.ConfigurePool(General, smallPool()))
	require.Len(t, m.Pools(), 1)
	require.EqualValues(t, 1, m.Statistics().Failures, "counts of a closed pool stay counted")
}
