package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestAddressesAreCounted(t *testing.T) {
	const page = uint64(64 << 10)
	dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 30, PageMinimumBytes: page, PageRecommendedBytes: page})
	e := New(dev, Options{})
	first, err := e.ReserveAddresses(4*page, page)
	require.NoError(t, err)
	require.Equal(t, 4*page, first.SizeBytes)
	second, err := e.ReserveAddresses(page, page)
	require.NoError(t, err)
	require.Equal(t, 5*page, e.AddressBytes())
	_, err = e.ReserveAddresses(page+1, page)
	require.Error(t, err)
	require.Equal(t, 5*page, e.AddressBytes(), "what could not be had is not counted")
	require.Error(t, e.ReleaseAddresses(Segment{Addr: first.Addr, SizeBytes: page}))
	require.Equal(t, 5*page, e.AddressBytes(), "what was not given back is")
	require.NoError(t, e.ReleaseAddresses(first))
	require.Equal(t, page, e.AddressBytes())
	e.DiscardAddresses(second)
	require.Zero(t, e.AddressBytes())
	require.NoError(t, e.Close())
	require.Zero(t, dev.Reservations())
}

func TestAddressesOfADeviceWithoutVirtualMemory(t *testing.T) {
	e := New(devicetest.Open(devicetest.Config{TotalBytes: 1 << 30, NoVirtualMemory: true}), Options{})
	_, err := e.ReserveAddresses(1<<20, 1<<16)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	require.Equal(t, device.CodeUnsupported, device.CodeOf(e.ReleaseAddresses(Segment{})))
	require.Zero(t, e.AddressBytes())
	require.NoError(t, e.Close())
}
