package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// sharedHostBuffer is a staging buffer that test devices of several drivers know under
// one simulated address.
func sharedHostBuffer(devices ...*devicetest.Device) func(uint64) (device.HostAddr, any) {
	return func(bytes uint64) (device.HostAddr, any) {
		buffer := make([]byte, bytes)
		addr := devices[0].HostBuffer(buffer)
		for _, dev := range devices[1:] {
			if dev.HostBuffer(buffer) != addr {
				panic("the devices have other host buffers already")
			}
		}
		return addr, buffer
	}
}

func TestCopyBetweenDevicesOfOneBackend(t *testing.T) {
	driver := devicetest.New(devicetest.Config{Devices: 2, Backed: true})
	f := NewFactory()
	a, b := openRig(t, driver, f, 0), openRig(t, driver, f, 1)
	src, dst := a.manager(t, nil).mustAlloc(t, 300), b.manager(t, nil).mustAlloc(t, 300)
	content := counting(300)
	a.write(t, src, content)
	require.NoError(t, f.Copy(NewTransfer(src, dst, 300)))
	require.Equal(t, content, b.bytes(t, dst))
	require.Equal(t, 1, b.dev.Calls(devicetest.CopyFromPeer))
	require.Zero(t, a.dev.Calls(devicetest.CopyToHost), "no byte is copied through the host")

	stream, held := b.heldStream(t)
	back := a.manager(t, nil).mustAlloc(t, 300)
	require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 100).WithDstOffset(200), stream))
	require.NoError(t, f.Free(src))
	require.Positive(t, a.engine.Statistics().Active.Current-a.engine.Statistics().Allocated.Current,
		"the source stays until the other device's stream is done with it")
	held.Release()
	require.NoError(t, f.Copy(NewTransfer(dst, back, 300)))
	require.Equal(t, append(append([]byte{}, content[:200]...), content[:100]...), a.bytes(t, back))
}

// stagedRigs are two devices that cannot reach each other.
func stagedRigs(t *testing.T) (f *Factory, a, b *rig) {
	f = NewFactory()
	a = openRig(t, devicetest.New(devicetest.Config{Backed: true}), f, 0)
	b = openRig(t, devicetest.New(devicetest.Config{Backend: "other", Backed: true}), f, 0)
	f.staging.take = sharedHostBuffer(a.dev, b.dev)
	return f, a, b
}

func TestCopyBetweenBackendsIsStagedInParts(t *testing.T) {
	f, a, b := stagedRigs(t)
	const size = 2*stagingBytes + 12345
	src, dst := a.manager(t, nil).mustAlloc(t, size), b.manager(t, nil).mustAlloc(t, size)
	require.NoError(t, f.Copy(NewTransfer(src, dst, 10)))
	content := counting(size)
	a.write(t, src, content)
	require.NoError(t, f.Copy(NewTransfer(src, dst, size)))
	require.Equal(t, content, b.bytes(t, dst))
	require.Equal(t, 1+3, a.dev.Calls(devicetest.CopyToHost))
	require.Equal(t, 1+3, b.dev.Calls(devicetest.CopyFromHost))
	require.NoError(t, f.Copy(NewTransfer(dst, src, 1000).WithSrcOffset(5000)))
	require.Equal(t, content[5000:6000], a.bytes(t, src)[:1000])
}

func TestStagedCopyIsOrderedInItsStream(t *testing.T) {
	f, a, b := stagedRigs(t)
	src, dst := a.manager(t, nil).mustAlloc(t, 64), b.manager(t, nil).mustAlloc(t, 64)
	require.NoError(t, f.FillAsync(fillOf(src, 0, 64, 7, 1), DefaultStream))
	stream, held := b.heldStream(t)
	require.NoError(t, f.FillAsync(fillOf(dst, 0, 64, 1, 1), stream))
	require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 32), stream))
	require.NoError(t, f.FillAsync(fillOf(dst, 0, 16, 2, 1), stream))
	require.NotEqual(t, byte(1), b.bytes(t, dst)[63], "the fill has not run")
	require.NoError(t, f.Free(src))
	require.NotZero(t, a.engine.Statistics().Active.Current)
	held.Release()
	require.NoError(t, f.SynchronizeStream(stream, device.Forever))
	want := append(append(repeated(2, 16), repeated(7, 16)...), repeated(1, 32)...)
	require.Equal(t, want, b.bytes(t, dst))
}

func TestFailureOfAStagedCopyIsReturned(t *testing.T) {
	f, a, b := stagedRigs(t)
	src, dst := a.manager(t, nil).mustAlloc(t, 64), b.manager(t, nil).mustAlloc(t, 64)
	stream, held := b.heldStream(t)
	for _, failing := range []struct {
		dev  *devicetest.Device
		call devicetest.Call
	}{
		{a.dev, devicetest.CopyToHost}, {b.dev, devicetest.CopyFromHost},
	} {
		require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 64), stream))
		failing.dev.FailNth(failing.call, 1, nil)
		held.Release()
		requireError(t, f.SynchronizeStream(stream, device.Forever), device.CodeDevice, string(failing.call))
		require.NoError(t, f.SynchronizeStream(stream, device.Forever))
		held.Hold()
		failing.dev.FailNth(failing.call, 1, nil)
		requireError(t, f.Copy(NewTransfer(src, dst, 64)), device.CodeDevice, string(failing.call))
	}
	g, c, d := stagedRigs(t)
	from, to := c.manager(t, nil).mustAlloc(t, 64), d.manager(t, nil).mustAlloc(t, 64)
	c.dev.FailNth(devicetest.NewStream, 1, nil)
	requireError(t, g.Copy(NewTransfer(from, to, 64)), device.CodeDevice)
	d.dev.FailNth(devicetest.NewStream, 1, nil)
	requireError(t, g.CopyAsync(NewTransfer(from, to, 64), 0), device.CodeDevice)
	require.NoError(t, g.CopyAsync(NewTransfer(from, to, 64), 0))
}

func TestHostBufferIsOrdinaryMemory(t *testing.T) {
	addr, keep := takeHostBuffer(100)
	require.NotZero(t, addr)
	require.Len(t, keep, 100)
}
