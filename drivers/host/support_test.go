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
)

// How this package is tested: readings of the system come from folders laid out
// like /proc and /sys; streams run random programs whose result is compared
// with a sequential model; the system's refusals come from a mapper that fails
// on demand; and memory that was given back is looked for in the process's own
// account.

// files lays out a file tree and returns its root.
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

// openOne is a device with 1 GiB of its own.
func openOne(t testing.TB) *openDevice {
	t.Helper()
	return openSome(t, Config{Devices: 1, MemoryBytes: 1 << 30})[0]
}

func openSome(t testing.TB, c Config) []*openDevice {
	t.Helper()
	d, err := newDriver(c, noEnv, newSystem("/"), mapping.System())
	require.NoError(t, err)
	return openAll(t, d)
}

// openAll opens every device and closes it, with what is left in it, at the end.
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
	for s := range o.open {
		if s != o.DefaultStream() {
			require.NoError(t, s.Close())
		}
	}
	allocated.Lock()
	left := allocated.of[o]
	delete(allocated.of, o)
	allocated.Unlock()
	for addr, size := range left {
		if err := o.Free(addr, size); err != nil {
			requireCode(t, device.CodeInvalidAddress, err, "no live segment")
		}
	}
	require.NoError(t, o.Close())
}

// allocated has what tests allocated, freed or not, by device.
var allocated = struct {
	sync.Mutex
	of map[*openDevice]map[device.Addr]uint64
}{of: map[*openDevice]map[device.Addr]uint64{}}

// allocate is freed with the device, if the test does not free it.
func allocate(t testing.TB, o *openDevice, size uint64) device.Addr {
	t.Helper()
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	allocated.Lock()
	defer allocated.Unlock()
	if allocated.of[o] == nil {
		allocated.of[o] = map[device.Addr]uint64{}
	}
	allocated.of[o][addr] = size
	return addr
}

func newQueue(t testing.TB, o *openDevice) *stream {
	t.Helper()
	s, err := o.NewStream()
	require.NoError(t, err)
	return s.(*stream)
}

// hostBuffer is memory of the process that is not Go's.
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

// barrier holds a stream up until it is opened, at the latest when the test ends.
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

func holdUp(t testing.TB, s *stream) *barrier {
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
