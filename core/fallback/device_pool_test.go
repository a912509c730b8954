package fallback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/pressure"
)

func openTest(t *testing.T, total uint64) (*devicetest.Device, *engine.Engine) {
	return open(t, devicetest.Config{TotalBytes: total, NoVirtualMemory: true})
}

// openPaged opens a device with virtual memory, so its pools hold single pages instead of
// whole segments.
func openPaged(t *testing.T, total uint64) (*devicetest.Device, *engine.Engine) {
	return open(t, devicetest.Config{TotalBytes: total})
}

func open(t *testing.T, c devicetest.Config) (*devicetest.Device, *engine.Engine) {
	dev := devicetest.Open(c)
	e := engine.New(dev, engine.Options{})
	t.Cleanup(func() {
		dev.ClearFaults()
		require.NoError(t, e.Close())
		require.Zero(t, dev.HeldBytes())
	})
	return dev, e
}

func newPool(t *testing.T, e *engine.Engine, c fallback.MemoryConfig) *fallback.DevicePool {
	p, err := fallback.NewDevicePool(e, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(true)) })
	return p
}

func take(t *testing.T, p *fallback.DevicePool, bytes uint64) device.Addr {
	lease, err := p.Alloc(bytes, nil, fallback.Use{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, lease.Bytes, bytes)
	return lease.Buffer
}

func TestOnDeviceOnePoolForEveryBackend(t *testing.T) {
	_, e := openTest(t, 100*mib)
	r := newRig(t, 64*mib)
	defer r.close(t)
	other, err := fallback.NewDevicePool(r.gpu, plainConfig())
	require.NoError(t, err)
	for name, p := range map[string]fallback.GpuMemoryPool{"test": newPool(t, e, plainConfig()), r.gpu.ID().Backend: other} {
		require.Equal(t, name, p.BackendName())
		require.Equal(t, fallback.MemoryStats{}, p.Stats())
		free, err := p.FreeMemory()
		require.NoError(t, err)
		require.Positive(t, free)
		require.LessOrEqual(t, free, p.TotalMemory())
		level, err := p.Pressure()
		require.NoError(t, err)
		require.Equal(t, pressure.Early.LevelOf(p.TotalMemory(), free), level)
		require.NoError(t, p.ClearPool())
		_, err = p.Shrink()
		require.NoError(t, err)
	}
	require.NoError(t, other.Close(false))
}

func TestPressureOfADevicePool(t *testing.T) {
	dev, e := openTest(t, 100*mib)
	p := newPool(t, e, plainConfig())
	for used, want := range map[uint64]pressure.Level{0: pressure.Low, 59: pressure.Low, 60: pressure.Medium, 80: pressure.High, 95: pressure.Critical} {
		dev.SetOthersBytes(used * mib)
		level, err := p.Pressure()
		require.NoError(t, err)
		require.Equal(t, want, level, "%d %%", used)
	}
	dev.SetOthersBytes(0)

	_, unknown := openTest(t, 0)
	level, err := newPool(t, unknown, plainConfig()).Pressure()
	require.NoError(t, err)
	require.Equal(t, pressure.Low, level, "an unknown capacity gives the level low")
}

func TestFractionBoundsWhatIsHeld(t *testing.T) {
	dev, e := openPaged(t, 100*mib)
	p := newPool(t, e, plainConfig().WithGPUMemoryFraction(0.7))
	for range 70 {
		take(t, p, mib)
	}
	_, err := p.Alloc(mib, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.LessOrEqual(t, dev.HeldBytes(), uint64(70*mib))
	require.EqualValues(t, 70*mib, p.Stats().InUseBytes)
}

// The limit of the device is the total for the pressure level and for the fraction, also
// when the limit is set after the pool was created.
func TestADevicePoolGoesByTheLimitOfItsDevice(t *testing.T) {
	dev, e := openPaged(t, 1000*mib)
	p := newPool(t, e, plainConfig().WithGPUMemoryFraction(0.7))
	take(t, p, 10*mib)
	require.NoError(t, e.SetLimit(60*mib))
	require.EqualValues(t, 60*mib, p.TotalMemory())
	for taken := uint64(10); taken < 42; taken++ {
		take(t, p, mib)
	}
	_, err := p.Alloc(mib, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "0.7 of 60 MiB are held")
	require.LessOrEqual(t, dev.HeldBytes(), uint64(42*mib))
	free, err := p.FreeMemory()
	require.NoError(t, err)
	require.EqualValues(t, 18*mib, free)
	level, err := p.Pressure()
	require.NoError(t, err)
	require.Equal(t, pressure.Medium, level, "42 of 60 MiB are not free")
	require.NoError(t, e.SetLimit(50*mib))
	level, err = p.Pressure()
	require.NoError(t, err)
	require.Equal(t, pressure.High, level, "42 of 50 MiB are not free")
	require.NoError(t, e.SetLimit(0))
	require.EqualValues(t, 1000*mib, p.TotalMemory())
	take(t, p, 100*mib)
}

func TestMinimumStaysFree(t *testing.T) {
	dev, e := openPaged(t, 100*mib)
	p := newPool(t, e, plainConfig().WithMinFreeBytes(30*mib))
	for range 70 {
		take(t, p, mib)
	}
	before := p.Stats()
	_, err := p.Alloc(mib, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.EqualValues(t, 70*mib, dev.HeldBytes())
	after := p.Stats()
	after.PoolMisses--
	require.Equal(t, before, after)

	// Memory that other programs hold is not available to the pool. Memory that they
	// release is available.
	_, shared := openTest(t, 100*mib)
	late := newPool(t, shared, plainConfig().WithMinFreeBytes(30*mib))
	sharedDevice := shared.Device().(*devicetest.Device)
	sharedDevice.SetOthersBytes(71 * mib)
	_, err = late.Alloc(mib, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	sharedDevice.SetOthersBytes(69 * mib)
	take(t, late, mib)
}

func TestBucketsOfADevicePool(t *testing.T) {
	dev, e := openTest(t, 100*mib)
	p := newPool(t, e, plainConfig().WithMaxPooled(2).WithTracking(true))
	var addrs []device.Addr
	for range 3 {
		addrs = append(addrs, take(t, p, mib))
	}
	require.Equal(t, 3, p.Tracker().Count())
	for _, addr := range addrs {
		require.NoError(t, p.Free(addr, nil))
	}
	require.EqualValues(t, 2*mib, p.Stats().PooledBytes, "the bucket keeps two")
	require.EqualValues(t, 2*mib, p.Stats().TotalAllocatedBytes)
	require.Zero(t, p.Tracker().Count())
	require.ErrorIs(t, p.Free(addrs[0], nil), device.CodeInvalidAddress, "a second free of a pooled buffer")
	require.ErrorIs(t, p.Free(addrs[2], nil), device.CodeInvalidAddress, "an unknown address is rejected")
	require.Contains(t, addrs[:2], take(t, p, mib))
	require.EqualValues(t, 1, p.Stats().PoolHits)

	held := dev.HeldBytes()
	require.NoError(t, p.ClearPool())
	require.Zero(t, p.Stats().PooledBytes)
	require.Equal(t, held, dev.HeldBytes(), "cleared memory waits in the pool below")
	require.ErrorIs(t, p.Close(false), device.CodeBusy)
	for _, m := range p.Tracker().AllAllocations() {
		require.EqualValues(t, mib, m.SizeBytes)
		require.Equal(t, e.ID(), m.Location.Device)
	}
}

func TestShrinkSaysWhatTheDeviceGot(t *testing.T) {
	dev, e := openTest(t, 100*mib)
	p := newPool(t, e, plainConfig())
	addr := take(t, p, mib)
	require.NoError(t, p.Free(addr, nil))
	held := dev.HeldBytes()
	released, err := p.Shrink()
	require.NoError(t, err)
	require.Equal(t, held, released)
	require.Zero(t, dev.HeldBytes())

	addr = take(t, p, mib)
	require.NoError(t, p.Free(addr, nil))
	dev.FailNth(devicetest.Free, 1, nil)
	released, err = p.Shrink()
	require.ErrorIs(t, err, device.CodeDevice)
	require.Zero(t, released)
	require.NotZero(t, dev.HeldBytes())
}

func TestPooledBuffersMakeRoomForAnotherSize(t *testing.T) {
	_, e := openTest(t, 64*mib)
	p := newPool(t, e, plainConfig())
	for _, addr := range []device.Addr{take(t, p, 30*mib), take(t, p, 30*mib)} {
		require.NoError(t, p.Free(addr, nil))
	}
	take(t, p, 62*mib)
	require.Zero(t, p.Stats().PooledBytes)
}

func TestPreAllocation(t *testing.T) {
	dev, e := openTest(t, 100*mib)
	p := newPool(t, e, plainConfig().WithPreAllocation([]uint64{mib, mib, 3 * mib}))
	require.EqualValues(t, 5*mib, p.Stats().PooledBytes)
	require.Zero(t, p.Stats().PoolMisses)
	take(t, p, 3*mib)
	require.EqualValues(t, 1, p.Stats().PoolHits)

	_, small := openTest(t, 10*mib)
	_, err := fallback.NewDevicePool(small, plainConfig().WithPreAllocation([]uint64{8 * mib, 4 * mib}))
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.Zero(t, small.Statistics().Reserved.Current)
	require.NotZero(t, dev.HeldBytes())
}

// The pool reuses a buffer only after the queued work on that buffer has completed.
func TestBusyBuffersAreNotPooled(t *testing.T) {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 100 * mib, NoVirtualMemory: true, Backed: true})
	e := engine.New(dev, engine.Options{})
	p, err := fallback.NewDevicePool(e, plainConfig())
	require.NoError(t, err)
	addr := take(t, p, mib)
	dev.Default().Hold()
	require.NoError(t, dev.Default().Fill(addr, device.Pattern{WidthBytes: 1}, mib))
	require.NoError(t, p.Free(addr, nil))
	require.Zero(t, p.Stats().PooledBytes+p.Stats().TotalAllocatedBytes)
	other, err := dev.NewStream()
	require.NoError(t, err)
	lease, err := p.Alloc(mib, other, fallback.Use{})
	require.NoError(t, err)
	require.NotEqual(t, addr, lease.Buffer)
	dev.Default().Release()
	require.NoError(t, other.Close())
	require.NoError(t, p.Close(true))
	require.NoError(t, e.Close())
}

func TestEachFailedCallOfADevicePoolChangesNothing(t *testing.T) {
	for n := 1; ; n++ {
		dev, e := openTest(t, 100*mib)
		p := newPool(t, e, plainConfig().WithMinFreeBytes(mib))
		kept := take(t, p, mib)
		before := p.Stats()
		dev.FailNth(devicetest.Any, n, nil)
		lease, err := p.Alloc(80*mib, nil, fallback.Use{})
		if err == nil {
			err = p.Free(lease.Buffer, nil)
			if err != nil {
				require.EqualValues(t, 81*mib, p.Stats().InUseBytes, "the bytes in use stay the same")
				require.NoError(t, p.Free(lease.Buffer, nil))
			}
		}
		require.Equal(t, before.InUseBytes, p.Stats().InUseBytes)
		require.Equal(t, before.ActiveBuffers, p.Stats().ActiveBuffers)
		if dev.ClearFaults() > 0 {
			require.Greater(t, n, 3)
			return
		}
		require.ErrorIs(t, err, device.CodeDevice, "call %d", n)
		require.NoError(t, p.Free(kept, nil))
	}
}

func TestDevicePoolRefuses(t *testing.T) {
	_, e := openTest(t, 100*mib)
	_, err := fallback.NewDevicePool(e, fallback.MemoryConfig{})
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	require.ErrorContains(t, err, "test:0")
	_, tiny := openTest(t, 8192)
	_, err = fallback.NewDevicePool(tiny, plainConfig().WithGPUMemoryFraction(0.1))
	require.ErrorIs(t, err, device.CodeInvalidConfig)

	p := newPool(t, e, plainConfig())
	_, err = p.Alloc(0, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	require.ErrorIs(t, p.Free(0x1234, nil), device.CodeInvalidAddress)

	closed, err := fallback.NewDevicePool(e, plainConfig())
	require.NoError(t, err)
	require.NoError(t, closed.Close(false))
	_, err = closed.Alloc(1, nil, fallback.Use{})
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorIs(t, closed.ClearPool(), device.CodeInvalidState)
	_, err = closed.Shrink()
	require.ErrorIs(t, err, device.CodeInvalidState)
}
