package cuda

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/hostpages"
	"ferrum_mem/internal/dl"
)

// largePinned is the size of page-locked memory that is ordinary memory of the process.
const largePinned = hostpages.HugeBytes + 64<<10

// madeBy allocates page-locked memory and returns which function of the driver it is from.
func madeBy(t *testing.T, o *openDevice, size uint64) (device.PinnedMemory, string) {
	t.Helper()
	var made device.PinnedMemory
	var err error
	calls := newSimulator(t).callsOf(func() { made, err = o.AllocPinned(size) })
	require.NoError(t, err)
	if calls["cuMemHostAlloc"] > 0 {
		require.Zero(t, o.driver.pages.UsedBytes())
		return made, "cuMemHostAlloc"
	}
	require.Equal(t, size, o.driver.pages.UsedBytes())
	require.Zero(t, uint64(made.HostAddr)%hostpages.HugeBytes)
	return made, "cuMemHostRegister_v2"
}

// Memory of at least one huge page is of the process, and of the driver if that cannot register it. All
// devices use it.
func TestEachGenerationLocksPagesOfTheProcess(t *testing.T) {
	for _, generation := range generations {
		for _, without := range []string{"", "register"} {
			t.Run(generation+without, func(t *testing.T) {
				if alone(t, envLibrary+"="+simulated(generation), "SIMCUDA_WITHOUT="+without) {
					lockPagesOfTheProcess(t, without == "")
				}
			})
		}
	}
}

func lockPagesOfTheProcess(t *testing.T, registers bool) {
	d := testDriver(t)
	o, other := mustOpen(t, d, 0), mustOpen(t, d, 1)
	require.Equal(t, registers, o.Info().Registrar)
	for _, size := range []uint64{64 << 10, hostpages.HugeBytes - 64<<10, hostpages.HugeBytes, largePinned} {
		made, by := madeBy(t, o, size)
		require.Equal(t, registers && size >= hostpages.HugeBytes, by == "cuMemHostRegister_v2", "size %d", size)
		bytes := hostBytes(made.HostAddr, int(size))
		copy(bytes[size-12:], "seen by both")
		require.Equal(t, "seen by both", string(get(t, o.DefaultStream(), made.Addr+device.Addr(size-12), 12)))
		require.NoError(t, o.FillNow(made.Addr, 7, size))
		require.EqualValues(t, 7, bytes[size-1])
		linked, err := other.Link(o, made.Addr, size)
		require.NoError(t, err)
		require.NoError(t, other.FillNow(linked, 8, size))
		require.EqualValues(t, 8, bytes[0])
		require.NoError(t, other.Unlink(linked, size))
		requireCode(t, device.CodeBusy, o.Close())
		require.NoError(t, o.FreePinned(made.Addr, size))
		requireCode(t, device.CodeInvalidAddress, o.FreePinned(made.Addr, size))
		require.Zero(t, d.pages.UsedBytes())
	}
	require.NoError(t, other.Close())
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

// The driver allocates the memory if it does not register pages of the process. If there is no
// memory, that is an error.
func TestMemoryThatTheDriverDoesNotRegister(t *testing.T) {
	sim, o := newSimulator(t), open(t, 0)
	for _, number := range []int32{resultNotSupported, resultInvalidValue, resultHostRegistered, resultOperatingSystem, resultUnknown} {
		sim.fault("cuMemHostRegister_v2", 1, number)
		made, by := madeBy(t, o, largePinned)
		require.Equal(t, "cuMemHostAlloc", by, "%d", number)
		require.NoError(t, o.FillNow(made.Addr, 3, largePinned))
		require.NoError(t, o.FreePinned(made.Addr, largePinned))
	}
	sim.fault("cuMemHostRegister_v2", 1, resultOutOfMemory)
	_, err := o.AllocPinned(largePinned)
	require.ErrorContains(t, requireCode(t, device.CodeOutOfMemory, err), "cuMemHostRegister_v2")
	require.Zero(t, o.driver.pages.UsedBytes())
	require.NoError(t, o.Close())
	sim.clean()
}

// The system rejects each of its calls. No memory is an error, and the driver allocates the memory
// after another rejection.
func TestMemoryThatTheSystemDoesNotMap(t *testing.T) {
	sim, o := newSimulator(t), open(t, 0)
	system := &o.driver.pages.System
	works := *system
	for _, c := range []struct {
		name   string
		number syscall.Errno
		set    func(fails func(uint64, uint64) error)
	}{
		{"map", syscall.ENOMEM, func(func(uint64, uint64) error) {
			system.Map = func(uint64) (uint64, error) { return 0, syscall.ENOMEM }
		}},
		{"map", syscall.EPERM, func(func(uint64, uint64) error) {
			system.Map = func(uint64) (uint64, error) { return 0, syscall.EPERM }
		}},
		{"populate", syscall.ENOMEM, func(f func(uint64, uint64) error) { system.Populate = f }},
		{"populate", syscall.EFAULT, func(f func(uint64, uint64) error) { system.Populate = f }},
		{"keep from children", syscall.EINVAL, func(f func(uint64, uint64) error) { system.KeepFromChildren = f }},
		{"too little is available", syscall.EINVAL, func(func(uint64, uint64) error) {
			system.Available = func() (uint64, bool) { return 2*largePinned - 1, true }
		}},
		{"nothing is known", syscall.EINVAL, func(func(uint64, uint64) error) {
			system.Available = func() (uint64, bool) { return 0, false }
		}},
		{"another system", syscall.EINVAL, func(func(uint64, uint64) error) { *system = hostpages.Calls{} }},
	} {
		c.set(func(uint64, uint64) error { return c.number })
		if c.number == syscall.ENOMEM {
			_, err := o.AllocPinned(largePinned)
			typed := requireCode(t, device.CodeOutOfMemory, err)
			require.ErrorContains(t, typed, "the system did not provide", c.name)
			require.ErrorIs(t, err, syscall.ENOMEM, c.name)
			require.Equal(t, "cuda:0", typed.Device)
		} else {
			made, by := madeBy(t, o, largePinned)
			require.Equal(t, "cuMemHostAlloc", by, c.name)
			require.NoError(t, o.FreePinned(made.Addr, largePinned))
		}
		*system = works
		require.Zero(t, o.driver.pages.UsedBytes(), c.name)
		made, by := madeBy(t, o, largePinned)
		require.Equal(t, "cuMemHostRegister_v2", by, c.name)
		require.NoError(t, o.FreePinned(made.Addr, largePinned))
	}
	require.NoError(t, o.Close())
	sim.clean()
}

// The system does not unmap the pages, or the driver does not unregister them. The device owes both,
// in this order, until it closes.
func TestPagesThatAreNotUnmapped(t *testing.T) {
	sim, o := newSimulator(t), open(t, 0)
	system := &o.driver.pages.System
	works := *system
	rejects := func() { system.Unmap = func(uint64, uint64) error { return syscall.ENOMEM } }

	made, _ := madeBy(t, o, largePinned)
	rejects()
	require.NoError(t, o.FreePinned(made.Addr, largePinned), "the driver has unregistered the memory")
	requireCode(t, device.CodeInvalidAddress, o.FreePinned(made.Addr, largePinned))
	require.EqualValues(t, largePinned, o.driver.pages.UsedBytes())
	_, err := o.Memory()
	require.NoError(t, err, "nothing waits for the pages")
	require.ErrorContains(t, requireCode(t, device.CodeDevice, o.Close()), "are not unmapped")
	*system = works
	_, err = o.Memory()
	require.NoError(t, err)
	require.Zero(t, o.driver.pages.UsedBytes())

	// Nobody knows the memory of a call that failed.
	rejects()
	sim.fault("cuMemHostGetDevicePointer_v2", 1, resultOutOfMemory)
	sim.fault("cuMemHostUnregister", 0, resultOperatingSystem)
	_, err = o.AllocPinned(largePinned)
	requireCode(t, device.CodeOutOfMemory, err)
	sim.call("simcuda_clear_faults")
	require.NotEmpty(t, sim.text("simcuda_leaks"))
	unregistered := sim.calls("cuMemHostUnregister")
	require.ErrorContains(t, requireCode(t, device.CodeDevice, o.Close()), "are not unmapped")
	require.Equal(t, unregistered+1, sim.calls("cuMemHostUnregister"))
	*system = works
	require.NoError(t, o.Close())
	require.Equal(t, unregistered+1, sim.calls("cuMemHostUnregister"), "once is enough")
	require.Zero(t, o.driver.pages.UsedBytes())
	sim.clean()
}

// The device is lost while it owes pages. They are unmapped when it closes.
func TestLostDeviceUnmapsItsPages(t *testing.T) {
	if !alone(t) {
		return
	}
	sim, o := newSimulator(t), open(t, 0)
	sim.fault("cuMemHostGetDevicePointer_v2", 1, resultOutOfMemory)
	sim.fault("cuMemHostUnregister", 0, resultOperatingSystem)
	_, err := o.AllocPinned(largePinned)
	requireCode(t, device.CodeOutOfMemory, err)
	sim.call("simcuda_clear_faults")
	require.EqualValues(t, largePinned, o.driver.pages.UsedBytes())
	sim.must("cuDevicePrimaryCtxReset_v2", 0)
	_, err = o.Memory()
	requireCode(t, device.CodeDeviceLost, err)
	require.NoError(t, o.Close())
	require.Zero(t, o.driver.pages.UsedBytes())
}

// The program resets the primary context, and another library creates it again. The registration has
// ended with the old context, and the first call that finds that out is the free.
func TestPagesOfAContextThatWasReplaced(t *testing.T) {
	if !alone(t) {
		return
	}
	sim, o := newSimulator(t), open(t, 0)
	made, by := madeBy(t, o, largePinned)
	require.Equal(t, "cuMemHostRegister_v2", by)
	own := make([]byte, 4096)
	locked, err := o.Register(device.HostAddr(dl.Pointer(&own[0])), 4096, device.AccessReadWrite)
	require.NoError(t, err)
	sim.must("cuDevicePrimaryCtxReset_v2", 0)
	var again uintptr
	sim.must("cuDevicePrimaryCtxRetain", dl.Pointer(&again), 0)
	require.NoError(t, o.FreePinned(made.Addr, largePinned))
	require.Zero(t, o.driver.pages.UsedBytes())
	require.NoError(t, o.Unregister(locked, 4096))
	_, err = o.Memory()
	requireCode(t, device.CodeDeviceLost, err)
	require.NoError(t, o.Close())
}
