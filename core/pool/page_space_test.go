package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// Pools of a large device leave address space for each other and for the process.
func TestThousandPoolsShareTheAddressSpace(t *testing.T) {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 40, PageMinimumBytes: page, PageRecommendedBytes: page})
	b := &bench{dev: dev, engine: engine.New(dev, engine.Options{})}
	pools := make([]*Pool, 1000)
	for i := range pools {
		pools[i] = b.pool(t, func(c *Config) { c.Paging = PagingOn })
		mustAlloc(t, pools[i], 256)
	}
	const half = 64 << 40
	addr, err := dev.Reserve(half, page)
	require.NoError(t, err, "half of the address space of a process can be reserved")
	require.NoError(t, dev.Unreserve(addr, half))
	b.closeAll(t, pools...)
	require.Zero(t, b.engine.AddressBytes())
}

// If address space is short, no pool takes most of it.
func TestPoolLeavesMostOfScarceAddressSpace(t *testing.T) {
	dev := devicetest.Open(devicetest.Config{
		TotalBytes: 1 << 30, VirtualBytes: 1 << 30, PageMinimumBytes: page, PageRecommendedBytes: page,
	})
	b := &bench{dev: dev, engine: engine.New(dev, engine.Options{})}
	var pools []*Pool
	for range 10 {
		p := b.pool(t, func(c *Config) { c.Paging = PagingOn })
		mustAlloc(t, p, mib)
		pools = append(pools, p)
	}
	block := mustAlloc(t, pools[0], 200*mib)
	require.NotZero(t, block.Addr, "a block that needs more has more")
	before := b.engine.Statistics()
	require.NoError(t, pools[0].Free(block.Addr, nil))
	_, err := pools[1].Alloc(Request{SizeBytes: 900 * mib})
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.ErrorContains(t, err, "size_bytes 943718400")
	require.Equal(t, before.Active.Current-200*mib, b.engine.Statistics().Active.Current)
	mustAlloc(t, pools[1], mib)
	b.check(t, pools...)
	b.closeAll(t, pools...)
}

// A pool that outgrows its first address space gets a larger one each time. A request
// that finds no memory leaves no address space behind, however often it is repeated.
func TestReservationsGrowAndNoneLeaks(t *testing.T) {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 40, PageMinimumBytes: page, PageRecommendedBytes: 1 << 30})
	b := &bench{dev: dev, engine: engine.New(dev, engine.Options{})}
	p := b.pool(t, func(c *Config) { c.Paging = PagingOn })
	others, err := b.engine.ReserveAddresses(32<<40, page)
	require.NoError(t, err)
	for range 20 {
		mustAlloc(t, p, 30<<30)
	}
	sizes := []uint64{}
	for _, s := range p.heap.segments {
		sizes = append(sizes, s.memory.SizeBytes>>30)
	}
	require.ElementsMatch(t, []uint64{32, 64, 128, 256, 512}, sizes)
	reservations := dev.Reservations()
	for range 20 {
		_, err := p.Alloc(Request{SizeBytes: 450 << 30})
		require.ErrorIs(t, err, device.CodeOutOfMemory)
	}
	require.LessOrEqual(t, dev.Reservations(), reservations+1)
	b.check(t, p)
	require.NoError(t, b.engine.ReleaseAddresses(others))
	b.closeAll(t, p)
}
