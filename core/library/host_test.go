package library_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/testdevice"
)

// onHost returns a library on the real host backend.
func onHost() *library.Library {
	return library.New(library.Options{Drivers: func(s library.Settings) ([]device.Driver, error) {
		cpu, err := host.New(host.Config{Devices: s.HostDevices, MemoryBytes: s.HostMemoryBytes, MemoryForced: s.HostMemoryForced})
		if err != nil {
			return nil, err
		}
		return []device.Driver{cpu}, nil
	}})
}

func TestTheHostIsConfiguredBySettingsAndEnvironment(t *testing.T) {
	t.Setenv("FERRUM_HOST_DEVICES", "")
	t.Setenv("FERRUM_HOST_MEMORY", "")
	l := onHost()
	requireCode(t, device.CodeInvalidConfig, l.Init(&library.Settings{HostDevices: 65}))
	requireCode(t, device.CodeInvalidConfig, l.Init(&library.Settings{HostMemoryBytes: 1 << 62}))
	requireCode(t, device.CodeNotInitialized, l.Shutdown(false))
	t.Setenv("FERRUM_HOST_MEMORY", "plenty")
	err := l.Init(nil)
	requireCode(t, device.CodeInvalidConfig, err)
	require.ErrorContains(t, err, "FERRUM_HOST_MEMORY")
	require.ErrorContains(t, err, "plenty")
	t.Setenv("FERRUM_HOST_MEMORY", "")

	require.NoError(t, l.Init(&library.Settings{HostDevices: 2, HostMemoryBytes: 256 << 20}))
	dev, err := l.DeviceOpen("cpu:1")
	require.NoError(t, err)
	info := at(l.Device, dev).Info()
	require.EqualValues(t, 128<<20, info.TotalBytes)
	require.Equal(t, library.CapabilityHostAddressable|library.CapabilityPeer|library.CapabilityVirtualMemory|
		library.CapabilityPinnedMemory|library.CapabilityLinkedMemory|library.CapabilityExportedPages, info.Capabilities)
	_, err = l.DeviceOpen("cpu:2")
	requireCode(t, device.CodeDeviceNotFound, err)
	require.NoError(t, at(l.Device, dev).Close(false))
	require.NoError(t, l.Shutdown(false))
}

// A forced stop waits for the work in the streams, and releases everything.
func TestHostForcedShutdownWaitsForStreams(t *testing.T) {
	l := onHost()
	require.NoError(t, l.Init(&library.Settings{HostDevices: 1, HostMemoryBytes: 256 << 20}))
	dev, err := l.DeviceOpen("cpu")
	require.NoError(t, err)
	stream, err := l.StreamCreate(dev)
	require.NoError(t, err)
	started, goOn := make(chan struct{}), make(chan struct{})
	done := false
	require.NoError(t, made(l).HostFunction(manager.StreamHandle(stream), func() {
		close(started)
		<-goOn
		done = true
	}))
	p, err := l.PoolCreate(dev, smallPool())
	require.NoError(t, err)
	addr, err := l.PoolAlloc(p, 100, stream)
	require.NoError(t, err)
	require.NoError(t, l.PoolFree(p, addr, stream))
	m, err := l.ManagerCreate(dev, nil)
	require.NoError(t, err)
	h, err := at(l.Manager, m).Alloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, made(l).FillAsync(manager.Fill{Memory: manager.MemoryHandle(h), SizeBytes: 1 << 20,
		Pattern: device.Pattern{Value: 7, WidthBytes: 4}}, manager.StreamHandle(stream)))
	<-started
	var stopErr error
	stopped := device.Go("shutdown", func() { stopErr = l.Shutdown(true) })
	close(goOn)
	<-stopped
	require.NoError(t, stopErr)
	require.True(t, done)
	require.NoError(t, l.Init(&library.Settings{HostDevices: 1, HostMemoryBytes: 256 << 20}))
	dev, err = l.DeviceOpen("cpu")
	require.NoError(t, err)
	free, err := at(l.Device, dev).MemoryInfo()
	require.NoError(t, err)
	require.Zero(t, free.UsedBytes)
	require.NoError(t, l.Shutdown(true))
}

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

// Any call from any thread at any time on real devices, including a stop of the
// library.
func TestOnDeviceEverythingAtOnce(t *testing.T) {
	if testdevice.OnHost() {
		t.Setenv("FERRUM_HOST_DEVICES", "2")
		t.Setenv("FERRUM_HOST_MEMORY", "256MiB")
		h := &hammer{Library: onHost(), ids: []string{"cpu:0", "cpu:1"}}
		h.run(t, 1500)
		return
	}
	driver, err := testdevice.Driver()
	require.NoError(t, err)
	infos, err := driver.Devices()
	require.NoError(t, err)
	h := &hammer{Library: library.New(library.Options{Drivers: func(library.Settings) ([]device.Driver, error) {
		return []device.Driver{driver}, nil
	}})}
	for _, info := range infos {
		h.ids = append(h.ids, info.ID.String())
	}
	h.run(t, testdevice.Times(8000))
}
