package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/sharetest"
	"ferrum_mem/drivers/internal/gpu/hostpages"
	"ferrum_mem/internal/dl"
)

// keeper opens the first device, so that its context exists while suites open and close the
// device. At the end it closes the device and checks that the simulator saw no leak and no
// violation.
func keeper(t testing.TB) *openDevice {
	o := open(t, 0)
	t.Cleanup(func() {
		require.NoError(t, o.Close())
		newSimulator(t).clean()
	})
	return o
}

func TestPinnedMemoryConforms(t *testing.T) {
	sim := newSimulator(t)
	// Small memory is the vendor driver's, large memory is the process's.
	for size, calls := range map[uint64][]string{
		0: {"cuMemHostAlloc", "cuMemFreeHost"}, hostpages.HugeBytes: {"cuMemHostRegister_v2", "cuMemHostUnregister"},
	} {
		sharetest.Pinned{
			SizeBytes: size,
			Open:      func(t testing.TB) device.Device { return open(t, 0) },
			Refuse: func(device.Device) {
				for _, name := range calls {
					sim.fault(name, 1, resultOutOfMemory)
				}
			},
			Allow: func(device.Device) { sim.call("simcuda_clear_faults") },
		}.Run(t)
		sim.clean()
	}
}

func TestAdoptedMemoryConforms(t *testing.T) {
	sim := newSimulator(t)
	sharetest.Adopted{
		Open: func(t testing.TB) device.Device { return open(t, 0) },
		Theirs: func(t testing.TB, _ device.Device, size uint64) (theirs device.Addr) {
			// The library queries the driver about an unallocated address. The
			// simulator reports that query.
			keeps := keeper(t)
			t.Cleanup(func() { sim.call("simcuda_clear_violations") })
			var addr uint64
			require.NoError(t, keeps.ctx.within("test", func() error {
				sim.must("cuMemAlloc_v2", dl.Pointer(&addr), uintptr(size))
				return nil
			}))
			t.Cleanup(func() {
				require.NoError(t, keeps.ctx.within("test", func() error { sim.must("cuMemFree_v2", uintptr(addr)); return nil }))
			})
			return device.Addr(addr)
		},
	}.Run(t)
}

func TestLinkedMemoryConforms(t *testing.T) {
	sharetest.Linked{Open: func(t testing.TB) (a, b device.Device) { return openTwo(t) }}.Run(t)
	newSimulator(t).clean()
}

// owner is a program with its own stream in the context of the first device.
type owner struct {
	keeps  *openDevice
	sim    simulator
	native uintptr
}

func (w *owner) Stream() device.ForeignStream { return device.ForeignStream{Native: uint64(w.native)} }

func (w *owner) Queue(work func()) {
	entry, number, err := (&stream{owner: w.keeps}).queueHostCall("test", work)
	require.NoError(w.sim.t, err)
	require.NoError(w.sim.t, w.keeps.ctx.within("test", func() error {
		w.sim.must("cuLaunchHostFunc", w.native, entry, number)
		return nil
	}))
}

func TestAdoptedStreamsConform(t *testing.T) {
	sharetest.AdoptedStream{
		Open: func(t testing.TB) device.Device { return open(t, 0) },
		Theirs: func(t testing.TB, _ device.Device) sharetest.Owner {
			w := &owner{keeps: keeper(t), sim: newSimulator(t)}
			require.NoError(t, w.keeps.ctx.within("test", func() error {
				w.sim.must("cuStreamCreate", dl.Pointer(&w.native), streamNonBlocking)
				return nil
			}))
			t.Cleanup(func() {
				require.NoError(t, w.keeps.ctx.within("test", func() error {
					w.sim.must("cuStreamSynchronize", w.native)
					w.sim.must("cuStreamDestroy_v2", w.native)
					return nil
				}))
			})
			return w
		},
		Wrong: []device.ForeignStream{{Enqueue: func(func()) error { return nil }}},
	}.Run(t)
}
