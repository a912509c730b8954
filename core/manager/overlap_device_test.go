package manager_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

// A copy between two handles copies the requested range, and the device has completed
// it when the call returns.
func TestOnDeviceCopyBetweenHandlesAtOffsets(t *testing.T) {
	r := openReal(t, 1)
	defer r.close(t)
	m := r.manager(t, 0, false)
	const size = 3 << 20
	src, err := m.Alloc(size)
	require.NoError(t, err)
	dst, err := m.Alloc(size)
	require.NoError(t, err)
	content, want := make([]byte, size), bytes.Repeat([]byte{9}, size)
	for i := range content {
		content[i] = byte(i * 7)
	}
	require.NoError(t, r.factory.Write(src, 0, hostAddr(content), size))
	require.NoError(t, r.factory.Write(dst, 0, hostAddr(want), size))
	const from, to, length = 1001, 77, 2<<20 + 5
	require.NoError(t, r.factory.Copy(manager.NewTransfer(src, dst, length).WithSrcOffset(from).WithDstOffset(to)))
	drained, err := device.Drained(r.engines[0].Device().DefaultStream())
	require.NoError(t, err)
	require.True(t, drained, "the copy is done")
	copy(want[to:to+length], content[from:])
	back := make([]byte, size)
	require.NoError(t, r.factory.Read(dst, 0, hostAddr(back), size))
	require.True(t, bytes.Equal(want, back))
	require.NoError(t, r.factory.Read(src, 0, hostAddr(back), size))
	require.True(t, bytes.Equal(content, back), "the source stays")
}

// An asynchronous copy runs while the work of another stream is blocked.
func TestOnDeviceCopiesOverlapOtherWork(t *testing.T) {
	r := openReal(t, 1)
	defer r.close(t)
	m := r.manager(t, 0, false)
	compute, err := r.streams[0].CreateStream()
	require.NoError(t, err)
	transfers, err := r.streams[0].CreateStream()
	require.NoError(t, err)
	begun, end := make(chan struct{}), make(chan struct{})
	require.NoError(t, r.factory.HostFunction(compute, func() { close(begun); <-end }))
	<-begun
	const size = 1 << 20
	src, err := m.Alloc(size)
	require.NoError(t, err)
	dst, err := m.Alloc(size)
	require.NoError(t, err)
	pattern := device.Pattern{Value: 5, WidthBytes: 1}
	require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: src, SizeBytes: size, Pattern: pattern}, transfers))
	require.NoError(t, r.factory.CopyAsync(manager.NewTransfer(src, dst, size), transfers))
	require.NoError(t, r.factory.SynchronizeStream(transfers, device.Forever))
	back := make([]byte, size)
	require.NoError(t, r.factory.Read(dst, 0, hostAddr(back), size))
	require.Equal(t, bytes.Repeat([]byte{5}, size), back)
	require.ErrorIs(t, r.factory.SynchronizeStream(compute, 0), device.CodeTimeout, "the other work is still running")
	close(end)
	require.NoError(t, r.factory.SynchronizeStream(compute, device.Forever))
}
