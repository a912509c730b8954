package manager_test

import (
	"bytes"
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/drivers/testdevice"
)

// These tests run on a real backend, whose streams have their own threads: the host's,
// or that of a device.

func TestMain(m *testing.M) {
	os.Exit(testdevice.Main(m, map[string]string{
		"TestOnDeviceBlocksHaveAHostAddress": "the process cannot address memory of a device",
	}))
}

type realRig struct {
	factory *manager.Factory
	engines []*engine.Engine
	streams []*manager.StreamManager
}

func openReal(t require.TestingT, devices int) *realRig {
	r := &realRig{factory: manager.NewFactory()}
	for _, dev := range testdevice.OpenAll(t, devices, 64<<20) {
		e := engine.New(dev, engine.Options{})
		r.engines = append(r.engines, e)
		r.streams = append(r.streams, r.factory.CreateStreamManager(e))
	}
	return r
}

// pageBytes returns the page size for tests of small pools.
func (r *realRig) pageBytes() uint64 { return testdevice.PageBytes(r.engines[0].Device(), 64<<10) }

func (r *realRig) close(t require.TestingT) {
	for _, e := range r.engines {
		_, err := r.factory.CloseDevice(e, true)
		require.NoError(t, err)
		stats := e.Statistics()
		require.Zero(t, stats.Reserved.Current+stats.LiveBlocks.Current)
		require.NoError(t, e.Close())
	}
}

func (r *realRig) manager(t require.TestingT, index int, debug bool) *manager.Manager {
	c := manager.DefaultConfig()
	small := pool.DefaultConfig()
	small.InitialSizeBytes, small.GrowthIncrementBytes = 1<<20, 1<<20
	c.PoolConfigs[manager.General] = small
	c.EnableDebug = debug
	m, err := r.factory.CreateMemoryManager(r.engines[index], c)
	require.NoError(t, err)
	return m
}

// hostAddr returns the address of a slice's memory, which the caller keeps alive.
func hostAddr(b []byte) device.HostAddr {
	return device.HostAddr(reflect.ValueOf(b).Pointer())
}

func TestOnDeviceBlocksHaveAHostAddress(t *testing.T) {
	testdevice.HostOnly(t)
	r := openReal(t, 1)
	defer r.close(t)
	h, err := r.manager(t, 0, false).Alloc(100)
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, info.Addr, info.HostAddr)
	require.NotZero(t, info.HostAddr)
}

// model is the reference model of managers: byte arrays, changed by one call after the
// other.
type model struct {
	r        *realRig
	managers []*manager.Manager
	streams  []manager.StreamHandle
	blocks   []*modelBlock
}

type modelBlock struct {
	handle  manager.MemoryHandle
	device  int
	content []byte
	// defined states which bytes were written.
	defined []bool
	// lastUse is the stream of the last asynchronous use, if there was one.
	lastUse manager.StreamHandle
}

// order makes a stream wait for the work of other streams on the blocks, which is the
// caller's duty with asynchronous work.
func (m *model) order(t *rapid.T, on manager.StreamHandle, blocks ...*modelBlock) {
	for _, b := range blocks {
		if b.lastUse != 0 && b.lastUse != on {
			event, err := m.r.factory.RecordEvent(b.lastUse)
			require.NoError(t, err)
			require.NoError(t, m.r.factory.WaitEvent(on, event))
			require.NoError(t, m.r.factory.DestroyEvent(event))
		}
		b.lastUse = on
	}
}

func (m *model) pick(t *rapid.T, name string) *modelBlock {
	if len(m.blocks) == 0 {
		t.Skip("no block is live")
	}
	return m.blocks[rapid.IntRange(0, len(m.blocks)-1).Draw(t, name)]
}

func (b *modelBlock) draw(t *rapid.T, name string) (offset, size uint64) {
	offset = rapid.Uint64Range(0, uint64(len(b.content))-1).Draw(t, name+" offset")
	size = rapid.Uint64Range(1, uint64(len(b.content))-offset).Draw(t, name+" size")
	return offset, size
}

func (m *model) allocate(t *rapid.T) {
	index := rapid.IntRange(0, len(m.managers)-1).Draw(t, "device")
	size := rapid.Uint64Range(1, 5000).Draw(t, "size")
	align := uint64(1) << rapid.IntRange(0, 14).Draw(t, "align")
	h, err := m.managers[index].AllocTyped(manager.Request{SizeBytes: size, AlignmentBytes: align})
	require.NoError(t, err)
	info, err := m.r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Zero(t, uint64(info.Addr)%align)
	m.blocks = append(m.blocks, &modelBlock{
		handle: h, device: index, content: make([]byte, size), defined: make([]bool, size),
	})
}

func (m *model) deallocate(t *rapid.T) {
	b := m.pick(t, "block")
	require.NoError(t, m.r.factory.Free(b.handle))
	require.ErrorIs(t, m.r.factory.Free(b.handle), device.CodeInvalidHandle)
	for i, other := range m.blocks {
		if other == b {
			m.blocks = append(m.blocks[:i], m.blocks[i+1:]...)
			break
		}
	}
}

func (m *model) write(t *rapid.T) {
	b := m.pick(t, "block")
	offset, size := b.draw(t, "block")
	source := make([]byte, size)
	seed := rapid.Byte().Draw(t, "seed")
	for i := range source {
		source[i] = seed + byte(i*3)
		b.content[offset+uint64(i)], b.defined[offset+uint64(i)] = source[i], true
	}
	require.NoError(t, m.r.factory.Write(b.handle, offset, hostAddr(source), size))
	runtime.KeepAlive(source)
}

func (m *model) copy(t *rapid.T) {
	src, dst := m.pick(t, "src"), m.pick(t, "dst")
	from, size := src.draw(t, "src")
	to := rapid.Uint64Range(0, uint64(len(dst.content))-1).Draw(t, "dst offset")
	size = min(size, uint64(len(dst.content))-to)
	transfer := manager.NewTransfer(src.handle, dst.handle, size).WithSrcOffset(from).WithDstOffset(to)
	if rapid.Bool().Draw(t, "async") {
		on := m.streams[dst.device*2+rapid.IntRange(0, 1).Draw(t, "stream")]
		m.order(t, on, src, dst)
		require.NoError(t, m.r.factory.CopyAsync(transfer, on))
	} else {
		require.NoError(t, m.r.factory.Copy(transfer))
	}
	copy(dst.content[to:to+size], src.content[from:from+size])
	copy(dst.defined[to:to+size], src.defined[from:from+size])
}

func (m *model) fill(t *rapid.T) {
	b := m.pick(t, "block")
	width := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "width")
	words := len(b.content) / width
	if words == 0 {
		t.Skip("the block is too small")
	}
	first := rapid.IntRange(0, words-1).Draw(t, "first")
	count := rapid.IntRange(1, words-first).Draw(t, "count")
	value := rapid.Uint32().Draw(t, "value") >> (32 - 8*width)
	on := m.streams[b.device*2+rapid.IntRange(0, 1).Draw(t, "stream")]
	m.order(t, on, b)
	require.NoError(t, m.r.factory.FillAsync(manager.Fill{
		Memory: b.handle, OffsetBytes: uint64(first * width), SizeBytes: uint64(count * width),
		Pattern: device.Pattern{Value: uint64(value), WidthBytes: width},
	}, on))
	for i := first * width; i < (first+count)*width; i++ {
		b.content[i], b.defined[i] = byte(value>>(8*(i%width))), true
	}
}

func (m *model) read(t *rapid.T) {
	b := m.pick(t, "block")
	offset, size := b.draw(t, "block")
	into := make([]byte, size)
	require.NoError(t, m.r.factory.Read(b.handle, offset, hostAddr(into), size))
	for i, got := range into {
		at := offset + uint64(i)
		if b.defined[at] && got != b.content[at] {
			t.Fatalf("byte %d of a block of %d is %#x, not %#x", at, len(b.content), got, b.content[at])
		}
	}
}

func (m *model) counters(t *rapid.T) {
	live, requested := make([]uint64, len(m.managers)), make([]uint64, len(m.managers))
	for _, b := range m.blocks {
		live[b.device]++
		requested[b.device] += uint64(len(b.content))
	}
	for i, each := range m.managers {
		stats := each.Statistics()
		require.NoError(t, stats.Check())
		require.Equal(t, live[i], stats.LiveBlocks.Current)
		require.Equal(t, requested[i], stats.Requested.Current)
	}
}

func TestOnDeviceManagersAgainstByteArrays(t *testing.T) {
	for name, debug := range map[string]bool{"plain": false, "debug": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := openReal(t, rapid.IntRange(1, testdevice.Count(t)).Draw(t, "devices"))
				defer r.close(t)
				m := &model{r: r}
				for index := range r.engines {
					m.managers = append(m.managers, r.manager(t, index, debug))
					for range 2 {
						stream, err := r.streams[index].CreateStream()
						require.NoError(t, err)
						m.streams = append(m.streams, stream)
					}
				}
				t.Repeat(map[string]func(*rapid.T){
					"allocate": m.allocate, "deallocate": m.deallocate, "write": m.write,
					"copy": m.copy, "copy more": m.copy, "fill": m.fill, "read": m.read, "": m.counters,
				})
				for len(m.blocks) > 0 {
					b := m.blocks[0]
					into := make([]byte, len(b.content))
					require.NoError(t, r.factory.Read(b.handle, 0, hostAddr(into), uint64(len(into))))
					for i := range into {
						if b.defined[i] && into[i] != b.content[i] {
							t.Fatalf("in the end byte %d is %#x, not %#x", i, into[i], b.content[i])
						}
					}
					require.NoError(t, r.factory.Free(b.handle))
					m.blocks = m.blocks[1:]
				}
			})
		})
	}
}

// Linked blocks are one memory, whichever device writes, in the order of events. Each
// may be freed before the other.
func TestOnDeviceLinkedBlocks(t *testing.T) {
	r := openReal(t, testdevice.Count(t))
	defer r.close(t)
	const size = 100_000
	for first := range r.engines {
		second := (first + 1) % len(r.engines)
		a, b := r.manager(t, first, false), r.manager(t, second, false)
		var streams [2]manager.StreamHandle
		for i, index := range []int{first, second} {
			var err error
			streams[i], err = r.streams[index].CreateStream()
			require.NoError(t, err)
		}
		one, other, err := r.factory.CreateMapping(a, b, manager.LinkRequest{SizeBytes: size})
		require.NoError(t, err)
		back := make([]byte, size)
		holds := func(h manager.MemoryHandle, value byte) {
			require.NoError(t, r.factory.Read(h, 0, hostAddr(back), size))
			require.Equal(t, bytes.Repeat([]byte{value}, size), back)
		}
		for round := range 6 {
			from, to := round%2, 1-round%2
			handles := []manager.MemoryHandle{one, other}
			value := byte(round + 1)
			require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: handles[from], SizeBytes: size,
				Pattern: device.Pattern{Value: uint64(value), WidthBytes: 1}}, streams[from]))
			done, err := r.factory.RecordEvent(streams[from])
			require.NoError(t, err)
			require.NoError(t, r.factory.WaitEvent(streams[to], done))
			require.NoError(t, r.factory.DestroyEvent(done))
			require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: handles[to], SizeBytes: 10,
				Pattern: device.Pattern{Value: 0, WidthBytes: 1}}, streams[to]))
			require.NoError(t, r.factory.SynchronizeStream(streams[to], device.Forever))
			require.NoError(t, r.factory.Read(handles[from], 0, hostAddr(back), size))
			require.Equal(t, append(make([]byte, 10), bytes.Repeat([]byte{value}, size-10)...), back)
		}
		require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: one, SizeBytes: size,
			Pattern: device.Pattern{Value: 77, WidthBytes: 1}}, streams[0]))
		require.NoError(t, r.factory.SynchronizeStream(streams[0], device.Forever))
		require.NoError(t, r.factory.Free(one))
		holds(other, 77)
		require.NoError(t, r.factory.Free(other))
	}
}
