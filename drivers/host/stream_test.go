package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestCopiesAndFills(t *testing.T) {
	o := openOne(t)
	const size = 1 << 20
	addr := allocate(t, o, 2*size)
	hostAddr, host := hostBuffer(t, size)
	scramble(host, 1)
	want := append([]byte(nil), host...)
	s := newQueue(t, o)
	require.NoError(t, s.CopyFromHost(addr, hostAddr, size))
	require.NoError(t, s.Copy(addr+size, addr, size))
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 0x11223344, WidthBytes: 4}, size))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, want, view(addr+size, size))
	require.Equal(t, []byte{0x44, 0x33, 0x22, 0x11}, view(addr+size-4, 4))
	require.NoError(t, s.CopyToHost(hostAddr, addr, size))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, view(addr, size), host)
}

// TestMoveOverlapsLikeMemmove covers overlaps within and across the chunks.
func TestMoveOverlapsLikeMemmove(t *testing.T) {
	const size = 3*moveBytes + 12345
	o := openOne(t)
	const total = 26 << 20
	addr := allocate(t, o, total)
	memory := view(addr, total)
	s := newQueue(t, o)
	for _, distance := range []uint64{0, 1, 4096, moveBytes - 1, moveBytes, moveBytes + 1, total - size} {
		for _, forward := range []bool{true, false} {
			scramble(memory[:1<<16], distance)
			for at := 1 << 16; at < len(memory); at += 1 << 16 {
				copy(memory[at:at+1<<16], memory[at-1<<16+1:at])
			}
			dst, src := addr, addr+device.Addr(distance)
			if forward {
				dst, src = src, dst
			}
			want := append([]byte(nil), memory...)
			copy(want[dst-addr:], want[src-addr:][:size])
			require.NoError(t, s.Copy(dst, src, size))
			require.NoError(t, s.Synchronize(device.Forever))
			require.True(t, string(want) == string(memory), "distance %d, forward %v", distance, forward)
		}
	}
}

func TestFillPatternsAndSizes(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 16<<20)
	s := newQueue(t, o)
	for _, width := range []int{1, 2, 4} {
		for _, count := range []int{1, 2, 3, 5, 1000, patternBytes, patternBytes + 1, chunkBytes/4 + 3} {
			for _, value := range []uint32{0, 1, 0xa1b2c3d4} {
				value &= uint32(1<<(8*width) - 1)
				size := count * width
				memory := view(addr, uint64(size)+16)
				scramble(memory[size:], 3)
				guard := append([]byte(nil), memory[size:]...)
				require.NoError(t, s.Fill(addr, device.Pattern{Value: value, WidthBytes: width}, uint64(size)))
				require.NoError(t, s.Synchronize(device.Forever))
				for at := 0; at < size; at++ {
					// Little end first, as on the machines that this is tested on.
					if want := byte(value >> (8 * (at % width))); memory[at] != want {
						t.Fatalf("width %d, count %d, value %#x: byte %d is %#x", width, count, value, at, memory[at])
					}
				}
				require.Equal(t, guard, memory[size:])
			}
		}
	}
}

func TestBadOperationsAreRefusedAndChangeNothing(t *testing.T) {
	devices := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	o, other := devices[0], devices[1]
	addr, foreign := allocate(t, o, 64<<10), allocate(t, other, 64<<10)
	freed := allocate(t, o, 4<<20)
	require.NoError(t, o.Free(freed, 4<<20))
	host, _ := hostBuffer(t, 64<<10)
	s := newQueue(t, o)
	scramble(view(addr, 64<<10), 9)
	before := append([]byte(nil), view(addr, 64<<10)...)
	one := device.Pattern{WidthBytes: 1}
	const size, top = 64 << 10, 1<<64 - 1
	for name, c := range map[string]struct {
		code device.Code
		err  error
	}{
		"copy 0":             {device.CodeInvalidSize, s.Copy(addr, addr, 0)},
		"copy past end":      {device.CodeInvalidAddress, s.Copy(addr+1, addr, size)},
		"copy from past end": {device.CodeInvalidAddress, s.Copy(addr, addr+1, size)},
		"copy to freed":      {device.CodeInvalidAddress, s.Copy(freed, addr, 1)},
		"copy from freed":    {device.CodeInvalidAddress, s.Copy(addr, freed, 1)},
		"copy to 0":          {device.CodeInvalidAddress, s.Copy(0, addr, 1)},
		"copy from foreign":  {device.CodeInvalidAddress, s.Copy(addr, foreign, 1)},
		"copy huge":          {device.CodeOverflow, s.Copy(addr, addr, top)},
		"copy wraps":         {device.CodeOverflow, s.Copy(top, addr, 1)},
		"copy nearly wraps":  {device.CodeInvalidAddress, s.Copy(top-1, addr, 1)},
		"copy to Go memory":  {device.CodeInvalidAddress, s.Copy(device.Addr(host), addr, 1)},
		"in, 0":              {device.CodeInvalidSize, s.CopyFromHost(addr, host, 0)},
		"in, past end":       {device.CodeInvalidAddress, s.CopyFromHost(addr+1, host, size)},
		"in, null":           {device.CodeNullPointer, s.CopyFromHost(addr, 0, 1)},
		"in, wraps":          {device.CodeOverflow, s.CopyFromHost(addr, top-3, 8)},
		"out, 0":             {device.CodeInvalidSize, s.CopyToHost(host, addr, 0)},
		"out, past end":      {device.CodeInvalidAddress, s.CopyToHost(host, addr+size, 1)},
		"out, null":          {device.CodeNullPointer, s.CopyToHost(0, addr, 1)},
		"out, wraps":         {device.CodeOverflow, s.CopyToHost(top, addr, 8)},
		"fill 0":             {device.CodeInvalidSize, s.Fill(addr, one, 0)},
		"fill past end":      {device.CodeInvalidAddress, s.Fill(addr+size-1, one, 2)},
		"fill wraps":         {device.CodeOverflow, s.Fill(addr, one, top)},
		"fill odd size":      {device.CodeInvalidSize, s.Fill(addr, device.Pattern{WidthBytes: 4}, 6)},
		"fill odd address":   {device.CodeInvalidArgument, s.Fill(addr+1, device.Pattern{WidthBytes: 2}, 2)},
		"fill width 0":       {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{}, 4)},
		"fill width 3":       {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: 3}, 3)},
		"fill width -4":      {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: -4}, 4)},
		"fill width 8":       {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: 8}, 8)},
		"fill wide value":    {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{Value: 256, WidthBytes: 1}, 1)},
		"no function":        {device.CodeNullPointer, s.HostFunction(nil)},
		"no event":           {device.CodeNullPointer, s.WaitEvent(nil)},
		"null event":         {device.CodeUnsupported, s.WaitEvent((*event)(nil))},
		"other's event":      {device.CodeUnsupported, s.WaitEvent(struct{ device.Event }{})},
		"timeout":            {device.CodeInvalidArgument, s.Synchronize(-2)},
		"device timeout":     {device.CodeInvalidArgument, o.Synchronize(-2)},
		"peer, other stream": {device.CodeInvalidArgument, o.CopyFromPeer(other.DefaultStream(), addr, other, foreign, 1)},
		"peer, no stream":    {device.CodeInvalidArgument, o.CopyFromPeer(nil, addr, other, foreign, 1)},
		"peer, no device":    {device.CodeUnsupported, o.CopyFromPeer(s, addr, nil, foreign, 1)},
		"peer, wrong source": {device.CodeInvalidAddress, o.CopyFromPeer(s, addr, other, addr, 1)},
		"peer, wrong target": {device.CodeInvalidAddress, o.CopyFromPeer(s, foreign, other, foreign, 1)},
		"peer 0":             {device.CodeInvalidSize, o.CopyFromPeer(s, addr, other, foreign, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			requireCode(t, c.code, c.err)
			var typed *device.Error
			require.ErrorAs(t, c.err, &typed)
			require.NotEmpty(t, typed.Device)
		})
	}
	require.Zero(t, s.submitted.Load(), "nothing may have been queued")
	require.Nil(t, s.worker)
	require.Equal(t, before, view(addr, 64<<10))
	// No reference may be left behind by a refused operation.
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, other.Free(foreign, 64<<10))
}

func TestPeerCopies(t *testing.T) {
	devices := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	o, other := devices[0], devices[1]
	to, from := allocate(t, o, 4<<20), allocate(t, other, 4<<20)
	scramble(view(from, 4<<20), 5)
	require.True(t, o.CanCopyFrom(other))
	require.True(t, o.CanCopyFrom(o))
	require.False(t, o.CanCopyFrom(nil))
	s := newQueue(t, o)
	g := holdUp(t, s)
	require.NoError(t, o.CopyFromPeer(s, to, other, from, 4<<20))
	requireCode(t, device.CodeBusy, other.Free(from, 4<<20))
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, view(from, 4<<20), view(to, 4<<20))
	require.NoError(t, other.Free(from, 4<<20))
	require.NoError(t, other.Close())
	require.False(t, o.CanCopyFrom(other))
}

func TestASegmentInUseCannotBeFreed(t *testing.T) {
	o := openOne(t)
	a, b, unused := allocate(t, o, 64<<10), allocate(t, o, 64<<10), allocate(t, o, 64<<10)
	host, _ := hostBuffer(t, 64)
	s := newQueue(t, o)
	for _, queue := range []func() error{
		func() error { return s.Copy(a, b, 64) },
		func() error { return s.Copy(a, a+128, 64) },
		func() error { return s.Fill(a, device.Pattern{WidthBytes: 1}, 64) },
		func() error { return s.CopyFromHost(a, host, 64) },
		func() error { return s.CopyToHost(host, a, 64) },
	} {
		g := holdUp(t, s)
		require.NoError(t, queue())
		requireCode(t, device.CodeBusy, o.Free(a, 64<<10), "queued work")
		requireCode(t, device.CodeBusy, o.Close())
		g.open()
		require.NoError(t, s.Synchronize(device.Forever))
	}
	g := holdUp(t, s)
	require.NoError(t, s.Fill(a, device.Pattern{WidthBytes: 1}, 64))
	require.NoError(t, o.Free(unused, 64<<10))
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, o.Free(a, 64<<10))
	require.NoError(t, o.Free(b, 64<<10))
}

func TestWaitingAndAsking(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	idle := func() bool {
		ready, err := s.Idle()
		require.NoError(t, err)
		return ready
	}
	require.True(t, idle())
	require.NoError(t, s.Synchronize(0))
	g := holdUp(t, s)
	<-g.entered
	require.False(t, idle())
	requireCode(t, device.CodeTimeout, s.Synchronize(0), "stream 1", "cpu:0")
	requireCode(t, device.CodeTimeout, s.Synchronize(time.Nanosecond), "1ns")
	requireCode(t, device.CodeTimeout, o.Synchronize(0))
	requireCode(t, device.CodeTimeout, o.Synchronize(time.Nanosecond))
	require.Empty(t, s.waiters, "who gave up must not stay on the list")
	g.open()
	require.NoError(t, s.Synchronize(time.Hour))
	require.True(t, idle())
	require.NoError(t, o.Synchronize(device.Forever))
}

// TestSynchronizeCoversOnlyWhatWasQueuedBefore: work queued later does not hold
// up who waits already.
func TestSynchronizeCoversOnlyWhatWasQueuedBefore(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	first := holdUp(t, s)
	second := make(chan *barrier, 1)
	done := device.Go("test", func() {
		require.NoError(t, s.Synchronize(device.Forever))
	})
	for waiting := false; !waiting; runtime.Gosched() {
		s.mu.Lock()
		waiting = len(s.waiters) == 1
		s.mu.Unlock()
	}
	second <- holdUp(t, s)
	first.open()
	<-done
	g := <-second
	<-g.entered
	ready, err := s.Idle()
	require.NoError(t, err)
	require.False(t, ready)
	g.open()
}

func TestHostFunctionsRunInOrder(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	var ran []int
	for i := range 3000 { // enough to make the ring grow while its head is not at 0
		require.NoError(t, s.HostFunction(func() { ran = append(ran, i) }))
	}
	require.NoError(t, s.Synchronize(device.Forever))
	require.Len(t, ran, 3000)
	for i, value := range ran {
		require.Equal(t, i, value)
	}
}

func TestAHostFunctionMayUseTheDevice(t *testing.T) {
	o := openOne(t)
	s, other := newQueue(t, o), newQueue(t, o)
	addr := allocate(t, o, 64<<10)
	var inside []error
	require.NoError(t, s.HostFunction(func() {
		segment, err := o.Alloc(64 << 10)
		inside = append(inside, err, o.Free(segment, 64<<10), other.Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, 4),
			other.Synchronize(device.Forever), s.Fill(addr+4, device.Pattern{Value: 4, WidthBytes: 1}, 4))
		_, err = s.RecordEvent()
		inside = append(inside, err)
	}))
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, s.Synchronize(device.Forever))
	for _, err := range inside {
		require.NoError(t, err)
	}
	require.Equal(t, []byte{3, 3, 3, 3, 4, 4, 4, 4}, view(addr, 8))
}

func TestAHostFunctionCannotWaitForItself(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads can be told apart on Linux only")
	}
	o := openOne(t)
	s := newQueue(t, o)
	var inside []error
	require.NoError(t, s.HostFunction(func() {
		e, err := s.RecordEvent()
		inside = append(inside, s.Synchronize(device.Forever), s.Synchronize(0), o.Synchronize(device.Forever), s.Close())
		if err == nil {
			inside = append(inside, e.Synchronize(device.Forever))
		}
	}))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Len(t, inside, 5)
	for _, err := range inside {
		requireCode(t, device.CodeInvalidState, err, "host function")
	}
	var closing error
	require.NoError(t, o.DefaultStream().HostFunction(func() { closing = o.Close() }))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	requireCode(t, device.CodeInvalidState, closing)
}

func TestAPanicInAHostFunctionIsReportedAndTheStreamGoesOn(t *testing.T) {
	var name atomic.Value
	var value atomic.Value
	device.OnWorkerPanic(func(n string, v any, stack []byte) {
		name.Store(n)
		value.Store(v)
	})
	defer device.OnWorkerPanic(nil)
	o := openOne(t)
	addr := allocate(t, o, 64<<10)
	s := newQueue(t, o)
	require.NoError(t, s.HostFunction(func() { panic("broken") }))
	require.NoError(t, s.HostFunction(runtime.Goexit))
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, 1))
	requireCode(t, device.CodeInternal, s.Synchronize(device.Forever), "host function")
	require.Equal(t, "broken", value.Load())
	require.Contains(t, name.Load(), "cpu:0 stream 1")
	require.EqualValues(t, 1, view(addr, 1)[0])
	require.NoError(t, s.Synchronize(device.Forever), "a failure is returned once")
	require.Zero(t, s.hostThread.Load())
}

func TestTheQueueIsBounded(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	addr := allocate(t, o, 64<<10)
	g := holdUp(t, s)
	<-g.entered
	for range maxQueued {
		require.NoError(t, s.Fill(addr, device.Pattern{WidthBytes: 1}, 1))
	}
	requireCode(t, device.CodeResourceExhausted, s.Fill(addr, device.Pattern{WidthBytes: 1}, 1), "1048576")
	requireCode(t, device.CodeResourceExhausted, s.HostFunction(func() {}), "1048576")
	var ends []device.Event
	for range 1000 {
		end, err := s.RecordEvent()
		require.NoError(t, err, "memory is freed behind a full queue")
		ends = append(ends, end)
	}
	require.Equal(t, maxQueued+1, s.queue.count, "marks that nothing lies between are one")
	require.NoError(t, ends[0].Close())
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	for _, end := range ends[1:] {
		done, err := end.Done()
		require.NoError(t, err)
		require.True(t, done)
	}
	require.Nil(t, s.queue.first.next, "a large ring must not be kept")
	require.NoError(t, o.Free(addr, 64<<10))
}

// TestAMarkIsAnEventForEachWhoRecordsIt holds that events which share a mark are closed by
// themselves, and that work between two marks keeps them apart.
func TestAMarkIsAnEventForEachWhoRecordsIt(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	first := holdUp(t, s)
	<-first.entered
	a, err := s.RecordEvent()
	require.NoError(t, err)
	b, err := s.RecordEvent()
	require.NoError(t, err)
	second := holdUp(t, s)
	c, err := s.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, a.Close())
	requireCode(t, device.CodeInvalidState, a.Close())
	first.open()
	require.NoError(t, b.Synchronize(device.Forever))
	<-second.entered
	done, err := c.Done()
	require.NoError(t, err)
	require.False(t, done)
	second.open()
	require.NoError(t, c.Synchronize(device.Forever))
}
