package manager

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

func TestAllocGivesABlockWithAHandle(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20, Backed: true})
	m := r.manager(t, nil)
	before := track.Now()
	h, err := m.AllocTyped(Request{Type: Cache, SizeBytes: 1000, Tag: "kv"})
	require.NoError(t, err)
	require.True(t, h.IsValid())
	require.Equal(t, handle.Memory, handle.KindOf(h.ID()))

	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Equal(t, h, info.Handle)
	require.Same(t, m, info.Manager)
	require.Equal(t, r.engine.ID(), info.Device)
	require.Equal(t, Cache, info.Type)
	require.EqualValues(t, 1000, info.SizeBytes)
	require.EqualValues(t, 1024, info.AllocatedBytes)
	require.Equal(t, "kv", info.Tag)
	require.NotZero(t, info.Addr)
	require.Zero(t, info.HostAddr, "the host cannot address a test device")
	require.GreaterOrEqual(t, info.AllocatedAt, before)
	require.LessOrEqual(t, info.AllocatedAt, track.Now())
	require.False(t, info.IsMapped)
	require.Zero(t, info.OperationsInFlight)
	require.NotNil(t, r.dev.Bytes(info.Addr, info.SizeBytes), "the address is memory of the device")

	require.NoError(t, r.factory.Free(h))
	_, err = r.factory.HandleInfo(h)
	requireError(t, err, device.CodeInvalidHandle, "destroyed")
}

func TestAlignedAllocationAlignsTheAddress(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	for align := uint64(1); align <= 1<<20; align *= 2 {
		m.mustAlloc(t, 100)
		h, err := m.AllocTyped(Request{SizeBytes: 300, AlignmentBytes: align})
		require.NoError(t, err)
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.Zero(t, uint64(info.Addr)%align)
		require.GreaterOrEqual(t, info.AlignmentBytes, max(align, 256))
		require.Zero(t, uint64(info.Addr)%info.AlignmentBytes)
		require.NotZero(t, uint64(info.Addr)%(2*info.AlignmentBytes))
		require.EqualValues(t, 300, info.SizeBytes, "the size is the requested one")
	}
	require.EqualValues(t, AlignmentMax, alignmentOf(1<<40), "a larger alignment is reported as the maximum")
}

func TestBadRequestIsRefused(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, nil)
	cases := map[string]struct {
		request Request
		code    device.Code
		words   []string
	}{
		"size 0":              {Request{}, device.CodeInvalidSize, []string{"size_bytes is 0"}},
		"size near 2^64":      {Request{SizeBytes: math.MaxUint64}, device.CodeOverflow, []string{"18446744073709551615"}},
		"more than there is":  {Request{SizeBytes: 2 << 20}, device.CodeOutOfMemory, []string{"2097152"}},
		"alignment 3":         {Request{SizeBytes: 1, AlignmentBytes: 3}, device.CodeInvalidAlignment, []string{"alignment_bytes 3"}},
		"alignment 2^31":      {Request{SizeBytes: 1, AlignmentBytes: 1 << 31}, device.CodeInvalidAlignment, []string{"2147483648"}},
		"type below":          {Request{Type: -1, SizeBytes: 1}, device.CodeInvalidArgument, []string{"memory_type -1"}},
		"type above":          {Request{Type: 7, SizeBytes: 1}, device.CodeInvalidArgument, []string{"memory_type 7"}},
		"managed":             {Request{Type: Managed, SizeBytes: 1}, device.CodeUnsupported, []string{"managed", "test:0"}},
		"pinned":              {Request{Type: Pinned, SizeBytes: 1}, device.CodeUnsupported, []string{"pinned", "test:0"}},
		"mapped":              {Request{Type: Mapped, SizeBytes: 1}, device.CodeUnsupported, []string{"mapped", "test:0"}},
		"tag of 64 bytes":     {Request{SizeBytes: 1, Tag: strings.Repeat("x", 64)}, device.CodeInvalidArgument, []string{"64", "63"}},
		"unknown type first":  {Request{Type: 77}, device.CodeInvalidArgument, []string{"77"}},
		"alignment very high": {Request{SizeBytes: 1, AlignmentBytes: 1 << 63}, device.CodeInvalidAlignment, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := m.Statistics()
			h, err := m.AllocTyped(c.request)
			require.Zero(t, h)
			requireError(t, err, c.code, c.words...)
			after := m.Statistics()
			if c.code == device.CodeOutOfMemory {
				before.Failures++
			}
			require.Equal(t, before, after)
		})
	}
	_, err := m.Alloc(0)
	requireError(t, err, device.CodeInvalidSize)
	_, err = m.AllocTyped(Request{SizeBytes: 1, Tag: strings.Repeat("x", 63)})
	require.NoError(t, err)
}

func TestHandlesOfFreedBlocksStayInvalid(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	first := m.mustAlloc(t, 100)
	address := func(h MemoryHandle) device.Addr {
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		return info.Addr
	}
	was := address(first)
	require.NoError(t, r.factory.Free(first))
	requireError(t, r.factory.Free(first), device.CodeInvalidHandle, "destroyed")
	second := m.mustAlloc(t, 100)
	require.Equal(t, was, address(second), "the memory is used again")
	require.NotEqual(t, first, second, "the handle is not")
	requireError(t, r.factory.Free(first), device.CodeInvalidHandle, "destroyed")
	require.Equal(t, was, address(second))
	require.EqualValues(t, 1, m.Statistics().LiveBlocks.Current)

	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	for name, bad := range map[string]MemoryHandle{
		"is 0": 0, "stream": MemoryHandle(stream), "never created": second + 1, "destroyed": first,
	} {
		requireError(t, r.factory.Free(bad), device.CodeInvalidHandle, name)
		_, err := r.factory.HandleInfo(bad)
		requireError(t, err, device.CodeInvalidHandle, name)
		requireError(t, r.factory.Copy(NewTransfer(bad, second, 1)), device.CodeInvalidHandle, "src", name)
		requireError(t, r.factory.Copy(NewTransfer(second, bad, 1)), device.CodeInvalidHandle, "dst", name)
		requireError(t, r.factory.CopyAsync(NewTransfer(bad, second, 1), 0), device.CodeInvalidHandle, "src", name)
		requireError(t, r.factory.Write(bad, 0, 1, 1), device.CodeInvalidHandle, name)
		requireError(t, r.factory.Read(bad, 0, 1, 1), device.CodeInvalidHandle, name)
		requireError(t, r.factory.FillAsync(Fill{Memory: bad, SizeBytes: 1, Pattern: device.Pattern{WidthBytes: 1}}, 0),
			device.CodeInvalidHandle, name)
	}
	require.EqualValues(t, 1, m.Statistics().LiveBlocks.Current)
}

func TestTypesWithoutSettingsShareTheGeneralPool(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.PoolConfigs[Cache] = smallPool() })
	require.Len(t, m.Pools(), 2)
	want := map[MemoryType]string{General: "general", Tensor: "general", Temporary: "general", Cache: "cache"}
	for kind, name := range want {
		h, err := m.AllocTyped(Request{Type: kind, SizeBytes: 10})
		require.NoError(t, err)
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.Equal(t, kind, info.Type)
		found := ""
		for _, p := range m.Pools() {
			p.EachBlock(func(b pool.Block) bool {
				if b.Addr == info.Addr {
					found = p.Name()
				}
				return true
			})
		}
		require.Equal(t, name, found)
	}
	require.Equal(t, map[MemoryType]uint64{General: 1, Tensor: 1, Cache: 1, Temporary: 1, Pinned: 0, Mapped: 0, Managed: 0},
		m.LiveByType())
	seen := map[MemoryType]int{}
	m.EachBlock(func(info HandleInfo) bool {
		seen[info.Type]++
		return true
	})
	require.Equal(t, map[MemoryType]int{General: 1, Tensor: 1, Cache: 1, Temporary: 1}, seen)
	count := 0
	m.EachBlock(func(HandleInfo) bool {
		count++
		return false
	})
	require.Equal(t, 1, count)
}

// Temporary blocks have their own pool if one is configured, with its own strategy and
// limit, which other types do not share.
func TestTemporaryBlocksHaveAPoolOfTheirOwn(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	scratch := smallPool()
	scratch.Strategy, scratch.MaxSizeBytes = "arena", 64*kib
	m := r.manager(t, func(c *Config) {
		c.PoolConfigs[General], c.PoolConfigs[Temporary] = smallPool(), scratch
	})
	temporary := func(size uint64) (MemoryHandle, error) {
		return m.AllocTyped(Request{Type: Temporary, SizeBytes: size})
	}
	kept := m.mustAlloc(t, 1000)
	for range 3 {
		first, err := temporary(20 * kib)
		require.NoError(t, err)
		second, err := temporary(40 * kib)
		require.NoError(t, err)
		a, err := r.factory.HandleInfo(first)
		require.NoError(t, err)
		b, err := r.factory.HandleInfo(second)
		require.NoError(t, err)
		require.Equal(t, Temporary, a.Type)
		require.Equal(t, a.Addr+20*kib, b.Addr, "an arena places one block behind the other")
		_, err = temporary(40 * kib)
		requireError(t, err, device.CodeOutOfMemory, "temporary")
		require.NoError(t, r.factory.Free(m.mustAlloc(t, 100*kib)), "the limit is of scratch memory alone")
		require.NoError(t, r.factory.Free(first))
		require.NoError(t, r.factory.Free(second))
	}
	info, err := r.factory.HandleInfo(kept)
	require.NoError(t, err)
	require.Equal(t, General, info.Type)
	require.Equal(t, map[MemoryType]uint64{General: 1, Tensor: 0, Cache: 0, Temporary: 0, Pinned: 0, Mapped: 0, Managed: 0},
		m.LiveByType())
}

func TestStatisticsAreTheSumOverThePools(t *testing.T) {
	overBoth(t, sumOverPools)
}

func sumOverPools(t *testing.T, small pool.Config) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.PoolConfigs[General], c.PoolConfigs[Cache] = small, small })
	other := r.manager(t, nil)
	other.mustAlloc(t, 5000)
	a := m.mustAlloc(t, 1000)
	b, err := m.AllocTyped(Request{Type: Cache, SizeBytes: 600})
	require.NoError(t, err)
	// A reading makes the peak of several pools exact up to this point.
	m.Statistics()
	require.NoError(t, r.factory.Free(a))
	c := m.mustAlloc(t, 500)
	stats := m.Statistics()
	require.NoError(t, stats.Check())
	require.Equal(t, track.Gauge{Current: 1100, Peak: 1600}, stats.Requested)
	require.Equal(t, track.Gauge{Current: 1280, Peak: 1792}, stats.Allocated)
	require.Equal(t, track.Gauge{Current: 2, Peak: 2}, stats.LiveBlocks)
	require.EqualValues(t, 2, stats.Segments.Current)
	require.EqualValues(t, 128*kib, stats.Reserved.Current)
	require.EqualValues(t, 3, stats.Allocations)
	require.EqualValues(t, 1, stats.Frees)
	require.Equal(t, stats.Allocated.Current+5120, r.engine.Statistics().Allocated.Current)
	require.NoError(t, r.factory.Free(b))
	require.NoError(t, r.factory.Free(c))
}

func TestWithoutTrackingNoAgeNoTagNoHistory(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.EnableTracking = false })
	h, err := m.AllocTyped(Request{SizeBytes: 1000, Tag: "kv"})
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Zero(t, info.AllocatedAt)
	require.Empty(t, info.Tag)
	stats := m.Statistics()
	require.NoError(t, stats.Check())
	require.Equal(t, track.Gauge{Current: 1000}, stats.Requested)
	require.Equal(t, track.Gauge{Current: 1}, stats.LiveBlocks)
	require.EqualValues(t, 64*kib, stats.Reserved.Current)
	require.Zero(t, stats.Allocations)
	require.NoError(t, r.factory.Free(h))
	require.Zero(t, m.Statistics().Requested.Current)
}

func TestMemoryInfoOfTheDevice(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, nil)
	r.dev.SetOthersBytes(100 * kib)
	m.mustAlloc(t, 300*kib)
	info, err := m.MemoryInfo()
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, info.TotalBytes)
	require.EqualValues(t, 300*kib, info.UsedBytes)
	require.EqualValues(t, 100*kib, info.ReservedBytes)
	require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
	require.EqualValues(t, 1, info.ActiveAllocations)
	require.Zero(t, info.FragmentationRatio)
	require.Nil(t, info.BandwidthGBps)
	require.InDelta(t, 300.0/1024*100, info.UtilizationPercent(), 0.001)
	require.Equal(t, pressure.Low, info.PressureLevel())
	m.mustAlloc(t, 600*kib)
	info, err = m.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, pressure.Critical, info.PressureLevel())
	require.Equal(t, info.Pressure, info.PressureLevel())
}

func TestPressureCallbacksAreSeveralAndRemovable(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, nil)
	heard := make(chan pressure.Level, 10)
	also := make(chan pressure.Level, 10)
	first, err := m.SetPressureCallback(func(l pressure.Level) {
		// The callback may call the library, because no lock is held.
		_ = m.Statistics()
		if _, err := m.MemoryInfo(); err != nil {
			panic(err)
		}
		heard <- l
	})
	require.NoError(t, err)
	second, err := m.SetPressureCallback(func(l pressure.Level) { also <- l })
	require.NoError(t, err)
	h := m.mustAlloc(t, 900*kib)
	require.Equal(t, pressure.High, <-heard)
	require.Equal(t, pressure.High, <-also)
	first.Remove(false)
	require.NoError(t, r.factory.Free(h))
	require.Equal(t, pressure.Low, <-also)
	require.Empty(t, heard)
	second.Remove(false)
	_, err = m.SetPressureCallback(nil)
	requireError(t, err, device.CodeNullPointer)
	require.NoError(t, m.Close(false))
	_, err = m.SetPressureCallback(func(pressure.Level) {})
	requireError(t, err, device.CodeInvalidHandle)
}

func TestDefragmentReleasesCachedMemory(t *testing.T) {
	overBoth(t, defragmentCached)
}

func defragmentCached(t *testing.T, small pool.Config) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
	var blocks []MemoryHandle
	for range 8 {
		blocks = append(blocks, m.mustAlloc(t, 32*kib))
	}
	for i, h := range blocks {
		if i > 3 || i == 1 {
			require.NoError(t, r.factory.Free(h))
		}
	}
	addresses := map[MemoryHandle]device.Addr{}
	m.EachBlock(func(info HandleInfo) bool {
		addresses[info.Handle] = info.Addr
		return true
	})
	held := r.dev.HeldBytes()
	stats, err := m.Defragment()
	require.NoError(t, err)
	require.EqualValues(t, 128*kib, stats.MemoryFreedBytes)
	require.Equal(t, held-128*kib, r.dev.HeldBytes())
	require.Zero(t, stats.BlocksMoved)
	require.EqualValues(t, 3, stats.BlocksSkipped)
	require.Positive(t, stats.FragmentationBefore)
	require.Zero(t, stats.FragmentationAfter)
	require.Positive(t, stats.TimeTakenNs)
	require.Positive(t, stats.TimeTakenMs)
	for h, addr := range addresses {
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.Equal(t, addr, info.Addr)
	}
	again, err := m.Defragment()
	require.NoError(t, err)
	require.Zero(t, again.MemoryFreedBytes)
}

func TestMillisecondsAreRoundedUp(t *testing.T) {
	for elapsed, ms := range map[time.Duration]uint64{
		0: 1, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 3 * time.Second: 3000,
	} {
		var stats DefragmentationStats
		stats.took(elapsed)
		require.Equal(t, ms, stats.TimeTakenMs, "%v", elapsed)
		require.EqualValues(t, max(elapsed, 1), stats.TimeTakenNs)
	}
}
