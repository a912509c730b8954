package coretest

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/internal/dl"
)

// A device is found by each of its names. It is opened on its primary context and on a
// context of the program. It reports the vendor's runtime, and another device gets access
// to it.
func TestNamesContextsAndPeers(t *testing.T) {
	if !alone(t, "SIMCUDA_DEVICES=2", "SIMCUDA_BYTES=256M", "SIMCUDA_LEAKS=") {
		return
	}
	m := openMachine(t, 2)
	identity, err := cuda.New(cuda.Config{Library: libraryPath}).Identity(1)
	require.NoError(t, err)
	for _, id := range []string{"cuda:1", "cuda:" + identity.UUID, "cuda:MIG-" + identity.UUID[4:], "cuda:" + identity.PCI} {
		again, err := m.DeviceOpen(id)
		require.NoError(t, err, id)
		require.Equal(t, m.devices[1], again, id)
		require.NoError(t, object(m.Device, again).Close(false))
	}
	for id, code := range map[string]device.Code{
		"cuda:GPU-00000000-0000-0000-0000-000000000000": device.CodeDeviceNotFound, "cuda:0000:ff:00.0": device.CodeDeviceNotFound,
		"cuda:-1": device.CodeInvalidArgument, "cuda:GPU": device.CodeInvalidArgument, "cuda:7": device.CodeDeviceNotFound,
	} {
		_, err := m.DeviceOpen(id)
		require.Equal(t, code, device.CodeOf(err), "%s: %v", id, err)
	}
	context, err := object(m.Device, m.devices[0]).Native()
	require.NoError(t, err)
	again, err := m.DeviceOpenNative("cuda:0", context)
	require.NoError(t, err)
	require.Equal(t, m.devices[0], again, "the device uses that context")
	require.NoError(t, object(m.Device, again).Close(false))
	_, err = m.DeviceOpenNative("cuda:0", context+8)
	require.Equal(t, device.CodeAlreadyExists, device.CodeOf(err), "%v", err)
	_, err = m.DeviceOpenNative("cuda:0", 0)
	require.Equal(t, device.CodeNullPointer, device.CodeOf(err), "%v", err)

	stream, err := m.StreamCreate(m.devices[0])
	require.NoError(t, err)
	event, err := m.made().RecordEvent(manager.StreamHandle(stream))
	require.NoError(t, err)
	for _, ask := range []func() (uint64, error){
		func() (uint64, error) { return m.made().StreamNative(manager.StreamHandle(stream)) }, func() (uint64, error) { return m.made().EventNative(event) },
	} {
		native, err := ask()
		require.NoError(t, err)
		require.NotZero(t, native)
	}
	require.NoError(t, m.made().DestroyEvent(event))
	require.NoError(t, m.StreamDestroy(stream, true))
	require.NoError(t, object(m.Device, m.devices[0]).GrantPeer(m.devices[1]))
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(object(m.Device, m.devices[0]).GrantPeer(m.devices[0])))
	require.NoError(t, m.Shutdown(true))
	require.Empty(t, m.sim.Leaks())
	require.Empty(t, m.sim.Violations())
}

// The whole library works on a context of the program, including pages for other processes.
func TestLibraryOnTheProgramsContext(t *testing.T) {
	if !alone(t, "SIMCUDA_DEVICES=2", "SIMCUDA_BYTES=256M", "SIMCUDA_LEAKS=") {
		return
	}
	m := openMachine(t, 0)
	for range 2 {
		context := newContext(m, 1)
		dev, err := m.DeviceOpenNative("cuda:1", context)
		require.NoError(t, err)
		made, err := m.ManagerCreate(dev, nil)
		require.NoError(t, err)
		block, err := object(m.Manager, made).Alloc(1000)
		require.NoError(t, err)
		content := []byte("in a context of the program's")
		m.write(block, content)
		m.holds(block, content)
		const size = 2 << 20
		vpool, err := m.VPoolCreate(dev, vmm.Config{
			CapacityBytes: 4 * size, PageBytes: size, ReadyPages: -1, Backing: device.BackingShareable,
		})
		require.NoError(t, err)
		_, err = object(m.VPool, vpool).Alloc(library.ByteRange{SizeBytes: 2 * size})
		require.NoError(t, err)
		files, _, err := object(m.VPool, vpool).Export(library.ByteRange{SizeBytes: 2 * size}, 2)
		require.NoError(t, err)
		imported, err := object(m.Manager, made).Import(manager.Importation{Files: files, PageBytes: size})
		require.NoError(t, err)
		for _, file := range files {
			require.NoError(t, os.NewFile(uintptr(file), "page").Close())
		}
		m.write(imported, content)
		m.holds(imported, content)
		require.NoError(t, m.made().Free(imported))
		require.NoError(t, object(m.Device, dev).Close(true))
		closeContext(m, context)
	}
	require.NoError(t, m.Shutdown(false))
	require.Empty(t, m.sim.Leaks())
	require.Empty(t, m.sim.Violations())
}

// newContext creates a context that is not current on any thread.
func newContext(m *machine, index int) uint64 {
	var context, popped uintptr
	require.Zero(m.t, m.sim.Call("cuInit", 0))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Zero(m.t, m.sim.Call("cuCtxCreate_v2", dl.Pointer(&context), 0, uintptr(index)))
	require.Zero(m.t, m.sim.Call("cuCtxPopCurrent_v2", dl.Pointer(&popped)))
	return uint64(context)
}

func closeContext(m *machine, context uint64) {
	require.Zero(m.t, m.sim.Call("cuCtxDestroy_v2", uintptr(context)))
}
