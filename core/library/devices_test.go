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

	require.NoError(t, at(b.Device, first).Close(false))
	at(b.Device, first).Info()
	p := b.pool(first)
	requireCode(t, device.CodeBusy, at(b.Device, first).Close(false))
	require.NoError(t, at(b.Pool, p).Destroy(false))
	require.NoError(t, at(b.Device, first).Close(false))
	requireCode(t, device.CodeInvalidHandle, do(b.Device, first, func(o *library.Device) error { return o.Close(false) }))
	err := do(b.Device, first, func(o *library.Device) error { o.Info(); return nil })
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
	require.NoError(t, at(b.Device, handle).Close(false), "the failed opens do not count")
	require.NoError(t, b.Shutdown(false))
}

func TestDeviceInfoIsTheDriversWithCapabilities(t *testing.T) {
	b := startBench(t)
	info := at(b.Device, b.open("test:1")).Info()
	require.Equal(t, b.device(1).Info(), info.Info)
	require.Equal(t, library.CapabilityPeer|library.CapabilityVirtualMemory|
		library.CapabilityLinkedMemory, info.Capabilities)
}

// Each kind of object keeps its device open, and a rejected close changes nothing: the
// object works as before.
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
			func(b *bench, p uint64) error {
				return end(b.Pool, p, func(o *library.Pool) error { return o.Destroy(true) })
			}, "1 pool",
		},
		"manager": {
			func(b *bench, dev uint64) (uint64, error) { return b.ManagerCreate(dev, nil) },
			func(b *bench, m uint64) error {
				return do(b.Manager, m, func(o *library.Manager) error { return second(o.Alloc(1)) })
			},
			func(b *bench, m uint64) error {
				return end(b.Manager, m, func(o *library.Manager) error { return o.Destroy(true) })
			}, "1 manager",
		},
		"stream": {
			func(b *bench, dev uint64) (uint64, error) { return b.StreamCreate(dev) },
			func(b *bench, s uint64) error {
				return made(b).SynchronizeStream(manager.StreamHandle(s), device.Forever)
			},
			func(b *bench, s uint64) error { return b.StreamDestroy(s, false) }, "1 stream",
		},
		"event": {
			func(b *bench, dev uint64) (uint64, error) {
				s, err := b.StreamDefault(dev)
				if err != nil {
					return 0, err
				}
				e, err := made(b).RecordEvent(manager.StreamHandle(s))
				return uint64(e), err
			},
			func(b *bench, e uint64) error {
				return made(b).SynchronizeEvent(manager.EventHandle(e), device.Forever)
			},
			func(b *bench, e uint64) error { return made(b).DestroyEvent(manager.EventHandle(e)) }, "1 event",
		},
		"registration": {
			func(b *bench, dev uint64) (uint64, error) {
				return b.PressureCallbackAdd(dev, 0, func(uint64, int32) {})
			},
			func(*bench, uint64) error { return nil },
			func(b *bench, r uint64) error { return b.RegistrationRemove(r, nil) }, "1 registration",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, force := range []bool{false, true} {
				b := startBench(t)
				dev := b.open("test:0")
				object, err := c.create(b, dev)
				require.NoError(t, err)
				err = at(b.Device, dev).Close(false)
				requireCode(t, device.CodeBusy, err)
				require.ErrorContains(t, err, c.named)
				require.ErrorContains(t, err, "test:0")
				require.NoError(t, c.works(b, object))
				if force {
					require.NoError(t, at(b.Device, dev).Close(true))
					requireCode(t, device.CodeInvalidHandle, c.destroy(b, object))
					continue
				}
				require.NoError(t, c.destroy(b, object))
				requireCode(t, device.CodeInvalidHandle, c.destroy(b, object))
				require.NoError(t, at(b.Device, dev).Close(false))
			}
		})
	}
}

func TestDeviceCloseByForceLeavesOtherDevicesAlone(t *testing.T) {
	b := startBench(t)
	b.fill("test:0")
	p, _, _ := b.fill("test:1")
	before := b.leaks().kinds()
	require.NoError(t, at(b.Device, b.open("test:0")).Close(false))
	require.NoError(t, at(b.Device, b.open("test:0")).Close(true))
	require.Equal(t, before, b.leaks().kinds(), "not the last of its opens")
	for _, found := range b.leaks().Leaks {
		if found.Kind == "device" && found.Device == "test:0" {
			require.NoError(t, at(b.Device, found.Handle).Close(true))
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
	err := at(b.Device, dev).Close(false)
	requireCode(t, device.CodeDevice, err)
	_ = at(b.Device, dev).Info()
	p := b.pool(dev)
	require.NoError(t, at(b.Pool, p).Destroy(false))
	require.NoError(t, at(b.Device, dev).Close(false))
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
		closed <- at(b.Device, d).Close(true)
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

func TestLimitsAndCountersOfADevice(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	require.NoError(t, at(b.Device, dev).SetLimit(2<<20))
	info, err := at(b.Device, dev).MemoryInfo()
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, info.TotalBytes)
	require.EqualValues(t, 2<<20, info.FreeBytes)
	require.EqualValues(t, capacity, info.DeviceTotalBytes)
	_, err = b.PoolAlloc(p, 3<<20, 0)
	requireCode(t, device.CodeOutOfMemory, err)
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "test:0", typed.Device)
	require.NoError(t, at(b.Device, dev).SetLimit(0))
	_, err = b.PoolAlloc(p, 3<<20, 0)
	require.NoError(t, err)
	stats := at(b.Device, dev).Statistics()
	require.EqualValues(t, 3<<20, stats.Allocated.Current)
	require.EqualValues(t, 1, stats.LiveBlocks.Current)
	info, err = at(b.Device, dev).MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
	require.NoError(t, at(b.Device, dev).Synchronize(device.Forever))
}

func TestErrorsNameTheirDevice(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:1")
	p, m, _ := b.fill("test:1")
	for name, err := range map[string]error{
		"config":    second(b.PoolCreate(dev, &pool.Config{AutoExpansion: true})),
		"size":      second(b.PoolAlloc(p, 0, 0)),
		"alignment": second(at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1, AlignmentBytes: 3}})),
		"address":   b.PoolFree(p, 12345, 0),
		"busy":      at(b.Pool, p).Destroy(false),
		"type":      second(at(b.Manager, m).AllocTyped(manager.Request{Type: 77, SizeBytes: 1})),
		"manager":   at(b.Manager, m).Destroy(false),
	} {
		var typed *device.Error
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, "test:1", typed.Device, name)
	}
}
