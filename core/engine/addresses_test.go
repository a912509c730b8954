package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestAddressesAreCountedUntilTheDeviceHasThemBack(t *testing.T) {
	const page = 64 << 10
	dev := devicetest.Open(devicetest.Config{
		TotalBytes: mib, VirtualBytes: 16 * mib, PageMinimumBytes: page, PageRecommendedBytes: page,
	})
	e := New(dev, Options{})
	first, err := e.ReserveAddresses(4*mib, mib)
	require.NoError(t, err)
	require.Zero(t, first.Addr%device.Addr(mib))
	require.Equal(t, 4*mib, first.SizeBytes)
	second, err := e.ReserveAddresses(8*mib, page)
	require.NoError(t, err)
	require.Equal(t, 12*mib, e.AddressBytes())
	_, err = e.ReserveAddresses(8*mib, page)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.Equal(t, 12*mib, e.AddressBytes(), "addresses that were not reserved are not counted")

	dev.FailNth(devicetest.Unreserve, 1, nil)
	require.ErrorIs(t, e.ReleaseAddresses(first), device.CodeDevice)
	require.Equal(t, 12*mib, e.AddressBytes())
	require.NoError(t, e.ReleaseAddresses(first))
	require.Equal(t, 8*mib, e.AddressBytes())

	dev.FailNth(devicetest.Unreserve, 1, nil)
	e.DiscardAddresses(second)
	require.Equal(t, 8*mib, e.AddressBytes(), "addresses that the device did not take back stay counted")
	require.NoError(t, e.Close(), "close releases them again")
	require.Zero(t, e.AddressBytes())
	require.Zero(t, dev.Reservations())
}

func TestNoAddressesWithoutTheCapability(t *testing.T) {
	e := New(devicetest.Open(devicetest.Config{TotalBytes: mib, NoVirtualMemory: true}), Options{})
	_, err := e.ReserveAddresses(mib, mib)
	require.ErrorIs(t, err, device.CodeUnsupported)
	require.ErrorIs(t, e.ReleaseAddresses(Segment{Addr: 1 << 20, SizeBytes: mib}), device.CodeUnsupported)
	require.Zero(t, e.AddressBytes())
	require.NoError(t, e.Close())
}
