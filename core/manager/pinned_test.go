package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

func pinning(bytes uint64) devicetest.Config {
	return devicetest.Config{Backed: true, PinnedBytes: bytes, TotalBytes: 64 << 20}
}

func (m *Manager) mustAllocType(t require.TestingT, kind MemoryType, size uint64) MemoryHandle {
	h, err := m.AllocTyped(Request{Type: kind, SizeBytes: size})
	require.NoError(t, err)
	return h
}

func TestPinnedBlocksHaveBothAddresses(t *testing.T) {
	r := cleanRig(t, pinning(8<<20))
	m := r.manager(t, nil)
	copies := copiesOn(r)
	for _, kind := range []MemoryType{Pinned, Mapped} {
		t.Run(kind.String(), func(t *testing.T) {
			require.True(t, kind.SupportedOn(r.engine))
			h := m.mustAllocType(t, kind, 100)
			next := m.mustAllocType(t, kind, 100)
			info, err := r.factory.HandleInfo(next)
			require.NoError(t, err)
			require.Equal(t, kind, info.Type)
			require.NotZero(t, info.HostAddr)
			content := counting(100)
			r.write(t, next, content)
			require.Equal(t, content, r.dev.HostBytes(info.HostAddr, 100))

			mapped, err := r.factory.Map(MapRequest{Memory: next, OffsetBytes: 10, SizeBytes: MapToEnd})
			require.NoError(t, err)
			require.Equal(t, Mapping{ID: 1, HostAddr: info.HostAddr + 10, SizeBytes: 90}, mapped)
			require.Zero(t, copies.live(), "the block itself")
			require.NoError(t, r.factory.Unmap(next, 0))
			require.NoError(t, r.factory.Free(h))
			require.NoError(t, r.factory.Free(next))
		})
	}
	_, err := m.AllocTyped(Request{Type: Pinned, SizeBytes: 1, Relocatable: true})
	requireError(t, err, device.CodeInvalidArgument, "pinned", "relocatable")
	require.Zero(t, r.dev.HeldBytes(), "page-locked memory is not counted as memory of the device")
	require.NotZero(t, r.dev.PinnedBytes())
	require.Zero(t, r.engine.Statistics().Reserved.Current)
	require.EqualValues(t, r.dev.PinnedBytes(), m.Statistics().Reserved.Current)
	require.NoError(t, m.Close(false))
	require.Zero(t, r.dev.PinnedBytes())
}

func TestPinnedMemoryAboveTheSystemsLimitFails(t *testing.T) {
	r := cleanRig(t, pinning(4<<20))
	m := r.manager(t, nil)
	first := m.mustAllocType(t, Pinned, 3<<20)
	_, err := m.AllocTyped(Request{Type: Pinned, SizeBytes: 2 << 20})
	requireError(t, err, device.CodeResourceExhausted, "limit is 4 MiB", "3 MiB are in use")
	counters := m.Statistics()
	require.NoError(t, r.factory.Free(first))
	require.LessOrEqual(t, r.dev.PinnedBytes(), uint64(pinnedStepBytes), "little is kept")
	small := m.mustAllocType(t, Pinned, 100)
	require.NoError(t, r.factory.Free(small))
	all := m.mustAllocType(t, Pinned, 4<<20)
	require.Equal(t, counters.LiveBlocks.Current, m.Statistics().LiveBlocks.Current)
	require.NoError(t, r.factory.Free(all))

	// Memory that one type keeps is released for another type.
	kept := otherSettings(smallPool(), engine.SourcePinned)
	kept.ReleaseThresholdBytes = smallPool().ReleaseThresholdBytes
	require.NoError(t, m.ConfigurePool(Pinned, kept))
	cached := m.mustAllocType(t, Pinned, 3<<20)
	require.NoError(t, r.factory.Free(cached))
	require.GreaterOrEqual(t, r.dev.PinnedBytes(), uint64(3<<20))
	shared := m.mustAllocType(t, Mapped, 3<<20)
	require.NoError(t, r.factory.Free(shared))
}

func TestPinnedMemoryUnderFaults(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t, pinning(8<<20))
		m := r.manager(t, nil)
		r.dev.FailNth(devicetest.Any, n, nil)
		h, err := m.AllocTyped(Request{Type: Pinned, SizeBytes: 2 << 20})
		if err != nil {
			require.Equal(t, device.CodeDevice, device.CodeOf(err), "%v", err)
			require.Zero(t, r.dev.PinnedBytes())
			require.Zero(t, m.Statistics().LiveBlocks.Current)
			h = m.mustAllocType(t, Pinned, 2<<20)
		}
		if err := r.factory.Free(h); err != nil {
			require.NoError(t, r.factory.Free(h))
		}
		left := r.dev.ClearFaults()
		require.NoError(t, m.Close(false))
		require.Zero(t, r.dev.PinnedBytes())
		r.finish(t)
		if left > 0 {
			require.Greater(t, n, 1)
			return
		}
	}
}

func TestThePinnedPoolIsConfiguredAndTakesNoPages(t *testing.T) {
	r := cleanRig(t, pinning(8<<20))
	m := r.manager(t, func(c *Config) {
		small := smallPool()
		small.Paging = 0
		c.PoolConfigs[Pinned] = small
	})
	h := m.mustAllocType(t, Pinned, 1)
	require.EqualValues(t, 64*kib, r.dev.PinnedBytes(), "the first segment has the configured size")
	require.NoError(t, r.factory.Free(h))
	paged := smallPool()
	paged.Paging = 2
	requireError(t, m.ConfigurePool(Pinned, paged), device.CodeInvalidConfig, "paging", "pinned")
}
