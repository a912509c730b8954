package library_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

func TestDeviceOpenIsCountedById(t *testing.T) {
	b := startBench(t)
	first := b.open("test:0")
	require.Equal(t, first, b.open("test"), "a bare backend is its device 0")
	other := b.open("test:1")
	require.NotEqual(t, first, other)

	require.NoError(t, b.DeviceClose(first, false))
	_, err := b.DeviceGetInfo(first)
	require.NoError(t, err)
	p := b.pool(first)
	requireCode(t, device.CodeBusy, b.DeviceClose(first, false))
	require.NoError(t, b.PoolDestroy(p, false))
	require.NoError(t, b.DeviceClose(first, false))
	requireCode(t, device.CodeInvalidHandle, b.DeviceClose(first, false))
	_, err = b.DeviceGetInfo(first)
	requireCode(t, device.CodeInvalidHandle, err)
	again := b.open("test:0")
	require.NotEqual(t, first, again)
}

func TestDeviceOpenRefusesBadIds(t *testing.T) {
	b := startBench(t)
	for id, want := range map[string]device.Code{
		"": device.CodeInvalidArgument, ":0": device.CodeInvalidArgument, "test:": device.CodeInvalidArgument,
		"test:-1": device.CodeInvalidArgument, "test:00": device.CodeInvalidArgument,
		"TEST:0": device.CodeInvalidArgument, "test:99999999999": device.CodeInvalidArgument,
		"test:2": device.CodeDeviceNotFound, "cuda:0": device.CodeDeviceNotFound,
	} {
		handle, err := b.DeviceOpen(id)
		require.Equal(t, want, device.CodeOf(err), "%q: %v", id, err)
		require.Zero(t, handle)
	}
}

func TestDeviceOpenThatFailsLeavesNothing(t *testing.T) {
	b := startBench(t)
	b.driver.openErr = device.Errorf(device.CodeDevice, "test.open", "out of order")
	_, err := b.DeviceOpen("test:0")
	requireCode(t, device.CodeDevice, err)
	require.Empty(t, b.leaks().Leaks)
	b.driver.SetProbe(device.Errorf(device.CodeBackendUnavailable, "test.probe", "no runtime"))
	_, err = b.DeviceOpen("test:0")
	requireCode(t, device.CodeBackendUnavailable, err)
	b.driver.SetProbe(nil)
	handle := b.open("test:0")
	require.NoError(t, b.DeviceClose(handle, false), "the failed opens do not count")
	require.NoError(t, b.Shutdown(false))
}

func TestDeviceInfo(t *testing.T) {
	b := startBench(t)
	info, err := b.DeviceGetInfo(b.open("test:1"))
	require.NoError(t, err)
	require.Equal(t, b.device(1).Info(), info.Info)
	require.Equal(t, library.CapabilityPeer|library.CapabilityVirtualMemory|
		library.CapabilityLinkedMemory, info.Capabilities)
}

// Each kind of object keeps its device open, and a refused close changes
// nothing: the object works as before.
func TestDeviceCloseIsBusyWhileAnythingIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		create  func(b *bench, dev uint64) (uint64, error)
		works   func(b *bench, object uint64) error
		destroy func(b *bench, object uint64) error
		named   string
	}{
		"pool": {
			func(b *bench, dev uint64) (uint64, error) { return b.PoolCreate(dev, smallPool()) },
			func(b *bench, p uint64) error { _, err := b.PoolAlloc(p, 1, 0); return err },
			func(b *bench, p uint64) error { return b.PoolDestroy(p, true) }, "1 pool",
		},
		"manager": {
			func(b *bench, dev uint64) (uint64, error) { return b.ManagerCreate(dev, nil) },
			func(b *bench, m uint64) error { _, err := b.ManagerAlloc(m, 1); return err },
			func(b *bench, m uint64) error { return b.ManagerDestroy(m, true) }, "1 manager",
		},
		"stream": {
			func(b *bench, dev uint64) (uint64, error) { return b.StreamCreate(dev) },
			func(b *bench, s uint64) error { return b.StreamSynchronize(s, device.Forever) },
			func(b *bench, s uint64) error { return b.StreamDestroy(s, false) }, "1 stream",
		},
		"event": {
			func(b *bench, dev uint64) (uint64, error) {
				s, err := b.StreamDefault(dev)
				if err != nil {
					return 0, err
				}
				return b.EventRecord(s)
			},
			func(b *bench, e uint64) error { return b.EventSynchronize(e, device.Forever) },
			func(b *bench, e uint64) error { return b.EventDestroy(e) }, "1 event",
		},
		"registration": {
			func(b *bench, dev uint64) (uint64, error) {
				return b.PressureCallbackAdd(dev, 0, func(uint64, int32) {})
			},
			func(*bench, uint64) error { return nil },
			func(b *bench, r uint64) error { return b.RegistrationRemove(r, 0) }, "1 registration",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, force := range []bool{false, true} {
				b := startBench(t)
				dev := b.open("test:0")
				object, err := c.create(b, dev)
				require.NoError(t, err)
				err = b.DeviceClose(dev, false)
				requireCode(t, device.CodeBusy, err)
				require.ErrorContains(t, err, c.named)
				require.ErrorContains(t, err, "test:0")
				require.NoError(t, c.works(b, object))
				if force {
					require.NoError(t, b.DeviceClose(dev, true))
					requireCode(t, device.CodeInvalidHandle, c.destroy(b, object))
					continue
				}
				require.NoError(t, c.destroy(b, object))
				requireCode(t, device.CodeInvalidHandle, c.destroy(b, object))
				require.NoError(t, b.DeviceClose(dev, false))
			}
		})
	}
}

func TestDeviceCloseByForceLeavesOtherDevicesAlone(t *testing.T) {
	b := startBench(t)
	b.fill("test:0")
	p, _, _ := b.fill("test:1")
	before := b.leaks().kinds()
	require.NoError(t, b.DeviceClose(b.open("test:0"), false))
	require.NoError(t, b.DeviceClose(b.open("test:0"), true))
	require.Equal(t, before, b.leaks().kinds(), "not the last of its opens")
	for _, found := range b.leaks().Leaks {
		if found.Kind == "device" && found.Device == "test:0" {
			require.NoError(t, b.DeviceClose(found.Handle, true))
		}
	}
	for _, found := range b.leaks().Leaks {
		require.Equal(t, "test:1", found.Device)
	}
	_, err := b.PoolAlloc(p, 1, 0)
	require.NoError(t, err)
}

func TestDeviceCloseThatTheDriverRefusesCanBeTriedAgain(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	b.device(0).FailNth(devicetest.DeviceClose, 1, nil)
	err := b.DeviceClose(dev, false)
	requireCode(t, device.CodeDevice, err)
	_, err = b.DeviceGetInfo(dev)
	require.NoError(t, err)
	p := b.pool(dev)
	require.NoError(t, b.PoolDestroy(p, false))
	require.NoError(t, b.DeviceClose(dev, false))
}

func TestDeviceCloseByForceInsideItsOwnCallback(t *testing.T) {
	const token = 7
	var inside atomic.Bool
	b := startBench(t, func(o *library.Options) {
		o.InsideCallback = func(running uint64) bool { return inside.Load() && (running == 0 || running == token) }
	})
	dev := b.open("test:0")
	closed := make(chan error, 1)
	_, err := b.PressureCallbackAdd(dev, token, func(d uint64, level int32) {
		inside.Store(true)
		defer inside.Store(false)
		closed <- b.DeviceClose(d, true)
	})
	require.NoError(t, err)
	p := b.pool(dev)
	_, err = b.PoolAlloc(p, capacity/10*9, 0)
	require.NoError(t, err)
	require.NoError(t, <-closed)
	require.Zero(t, b.device(0).Segments())
	_, err = b.PoolAlloc(p, 1, 0)
	requireCode(t, device.CodeInvalidHandle, err)
}

func TestLimitsAndBooksOfADevice(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	require.NoError(t, b.DeviceSetLimit(dev, 2<<20))
	info, err := b.DeviceGetMemoryInfo(dev)
	require.NoError(t, err)
	require.EqualValues(t, capacity, info.TotalBytes)
	require.EqualValues(t, 2<<20, info.FreeBytes)
	_, err = b.PoolAlloc(p, 3<<20, 0)
	requireCode(t, device.CodeOutOfMemory, err)
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "test:0", typed.Device)
	require.NoError(t, b.DeviceSetLimit(dev, 0))
	_, err = b.PoolAlloc(p, 3<<20, 0)
	require.NoError(t, err)
	stats, err := b.DeviceGetStatistics(dev)
	require.NoError(t, err)
	require.EqualValues(t, 3<<20, stats.Allocated.Current)
	require.EqualValues(t, 1, stats.LiveBlocks.Current)
	info, err = b.DeviceGetMemoryInfo(dev)
	require.NoError(t, err)
	require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
	require.NoError(t, b.DeviceSynchronize(dev, device.Forever))
}

func TestErrorsNameTheirDevice(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:1")
	p, m, _ := b.fill("test:1")
	first := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"config":    first(b.PoolCreate(dev, &pool.Config{AutoExpansion: true})),
		"size":      first(b.PoolAlloc(p, 0, 0)),
		"alignment": first(b.PoolAllocWith(p, library.PoolRequest{Request: pool.Request{SizeBytes: 1, AlignmentBytes: 3}})),
		"address":   b.PoolFree(p, 12345, 0),
		"busy":      b.PoolDestroy(p, false),
		"type":      first(b.ManagerAllocWith(m, manager.Request{Type: 77, SizeBytes: 1})),
		"manager":   b.ManagerDestroy(m, false),
	} {
		var typed *device.Error
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, "test:1", typed.Device, name)
	}
}
