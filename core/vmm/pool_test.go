package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestRangeMapsAndReleasesItsPages(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	p := r.pool
	require.Zero(t, r.dev.HeldBytes(), "a pool has no memory at first")
	require.Zero(t, p.PhysicalBytes())
	require.EqualValues(t, 32*page, p.CapacityBytes())
	require.EqualValues(t, page, p.PageBytes())
	addr, err := p.Alloc(3*page, 2*page)
	require.NoError(t, err)
	require.Equal(t, p.BaseAddress()+3*64<<10, addr)
	require.EqualValues(t, 2*page, p.PhysicalBytes())
	require.True(t, p.IsMapped(3*page, 2*page))
	require.False(t, p.IsMapped(3*page, 2*page+1))
	r.check(t)
	require.NoError(t, p.Free(3*page, 2*page, nil))
	require.False(t, p.IsMapped(3*page, 1))
	require.Zero(t, p.PhysicalBytes())
	r.check(t)
	require.Equal(t, uint64(2), p.Stats().ParkedPages)
	calls := r.dev.Calls(devicetest.Map)
	_, err = p.Alloc(2*page, 3*page)
	require.NoError(t, err)
	require.Equal(t, calls+1, r.dev.Calls(devicetest.Map), "only the page that was not parked is mapped")
	r.check(t)
	r.quit(t)
}

// A lowered limit bounds the largest free run: cached pages above it cannot be used.
func TestLargestFreeIsWithinALoweredLimit(t *testing.T) {
	for name, lower := range map[string]func(*rig) error{
		"pool":   func(r *rig) error { return r.pool.SetLimit(4 * page) },
		"device": func(r *rig) error { return r.engine.SetLimit(4 * page) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages = 8 })
			p := r.pool
			_, err := p.Alloc(0, 2*page)
			require.NoError(t, err)
			_, err = p.Alloc(2*page, 6*page)
			require.NoError(t, err)
			require.NoError(t, lower(r))
			require.NoError(t, p.Free(2*page, 6*page, nil))
			counters := p.physical.Statistics()
			require.Greater(t, counters.Cached.Current, 2*page)
			require.Equal(t, 2*page, counters.LargestFreeBytes)
			require.Equal(t, 2*page, p.physical.Brief().LargestFreeBytes)
			_, err = p.Alloc(8*page, 3*page)
			require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
			_, err = p.Alloc(8*page, 2*page)
			require.NoError(t, err)
			r.check(t)
			require.NoError(t, p.Free(0, 2*page, nil))
			require.NoError(t, p.Free(8*page, 2*page, nil))
			r.quit(t)
		})
	}
}
