package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

func TestBatchesSucceedOrFailAsAWhole(t *testing.T) {
	for _, strategy := range rangealloc.Names() {
		t.Run(strategy, func(t *testing.T) {
			b := newBench(devicetest.Config{TotalBytes: 8 * mib}, engine.Options{})
			p := b.pool(t, func(c *Config) {
				c.Strategy = strategy
				if strategy == "fixed" {
					c.FixedBlockBytes = 16 * kib
				}
			})
			require.NoError(t, p.AllocBatch(Request{SizeBytes: 1}, nil))
			require.NoError(t, p.FreeBatch(nil, nil))
			// More blocks than one segment holds.
			addrs := make([]device.Addr, 150)
			require.NoError(t, p.AllocBatch(Request{SizeBytes: 15 * kib, Tag: "kv"}, addrs))
			seen := map[device.Addr]bool{}
			for _, addr := range addrs {
				require.False(t, seen[addr])
				seen[addr] = true
				block, ok := p.Lookup(addr)
				require.True(t, ok)
				require.Equal(t, "kv", block.Tag)
				require.EqualValues(t, 15*kib, block.RequestedBytes)
			}
			b.check(t, p)
			before := p.Statistics()
			require.EqualValues(t, 150, before.LiveBlocks.Current)

			more := make([]device.Addr, 600)
			require.ErrorIs(t, p.AllocBatch(Request{SizeBytes: 15 * kib}, more), device.CodeOutOfMemory)
			require.Equal(t, make([]device.Addr, 600), more)
			after := p.Statistics()
			require.Equal(t, before.Active.Current, after.Active.Current)
			require.Equal(t, before.Allocations, after.Allocations)
			require.Equal(t, before.Failures+1, after.Failures)

			for i, wrong := range []device.Addr{addrs[0], addrs[149] + 1, 1} {
				list := append(append([]device.Addr{}, addrs...), wrong)
				err := p.FreeBatch(list, nil)
				code := []device.Code{device.CodeDoubleFree, device.CodeInvalidAddress, device.CodeInvalidAddress}[i]
				require.ErrorIs(t, err, code)
				require.ErrorContains(t, err, "addresses[150]")
				require.EqualValues(t, 150, p.Statistics().LiveBlocks.Current)
				b.check(t, p)
			}
			require.NoError(t, p.FreeBatch(addrs[:100], nil))
			require.NoError(t, p.FreeBatch(addrs[100:], nil))
			require.Zero(t, p.Statistics().Active.Current)
			quiet(t, b, p)
		})
	}
}

// A batch behind queued work uses one event, and its stream may reuse the blocks.
func TestBatchRecordsOneEvent(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	addrs := make([]device.Addr, 64)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: 4096, Stream: s}, addrs))
	busy(t, s)
	b.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.ErrorIs(t, p.FreeBatch(addrs, s), device.CodeDevice)
	require.EqualValues(t, 64, p.Statistics().LiveBlocks.Current)
	require.NoError(t, p.FreeBatch(addrs, s))
	require.Equal(t, 1, b.dev.OpenEvents())
	b.check(t, p)
	again := make([]device.Addr, 64)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: 4096, Stream: s}, again))
	require.ElementsMatch(t, addrs, again)
	require.Zero(t, b.dev.OpenEvents())
	b.check(t, p)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestBatchThatCanNeverFitFailsAtOnce(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	addrs := make([]device.Addr, 4)
	require.ErrorContains(t, p.AllocBatch(Request{SizeBytes: 1 << 62}, addrs), "never fit")
	require.ErrorContains(t, p.AllocBatch(Request{SizeBytes: 20 * mib}, addrs), "size_bytes 20971520, count 4 can never fit")
	require.ErrorIs(t, p.AllocBatch(Request{}, addrs), device.CodeInvalidSize)
	quiet(t, b, p)
}

func TestFreeSizedRejectsAnotherSize(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	block := mustAlloc(t, p, 1000)
	for _, size := range []uint64{0, 999, 1024} {
		require.ErrorIs(t, p.FreeSized(block.Addr, size, nil), device.CodeInvalidSize)
	}
	busy(t, s)
	require.ErrorContains(t, p.FreeSized(block.Addr, 999, s), "was allocated with 1000")
	require.Zero(t, b.dev.OpenEvents())
	require.NoError(t, p.FreeSized(block.Addr, 1000, s))
	require.ErrorIs(t, p.FreeSized(block.Addr, 1000, nil), device.CodeDoubleFree)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestOwnerOfDescribesEveryAddress(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.AlignmentBytes, c.Tracking = 3*4096/3, true })
	s := newStream(t, b)
	block, err := p.Alloc(Request{SizeBytes: 5000, Tag: "kv"})
	require.NoError(t, err)
	info, ok := p.OwnerOf(block.Addr + 8191)
	require.True(t, ok)
	require.Equal(t, BlockInfo{Addr: block.Addr, SizeBytes: 8192, RequestedBytes: 5000, Tag: "kv",
		AllocatedAt: block.AllocatedAt, State: BlockLive}, info)
	require.Positive(t, info.AllocatedAt)
	info, ok = p.OwnerOf(block.Addr + 8192)
	require.True(t, ok)
	require.Equal(t, BlockFree, info.State)
	_, ok = p.OwnerOf(1)
	require.False(t, ok)
	busy(t, s)
	require.NoError(t, p.Free(block.Addr, s))
	info, _ = p.OwnerOf(block.Addr + 1)
	require.Equal(t, BlockInfo{Addr: block.Addr, SizeBytes: 8192, State: BlockInFlight}, info)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestTagNumbersStayValid(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	kv, err := p.Tag("kv")
	require.NoError(t, err)
	again, err := p.Tag("kv")
	require.NoError(t, err)
	require.Equal(t, kv, again)
	block, err := p.Alloc(Request{SizeBytes: 1, TagNumber: kv})
	require.NoError(t, err)
	require.Equal(t, "kv", block.Tag)
	_, err = p.Alloc(Request{SizeBytes: 1, TagNumber: kv + 1})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorIs(t, p.AllocBatch(Request{SizeBytes: 1, TagNumber: kv + 1}, make([]device.Addr, 2)), device.CodeInvalidArgument)
	for i := range 4094 {
		_, err := p.Tag(fmt.Sprint("tag ", i))
		require.NoError(t, err)
	}
	_, err = p.Tag("too many")
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	_, err = p.Tag("")
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	b.check(t, p)
	quiet(t, b, p)
}

func TestInvalidSettingsOfFixedAreRejected(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	for _, wrong := range []Config{
		{Strategy: "fixed"},
		{Strategy: "fixed", FixedBlockBytes: 300},
		{Strategy: "fixed", FixedBlockBytes: 4096, PageBytes: 5000},
		{Strategy: "best_fit", FixedBlockBytes: 4096},
		{Strategy: "best_fit", PageBytes: 4096},
	} {
		wrong.InitialSizeBytes = mib
		_, err := New(b.engine, wrong)
		require.ErrorIs(t, err, device.CodeInvalidConfig, "%+v", wrong)
		require.ErrorContains(t, err, "_bytes")
	}
	p := b.pool(t, func(c *Config) { c.Strategy, c.FixedBlockBytes, c.PageBytes = "fixed", 48*kib, mib })
	mustAlloc(t, p, 48*kib)
	_, err := p.Alloc(Request{SizeBytes: 48*kib + 1})
	require.Error(t, err)
	require.Equal(t, kind(mib, testPageBytes), b.dev.HeldBytes())
	quiet(t, b, p)
}
