package cuda

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/internal/dl"
)

// Copies and fills within a segment, overlapping copies included, have the same result as
// on a slice of bytes.
func TestCopiesAndFillsEqualSlices(t *testing.T) {
	o := open(t, 0)
	const size = 256 << 10
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	s, err := o.NewStream()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		require.NoError(t, s.CopyFromHost(addr, device.HostAddr(dl.Pointer(&want[0])), size))
		for range rapid.IntRange(1, 8).Draw(t, "operations") {
			n := rapid.SampledFrom([]int{1, 3, 64, 4096, 100 << 10, 200 << 10}).Draw(t, "bytes")
			dst := rapid.IntRange(0, size-n).Draw(t, "dst")
			if rapid.Bool().Draw(t, "fill") {
				width := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "width")
				dst, n = dst&^7, max(n&^7, 8)
				dst = min(dst, size-n)
				value := rapid.Uint64().Draw(t, "value") >> (64 - 8*width)
				require.NoError(t, s.Fill(addr+device.Addr(dst), device.Pattern{Value: value, WidthBytes: width}, uint64(n)))
				for i := range n {
					want[dst+i] = byte(value >> (8 * (i % width)))
				}
				continue
			}
			src := rapid.IntRange(0, size-n).Draw(t, "src")
			if rapid.Bool().Draw(t, "near") {
				src = min(max(dst+rapid.IntRange(-n, n).Draw(t, "by"), 0), size-n)
			}
			require.NoError(t, s.Copy(addr+device.Addr(dst), addr+device.Addr(src), uint64(n)))
			copy(want[dst:dst+n], want[src:src+n])
		}
		got := make([]byte, size)
		require.NoError(t, s.CopyToHost(device.HostAddr(dl.Pointer(&got[0])), addr, size))
		require.NoError(t, s.Synchronize(device.Forever))
		require.True(t, bytes.Equal(want, got))
	})
	require.NoError(t, s.Close())
	require.NoError(t, o.Free(addr, size))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

// Without stream-ordered memory the library splits an overlapping copy into parts, or
// returns CodeUnsupported.
func TestOverlappingCopiesWithoutPools(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=pools") {
		return
	}
	o := open(t, 0)
	addr, err := o.Alloc(1 << 20)
	require.NoError(t, err)
	s := o.DefaultStream()
	want := bytes.Repeat([]byte("0123456789abcdefg"), 1000)
	put(t, s, addr, want)
	require.NoError(t, s.Copy(addr+100, addr, 10000))
	require.NoError(t, s.Copy(addr+3, addr+7, 9000))
	copy(want[100:10100], want[:10000])
	copy(want[3:9003], want[7:9007])
	require.Equal(t, want, get(t, s, addr, len(want)))
	err = s.Copy(addr, addr+1, 1<<19)
	require.Contains(t, requireCode(t, device.CodeUnsupported, err).Message, "524288")
	require.NoError(t, o.Free(addr, 1<<20))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func TestErrorsNameTheWrongArgument(t *testing.T) {
	o := open(t, 0)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	s := o.DefaultStream()
	host := make([]byte, 16)
	at := device.HostAddr(dl.Pointer(&host[0]))
	one := device.Pattern{Value: 1, WidthBytes: 1}
	for _, c := range []struct {
		code  device.Code
		names string
		err   error
	}{
		{device.CodeInvalidSize, "size 0", s.Fill(addr, one, 0)},
		{device.CodeInvalidAddress, "size 65537", s.Fill(addr, one, 64<<10+1)},
		{device.CodeInvalidAddress, "0x10", s.Fill(16, one, 1)},
		{device.CodeOverflow, "size", s.Fill(addr, one, ^uint64(0))},
		{device.CodeInvalidArgument, "width 3", s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 3}, 3)},
		{device.CodeInvalidArgument, "0x100", s.Fill(addr, device.Pattern{Value: 256, WidthBytes: 1}, 3)},
		{device.CodeInvalidSize, "size 3", s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 2}, 3)},
		{device.CodeInvalidArgument, "pattern width 2", s.Fill(addr+1, device.Pattern{Value: 1, WidthBytes: 2}, 2)},
		{device.CodeInvalidAddress, "source", s.Copy(addr, 16, 8)},
		{device.CodeInvalidAddress, "destination", s.Copy(16, addr, 8)},
		{device.CodeNullPointer, "source", s.CopyFromHost(addr, 0, 8)},
		{device.CodeNullPointer, "destination", s.CopyToHost(0, addr, 8)},
		{device.CodeInvalidAddress, "destination", s.CopyFromHost(addr+64<<10, at, 8)},
		{device.CodeOverflow, "source", s.CopyFromHost(addr, ^device.HostAddr(3), 8)},
		{device.CodeNullPointer, "function", s.HostFunction(nil)},
		{device.CodeNullPointer, "event", s.WaitEvent(nil)},
		{device.CodeUnsupported, "another backend", s.WaitEvent(foreignEvent{})},
		{device.CodeInvalidArgument, "default stream", s.Close()},
		{device.CodeInvalidArgument, "timeout -2", s.Synchronize(-2)},
		{device.CodeInvalidArgument, "timeout -2", o.Synchronize(-2)},
		{device.CodeInvalidAddress, "size 4096", o.Free(addr, 4096)},
		{device.CodeInvalidAddress, "size 65536", o.FreePinned(addr, 64<<10)},
	} {
		require.Contains(t, requireCode(t, c.code, c.err).Message, c.names)
	}
	for _, size := range []uint64{0, 1, 64<<10 + 1} {
		_, err := o.Alloc(size)
		requireCode(t, device.CodeInvalidSize, err)
		_, err = o.AllocPinned(size)
		requireCode(t, device.CodeInvalidSize, err)
	}
	require.NoError(t, o.Free(addr, 64<<10))
	requireCode(t, device.CodeInvalidAddress, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	_, err = o.Alloc(64 << 10)
	requireCode(t, device.CodeInvalidState, err)
	_, err = o.Memory()
	requireCode(t, device.CodeInvalidState, err)
	_, err = o.NewStream()
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, s.Synchronize(device.Forever))
	newSimulator(t).clean()
}

type foreignEvent struct{ device.Event }

// blocked queues a host function that blocks the stream until the test calls release.
func blocked(t *testing.T, s device.Stream) (release func()) {
	gate, started := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.HostFunction(func() { close(started); <-gate }))
	<-started
	return sync.OnceFunc(func() { close(gate) })
}

func TestAWaitEndsAtItsTimeout(t *testing.T) {
	o := open(t, 0)
	s, err := o.NewStream()
	require.NoError(t, err)
	release := blocked(t, s)
	defer release()
	e, err := s.RecordEvent()
	require.NoError(t, err)
	for _, limit := range []time.Duration{0, time.Millisecond} {
		requireCode(t, device.CodeTimeout, s.Synchronize(limit))
		requireCode(t, device.CodeTimeout, e.Synchronize(limit))
		requireCode(t, device.CodeTimeout, o.Synchronize(limit))
	}
	idle, err := s.Idle()
	require.NoError(t, err)
	require.False(t, idle)
	done, err := e.Done()
	require.NoError(t, err)
	require.False(t, done)
	_, err = e.PassedAt()
	requireCode(t, device.CodeUnsupported, err)
	release()
	require.NoError(t, s.Synchronize(time.Hour))
	require.NoError(t, e.Synchronize(time.Hour))
	require.NoError(t, e.Close())
	requireCode(t, device.CodeInvalidState, e.Close())
	_, err = e.Done()
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, s.WaitEvent(e))
	require.NoError(t, s.Close())
	requireCode(t, device.CodeInvalidState, s.Close())
	requireCode(t, device.CodeInvalidState, s.HostFunction(func() {}))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

// An event orders the streams of two devices: the waiting work runs after the work that was
// queued before the event.
func TestAnEventOrdersStreamsOfTwoDevices(t *testing.T) {
	o, other := open(t, 0), open(t, 1)
	from, err := o.NewStream()
	require.NoError(t, err)
	to := other.DefaultStream()
	release := blocked(t, from)
	var order []string
	note := func(what string) func() { return func() { order = append(order, what) } }
	require.NoError(t, from.HostFunction(note("first")))
	e, err := from.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, to.WaitEvent(e))
	require.NoError(t, e.Close(), "a stream that waits still waits after the close")
	require.NoError(t, to.HostFunction(note("second")))
	requireCode(t, device.CodeTimeout, to.Synchronize(time.Millisecond))
	release()
	require.NoError(t, to.Synchronize(device.Forever))
	require.Equal(t, []string{"first", "second"}, order)
	// An event remains valid after its stream was closed, but not after its device was
	// closed.
	last, err := from.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, from.Close())
	require.NoError(t, last.Synchronize(device.Forever))
	require.NoError(t, o.Close())
	requireCode(t, device.CodeInvalidState, last.Synchronize(device.Forever))
	require.NoError(t, last.Close())
	require.NoError(t, other.Close())
	newSimulator(t).clean()
}

func TestHostFunctionsThatPanicOrCall(t *testing.T) {
	o := open(t, 0)
	s := o.DefaultStream()
	var reported any
	device.OnWorkerPanic(func(_ string, value any, _ []byte) { reported = value })
	defer device.OnWorkerPanic(nil)
	ran := false
	require.NoError(t, s.HostFunction(func() { panic("on purpose") }))
	require.NoError(t, s.HostFunction(func() { ran = true }))
	requireCode(t, device.CodeInternal, s.Synchronize(device.Forever))
	require.NoError(t, s.Synchronize(device.Forever), "a failure is reported once")
	require.True(t, ran)
	require.Equal(t, "on purpose", reported)

	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	var inside []error
	require.NoError(t, s.HostFunction(func() {
		_, allocated := o.Alloc(64 << 10)
		inside = []error{
			s.Synchronize(device.Forever), o.Free(addr, 64<<10), allocated, o.Close(), s.HostFunction(func() {}),
		}
	}))
	require.NoError(t, s.Synchronize(device.Forever))
	for _, err := range inside {
		if threadID() != 0 {
			requireCode(t, device.CodeInvalidState, err)
		}
	}
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func TestAStreamHasTheRequestedPriority(t *testing.T) {
	o := open(t, 0)
	least, greatest, err := o.StreamPriorities()
	require.NoError(t, err)
	require.Less(t, greatest, least)
	sim := newSimulator(t)
	for _, priority := range []int{least, greatest} {
		s, err := o.NewPriorityStream(priority)
		require.NoError(t, err)
		var got int32
		require.NoError(t, o.ctx.within("test", func() error {
			sim.must("cuStreamGetPriority", s.(*stream).handle, dl.Pointer(&got))
			return nil
		}))
		require.EqualValues(t, priority, got)
		require.NoError(t, s.Close())
	}
	for _, wrong := range []int{least + 1, greatest - 1} {
		_, err := o.NewPriorityStream(wrong)
		requireCode(t, device.CodeInvalidArgument, err)
	}
	require.NoError(t, o.Close())
	sim.clean()
}

func TestPinnedMemoryIsSeenByBothSides(t *testing.T) {
	o := open(t, 0)
	pinned, err := o.AllocPinned(64 << 10)
	require.NoError(t, err)
	at := hostBytes(pinned.HostAddr, 64<<10)
	copy(at, "seen by both")
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	s := o.DefaultStream()
	require.NoError(t, s.Copy(addr, pinned.Addr, 12))
	require.NoError(t, s.Fill(pinned.Addr, device.Pattern{Value: '*', WidthBytes: 1}, 4))
	require.Equal(t, "seen by both", string(get(t, s, addr, 12)))
	require.Equal(t, "**** by both", string(at[:12]))
	requireCode(t, device.CodeInvalidAddress, o.Free(pinned.Addr, 64<<10))
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.FreePinned(pinned.Addr, 64<<10))
	requireCode(t, device.CodeInvalidAddress, o.FreePinned(pinned.Addr, 64<<10))
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func TestPeerCopiesMoveTheBytes(t *testing.T) {
	d := testDriver(t)
	first, err := d.Open(0)
	require.NoError(t, err)
	second, err := d.Open(1)
	require.NoError(t, err)
	o, other := first.(*openDevice), second.(*openDevice)
	require.True(t, o.CanCopyFrom(other))
	require.True(t, o.CanCopyFrom(o))
	require.False(t, o.CanCopyFrom(foreignDevice{}))
	src, err := other.Alloc(64 << 10)
	require.NoError(t, err)
	dst, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	put(t, other.DefaultStream(), src, []byte("over there"))
	s := o.DefaultStream()
	require.NoError(t, o.CopyFromPeer(s, dst, other, src, 10))
	require.Equal(t, "over there", string(get(t, s, dst, 10)))
	require.NoError(t, o.CopyFromPeer(s, dst+100, o, dst, 10))
	require.Equal(t, "over there", string(get(t, s, dst+100, 10)))
	requireCode(t, device.CodeInvalidArgument, o.CopyFromPeer(other.DefaultStream(), dst, other, src, 10))
	requireCode(t, device.CodeUnsupported, o.CopyFromPeer(s, dst, foreignDevice{}, src, 10))
	requireCode(t, device.CodeInvalidAddress, o.CopyFromPeer(s, dst, other, 16, 10))
	requireCode(t, device.CodeInvalidAddress, o.CopyFromPeer(s, 16, other, src, 10))
	require.NoError(t, o.Free(dst, 64<<10))
	require.NoError(t, other.Free(src, 64<<10))
	require.NoError(t, other.Close())
	require.False(t, o.CanCopyFrom(other))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

type foreignDevice struct{ device.Device }

// Another process allocates memory between a query and an allocation. The allocation fails.
func TestMemoryOfAnotherProcessIsNotAvailable(t *testing.T) {
	o, sim := open(t, 1), newSimulator(t)
	before, err := o.Memory()
	require.NoError(t, err)
	sim.call("simcuda_others_take", 1, uintptr(before.FreeBytes-(1<<20)))
	defer sim.call("simcuda_others_take", 1, 0)
	_, err = o.Alloc(before.FreeBytes &^ 0xffff)
	failure := requireCode(t, device.CodeOutOfMemory, err)
	require.EqualValues(t, resultOutOfMemory, failure.Native)
	require.Contains(t, failure.Message, "cuMemAlloc_v2 gave CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)")
	assert.Nil(t, o.ctx.lost.Load())
	after, err := o.Memory()
	require.NoError(t, err)
	require.LessOrEqual(t, after.FreeBytes, uint64(1<<20))
	require.NoError(t, o.Close())
	sim.clean()
}

// TestHostFunctionsAreBounded tests a caller that queues host functions and never waits. It
// gets an error at the bound. The queued functions run, and later calls succeed again.
func TestHostFunctionsAreBounded(t *testing.T) {
	devicetest.SkipShortRace(t)
	o := open(t, 0)
	s, err := o.newStream("test", 0)
	require.NoError(t, err)
	other, err := o.newStream("test", 0)
	require.NoError(t, err)
	begun, release := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.HostFunction(func() { close(begun); <-release }))
	<-begun
	// The other entries only fill the table: the library bounds the table, not the queue of
	// the driver.
	const few = 3
	var others []uintptr
	for range device.MaxQueued - few {
		number, full := hostCalls.Queue(s, device.MaxQueued, func() {})
		require.False(t, full)
		others = append(others, number)
	}
	ran := 0
	for range few {
		require.NoError(t, s.HostFunction(func() { ran++ }))
	}
	err = s.HostFunction(func() { ran++ })
	requireCode(t, device.CodeResourceExhausted, err)
	require.ErrorContains(t, err, "1048576")
	require.NoError(t, other.HostFunction(func() {}), "each stream has its own bound")
	for _, number := range others {
		hostCalls.Drop(number)
	}
	close(release)
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, few, ran)
	require.Zero(t, hostCalls.Queued(s))
	require.NoError(t, s.HostFunction(func() { ran++ }))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, few+1, ran)
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	require.NoError(t, o.Close())
}
