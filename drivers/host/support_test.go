package host

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
	"ferrum_mem/drivers/host/streams"
)

// How this package is tested: values of the system come from folders with the layout of
// /proc and /sys. Streams run random programs whose result is compared with a sequential
// model. Errors of the system come from calls that fail on demand. The kernel's account of
// the process shows whether freed memory was released.

// files creates a file tree and returns its root.
func files(t testing.TB, tree map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range tree {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return root
}

func noEnv(string) string { return "" }

func envOf(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// openOne opens a device with a capacity of 1 GiB.
func openOne(t testing.TB) *openDevice {
	t.Helper()
	return openSome(t, Config{Devices: 1, MemoryBytes: 1 << 30})[0]
}

// openForced opens a device with a forced capacity, whatever memory the system has.
func openForced(t testing.TB, m mapping.Calls) *openDevice {
	t.Helper()
	d, err := newDriver(Config{MemoryBytes: gib, MemoryForced: true}, noEnv, newSystem("/"), m)
	require.NoError(t, err)
	dev, err := d.Open(0)
	require.NoError(t, err)
	return dev.(*openDevice)
}

func openSome(t testing.TB, c Config) []*openDevice {
	t.Helper()
	d, err := newDriver(c, noEnv, newSystem("/"), mapping.System())
	require.NoError(t, err)
	return openAll(t, d)
}

// openAll opens every device, and closes it with its remaining objects at the end.
func openAll(t testing.TB, d *Driver) []*openDevice {
	t.Helper()
	infos, err := d.Devices()
	require.NoError(t, err)
	var opened []*openDevice
	for i := range infos {
		dev, err := d.Open(i)
		require.NoError(t, err)
		o := dev.(*openDevice)
		opened = append(opened, o)
		t.Cleanup(func() { closeAll(t, o) })
	}
	return opened
}

func closeAll(t testing.TB, o *openDevice) {
	if o.gate.Check("test") != nil {
		return
	}
	require.NoError(t, o.Synchronize(device.Forever))
	left.Lock()
	defer left.Unlock()
	for _, s := range left.streams[o] {
		if err := s.Close(); err != nil {
			requireCode(t, device.CodeInvalidState, err, "closed")
		}
	}
	for addr, size := range left.segments[o] {
		if err := o.Free(addr, size); err != nil {
			requireCode(t, device.CodeInvalidAddress, err, "no live segment")
		}
	}
	delete(left.streams, o)
	delete(left.segments, o)
	require.NoError(t, o.Close())
}

// left holds the objects that tests created, by device. Some may have ended.
var left = struct {
	sync.Mutex
	streams  map[*openDevice][]*streams.Stream
	segments map[*openDevice]map[device.Addr]uint64
}{streams: map[*openDevice][]*streams.Stream{}, segments: map[*openDevice]map[device.Addr]uint64{}}

// allocate allocates a segment. It is freed with the device, unless the test frees it.
func allocate(t testing.TB, o *openDevice, size uint64) device.Addr {
	t.Helper()
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	left.Lock()
	defer left.Unlock()
	if left.segments[o] == nil {
		left.segments[o] = map[device.Addr]uint64{}
	}
	left.segments[o][addr] = size
	return addr
}

// newQueue creates a stream. It is closed with the device, unless the test closes it.
func newQueue(t testing.TB, o *openDevice) *streams.Stream {
	t.Helper()
	made, err := o.NewStream()
	require.NoError(t, err)
	s := made.(*streams.Stream)
	left.Lock()
	defer left.Unlock()
	left.streams[o] = append(left.streams[o], s)
	return s
}

// hostBuffer is memory of the process outside of the Go heap.
func hostBuffer(t testing.TB, size uint64) (device.HostAddr, []byte) {
	t.Helper()
	m := mapping.System()
	address, err := m.Reserve(size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Release(address, size)) })
	return device.HostAddr(address), mapping.Bytes(address, size)
}

func view(addr device.Addr, size uint64) []byte { return mapping.Bytes(uint64(addr), size) }

func scramble(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// barrier blocks a stream until it is opened, at the latest when the test ends.
type barrier struct {
	entered, opened chan struct{}
	once            sync.Once
}

func newBarrier() *barrier {
	return &barrier{entered: make(chan struct{}), opened: make(chan struct{})}
}

func (g *barrier) open() { g.once.Do(func() { close(g.opened) }) }

func (g *barrier) hold() {
	close(g.entered)
	<-g.opened
}

func holdUp(t testing.TB, s *streams.Stream) *barrier {
	t.Helper()
	g := newBarrier()
	require.NoError(t, s.HostFunction(g.hold))
	t.Cleanup(g.open)
	return g
}

func requireCode(t require.TestingT, code device.Code, err error, words ...string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), err.Error())
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}
