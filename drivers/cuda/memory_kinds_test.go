package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// hostDevice stands for the host: the process can address its memory.
type hostDevice struct{ device.Device }

func (hostDevice) Info() device.Info { return device.Info{HostAddressable: true} }

// Attributes of managed memory that the tests query, and the value for no location.
const (
	rangeReadMostly = 1
	rangePreferred  = 2
	rangePrefetched = 4
	nowhere         = -2
)

func (s simulator) said(which int, addr device.Addr, size uint64) int32 {
	var answer int32
	s.must("cuMemRangeGetAttribute", dl.Pointer(&answer), 4, uintptr(which), uintptr(addr), uintptr(size))
	return answer
}

// Every generation of the driver supports all kinds of memory of its devices.
func TestEachGenerationHasTheMemoryOfItsDevices(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation)) {
				return
			}
			d := testDriver(t)
			first, err := d.Open(0)
			require.NoError(t, err)
			second, err := d.Open(1)
			require.NoError(t, err)
			o, other := first.(*openDevice), second.(*openDevice)
			info := o.Info()
			require.True(t, info.Managed && info.Registrar && info.StreamOrdered)
			managedMemory(t, o, other)
			registeredMemory(t, o)
			orderedMemory(t, o)
			require.NoError(t, other.Close())
			require.NoError(t, o.Close())
			newSimulator(t).clean()
		})
	}
}

func managedMemory(t *testing.T, o, other *openDevice) {
	const size = 128 << 10
	sim, s := newSimulator(t), o.DefaultStream()
	made, err := o.AllocManaged(size)
	require.NoError(t, err)
	require.EqualValues(t, made.Addr, made.HostAddr)
	// Each side reads what the other has written.
	bytes := hostBytes(made.HostAddr, size)
	copy(bytes, "written by the host")
	require.NoError(t, s.Copy(made.Addr+4096, made.Addr, 19))
	require.NoError(t, s.Fill(made.Addr, device.Pattern{Value: '-', WidthBytes: 1}, 7))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, "------- by the host", string(bytes[:19]))
	require.Equal(t, "written by the host", string(bytes[4096:4096+19]))

	require.EqualValues(t, nowhere, sim.said(rangePrefetched, made.Addr, size))
	for _, c := range []struct {
		to    device.Device
		where int32
	}{{o, 0}, {other, 1}, {hostDevice{}, -1}, {o, 0}} {
		require.NoError(t, o.Prefetch(s, made.Addr, size, c.to))
		require.NoError(t, s.Synchronize(device.Forever))
		require.Equal(t, c.where, sim.said(rangePrefetched, made.Addr, size))
	}
	for _, advice := range []device.Advice{
		{ReadMostly: true}, {Resident: true}, {ReadMostly: true, Resident: true}, {},
	} {
		require.NoError(t, o.Advise(made.Addr, size, advice))
		preferred := int32(nowhere)
		if advice.Resident {
			preferred = 0
		}
		require.Equal(t, advice.ReadMostly, sim.said(rangeReadMostly, made.Addr, size) == 1)
		require.Equal(t, preferred, sim.said(rangePreferred, made.Addr, size))
	}
	// Another device can use the memory too. That does not migrate it.
	require.NoError(t, other.Adopt(made.Addr, size, device.AccessReadWrite, device.Alone))
	require.NoError(t, other.DefaultStream().Fill(made.Addr, device.Pattern{Value: '=', WidthBytes: 1}, 4))
	require.NoError(t, other.DefaultStream().Synchronize(device.Forever))
	require.Equal(t, "====--- by the host", string(bytes[:19]))
	requireCode(t, device.CodeInvalidAddress, other.Advise(made.Addr, size, device.Advice{}))
	require.NoError(t, other.Disown(made.Addr, size, device.Alone))
	wrongManaged(t, o, made.Addr, size)
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.FreeManaged(made.Addr, size))
	requireCode(t, device.CodeInvalidAddress, o.FreeManaged(made.Addr, size))
}

func wrongManaged(t *testing.T, o *openDevice, addr device.Addr, size uint64) {
	s := o.DefaultStream()
	plain, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	pinned, err := o.AllocPinned(64 << 10)
	require.NoError(t, err)
	for _, c := range []struct {
		code  device.Code
		names string
		err   error
	}{
		{device.CodeInvalidSize, "size 0", o.Advise(addr, 0, device.Advice{})},
		{device.CodeInvalidAddress, "131073", o.Advise(addr, size+1, device.Advice{})},
		{device.CodeInvalidAddress, "is not managed", o.Advise(plain, 4096, device.Advice{})},
		{device.CodeOverflow, "size", o.Advise(addr, ^uint64(0), device.Advice{})},
		{device.CodeInvalidArgument, "stream", o.Prefetch(nil, addr, size, o)},
		{device.CodeNullPointer, "target", o.Prefetch(s, addr, size, nil)},
		{device.CodeUnsupported, "another backend", o.Prefetch(s, addr, size, plainDevice{})},
		{device.CodeInvalidAddress, "131073", o.Prefetch(s, addr, size+1, o)},
		{device.CodeInvalidSize, "size 0", o.Prefetch(s, addr, 0, o)},
		{device.CodeUnsupported, "cannot be prefetched", o.Prefetch(s, plain, 4096, hostDevice{})},
		{device.CodeUnsupported, "cannot be prefetched", o.Prefetch(s, pinned.Addr, 4096, o)},
		{device.CodeInvalidAddress, "size 65536", o.FreeManaged(addr, 64<<10)},
		{device.CodeInvalidAddress, "size 131072", o.Free(addr, size)},
		{device.CodeInvalidSize, "size 1", func() error { _, err := o.AllocManaged(1); return err }()},
	} {
		require.Contains(t, requireCode(t, c.code, c.err).Message, c.names)
	}
	// Memory that does not migrate is near its owner already, so a prefetch to the owner
	// succeeds.
	require.NoError(t, o.Prefetch(s, plain, 4096, o))
	require.NoError(t, o.Prefetch(s, pinned.Addr, 4096, hostDevice{}))
	require.NoError(t, o.FreePinned(pinned.Addr, 64<<10))
	require.NoError(t, o.Free(plain, 64<<10))
}

// plainDevice is not a CUDA device, and the host cannot address its memory.
type plainDevice struct{ device.Device }

func (plainDevice) Info() device.Info { return device.Info{} }

func registeredMemory(t *testing.T, o *openDevice) {
	sim, s := newSimulator(t), o.DefaultStream()
	bytes := make([]byte, 64<<10)
	at, size := device.HostAddr(dl.Pointer(&bytes[0])), uint64(len(bytes))
	addr, err := o.Register(at, size, device.AccessReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(addr, device.Pattern{Value: '*', WidthBytes: 1}, 3))
	require.NoError(t, s.Copy(addr+device.Addr(size/2), addr, 3))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, "***", string(bytes[size/2:size/2+3]))
	for _, c := range []struct {
		code device.Code
		at   device.HostAddr
		size uint64
	}{
		{device.CodeNullPointer, 0, 16},
		{device.CodeInvalidSize, at, 0},
		{device.CodeOverflow, at, ^uint64(0)},
		{device.CodeAlreadyExists, at, size},
		{device.CodeAlreadyExists, at + 8, 8},
		{device.CodeInvalidAddress, at + 8, size},
	} {
		_, err := o.Register(c.at, c.size, device.AccessReadWrite)
		requireCode(t, c.code, err)
	}
	requireCode(t, device.CodeInvalidAddress, o.Unregister(addr, size-1))
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.Unregister(addr, size))
	requireCode(t, device.CodeInvalidAddress, o.Unregister(addr, size))
	requireCode(t, device.CodeInvalidAddress, s.Fill(addr, device.Pattern{WidthBytes: 1}, 1))

	// Other code has page-locked this memory. The library uses it and leaves it
	// page-locked.
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuMemHostRegister_v2", uintptr(at), uintptr(size), registerPortable|registerDeviceMap)
		return nil
	}))
	addr, err = o.Register(at+16, 1024, device.AccessReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(addr, device.Pattern{Value: '+', WidthBytes: 1}, 3))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, "+++", string(bytes[16:19]))
	require.NoError(t, o.Unregister(addr, 1024))
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuMemHostUnregister", uintptr(at))
		return nil
	}))
	// The library tries to lock the memory and learns from the error that it is locked
	// already. The simulator reports that call.
	require.Contains(t, sim.text("simcuda_violations"), "is registered already")
	sim.call("simcuda_clear_violations")
}

func orderedMemory(t *testing.T, o *openDevice) {
	const size = 4 << 20
	free := func() uint64 {
		reading, err := o.Memory()
		require.NoError(t, err)
		return reading.FreeBytes
	}
	before := free()
	addr, err := o.AllocOrdered(size)
	require.NoError(t, err)
	require.Equal(t, before-size, free())
	require.Zero(t, uint64(addr)%alignmentBytes)
	s, err := o.NewStream()
	require.NoError(t, err)
	put(t, s, addr+size-5, []byte("bytes"))
	require.Equal(t, "bytes", string(get(t, o.DefaultStream(), addr+size-5, 5)))
	requireCode(t, device.CodeInvalidAddress, s.Fill(addr, device.Pattern{WidthBytes: 1}, size+1))
	requireCode(t, device.CodeInvalidAddress, o.Free(addr, size))
	requireCode(t, device.CodeInvalidAddress, o.FreeOrdered(addr, size-1))
	for _, wrong := range []uint64{0, 100} {
		_, err = o.AllocOrdered(wrong)
		requireCode(t, device.CodeInvalidSize, err)
	}
	_, err = o.AllocOrdered(1 << 40)
	requireCode(t, device.CodeOutOfMemory, err)
	// Freeing does not wait for other work on the device, and the memory is free at once.
	release := blocked(t, s)
	require.NoError(t, o.FreeOrdered(addr, size))
	require.Equal(t, before, free())
	release()
	requireCode(t, device.CodeInvalidAddress, o.FreeOrdered(addr, size))
	require.NoError(t, s.Close())
}

// If a device lacks a kind of memory, every request for it returns an error.
func TestUnsupportedKindsOfMemoryAreReported(t *testing.T) {
	for _, lacks := range []string{"concurrent", "managed,register,pools"} {
		t.Run(lacks, func(t *testing.T) {
			if !alone(t, "SIMCUDA_WITHOUT="+lacks) {
				return
			}
			o := open(t, 0)
			require.False(t, o.Info().Managed)
			_, err := o.AllocManaged(64 << 10)
			requireCode(t, device.CodeUnsupported, err)
			requireCode(t, device.CodeUnsupported, o.FreeManaged(0, 64<<10))
			requireCode(t, device.CodeUnsupported, o.Advise(0, 64<<10, device.Advice{}))
			if lacks != "concurrent" {
				require.False(t, o.Info().Registrar || o.Info().StreamOrdered)
				_, err = o.Register(4096, 4096, device.AccessReadWrite)
				requireCode(t, device.CodeUnsupported, err)
				_, err = o.AllocOrdered(64 << 10)
				requireCode(t, device.CodeUnsupported, err)
				requireCode(t, device.CodeUnsupported, o.FreeOrdered(4096, 64<<10))
			}
			require.NoError(t, o.Close())
			newSimulator(t).clean()
		})
	}
}

// Older drivers have calls that take a device number. They fail like the newer calls and
// leave the memory unchanged.
func TestOlderCallsOfManagedMemoryFail(t *testing.T) {
	if !alone(t, envLibrary+"="+simulated("12000")) {
		return
	}
	o, sim := open(t, 0), newSimulator(t)
	made, err := o.AllocManaged(64 << 10)
	require.NoError(t, err)
	for name, try := range map[string]func() error{
		"cuMemPrefetchAsync": func() error { return o.Prefetch(o.DefaultStream(), made.Addr, 4096, o) },
		"cuMemAdvise":        func() error { return o.Advise(made.Addr, 4096, device.Advice{Resident: true}) },
	} {
		sim.fault(name, 1, resultOutOfMemory)
		require.Contains(t, requireCode(t, device.CodeOutOfMemory, try()).Message, name+" gave")
		require.NoError(t, try())
	}
	require.NoError(t, o.FreeManaged(made.Addr, 64<<10))
	require.NoError(t, o.Close())
	sim.clean()
}

// Memory of these kinds can be released after the loss of the device.
func TestMemoryOfALostDeviceCanBeReleased(t *testing.T) {
	if !alone(t) {
		return
	}
	o, sim := open(t, 0), newSimulator(t)
	bytes := make([]byte, 4096)
	managed, err := o.AllocManaged(64 << 10)
	require.NoError(t, err)
	locked, err := o.Register(device.HostAddr(dl.Pointer(&bytes[0])), 4096, device.AccessReadWrite)
	require.NoError(t, err)
	ordered, err := o.AllocOrdered(64 << 10)
	require.NoError(t, err)
	sim.fault("cuMemGetInfo_v2", 1, resultECC)
	_, err = o.Memory()
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.AllocManaged(64 << 10)
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.Register(4096, 4096, device.AccessReadWrite)
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.AllocOrdered(64 << 10)
	requireCode(t, device.CodeDeviceLost, err)
	requireCode(t, device.CodeDeviceLost, o.Prefetch(o.DefaultStream(), managed.Addr, 4096, o))
	requireCode(t, device.CodeDeviceLost, o.Advise(managed.Addr, 4096, device.Advice{}))
	require.NoError(t, o.FreeManaged(managed.Addr, 64<<10))
	require.NoError(t, o.Unregister(locked, 4096))
	require.NoError(t, o.FreeOrdered(ordered, 64<<10))
	require.NoError(t, o.Close())
}
