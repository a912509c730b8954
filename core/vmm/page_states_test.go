package vmm

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// One page passes through all its states; its neighbours stay free.
func TestRangeAtReportsEachPageState(t *testing.T) {
	r := newRig(t, devicetest.Config{Backed: true}, func(c *Config) { c.ReadyPages = -1 })
	p := r.pool
	keep(p.physical, r.dev)
	states := func() (each [3]PageState) {
		for i := range each {
			at := p.BaseAddress() + device.Addr(uint64(4+i)*page+17)
			found, ok := p.RangeAt(at)
			require.True(t, ok)
			require.Equal(t, uint64(4+i)*page, found.OffsetBytes)
			require.Equal(t, page, found.SizeBytes)
			require.Equal(t, found.State == PageLive || found.State == PageAsleep, found.RequestedBytes == 10)
			require.Equal(t, found.RequestedBytes > 0, found.AllocatedAt > 0)
			each[i] = found.State
		}
		return each
	}
	middle := func(state PageState) [3]PageState { return [3]PageState{PageFree, state, PageFree} }
	require.Equal(t, middle(PageFree), states(), "all are free at first")
	_, err := p.Alloc(5*page+3, 10)
	require.NoError(t, err)
	require.Equal(t, middle(PageLive), states())

	_, err = p.Sleep(context.Background(), SleepRequest{})
	require.NoError(t, err)
	require.Equal(t, middle(PageAsleep), states())
	require.False(t, p.IsMapped(5*page, 1))
	_, err = p.Wake(context.Background(), WakeRequest{})
	require.NoError(t, err)
	require.Equal(t, middle(PageLive), states())

	queued(t, r.dev.Default())
	require.NoError(t, p.Free(5*page+3, 10, nil))
	require.Equal(t, middle(PageRetiring), states())
	require.False(t, p.IsMapped(5*page, 1))
	r.dev.Default().Release()
	require.NoError(t, p.Synchronize())
	require.Equal(t, middle(PageParked), states())
	_, err = p.Compact()
	require.NoError(t, err)
	require.Equal(t, middle(PageFree), states())

	for _, outside := range []device.Addr{p.BaseAddress() - 1, p.BaseAddress() + device.Addr(p.CapacityBytes())} {
		_, ok := p.RangeAt(outside)
		require.False(t, ok)
	}
	r.check(t)
	r.quit(t)
}

// Two models have three times as much address space as the limit, which is the whole
// device.
func TestModelsOverCommitAddressSpace(t *testing.T) {
	const gib = 1 << 30
	p := newPartyWith(t, devicetest.Config{TotalBytes: 32 * gib, VirtualBytes: 1 << 40}, engine.Options{},
		ElasticConfig{LimitBytes: 32 * gib, ReadyPages: -1}, false)
	large, err := p.shared.Register("large", ModelConfig{VirtualBytes: 64 * gib})
	require.NoError(t, err)
	small, err := p.shared.Register("small", ModelConfig{VirtualBytes: 32 * gib})
	require.NoError(t, err)
	require.Equal(t, GlobalStats{PhysicalLimitBytes: 32 * gib, Models: 2, VirtualBytes: 96 * gib}, p.shared.GlobalStats())
	require.Zero(t, p.dev.HeldBytes(), "no memory is behind it")

	first, err := large.Alloc(2 * gib)
	require.NoError(t, err)
	_, err = small.Alloc(gib)
	require.NoError(t, err)
	require.EqualValues(t, 2*gib, large.Stats().PhysicalBytes)
	require.EqualValues(t, gib, small.Stats().PhysicalBytes)
	require.EqualValues(t, 3*gib, p.shared.GlobalStats().PhysicalBytes)
	// The first model has free address space, but no memory is free.
	_, err = large.Alloc(30 * gib)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "requested 30 GiB, available 29 GiB")
	// The second model has the opposite.
	_, err = small.Alloc(32 * gib)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	free(t, large, first)
	require.Zero(t, large.Stats().MappedPages)
	require.EqualValues(t, gib, p.shared.GlobalStats().PhysicalBytes)
	p.check(t)
	p.quit(t)
}
