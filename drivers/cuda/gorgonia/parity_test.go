//go:build gorgonia

package gorgonia

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/testdevice"
)

// The tests make the same requests to cu and to ferrum_mem on one context. They run on the
// simulated driver (scripts/gorgonia.sh) or on a real device.

// program is a program that uses cu. It has a stream, and a context that is current on its
// thread.
type program struct {
	of      cu.Device
	context cu.CUContext
	stream  cu.Stream
	dev     device.Device
}

func start(t *testing.T) *program {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	p := &program{}
	var err error
	p.of, err = cu.GetDevice(0)
	require.NoError(t, err)
	p.context, err = p.of.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	p.stream, err = cu.MakeStream(cu.NonBlocking)
	require.NoError(t, err)
	p.dev, err = Open(p.of, p.context)
	require.NoError(t, err)
	return p
}

// end destroys the objects of the program after its device was closed. It checks the
// simulated driver for leaks and violations.
func (p *program) end(t *testing.T) {
	require.NoError(t, p.stream.Destroy())
	require.NoError(t, p.context.Destroy())
	if simulator, is := testdevice.NewSimulator("libcuda.so.1"); is {
		require.Empty(t, simulator.Leaks())
		require.Empty(t, simulator.Violations())
	}
}

func (p *program) adopt(t *testing.T) device.Stream {
	s, err := AdoptStream(p.dev, p.stream)
	require.NoError(t, err)
	return s
}

// bytesOf copies size bytes from the device with cu.
func bytesOf(t *testing.T, addr device.Addr, size int) []byte {
	got := make([]byte, size)
	require.NoError(t, cu.MemcpyDtoH(unsafe.Pointer(&got[0]), Pointer(addr), int64(size)))
	return got
}

func TestBothSeeTheSameDevice(t *testing.T) {
	p := start(t)
	info := p.dev.Info()
	name, err := p.of.Name()
	require.NoError(t, err)
	require.Equal(t, string(bytes.TrimRight([]byte(name), "\x00")), info.Name)
	total, err := p.of.TotalMem()
	require.NoError(t, err)
	require.EqualValues(t, total, info.TotalBytes)
	uuid, err := p.of.UUID()
	require.NoError(t, err)
	identity, err := cuda.New(cuda.Config{}).Identity(info.ID.Index)
	require.NoError(t, err)
	require.Equal(t, "GPU-"+uuid.String(), identity.UUID)
	count, err := cu.NumDevices()
	require.NoError(t, err)
	infos, err := cuda.New(cuda.Config{}).Devices()
	require.NoError(t, err)
	require.Len(t, infos, count)
	least, greatest, err := cu.StreamPriorityRange()
	require.NoError(t, err)
	prioritised := p.dev.(interface{ StreamPriorities() (int, int, error) })
	ourLeast, ourGreatest, err := prioritised.StreamPriorities()
	require.NoError(t, err)
	require.Equal(t, []int{least, greatest}, []int{ourLeast, ourGreatest})

	before, err := p.dev.Memory()
	require.NoError(t, err)
	taken, err := cu.MemAlloc(32 << 20)
	require.NoError(t, err)
	after, err := p.dev.Memory()
	require.NoError(t, err)
	require.GreaterOrEqual(t, before.FreeBytes-after.FreeBytes, uint64(32<<20), "memory that cu allocates is counted as used")
	free, all, err := cu.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, after, device.MemoryReading{TotalBytes: uint64(all), FreeBytes: uint64(free)})
	require.NoError(t, cu.MemFree(taken))
	require.NoError(t, p.dev.Close())
	p.end(t)
}

// cu reads what ferrum_mem writes, and the reverse, in the order of cu's stream.
func TestPoolsServeProgramsOnCu(t *testing.T) {
	p := start(t)
	s := p.adopt(t)
	e := engine.New(p.dev, engine.Options{})
	c := pool.DefaultConfig()
	c.Paging = pool.PagingOff
	blocks, err := pool.New(e, c)
	require.NoError(t, err)
	const size = 1 << 20
	for round := range 8 {
		block, err := blocks.Alloc(pool.Request{SizeBytes: size, Stream: s})
		require.NoError(t, err)
		what := []byte(fmt.Sprintf("round %d of a program on cu", round))
		require.NoError(t, cu.MemsetD8Async(Pointer(block.Addr), byte(round), size, p.stream))
		require.NoError(t, cu.MemcpyHtoDAsync(Pointer(block.Addr)+4096, unsafe.Pointer(&what[0]), int64(len(what)), p.stream))
		require.NoError(t, s.Copy(block.Addr+8192, block.Addr+4096, uint64(len(what))))
		require.NoError(t, s.Fill(block.Addr+16384, device.Pattern{Value: 0xabcd, WidthBytes: 2}, 64))
		require.NoError(t, p.stream.Synchronize())
		require.Equal(t, bytes.Repeat([]byte{byte(round)}, 4096), bytesOf(t, block.Addr, 4096))
		require.Equal(t, what, bytesOf(t, block.Addr+8192, len(what)))
		require.Equal(t, bytes.Repeat([]byte{0xcd, 0xab}, 32), bytesOf(t, block.Addr+16384, 64))
		base, length, err := rangeOf(block.Addr)
		require.NoError(t, err)
		require.True(t, base <= block.Addr && uint64(block.Addr-base)+size <= length, "cu knows the segment that it lies in")
		require.NoError(t, blocks.Free(block.Addr, s))
	}
	require.NoError(t, blocks.Close(false))
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	require.NoError(t, p.stream.Query(), "the stream is the program's still")
	p.end(t)
}

func rangeOf(addr device.Addr) (device.Addr, uint64, error) {
	size, base, err := Pointer(addr).AddressRange()
	return device.Addr(base), uint64(size), err
}

// The adapter accepts memory of cu and the default stream. It restores the state of the
// thread.
func TestMemoryAndDefaultStreamOfCu(t *testing.T) {
	p := start(t)
	addr, err := cu.MemAlloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, cu.MemsetD8(addr, 7, 1<<20))
	require.NoError(t, cu.Synchronize())
	adopter := p.dev.(device.Adopter)
	require.NoError(t, adopter.Adopt(device.Addr(addr), 1<<20, device.AccessReadWrite, device.Alone))
	s, err := AdoptStream(p.dev, cu.Stream{})
	require.NoError(t, err)
	require.NoError(t, s.Fill(device.Addr(addr)+1, device.Pattern{Value: 9, WidthBytes: 1}, 1))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, []byte{7, 9, 7}, bytesOf(t, device.Addr(addr), 3))
	require.NoError(t, s.Close())
	require.NoError(t, adopter.Disown(device.Addr(addr), 1<<20, device.Alone))
	current, err := cu.CurrentContext()
	require.NoError(t, err)
	require.Equal(t, p.context, current)
	require.NoError(t, cu.MemFree(addr))
	require.NoError(t, p.dev.Close())
	p.end(t)
}

func TestAdapterRejectsBadInput(t *testing.T) {
	p := start(t)
	_, err := Open(p.of, cu.CUContext{})
	require.ErrorIs(t, err, device.CodeNullPointer)
	_, err = Open(cu.Device(99), p.context)
	require.ErrorIs(t, err, device.CodeDeviceNotFound)
	_, err = Open(cu.CPU, p.context)
	require.ErrorIs(t, err, device.CodeDeviceNotFound)
	other, err := p.of.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	foreign, err := cu.MakeStream(cu.NonBlocking)
	require.NoError(t, err)
	_, err = AdoptStream(p.dev, foreign)
	require.ErrorIs(t, err, device.CodeInvalidArgument, "a stream of another context")
	require.NoError(t, foreign.Destroy())
	require.NoError(t, other.Destroy())
	require.NoError(t, cu.SetCurrentContext(p.context))
	require.NoError(t, p.dev.Close())
	p.end(t)
}
