package devicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/device/virtualtest"
)

func TestVirtualMemoryConforms(t *testing.T) {
	virtualtest.Run(t, func(*testing.T) device.Device {
		return devicetest.Open(devicetest.Config{Backed: true, KeepsContents: true, TotalBytes: 64 << 20})
	})
}

const pageBytes = 64 << 10

// mapped returns a device with one page, mapped at an address with read and write access.
func mapped(t *testing.T, config devicetest.Config) (*devicetest.Device, device.Addr, []device.Page) {
	d := devicetest.Open(config)
	addr, err := d.Reserve(pageBytes, pageBytes)
	require.NoError(t, err)
	pages := make([]device.Page, 1)
	require.NoError(t, d.Create(pages, pageBytes, device.BackingMovable))
	require.NoError(t, d.Map(addr, pages))
	require.NoError(t, d.SetAccess(addr, pageBytes, device.AccessReadWrite))
	return d, addr, pages
}

func TestVirtualMemoryCanBeTakenAway(t *testing.T) {
	d := devicetest.Open(devicetest.Config{NoVirtualMemory: true})
	require.False(t, d.Info().VirtualMemory)
	page := make([]device.Page, 1)
	_, reserve := d.Reserve(pageBytes, pageBytes)
	_, resident := d.Resident(1<<40, pageBytes)
	for _, err := range []error{
		reserve, resident, d.Unreserve(1<<40, pageBytes), d.Create(page, pageBytes, device.BackingMovable), d.Release(page),
		d.Map(1<<40, page), d.SetAccess(1<<40, pageBytes, device.AccessRead), d.Unmap(1<<40, pageBytes), d.Zero(page),
	} {
		require.ErrorIs(t, err, device.CodeUnsupported)
	}
	require.NoError(t, d.Close())
}

func TestQueuedWorkIsKnownToUseItsRanges(t *testing.T) {
	d, addr, pages := mapped(t, devicetest.Config{Manual: true, TotalBytes: 1 << 20})
	require.EqualValues(t, pageBytes, d.HeldBytes())
	require.EqualValues(t, pageBytes, d.MappedBytes())
	require.NoError(t, d.Default().Fill(addr+100, device.Pattern{Value: 1, WidthBytes: 1}, 1))
	require.ErrorIs(t, d.Unmap(addr, pageBytes), device.CodeBusy)
	require.ErrorIs(t, d.SetAccess(addr, pageBytes, device.AccessNone), device.CodeBusy)
	require.NoError(t, d.SetAccess(addr, pageBytes, device.AccessReadWrite))
	d.Default().Release()
	require.NoError(t, d.Synchronize(device.Forever))
	resident, err := d.Resident(addr, pageBytes)
	require.NoError(t, err)
	require.EqualValues(t, pageBytes, resident)
	require.NoError(t, d.Unmap(addr, pageBytes))
	require.ErrorIs(t, d.Close(), device.CodeBusy)
	require.NoError(t, d.Release(pages))
	require.NoError(t, d.Unreserve(addr, pageBytes))
	require.Zero(t, d.HeldBytes()+uint64(d.Pages())+uint64(d.Reservations()))
	require.NoError(t, d.Close())
}

func TestEachCallOfVirtualMemoryCanFail(t *testing.T) {
	d, addr, pages := mapped(t, devicetest.Config{Backed: true})
	require.NoError(t, d.SetBytes(addr, []byte{5}))
	more := make([]device.Page, 1)
	for call, run := range map[devicetest.Call]func() error{
		devicetest.Reserve: func() error {
			_, err := d.Reserve(pageBytes, pageBytes)
			return err
		},
		devicetest.Resident: func() error {
			_, err := d.Resident(addr, pageBytes)
			return err
		},
		devicetest.Create:    func() error { return d.Create(more, pageBytes, device.BackingMovable) },
		devicetest.Map:       func() error { return d.Map(addr, pages) },
		devicetest.SetAccess: func() error { return d.SetAccess(addr, pageBytes, device.AccessNone) },
		devicetest.Unmap:     func() error { return d.Unmap(addr, pageBytes) },
		devicetest.Release:   func() error { return d.Release(pages) },
		devicetest.Unreserve: func() error { return d.Unreserve(addr, pageBytes) },
		devicetest.Zero:      func() error { return d.Zero(pages) },
	} {
		d.FailNth(call, 1, device.CodeDeviceLost)
		require.ErrorIs(t, run(), device.CodeDeviceLost, call)
		require.Zero(t, d.ClearFaults())
		require.Equal(t, []byte{5, 0}, d.Bytes(addr, 2))
		require.Equal(t, byte(5), d.PageBytes(pages[0])[0])
		require.Equal(t, 1, d.Pages())
		require.Equal(t, 1, d.Reservations())
	}
}
