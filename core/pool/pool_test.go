package pool

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

func TestFirstSegmentIsTakenLazilyThenGrows(t *testing.T) {
	onSegments(t, "pages come one by one")
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	require.Zero(t, b.dev.HeldBytes())
	first := mustAlloc(t, p, 1000)
	require.EqualValues(t, 1024, first.SizeBytes)
	require.EqualValues(t, 1000, first.RequestedBytes)
	require.Equal(t, "p", first.Tag)
	require.Zero(t, uint64(first.Addr)%256)
	require.Equal(t, 1*mib, b.dev.HeldBytes())
	mustAlloc(t, p, mib-1024)
	require.Equal(t, 1, b.dev.Segments(), "the first segment is used up to its end")
	mustAlloc(t, p, 1)
	require.Equal(t, mib+512*kib, b.dev.HeldBytes())
	mustAlloc(t, p, 3*mib)
	require.Equal(t, 4*mib+512*kib, b.dev.HeldBytes(), "a large request makes a large segment")
	quiet(t, b, p)
}

func TestDefaultFirstSegmentIsWithinTheUpperBound(t *testing.T) {
	onSegments(t, "a paged pool takes nothing beforehand")
	for name, initial := range map[string]uint64{"default": InitialSizeAuto, "growth increment": 0} {
		b := newBench(devicetest.Config{}, engine.Options{})
		p := b.pool(t, func(c *Config) { c.InitialSizeBytes, c.GrowthIncrementBytes, c.MaxSizeBytes = initial, 4*mib, mib })
		mustAlloc(t, p, 1000)
		require.Equal(t, 1*mib, b.dev.HeldBytes(), name)
		quiet(t, b, p)
	}
}

func TestDefaultFirstSegmentHasAGibibyte(t *testing.T) {
	onSegments(t, "a paged pool takes nothing beforehand")
	b := newBench(devicetest.Config{TotalBytes: 64 << 30}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.InitialSizeBytes = DefaultConfig().InitialSizeBytes })
	mustAlloc(t, p, 1000)
	require.EqualValues(t, 1<<30, b.dev.HeldBytes())
	quiet(t, b, p)
}

func TestInvalidConfigIsRejected(t *testing.T) {
	cases := map[string]struct {
		code   device.Code
		change func(*Config)
	}{
		"initial above max":         {device.CodeInvalidConfig, func(c *Config) { c.MaxSizeBytes = c.InitialSizeBytes - 1 }},
		"1 GiB above max":           {device.CodeInvalidConfig, func(c *Config) { c.InitialSizeBytes, c.MaxSizeBytes = 1<<30, 512*mib }},
		"expansion by nothing":      {device.CodeInvalidConfig, func(c *Config) { c.GrowthIncrementBytes = 0 }},
		"nothing at all":            {device.CodeInvalidConfig, func(c *Config) { c.AutoExpansion, c.InitialSizeBytes, c.GrowthIncrementBytes = false, 0, 0 }},
		"max below one segment":     {device.CodeInvalidConfig, func(c *Config) { c.InitialSizeBytes, c.MaxSizeBytes = 100, 100 }},
		"alignment 3":               {device.CodeInvalidAlignment, func(c *Config) { c.AlignmentBytes = 3 }},
		"alignment above 1 GiB":     {device.CodeInvalidAlignment, func(c *Config) { c.AlignmentBytes = 2 << 30 }},
		"unknown strategy":          {device.CodeNotFound, func(c *Config) { c.Strategy = "worst_fit" }},
		"unknown check":             {device.CodeInvalidArgument, func(c *Config) { c.Debug = DebugAll + 1 }},
		"fixed without a block":     {device.CodeInvalidConfig, func(c *Config) { c.Strategy = "fixed" }},
		"fixed with an odd block":   {device.CodeInvalidConfig, func(c *Config) { c.Strategy, c.FixedBlockBytes = "fixed", 1000 }},
		"fixed with an odd page":    {device.CodeInvalidConfig, func(c *Config) { c.Strategy, c.FixedBlockBytes, c.PageBytes = "fixed", 4096, 10000 }},
		"block of best_fit":         {device.CodeInvalidConfig, func(c *Config) { c.Strategy, c.FixedBlockBytes = "best_fit", 4096 }},
		"page of best_fit":          {device.CodeInvalidConfig, func(c *Config) { c.Strategy, c.PageBytes = "best_fit", 4096 }},
		"long name":                 {device.CodeInvalidConfig, func(c *Config) { c.Name = string(make([]byte, 64)) }},
		"pre-allocation overflows":  {device.CodeOverflow, func(c *Config) { c.PreAlloc, c.InitialSizeBytes = true, math.MaxUint64-1 }},
		"pre-allocation never fits": {device.CodeOutOfMemory, func(c *Config) { c.PreAlloc, c.InitialSizeBytes = true, 65*mib }},
	}
	b := newBench(devicetest.Config{}, engine.Options{})
	for name, c := range cases {
		config := DefaultConfig()
		config.Name, config.InitialSizeBytes = "p", mib
		c.change(&config)
		_, err := New(b.engine, config)
		require.ErrorIs(t, err, c.code, name)
	}
	b.closeAll(t)
}

func TestInvalidRequestsNameTheArgument(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	cases := []struct {
		code device.Code
		text string
		r    Request
	}{
		{device.CodeInvalidSize, "size_bytes is 0", Request{}},
		{device.CodeInvalidAlignment, "alignment_bytes 3", Request{SizeBytes: 1, AlignmentBytes: 3}},
		{device.CodeInvalidAlignment, "2147483648", Request{SizeBytes: 1, AlignmentBytes: 2 << 30}},
		{device.CodeOverflow, "18446744073709551615", Request{SizeBytes: math.MaxUint64}},
		{device.CodeOutOfMemory, "never fit", Request{SizeBytes: math.MaxUint64 - 4095}},
		{device.CodeOutOfMemory, "never fit", Request{SizeBytes: 65 * mib}},
		{device.CodeInvalidArgument, "at most 63", Request{SizeBytes: 1, Tag: string(make([]byte, 64))}},
	}
	for _, c := range cases {
		_, err := p.Alloc(c.r)
		require.ErrorIs(t, err, c.code)
		require.ErrorContains(t, err, c.text)
	}
	require.Zero(t, b.dev.Calls(devicetest.Alloc), "the device was never asked")
	quiet(t, b, p)
}

func TestAlignmentAboveTheDevicesIsRespected(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	wide := b.pool(t, func(c *Config) { c.AlignmentBytes = 64 * kib })
	block := mustAlloc(t, wide, 1)
	require.Equal(t, 64*kib, block.SizeBytes)
	require.Zero(t, uint64(block.Addr)%(64*kib))
	stats := wide.Statistics()
	require.Equal(t, stats.Reserved.Current-stats.Active.Current-stats.Cached.Current, stats.Unusable.Current)
	b.check(t, wide)

	p := b.pool(t, nil)
	for align := uint64(1); align <= mib; align *= 2 {
		got, err := p.Alloc(Request{SizeBytes: 100, AlignmentBytes: align})
		require.NoError(t, err)
		require.Zero(t, uint64(got.Addr)%max(align, 256), "less than the pool's means the pool's")
	}
	b.check(t, wide, p)
	b.closeAll(t, wide, p)
}

func TestInvalidFreesAreRejected(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.AlignmentBytes = 64 * kib })
	block := mustAlloc(t, p, 100*kib)
	other := mustAlloc(t, p, 1)
	third := mustAlloc(t, p, mib)
	wrong := func(addr device.Addr, code device.Code, text string) {
		t.Helper()
		before := p.Statistics()
		err := p.Free(addr, nil)
		require.ErrorIs(t, err, code)
		require.ErrorContains(t, err, text)
		require.Equal(t, before, p.Statistics())
	}
	wrong(block.Addr+256, device.CodeInvalidAddress, "256 bytes inside the block of 128 KiB")
	wrong(0, device.CodeInvalidAddress, kind(`no segment of pool "p", which has 2`, `no segment of pool "p", which has 1`))
	wrong(math.MaxUint64, device.CodeInvalidAddress, kind(`no segment of pool "p", which has 2`, `no segment of pool "p", which has 1`))
	if !onPages {
		wrong(third.Addr-1, device.CodeInvalidAddress, "unusable part")
		wrong(other.Addr+64<<10, device.CodeDoubleFree, "is free")
	}
	require.NoError(t, p.Free(block.Addr, nil))
	wrong(block.Addr, device.CodeDoubleFree, "is free")

	b.dev.Default().Hold()
	require.NoError(t, b.dev.Default().HostFunction(func() {}))
	require.NoError(t, p.Free(other.Addr, nil))
	wrong(other.Addr, device.CodeDoubleFree, "still in use by queued work")
	require.Equal(t, 1, b.dev.OpenEvents(), "events of frees that failed are closed")
	quiet(t, b, p)
}

func TestMaxSizeAndLiveLimit(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.MaxSizeBytes = 2 * mib })
	a, c := mustAlloc(t, p, mib), mustAlloc(t, p, mib)
	_, err := p.Alloc(Request{SizeBytes: 1})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "max_size_bytes of the pool: 2 MiB")
	_, err = p.Alloc(Request{SizeBytes: 2*mib + 1})
	require.ErrorContains(t, err, "never fit")

	require.NoError(t, p.SetLimit(mib), "live blocks stay")
	require.Equal(t, 2*mib, b.dev.HeldBytes())
	require.NoError(t, p.Free(a.Addr, nil))
	require.NoError(t, p.SetLimit(mib))
	require.Equal(t, mib, b.dev.HeldBytes(), "cached memory above the limit is released")
	require.EqualValues(t, mib, p.Config().MaxSizeBytes)
	require.NoError(t, p.SetLimit(0))
	mustAlloc(t, p, 4*mib)
	require.NoError(t, p.Free(c.Addr, nil))
	require.EqualValues(t, 2, p.Statistics().Failures)
	quiet(t, b, p)
}

func TestWithoutExpansionStaysAtTheInitialSize(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.AutoExpansion, c.GrowthIncrementBytes = false, 0 })
	mustAlloc(t, p, mib)
	_, err := p.Alloc(Request{SizeBytes: 1})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "initial_size_bytes")
	require.Equal(t, mib, b.dev.HeldBytes())
	quiet(t, b, p)
}

func TestSegmentIsSmallerIfTheDeviceHasLess(t *testing.T) {
	onSegments(t, "pages come one by one")
	b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
	b.dev.SetOthersBytes(4*mib - 324*kib)
	p := b.pool(t, nil)
	mustAlloc(t, p, 100)
	require.Equal(t, 256*kib, b.dev.HeldBytes())
	mustAlloc(t, p, 256*kib-256)
	mustAlloc(t, p, 68*kib)
	require.Equal(t, 324*kib, b.dev.HeldBytes(), "growth is cut to what the device has left")
	b.check(t, p)
	b.closeAll(t, p)
}

// Pools with segments that are large for the device leave memory for each other.
func TestPoolsShareASmallDevice(t *testing.T) {
	onSegments(t, "pages come one by one")
	b := newBench(devicetest.Config{TotalBytes: 8 * mib}, engine.Options{})
	large := func(c *Config) { c.InitialSizeBytes, c.GrowthIncrementBytes = 64*mib, 5*mib }
	p, q := b.pool(t, large), b.pool(t, large)
	mustAlloc(t, p, 100)
	mustAlloc(t, q, 100)
	require.Equal(t, 2*mib, b.dev.HeldBytes(), "an eighth of the device each")
	mustAlloc(t, p, 3*mib)
	require.Equal(t, 5*mib, b.dev.HeldBytes(), "a request that needs more gets it")
	require.NoError(t, b.engine.SetLimit(6*mib))
	mustAlloc(t, q, mib)
	require.Equal(t, 6*mib, b.dev.HeldBytes())
	b.check(t, p, q)
	b.closeAll(t, p, q)
}

func TestPreallocationAllocatesAllOrFails(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.PreAlloc, c.MaxSizeBytes = true, 8*mib })
	require.Equal(t, 8*mib, b.dev.HeldBytes())
	q := b.pool(t, func(c *Config) { c.PreAlloc, c.Name = true, "q" })
	require.Equal(t, 9*mib, b.dev.HeldBytes())
	mustAlloc(t, q, mib)
	b.check(t, p, q)

	b.dev.SetOthersBytes(60 * mib)
	mustAlloc(t, p, 8*mib)
	_, err := New(b.engine, Config{InitialSizeBytes: mib, GrowthIncrementBytes: mib, PreAlloc: true})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "all or nothing")
	b.check(t, p, q)
	b.closeAll(t, p, q)
}

func TestTrimKeepsTheRequestedSize(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	var blocks []Block
	for range 4 {
		blocks = append(blocks, mustAlloc(t, p, mib))
	}
	for _, block := range blocks[1:] {
		require.NoError(t, p.Free(block.Addr, nil))
	}
	released, err := p.Trim(3 * mib)
	require.NoError(t, err)
	require.Equal(t, mib, released)
	released, err = p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 2*mib, released, "the segment with the live block stays")
	released, err = p.Trim(0)
	require.NoError(t, err)
	require.Zero(t, released)
	quiet(t, b, p)
}

func TestCloseIsRejectedWhileBlocksAreLive(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	block := mustAlloc(t, p, 1000)
	err := p.Close(false)
	require.ErrorIs(t, err, device.CodeBusy)
	require.ErrorContains(t, err, "1 live block of 1024 bytes")
	require.ErrorIs(t, b.engine.Close(), device.CodeBusy)
	require.NoError(t, p.Free(block.Addr, nil))
	require.NoError(t, p.Close(false))

	_, err = p.Alloc(Request{SizeBytes: 1})
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorIs(t, p.Free(block.Addr, nil), device.CodeInvalidState)
	require.ErrorIs(t, p.FreeAfter(block.Addr, nil), device.CodeInvalidState)
	require.ErrorIs(t, p.SetLimit(1), device.CodeInvalidState)
	_, err = p.Trim(0)
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.EqualValues(t, 1, b.engine.Statistics().Frees, "counts outlive their pool")
	b.closeAll(t)
}

func TestSnapshotBlocksAndLookup(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	a, err := p.Alloc(Request{SizeBytes: 1000, Tag: "kv"})
	require.NoError(t, err)
	c := mustAlloc(t, p, 5000)
	require.NoError(t, p.Free(c.Addr, nil))
	s := p.Snapshot()
	require.Equal(t, []SegmentSnapshot{{Address: a.Addr, SizeBytes: kind(mib, 256*mib), MappedBytes: kind(mib, testPageBytes),
		ActiveBytes: 1024, LargestFreeBytes: kind(mib, testPageBytes) - 1024}}, s.Segments)
	require.EqualValues(t, 1024+5120, s.HighWaterBytes)
	require.Equal(t, p.Statistics(), s.Statistics)
	got, ok := p.Lookup(a.Addr)
	require.True(t, ok)
	require.Equal(t, a, got)
	_, ok = p.Lookup(c.Addr)
	require.False(t, ok)
	d := mustAlloc(t, p, 2*mib)
	var seen []Block
	p.EachBlock(func(block Block) bool { seen = append(seen, block); return true })
	require.ElementsMatch(t, []Block{a, d}, seen)
	require.Equal(t, onPages, p.Snapshot().HighWaterBytes != 0, "two segments have no common base address")
	require.Len(t, p.Tags(), 2)
	quiet(t, b, p)
}

func TestWithoutStatisticsOnlyPresentValuesAreKept(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.Stats = false })
	mustAlloc(t, p, 1000)
	stats := p.Statistics()
	require.EqualValues(t, 1024, stats.Active.Current)
	require.Zero(t, stats.Active.Peak+stats.Allocations)
	quiet(t, b, p)
}

func TestAllocAndFreeDoNotUseTheGoHeap(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	mustAlloc(t, p, 256)
	require.Zero(t, testing.AllocsPerRun(200, func() {
		block, err := p.Alloc(Request{SizeBytes: 4096, Tag: "kv"})
		if err != nil || p.Free(block.Addr, nil) != nil {
			t.Fatal("a pair failed")
		}
	}))
	quiet(t, b, p)
}
