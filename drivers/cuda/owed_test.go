package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// undoing lists driver calls that undo other calls or wait for them.
var undoing = []string{
	"cuMemUnmap", "cuMemRelease", "cuMemAddressFree", "cuStreamSynchronize", "cuMemFreeAsync", "cuMemHostUnregister",
}

// A call of a step fails, and so does every call of a function that would undo the step.
// The device keeps the calls that it still has to make as owed. Once the driver works
// again, the step succeeds and everything can be released.
func TestEveryCallFailsAndWhatWouldUndoItToo(t *testing.T) {
	sim, witness := newSimulator(t), open(t, 0)
	free, failed, step := freeBytes(t, witness), 0, devicetest.Step()
	live := func(what string, arm func()) {
		o := open(t, 0)
		try := func(step string, call func() error) {
			arm()
			err := call()
			sim.call("simcuda_clear_faults")
			if err != nil {
				failed++
				require.NoError(t, call(), "%s: %s, again", what, step)
			}
		}
		all := steps(o)
		for _, one := range all {
			try(one.name, one.do)
		}
		for i := len(all) - 1; i >= 0; i-- {
			try("undo "+all[i].name, all[i].undo)
		}
		require.Empty(t, sim.text("simcuda_violations"), what)
		require.NoError(t, o.Close(), what)
		require.Empty(t, o.ctx.owed.calls, what)
		require.Zero(t, o.driver.pages.UsedBytes(), what)
		require.Equal(t, free, freeBytes(t, witness), what)
	}
	table := new(api).table()
	before := make([]int, len(table))
	for i := range table {
		before[i] = sim.calls(table[i].Name)
	}
	live("nothing fails", func() {})
	for i := range table {
		before[i] = sim.calls(table[i].Name) - before[i]
	}
	for i, row := range table {
		for j, undo := range undoing {
			if before[i] == 0 || cannotFail[row.Name] || (i+j)%step != 0 {
				continue
			}
			n := 1 + (i+j)%3
			live(row.Name+" and "+undo, func() {
				sim.fault(row.Name, n, resultOutOfMemory)
				sim.fault(undo, 0, resultOperatingSystem)
			})
		}
	}
	require.Greater(t, failed, 500/step)
	require.NoError(t, witness.Close())
	sim.clean()
}

func freeBytes(t *testing.T, o *openDevice) uint64 {
	reading, err := o.Memory()
	require.NoError(t, err)
	return reading.FreeBytes
}

// The library has queued a fill with zeros, and the driver rejects every wait for it. Until
// a wait succeeds, the library unmaps, maps, frees and releases nothing, because the fill
// may still write.
func TestNothingHappensUnderZerosThatCannotBeWaitedFor(t *testing.T) {
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	space, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	require.NoError(t, o.Create(pages, size, device.BackingPrivate))
	mapped, idle := pages[:1], pages[1:]
	require.NoError(t, o.Map(space, mapped))
	for name, call := range map[string]func() error{
		"create": func() error { return o.Create(make([]device.Page, 1), size, device.BackingMovable) },
		"zero":   func() error { return o.Zero(idle) },
		"unmap":  func() error { return o.Unmap(space, size) },
		"fill":   func() error { return o.FillNow(addr, 7, size) },
	} {
		sim.fault("cuStreamSynchronize", 0, resultOperatingSystem)
		var before []int
		for i, one := range []func() error{
			call,
			func() error { return o.Unmap(space, size) },
			func() error { return o.Map(space+size, idle) },
			func() error { return o.Release(idle) },
			func() error { return o.Unreserve(space, 2*size) },
			func() error { return o.Free(addr, size) },
			func() error { return o.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, size) },
		} {
			if before == nil {
				before = changes(sim)
			}
			err := one()
			if device.CodeOf(err) == device.CodeBusy {
				continue
			}
			require.EqualValues(t, resultOperatingSystem, requireCode(t, device.CodeDevice, err).Native, "%s, %d", name, i)
		}
		require.Equal(t, before, changes(sim), name)
		sim.call("simcuda_clear_faults")
		require.NoError(t, o.FillNow(addr, 1, size))
		require.Empty(t, o.ctx.owed.calls, name)
	}
	require.NoError(t, o.Unmap(space, size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(space, 2*size))
	require.NoError(t, o.Free(addr, size))
	require.NoError(t, o.Close())
	sim.clean()
}

// changes counts the driver calls after which queued work could no longer use its memory.
func changes(sim simulator) (counts []int) {
	for _, name := range []string{"cuMemUnmap", "cuMemRelease", "cuMemAddressFree", "cuMemFree_v2"} {
		counts = append(counts, sim.calls(name))
	}
	return counts
}

// A mapping failed half-way and could not be undone. The library undoes it before the next
// call.
func TestMappingIsUndoneLater(t *testing.T) {
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	space, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	require.NoError(t, o.Create(pages, size, device.BackingMovable))
	sim.fault("cuMemMap", 2, resultOutOfMemory)
	sim.fault("cuMemUnmap", 0, resultOperatingSystem)
	requireCode(t, device.CodeOutOfMemory, o.Map(space, pages))
	require.Contains(t, requireCode(t, device.CodeDevice, o.Map(space, pages)).Message, "undoing an earlier call")
	requireCode(t, device.CodeDevice, o.Unreserve(space, 2*size))
	requireCode(t, device.CodeDevice, o.Release(pages))
	sim.call("simcuda_clear_faults")
	require.NoError(t, o.Map(space, pages))
	require.NoError(t, o.Unmap(space, 2*size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(space, 2*size))
	require.NoError(t, o.Close())
	sim.clean()
}

// A device with owed calls is lost. It can be closed, because a lost device owes nothing.
func TestLostDeviceOwesNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	pages := make([]device.Page, 2)
	require.NoError(t, o.Create(pages, size, device.BackingMovable))
	sim.fault("cuStreamSynchronize", 0, resultOperatingSystem)
	requireCode(t, device.CodeDevice, o.Zero(pages))
	requireCode(t, device.CodeDevice, o.Release(pages))
	sim.call("simcuda_clear_faults")
	sim.fault("cuStreamSynchronize", 1, resultIllegalAddress)
	require.NoError(t, o.Release(pages))
	_, err := o.Memory()
	requireCode(t, device.CodeDeviceLost, err)
	require.NoError(t, o.Close())
	require.Empty(t, o.ctx.owed.calls)
}

// The driver rejects calls while a device closes, and after an opening that failed. Nothing
// leaks.
func TestDeviceEndsWhileCallsFail(t *testing.T) {
	d, sim := testDriver(t), newSimulator(t)
	for _, name := range []string{
		"cuCtxPushCurrent_v2", "cuStreamSynchronize", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemPoolDestroy", "cuModuleUnload",
	} {
		o := open(t, 0)
		all := steps(o)
		for _, one := range all {
			require.NoError(t, one.do(), one.name)
		}
		for i := len(all) - 1; i >= 0; i-- {
			require.NoError(t, all[i].undo(), all[i].name)
		}
		before := sim.calls(name)
		for n := 1; n <= 5; n++ {
			sim.fault(name, n, resultOperatingSystem)
		}
		require.NoError(t, o.Close(), name)
		if name != "cuCtxPushCurrent_v2" { // this thread may have the context already
			require.Greater(t, sim.calls(name)-before, 5, name)
		}
		sim.call("simcuda_clear_faults")
		require.Empty(t, o.ctx.owed.calls, name)
		sim.clean()
	}
	// Opening creates a stream and then fails. Its first four changes of the context
	// succeed. The later ones fail, so the stream cannot be destroyed at once.
	sim.fault("cuStreamCreateWithPriority", 2, resultOutOfMemory)
	for n := 5; n <= 9; n++ {
		sim.fault("cuCtxPushCurrent_v2", n, resultOperatingSystem)
	}
	_, err := d.Open(0)
	requireCode(t, device.CodeOutOfMemory, err)
	sim.call("simcuda_clear_faults")
	sim.clean()
}
