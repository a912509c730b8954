package coretest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/vmm/sleep"
	"ferrum_mem/drivers/testdevice"
)

// dormitory is a virtual pool with memory of three tags.
type dormitory struct {
	*rig
	pages uint64
	pool  *vmm.Pool
	bytes *testdevice.Bytes
}

// longTag is longer than a chunk: 68.75 MiB.
const longTag = 1100

func openDormitory(t *testing.T, pages uint64) *dormitory {
	d := &dormitory{rig: openRig(t), pages: pages}
	var err error
	d.pool, err = vmm.NewPool(d.engines[0], vmm.Config{Name: "p", CapacityBytes: 4 * (pages + 7) * page, PageBytes: page, ReadyPages: -1})
	require.NoError(t, err)
	d.atEnd(func() error { return d.pool.Close(true) })
	d.bytes = testdevice.NewBytes(d.devices[0])
	for i, tag := range []string{"a", "b", "c"} {
		_, err := d.pool.AllocTagged(vmm.AllocRequest{OffsetBytes: d.offset(i), SizeBytes: pages * page, Tag: tag})
		require.NoError(t, err)
	}
	d.fill(t)
	return d
}

func (d *dormitory) offset(tag int) uint64 { return uint64(tag) * (d.pages + 7) * page }

// each calls fn for pages of all tags, with the value that their bytes have.
func (d *dormitory) each(fn func(addr device.Addr, value byte)) {
	for tag := range 3 {
		for at := uint64(0); at < d.pages; at++ {
			if at < 3 || at%97 == 0 || at+4 > d.pages {
				fn(d.pool.BaseAddress()+device.Addr(d.offset(tag)+at*page), byte(1+tag*80+int(at%79)))
			}
		}
	}
}

func (d *dormitory) fill(t *testing.T) {
	d.each(func(addr device.Addr, value byte) { require.NoError(t, d.bytes.Fill(addr, value, page)) })
}

func (d *dormitory) look(t *testing.T) {
	d.each(func(addr device.Addr, value byte) {
		_, differs, err := d.bytes.FirstOther(addr, value, page)
		require.NoError(t, err)
		require.False(t, differs, "the page at %#x", uint64(addr))
	})
}

// cycle puts everything to sleep and wakes it, and returns how many copies of pageable
// memory that took, and the deepest queue of a stream.
func (d *dormitory) cycle(t *testing.T, request vmm.SleepRequest) (pageable, deepest int) {
	before := d.sim.PageableCopies()
	d.sim.DeepestQueue()
	_, err := d.pool.Sleep(context.Background(), request)
	require.NoError(t, err)
	require.Zero(t, sleep.StagingBytes())
	deepest = d.sim.DeepestQueue()
	_, err = d.pool.Wake(context.Background(), vmm.WakeRequest{Tag: "b", Streams: request.Streams})
	require.NoError(t, err)
	_, err = d.pool.Wake(context.Background(), vmm.WakeRequest{Streams: request.Streams})
	require.NoError(t, err)
	deepest = min(deepest, d.sim.DeepestQueue())
	pageable = d.sim.PageableCopies() - before
	require.Zero(t, sleep.StagingBytes())
	d.look(t)
	return pageable, deepest
}

// The device copies all contents from and to page-locked memory, whether they sleep there
// or in a file, and the next copy is queued before the first has ended.
func TestSleepCopiesPageLockedMemory(t *testing.T) {
	for _, streams := range []int{1, 3} {
		for _, request := range []vmm.SleepRequest{
			{Streams: streams}, {Streams: streams, Backing: vmm.SleepToFile, Dir: t.TempDir()},
		} {
			d := openDormitory(t, longTag)
			pageable, deepest := d.cycle(t, request)
			require.Zero(t, pageable, "%+v", request)
			if streams == 1 {
				require.GreaterOrEqual(t, deepest, 2, "%+v", request)
			}
			d.close(t, "sleep")
			require.Zero(t, sleep.LockedBytes())
		}
	}
}

// If contents cannot be page-locked, they sleep in pageable memory. The device copies
// through page-locked buffers, or directly if there are none either.
func TestSleepWithoutPageLockedMemory(t *testing.T) {
	for _, streams := range []int{1, 3} {
		d := openDormitory(t, longTag)
		d.sim.Fault("cuMemHostRegister_v2", 1, resultOutOfMemory)
		pageable, deepest := d.cycle(t, vmm.SleepRequest{Streams: streams})
		require.False(t, d.sim.FaultIsLeft())
		require.Zero(t, pageable, "the buffers are page-locked")
		if streams == 1 {
			require.GreaterOrEqual(t, deepest, 2)
		}
		for _, request := range []vmm.SleepRequest{
			{Streams: streams}, {Streams: streams, Backing: vmm.SleepToFile, Dir: t.TempDir()},
		} {
			d.sim.Fault("cuMemHostRegister_v2", 0, resultOutOfMemory)
			d.sim.Fault("cuMemHostAlloc", 0, resultOutOfMemory)
			pageable, _ = d.cycle(t, request)
			require.Positive(t, pageable)
			d.sim.ClearFaults()
		}
		d.close(t, "sleep")
	}
}

// A failure of any call for page-locked memory is repaired by the same call: it falls back
// to pageable memory, or frees again, and nothing leaks.
func TestEveryCallForPageLockedMemoryFailsOnce(t *testing.T) {
	// From 2 MiB on the driver registers memory of the process.
	for pages, names := range map[uint64][]string{
		16: {"cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemFreeHost"},
		40: {"cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2", "cuMemHostUnregister"},
	} {
		for _, name := range names {
			for n := 1; n <= 6; n++ {
				d := openDormitory(t, pages)
				d.sim.Fault(name, n, resultUnknown)
				d.cycle(t, vmm.SleepRequest{Streams: 1})
				d.cycle(t, vmm.SleepRequest{Streams: 1, Backing: vmm.SleepToFile, Dir: t.TempDir()})
				require.False(t, d.sim.FaultIsLeft(), "call %d of %s", n, name)
				d.close(t, name)
			}
		}
	}
}
