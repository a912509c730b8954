package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
)

func TestARangeTakesAndGivesBackItsPages(t *testing.T) {
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
