package cuda

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// besideCapture holds the arguments for the methods while a stream of the program captures.
type besideCapture struct {
	t      *testing.T
	driver *Driver
	o, far *openDevice
	p      *program
	// joined is a stream of the device that takes part in the capture. quiet takes no part.
	joined, quiet *stream
	// The library recorded edge in the capture. The program recorded outside in the
	// capture. before and adopted were recorded before the capture.
	edge, before, outside, adopted device.Event
	natives                        []uintptr
	again                          []device.Stream

	addr, elsewhere, space, ordered device.Addr
	pinned, managed, locked         device.PinnedMemory
	host                            []byte
	pages                           []device.Page
	module                          device.Module
	kernel                          device.Kernel
}

const everyBytes = 2 << 20

func newBesideCapture(t *testing.T, mode int) *besideCapture {
	b := &besideCapture{t: t, driver: testDriver(t), host: make([]byte, everyBytes)}
	must := func(err error) { t.Helper(); require.NoError(t, err) }
	for index, to := range []**openDevice{&b.o, &b.far} {
		d, err := b.driver.Open(index)
		must(err)
		*to = d.(*openDevice)
	}
	b.p = newProgram(t, b.o)
	var err error
	b.addr, err = b.o.Alloc(everyBytes)
	must(err)
	b.elsewhere, err = b.far.Alloc(everyBytes)
	must(err)
	b.managed, err = b.o.AllocManaged(everyBytes)
	must(err)
	b.locked, err = b.o.AllocPinned(64 << 10)
	must(err)
	b.module, err = b.o.Compile(firstOtherText)
	must(err)
	b.kernel, err = b.module.Kernel(firstOtherName)
	must(err)
	for _, s := range []**stream{&b.joined, &b.quiet} {
		made, err := b.o.NewStream()
		must(err)
		*s = made.(*stream)
	}
	b.before, err = b.p.stream.(device.TimedStream).RecordTimedEvent()
	must(err)
	b.natives = append(b.natives, b.p.ownEvent())
	b.adopted, err = b.o.AdoptEvent(uint64(b.natives[0]))
	must(err)
	b.p.beginCapture(mode)
	b.natives = append(b.natives, b.p.ownEvent())
	b.outside, err = b.o.AdoptEvent(uint64(b.natives[1]))
	must(err)
	b.edge, err = b.p.stream.(device.TimedStream).RecordTimedEvent()
	must(err)
	must(b.joined.WaitEvent(b.edge))
	return b
}

func (b *besideCapture) end() {
	b.p.rejoin(b.joined)
	b.p.sim.must("cuGraphExecDestroy", b.p.endCapture())
	for _, e := range []device.Event{b.edge, b.before, b.outside, b.adopted} {
		require.NoError(b.t, e.Close())
	}
	for _, native := range b.natives {
		b.p.sim.must("cuEventDestroy_v2", native)
	}
	for _, s := range b.again {
		require.NoError(b.t, s.Close())
	}
	require.NoError(b.t, b.module.Close())
	require.NoError(b.t, b.joined.Close())
	require.NoError(b.t, b.quiet.Close())
	require.NoError(b.t, b.o.Free(b.addr, everyBytes))
	require.NoError(b.t, b.far.Free(b.elsewhere, everyBytes))
	require.NoError(b.t, b.o.FreeManaged(b.managed.Addr, everyBytes))
	require.NoError(b.t, b.o.FreePinned(b.locked.Addr, 64<<10))
	b.p.close()
	require.NoError(b.t, b.far.Close())
	require.NoError(b.t, b.o.Close())
	require.Empty(b.t, b.p.sim.text("simcuda_leaks"))
}

// attempt is one call of a method, and its expected result during a capture.
type attempt struct {
	method string
	want   device.Code
	do     func(b *besideCapture) error
}

const (
	done    = device.CodeOK
	refused = device.CodeInvalidState
)

// second returns only the error of a call.
func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// everyAttempt returns calls of every method that a caller can reach, with arguments inside
// and outside the capture.
func everyAttempt() []attempt {
	return slices.Concat(driverAttempts(), deviceAttempts(), memoryAttempts(), pageAttempts(), streamAttempts(), eventAttempts())
}

func driverAttempts() []attempt {
	return []attempt{
		{"Driver.Backend", done, func(b *besideCapture) error { b.driver.Backend(); return nil }},
		{"Driver.Devices", done, func(b *besideCapture) error { return second(b.driver.Devices()) }},
		{"Driver.Find", device.CodeDeviceNotFound, func(b *besideCapture) error { return second(b.driver.Find("none")) }},
		{"Driver.Identity", done, func(b *besideCapture) error { return second(b.driver.Identity(0)) }},
		{"Driver.Open", done, func(b *besideCapture) error {
			d, err := b.driver.Open(1)
			require.NoError(b.t, err)
			return d.Close()
		}},
		{"Driver.OpenContext", done, func(b *besideCapture) error {
			d, err := b.driver.OpenContext(0, uint64(b.o.ctx.context))
			require.NoError(b.t, err)
			return d.Close()
		}},
		{"Driver.Probe", done, func(b *besideCapture) error { return b.driver.Probe() }},
		{"Driver.ReadMemory", done, func(b *besideCapture) error { return second(b.driver.ReadMemory(0)) }},
		{"module.Kernel", done, func(b *besideCapture) error { return second(b.module.Kernel(firstOtherName)) }},
		{"module.Close", done, func(b *besideCapture) error {
			made, err := b.o.Compile(firstOtherText)
			require.NoError(b.t, err)
			return made.Close()
		}},
		{"kernel.Limits", done, func(b *besideCapture) error { b.kernel.Limits(); return nil }},
		{"kernel.Launch", done, func(b *besideCapture) error {
			return b.kernel.Launch(b.joined, firstOther(b.addr, 64, 3, b.addr+4096))
		}},
		{"kernel.Launch", done, func(b *besideCapture) error {
			return b.kernel.Launch(b.quiet, firstOther(b.addr, 64, 3, b.addr+4096))
		}},
	}
}

func deviceAttempts() []attempt {
	return []attempt{
		{"openDevice.AdoptEvent", done, func(b *besideCapture) error {
			e, err := b.o.AdoptEvent(uint64(b.natives[1]))
			require.NoError(b.t, err)
			return e.Close()
		}},
		{"openDevice.AdoptStream", done, func(b *besideCapture) error {
			again, err := b.o.AdoptStream(device.ForeignStream{Native: uint64(b.p.handle)})
			require.NoError(b.t, err)
			b.again = append(b.again, again)
			var native uintptr
			b.p.sim.must("cuStreamCreate", dl.Pointer(&native), streamNonBlocking)
			s, err := b.o.AdoptStream(device.ForeignStream{Native: uint64(native)})
			require.NoError(b.t, err)
			require.NoError(b.t, s.Close())
			b.p.sim.must("cuStreamDestroy_v2", native)
			return nil
		}},
		{"openDevice.CanCopyFrom", done, func(b *besideCapture) error { b.o.CanCopyFrom(b.far); return nil }},
		{"openDevice.Close", device.CodeBusy, func(b *besideCapture) error { return b.o.Close() }},
		{"openDevice.Compile", done, func(b *besideCapture) error {
			made, err := b.o.Compile(firstOtherText)
			require.NoError(b.t, err)
			return made.Close()
		}},
		{"openDevice.CopyFromPeer", done, func(b *besideCapture) error {
			return b.o.CopyFromPeer(b.joined, b.addr, b.far, b.elsewhere, 4096)
		}},
		{"openDevice.CopyFromPeer", done, func(b *besideCapture) error {
			return b.o.CopyFromPeer(b.quiet, b.addr, b.far, b.elsewhere, 4096)
		}},
		{"openDevice.DefaultStream", done, func(b *besideCapture) error { b.o.DefaultStream(); return nil }},
		{"openDevice.GrantPeer", done, func(b *besideCapture) error { return b.far.GrantPeer(b.o) }},
		{"openDevice.Granularity", done, func(b *besideCapture) error { b.o.Granularity(); return nil }},
		{"openDevice.Info", done, func(b *besideCapture) error { b.o.Info(); return nil }},
		{"openDevice.Memory", done, func(b *besideCapture) error { return second(b.o.Memory()) }},
		{"openDevice.NativeHandle", done, func(b *besideCapture) error { return second(b.o.NativeHandle()) }},
		{"openDevice.NewStream", done, func(b *besideCapture) error {
			s, err := b.o.NewStream()
			require.NoError(b.t, err)
			return s.Close()
		}},
		{"openDevice.NewPriorityStream", done, func(b *besideCapture) error {
			s, err := b.o.NewPriorityStream(0)
			require.NoError(b.t, err)
			return s.Close()
		}},
		{"openDevice.StreamPriorities", done, func(b *besideCapture) error { return third(b.o.StreamPriorities()) }},
		{"openDevice.Synchronize", refused, func(b *besideCapture) error {
			require.NoError(b.t, b.quiet.Synchronize(device.Forever))
			return b.o.Synchronize(0)
		}},
		{"openDevice.Synchronize", refused, func(b *besideCapture) error { return b.o.Synchronize(time.Hour) }},
		{"openDevice.Synchronize", refused, func(b *besideCapture) error { return b.o.Synchronize(device.Forever) }},
		{"openDevice.Synchronize", done, func(b *besideCapture) error { return b.far.Synchronize(device.Forever) }},
		{"openDevice.ShareEvent", refused, func(b *besideCapture) error { return third(b.o.ShareEvent(b.joined)) }},
		{"openDevice.ShareEvent", done, func(b *besideCapture) error {
			e, _, err := b.o.ShareEvent(b.quiet)
			return closed(e, err)
		}},
		{"openDevice.OpenSharedEvent", device.CodeInvalidArgument, func(b *besideCapture) error {
			return second(b.o.OpenSharedEvent(device.ProcessHandle{1}))
		}},
	}
}

func memoryAttempts() []attempt {
	return []attempt{
		{"openDevice.Alloc", done, func(b *besideCapture) (err error) { b.space, err = b.o.Alloc(everyBytes); return err }},
		{"openDevice.ShareMemory", done, func(b *besideCapture) error { return second(b.o.ShareMemory(b.space, everyBytes)) }},
		{"openDevice.OpenShared", device.CodeInvalidArgument, func(b *besideCapture) error {
			return second(b.o.OpenShared(device.SharedMemory{SizeBytes: 1}))
		}},
		{"openDevice.CloseShared", device.CodeInvalidAddress, func(b *besideCapture) error { return b.o.CloseShared(b.space, 1) }},
		{"openDevice.FillNow", done, func(b *besideCapture) error { return b.o.FillNow(b.space, 3, everyBytes) }},
		{"openDevice.FirstOther", done, func(b *besideCapture) error { return third(b.o.FirstOther(b.space, 3, everyBytes)) }},
		{"openDevice.Free", done, func(b *besideCapture) error { return b.o.Free(b.space, everyBytes) }},
		{"openDevice.Adopt", done, func(b *besideCapture) error {
			b.p.sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&[]int32{captureRelaxed}[0]))
			b.p.sim.must("cuMemAlloc_v2", dl.Pointer(&b.ordered), everyBytes)
			b.p.sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&[]int32{captureGlobal}[0]))
			return b.o.Adopt(b.ordered, everyBytes, device.AccessReadWrite, device.Alone)
		}},
		{"openDevice.Disown", done, func(b *besideCapture) error {
			err := b.o.Disown(b.ordered, everyBytes, device.Alone)
			b.p.sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&[]int32{captureRelaxed}[0]))
			b.p.sim.must("cuMemFree_v2", uintptr(b.ordered))
			b.p.sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&[]int32{captureGlobal}[0]))
			return err
		}},
		{"openDevice.AllocOrdered", done, func(b *besideCapture) (err error) { b.ordered, err = b.o.AllocOrdered(everyBytes); return err }},
		{"openDevice.FreeOrdered", done, func(b *besideCapture) error { return b.o.FreeOrdered(b.ordered, everyBytes) }},
		{"openDevice.AllocPinned", done, func(b *besideCapture) (err error) { b.pinned, err = b.o.AllocPinned(64 << 10); return err }},
		{"openDevice.FreePinned", done, func(b *besideCapture) error { return b.o.FreePinned(b.pinned.Addr, 64<<10) }},
		{"openDevice.AllocPinned", done, func(b *besideCapture) (err error) { b.pinned, err = b.o.AllocPinned(everyBytes); return err }},
		{"openDevice.FreePinned", done, func(b *besideCapture) error { return b.o.FreePinned(b.pinned.Addr, everyBytes) }},
		{"openDevice.AllocManaged", done, func(b *besideCapture) (err error) { b.pinned, err = b.o.AllocManaged(everyBytes); return err }},
		{"openDevice.Advise", done, func(b *besideCapture) error {
			return b.o.Advise(b.pinned.Addr, 4096, device.Advice{ReadMostly: true})
		}},
		{"openDevice.FreeManaged", done, func(b *besideCapture) error { return b.o.FreeManaged(b.pinned.Addr, everyBytes) }},
		{"openDevice.Prefetch", refused, func(b *besideCapture) error { return b.o.Prefetch(b.joined, b.managed.Addr, 4096, b.o) }},
		{"openDevice.Prefetch", done, func(b *besideCapture) error { return b.o.Prefetch(b.quiet, b.managed.Addr, 4096, b.o) }},
		{"openDevice.Register", done, func(b *besideCapture) (err error) {
			b.space, err = b.o.Register(device.HostAddr(dl.Pointer(&b.host[0])), everyBytes, device.AccessReadWrite)
			return err
		}},
		{"openDevice.Unregister", done, func(b *besideCapture) error { return b.o.Unregister(b.space, everyBytes) }},
		{"openDevice.Link", done, func(b *besideCapture) error { return second(b.o.Link(b.far, b.elsewhere, everyBytes)) }},
		{"openDevice.Unlink", done, func(b *besideCapture) error { return b.o.Unlink(b.elsewhere, everyBytes) }},
	}
}

func pageAttempts() []attempt {
	return []attempt{
		{"openDevice.Reserve", done, func(b *besideCapture) (err error) { b.space, err = b.o.Reserve(everyBytes, everyBytes); return err }},
		{"openDevice.Create", done, func(b *besideCapture) error {
			b.pages = make([]device.Page, 1, 2)
			return b.o.Create(b.pages, everyBytes, device.BackingShareable)
		}},
		{"openDevice.CreateUnfilled", done, func(b *besideCapture) error {
			b.pages = append(b.pages, 0)
			return b.o.CreateUnfilled(b.pages[1:], everyBytes, device.BackingPrivate)
		}},
		{"openDevice.ExportPage", done, func(b *besideCapture) error {
			fd, err := b.o.ExportPage(b.pages[0])
			require.NoError(b.t, err)
			page, err := b.o.ImportPage(fd, everyBytes)
			require.NoError(b.t, err)
			b.pages = append(b.pages, page)
			return closeDescriptor(fd)
		}},
		{"openDevice.ImportPage", device.CodeInvalidArgument, func(b *besideCapture) error { return second(b.o.ImportPage(-1, everyBytes)) }},
		{"openDevice.ExportFabricPage", done, func(b *besideCapture) error {
			pages := make([]device.Page, 1)
			require.NoError(b.t, b.o.Create(pages, everyBytes, device.BackingFabric))
			handle, err := b.o.ExportFabricPage(pages[0])
			require.NoError(b.t, err)
			page, err := b.o.ImportFabricPage(handle, everyBytes)
			require.NoError(b.t, err)
			return b.o.Release(append(pages, page))
		}},
		{"openDevice.ImportFabricPage", device.CodeInvalidArgument, func(b *besideCapture) error {
			return second(b.o.ImportFabricPage(device.FabricHandle{}, everyBytes))
		}},
		{"openDevice.Map", done, func(b *besideCapture) error { return b.o.Map(b.space, b.pages[:1]) }},
		{"openDevice.SetAccess", done, func(b *besideCapture) error {
			return b.o.SetAccess(b.space, everyBytes, device.AccessReadWrite)
		}},
		{"openDevice.Resident", done, func(b *besideCapture) error { return second(b.o.Resident(b.space, everyBytes)) }},
		{"openDevice.Unmap", done, func(b *besideCapture) error { return b.o.Unmap(b.space, everyBytes) }},
		{"openDevice.Zero", done, func(b *besideCapture) error { return b.o.Zero(b.pages[:1]) }},
		{"openDevice.Release", done, func(b *besideCapture) error { return b.o.Release(b.pages) }},
		{"openDevice.Unreserve", done, func(b *besideCapture) error { return b.o.Unreserve(b.space, everyBytes) }},
	}
}

func streamAttempts() []attempt {
	host := func(b *besideCapture) device.HostAddr { return device.HostAddr(dl.Pointer(&b.host[0])) }
	var all []attempt
	for _, joined := range []bool{true, false} {
		of := func(b *besideCapture) *stream {
			if joined {
				return b.joined
			}
			return b.quiet
		}
		asked := done
		if joined {
			asked = refused
		}
		all = append(all, []attempt{
			{"stream.MayCapture", done, func(b *besideCapture) error { of(b).MayCapture(); return nil }},
			{"stream.Capture", done, func(b *besideCapture) error { return second(of(b).Capture()) }},
			{"stream.Copy", done, func(b *besideCapture) error { return of(b).Copy(b.addr, b.addr+4096, 4096) }},
			{"stream.Copy", done, func(b *besideCapture) error { return of(b).Copy(b.addr, b.addr+1, 4096) }},
			{"stream.CopyBatch", done, func(b *besideCapture) error {
				return of(b).CopyBatch([]device.Move{{Dst: b.addr, Src: b.addr + 4096, SizeBytes: 4096}})
			}},
			{"stream.CopyFromHost", asked, func(b *besideCapture) error { return of(b).CopyFromHost(b.addr, host(b), 4096) }},
			{"stream.CopyToHost", asked, func(b *besideCapture) error { return of(b).CopyToHost(host(b), b.addr, 4096) }},
			{"stream.CopyFromHost", done, func(b *besideCapture) error { return of(b).CopyFromHost(b.addr, b.locked.HostAddr, 4096) }},
			{"stream.CopyToHost", done, func(b *besideCapture) error { return of(b).CopyToHost(b.locked.HostAddr, b.addr, 64<<10) }},
			{"stream.Fill", done, func(b *besideCapture) error { return of(b).Fill(b.addr, device.Pattern{WidthBytes: 1}, 4096) }},
			{"stream.InContext", done, func(b *besideCapture) error { return of(b).InContext(func() error { return nil }) }},
			{"stream.HostFunction", asked, func(b *besideCapture) error { return of(b).HostFunction(func() {}) }},
			{"stream.NativeHandle", done, func(b *besideCapture) error { return second(of(b).NativeHandle()) }},
			{"stream.RecordEvent", done, func(b *besideCapture) error { return closed(of(b).RecordEvent()) }},
			{"stream.RecordTimedEvent", done, func(b *besideCapture) error { return closed(of(b).RecordTimedEvent()) }},
			{"stream.WaitEvent", asked, func(b *besideCapture) error { return of(b).WaitEvent(b.before) }},
			{"stream.Synchronize", asked, func(b *besideCapture) error { return of(b).Synchronize(device.Forever) }},
			{"stream.Synchronize", asked, func(b *besideCapture) error { return of(b).Synchronize(time.Hour) }},
			{"stream.Synchronize", asked, func(b *besideCapture) error { return of(b).Synchronize(0) }},
			{"stream.TakesForeignWork", done, func(b *besideCapture) error { _ = of(b).TakesForeignWork(); return nil }},
			{"stream.Idle", asked, func(b *besideCapture) error { return second(of(b).Idle()) }},
		}...)
	}
	return append(all, []attempt{
		{"stream.WaitEvent", done, func(b *besideCapture) error { return b.joined.WaitEvent(b.edge) }},
		{"stream.WaitEvent", done, func(b *besideCapture) error { return b.joined.WaitEvent(b.outside) }},
		{"stream.Close", refused, func(b *besideCapture) error { return b.joined.Close() }},
		{"stream.Close", refused, func(b *besideCapture) error { return b.p.stream.Close() }},
	}...)
}

func closed(e device.Event, err error) error {
	if err != nil {
		return err
	}
	return e.Close()
}

func eventAttempts() []attempt {
	all := []attempt{
		{"event.Close", done, func(b *besideCapture) error { return closed(b.joined.RecordEvent()) }},
		{"event.PassedAt", device.CodeUnsupported, func(b *besideCapture) error { return second(b.edge.PassedAt()) }},
		{"event.ElapsedSince", refused, func(b *besideCapture) error { return second(device.Elapsed(b.before, b.edge)) }},
		{"event.ElapsedSince", refused, func(b *besideCapture) error { return second(device.Elapsed(b.edge, b.before)) }},
		{"event.ElapsedSince", done, func(b *besideCapture) error { return second(device.Elapsed(b.before, b.before)) }},
		{"event.ElapsedSince", device.CodeInvalidArgument, func(b *besideCapture) error {
			return second(device.Elapsed(b.before, b.outside))
		}},
	}
	for _, one := range []struct {
		want device.Code
		of   func(b *besideCapture) device.Event
	}{
		{done, func(b *besideCapture) device.Event { return b.before }},
		{refused, func(b *besideCapture) device.Event { return b.edge }},
		{refused, func(b *besideCapture) device.Event { return b.outside }},
		// The library does not know that the program recorded this event before.
		{refused, func(b *besideCapture) device.Event { return b.adopted }},
	} {
		all = append(all, []attempt{
			{"event.Captured", done, func(b *besideCapture) error { one.of(b).(device.Edge).Captured(); return nil }},
			{"event.NativeHandle", done, func(b *besideCapture) error { return second(one.of(b).(device.Native).NativeHandle()) }},
			{"event.Done", one.want, func(b *besideCapture) error { return second(one.of(b).Done()) }},
			{"event.Synchronize", one.want, func(b *besideCapture) error { return one.of(b).Synchronize(device.Forever) }},
			{"event.Synchronize", one.want, func(b *besideCapture) error { return one.of(b).Synchronize(time.Hour) }},
			{"event.Synchronize", one.want, func(b *besideCapture) error { return one.of(b).Synchronize(0) }},
		}...)
	}
	return all
}

// No call of this package invalidates a capture. The test calls every method during a
// capture in each mode, with arguments inside and outside the capture.
func TestNoCallInvalidatesACapture(t *testing.T) {
	if !alone(t) {
		return
	}
	tried := map[string]bool{}
	for _, mode := range []int{captureGlobal, captureThreadLocal, captureRelaxed} {
		b := newBesideCapture(t, mode)
		for i, one := range everyAttempt() {
			tried[one.method] = true
			what := fmt.Sprintf("mode %d, attempt %d, %s", mode, i, one.method)
			err := one.do(b)
			require.Equal(t, one.want, device.CodeOf(err), "%s: %v", what, err)
			require.EqualValues(t, captureStands, b.p.captureStatus(), what)
			if one.want == done || one.want == refused {
				require.Empty(t, b.p.sim.text("simcuda_violations"), what)
			}
			b.p.sim.call("simcuda_clear_violations")
		}
		b.end()
	}
	for _, of := range []any{&Driver{}, &openDevice{}, &stream{}, &event{}, &module{}, &kernel{}} {
		kind := reflect.TypeOf(of)
		for i := range kind.NumMethod() {
			name := strings.TrimPrefix(kind.String(), "*cuda.") + "." + kind.Method(i).Name
			require.Contains(t, tried, name, "nobody has called it beside a capture")
		}
	}
}
