package sharetest

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// one is a pattern of single bytes.
func one(value uint64) device.Pattern { return device.Pattern{Value: value, WidthBytes: 1} }

// fill fills a range on the default stream and waits for it.
func fill(t testing.TB, dev device.Device, addr device.Addr, value uint32, size uint64) {
	t.Helper()
	s := dev.DefaultStream()
	require.NoError(t, s.Fill(addr, one(uint64(value)), size))
	require.NoError(t, s.Synchronize(device.Forever))
}

// requireBytes checks that every byte of a range has the value.
func requireBytes(t testing.TB, dev device.Device, addr device.Addr, value byte, size uint64) {
	t.Helper()
	seen := make([]byte, size)
	s := dev.DefaultStream()
	require.NoError(t, s.CopyToHost(hostAddr(seen), addr, size))
	require.NoError(t, s.Synchronize(device.Forever))
	runtime.KeepAlive(seen)
	other := slices.IndexFunc(seen, func(b byte) bool { return b != value })
	require.Negative(t, other, "the first of %v that is not %d", device.Size(size), value)
}

func hostAddr(bytes []byte) device.HostAddr { return device.HostAddr(reflect.ValueOf(bytes).Pointer()) }

func requireCode(t testing.TB, want device.Code, err error) {
	t.Helper()
	require.Equal(t, want, device.CodeOf(err), "%v", err)
}

// segment allocates at least that many bytes of a device.
func segment(t testing.TB, dev device.Device, least uint64) (addr device.Addr, size uint64) {
	t.Helper()
	granule := dev.Info().GranularityBytes
	size = (least + granule - 1) / granule * granule
	addr, err := dev.Alloc(size)
	require.NoError(t, err)
	return addr, size
}

// gate blocks a stream until it is opened.
type gate struct{ entered, release chan struct{} }

func holdUp(t testing.TB, s device.Stream) *gate {
	t.Helper()
	g := &gate{make(chan struct{}), make(chan struct{})}
	require.NoError(t, s.HostFunction(func() {
		close(g.entered)
		<-g.release
	}))
	return g
}

// closed closes a device, and checks that later calls report it as closed.
func closed(t testing.TB, dev device.Device) {
	t.Helper()
	require.NoError(t, dev.Close(), "nothing is left behind")
	requireCode(t, device.CodeInvalidState, dev.Close())
}
