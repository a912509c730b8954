package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// step is a call, and the call that undoes it.
type step struct {
	name     string
	do, undo func() error
}

// steps returns the life of a device, with every call that can fail half-way.
func steps(o *openDevice) []step {
	// Small blocks take less time to fill. The last fill is across two pages.
	const block, page = 128 << 10, 2 << 20
	var addr, space device.Addr
	var pinned, large, managed device.PinnedMemory
	var locked, ordered device.Addr
	own := make([]byte, 4096)
	var s device.Stream
	var e device.Event
	var m device.Module
	var k device.Kernel
	first, second := make([]device.Page, 3), make([]device.Page, 2)
	nothing := func() error { return nil }
	return []step{
		{"allocate", func() (err error) { addr, err = o.Alloc(block); return err },
			func() error { return o.Free(addr, block) }},
		{"pinned", func() (err error) { pinned, err = o.AllocPinned(64 << 10); return err },
			func() error { return o.FreePinned(pinned.Addr, 64<<10) }},
		{"pinned pages", func() (err error) { large, err = o.AllocPinned(page); return err },
			func() error { return o.FreePinned(large.Addr, page) }},
		{"stream", func() (err error) { s, err = o.NewStream(); return err }, func() error { return s.Close() }},
		{"fill", func() error { return s.Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, block) }, nothing},
		{"fill 2", func() error { return s.Fill(addr, device.Pattern{Value: 3, WidthBytes: 2}, block) }, nothing},
		{"fill 4", func() error { return s.Fill(addr, device.Pattern{Value: 3, WidthBytes: 4}, block) }, nothing},
		{"overlap", func() error { return s.Copy(addr+1, addr, 64<<10) }, nothing},
		{"batch", func() error {
			return s.CopyBatch([]device.Move{{Dst: addr, Src: addr + 4096, SizeBytes: 64}, {Dst: addr + 64, Src: addr + 8192, SizeBytes: 64}})
		}, nothing},
		{"from host", func() error { return s.CopyFromHost(addr, pinned.HostAddr, 64<<10) }, nothing},
		{"to host", func() error { return s.CopyToHost(pinned.HostAddr, addr, 64<<10) }, nothing},
		{"function", func() error { return s.HostFunction(func() {}) }, nothing},
		{"event", func() (err error) { e, err = s.RecordEvent(); return err }, nothing},
		{"wait", func() error { return o.DefaultStream().WaitEvent(e) }, nothing},
		{"synchronize", func() error { return s.Synchronize(device.Forever) }, nothing},
		{"event wait", func() error { return e.Synchronize(device.Forever) }, nothing},
		{"done", func() error { _, err := e.Done(); return err }, nothing},
		{"idle", func() error { _, err := s.Idle(); return err }, nothing},
		{"fill now", func() error { return o.FillNow(addr, 5, block) }, nothing},
		{"look", func() error { _, _, err := o.FirstOther(addr, 5, block); return err }, nothing},
		{"look at little", func() error { _, _, err := o.FirstOther(addr, 5, 100); return err }, nothing},
		{"compile", func() (err error) { m, err = o.Compile(firstOtherText); return err }, func() error { return m.Close() }},
		{"kernel", func() (err error) { k, err = m.Kernel(firstOtherName); return err }, nothing},
		{"launch", func() error { return k.Launch(s, firstOther(addr, 64, 5, addr+1024)) },
			func() error { return s.Synchronize(device.Forever) }},
		{"memory", func() error { _, err := o.Memory(); return err }, nothing},
		{"managed", func() (err error) { managed, err = o.AllocManaged(64 << 10); return err },
			func() error { return o.FreeManaged(managed.Addr, 64<<10) }},
		{"prefetch", func() error { return o.Prefetch(s, managed.Addr, 64<<10, o) }, nothing},
		{"advise", func() error { return o.Advise(managed.Addr, 64<<10, device.Advice{ReadMostly: true}) }, nothing},
		{"register", func() (err error) {
			locked, err = o.Register(device.HostAddr(dl.Pointer(&own[0])), 4096, device.AccessReadWrite)
			return err
		},
			func() error { return o.Unregister(locked, 4096) }},
		{"ordered", func() (err error) { ordered, err = o.AllocOrdered(block); return err },
			func() error { return o.FreeOrdered(ordered, block) }},
		{"reserve", func() (err error) { space, err = o.Reserve(32<<20, 8<<20); return err },
			func() error { return o.Unreserve(space, 32<<20) }},
		{"create", func() error { return o.Create(first, 2<<20, device.BackingPrivate) },
			func() error { return o.Release(first) }},
		{"create more", func() error { return o.Create(second, 4<<20, device.BackingMovable) },
			func() error { return o.Release(second) }},
		{"map", func() error { return o.Map(space, first) }, func() error { return o.Unmap(space, 6<<20) }},
		{"map more", func() error { return o.Map(space+8<<20, second) },
			func() error { return o.Unmap(space+8<<20, 8<<20) }},
		{"access", func() error { return o.SetAccess(space, 6<<20, device.AccessReadWrite) }, nothing},
		{"use", func() error { return s.Fill(space+page-block, device.Pattern{Value: 9, WidthBytes: 1}, 2*block) },
			func() error { return s.Synchronize(device.Forever) }},
	}
}

// cannotFail lists calls that the test does not make fail: calls that set or query the
// current state, which cannot fail while the device exists, and calls that the device makes
// while it closes.
var cannotFail = map[string]bool{
	"cuCtxPushCurrent_v2": true, "cuCtxPopCurrent_v2": true, "cuCtxGetCurrent": true, "cuThreadExchangeStreamCaptureMode": true,
	"cuDevicePrimaryCtxRelease_v2": true, "cuCtxGetId": true, "cuEventDestroy_v2": true,
	"cuMemPoolDestroy": true,
}

// Each call of the vendor driver that can fail does so once, at its first to its sixth
// call. The error has the native code, and the failed operation is undone. Therefore the
// same operation succeeds when it is repeated, and everything can be released.
func TestEveryCallFailsOnce(t *testing.T) {
	sim := newSimulator(t)
	failed := map[string]int{}
	for _, row := range new(api).table() {
		for n := 1; n <= 6 && !cannotFail[row.Name]; n++ {
			o := open(t, 0)
			before := sim.calls(row.Name)
			sim.fault(row.Name, n, resultOutOfMemory)
			failures := 0
			try := func(what string, call func() error) {
				err := call()
				if err == nil {
					return
				}
				failures++
				var typed *device.Error
				require.ErrorAs(t, err, &typed, "%s %d: %s", row.Name, n, what)
				require.EqualValues(t, resultOutOfMemory, typed.Native, "%s %d: %s: %v", row.Name, n, what, err)
				require.Contains(t, typed.Message, row.Name, "%s %d: %s", row.Name, n, what)
				require.NoError(t, call(), "%s %d: %s, again", row.Name, n, what)
			}
			all := steps(o)
			for _, one := range all {
				try(one.name, one.do)
			}
			for i := len(all) - 1; i >= 0; i-- {
				try("undo "+all[i].name, all[i].undo)
			}
			made := sim.calls(row.Name) - before
			sim.call("simcuda_clear_faults")
			require.NoError(t, o.Close(), "%s %d", row.Name, n)
			require.Zero(t, o.driver.pages.UsedBytes(), "%s %d", row.Name, n)
			sim.clean()
			if made < n {
				break
			}
			// If the caller does not know the object, a failed release is repeated and not
			// reported.
			require.LessOrEqual(t, failures, 1, "%s %d", row.Name, n)
			failed[row.Name] += failures
		}
	}
	for _, name := range []string{
		"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemCreate", "cuMemMap",
		"cuMemUnmap", "cuMemSetAccess", "cuMemRelease", "cuMemAddressReserve", "cuMemAddressFree", "cuStreamCreateWithPriority",
		"cuStreamDestroy_v2", "cuStreamSynchronize", "cuEventCreate", "cuEventRecord", "cuLaunchHostFunc", "cuMemAllocAsync",
		"cuMemFreeAsync", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuMemAllocManaged", "cuMemPrefetchAsync_v2",
		"cuMemAdvise_v2", "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemPoolCreate", "cuMemAllocFromPoolAsync",
	} {
		require.Positive(t, failed[name], "%s was never made to fail", name)
	}
}

// Opening a device fails at each of its calls. It leaks nothing.
func TestAFailedOpenLeaksNothing(t *testing.T) {
	d, sim := testDriver(t), newSimulator(t)
	for _, name := range []string{
		"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemGetAllocationGranularity", "cuStreamCreateWithPriority",
		"cuCtxGetStreamPriorityRange",
	} {
		for n := 1; n <= 2; n++ {
			sim.fault(name, n, resultOutOfMemory)
			dev, err := d.Open(0)
			sim.call("simcuda_clear_faults")
			if (name == "cuDevicePrimaryCtxRetain" || name == "cuCtxGetStreamPriorityRange") && n == 2 {
				require.NoError(t, err)
				require.NoError(t, dev.Close())
				continue
			}
			require.Contains(t, requireCode(t, device.CodeOutOfMemory, err).Message, name)
			require.Nil(t, dev)
			sim.clean()
		}
	}
}
