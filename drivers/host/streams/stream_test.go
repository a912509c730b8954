package streams

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestCopiesAndFillsMoveTheBytes(t *testing.T) {
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

// TestMoveOverlapsLikeMemmove covers overlaps within the chunks and across them.
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
				require.NoError(t, s.Fill(addr, device.Pattern{Value: uint64(value), WidthBytes: width}, uint64(size)))
				require.NoError(t, s.Synchronize(device.Forever))
				for at := 0; at < size; at++ {
					// The test machines are little-endian.
					if want := byte(value >> (8 * (at % width))); memory[at] != want {
						t.Fatalf("width %d, count %d, value %#x: byte %d is %#x", width, count, value, at, memory[at])
					}
				}
				require.Equal(t, guard, memory[size:])
			}
		}
	}
}

func TestAWaitEndsAtCompletionOrTimeout(t *testing.T) {
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
	require.Empty(t, s.waiters, "a waiter that timed out leaves the list")
	g.open()
	require.NoError(t, s.Synchronize(time.Hour))
	require.True(t, idle())
	require.NoError(t, o.Synchronize(device.Forever))
}

// TestSynchronizeCoversOnlyWhatWasQueuedBefore: work that is queued later does not delay a
// thread that already waits.
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

func TestAPanicInAHostFunctionIsReportedAndTheStreamContinues(t *testing.T) {
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
	require.Equal(t, maxQueued+1, s.queue.count, "events without work between them share one mark")
	require.NoError(t, ends[0].Close())
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	for _, end := range ends[1:] {
		done, err := end.Done()
		require.NoError(t, err)
		require.True(t, done)
	}
	require.Nil(t, s.queue.first.next, "a large ring must not be kept")
	require.Zero(t, o.memory.uses.Load())
}

// TestEventsThatShareAMarkCloseSeparately tests that events which share a mark are closed
// separately, and that work between two marks keeps them separate.
func TestEventsThatShareAMarkCloseSeparately(t *testing.T) {
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
}

// The error of a function that can fail is a failure of queued work: the first one is returned once.
func TestHostWorkFails(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	broken := device.Errorf(device.CodeInvalidArgument, "test", "index 7 is out of range")
	ran := 0
	require.NoError(t, device.QueueHostWork(s, func() error { ran++; return nil }))
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, device.QueueHostWork(s, func() error { ran++; return broken }))
	require.NoError(t, device.QueueHostWork(s, func() error { ran++; return device.CodeBusy }))
	require.Equal(t, broken, s.Synchronize(device.Forever))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, 3, ran)
	requireCode(t, device.CodeNullPointer, device.QueueHostWork(s, nil), "function")
	// A stream without the capability runs the function.
	require.NoError(t, device.QueueHostWork(struct{ device.Stream }{s}, func() error { ran++; return broken }))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, 4, ran)
}
