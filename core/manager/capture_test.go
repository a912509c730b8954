package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// The end of a capturing stream's work can be neither marked nor waited for. A block
// that it has used stays live until the capture has ended.
func TestABlockUsedByACaptureIsLiveUntilItsEnd(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true, Capture: true})
	m := r.manager(t, nil)
	src, dst := m.mustAlloc(t, 64), m.mustAlloc(t, 64)
	stream, dev := r.heldStream(t)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 64), stream))
	dev.Release()
	require.NoError(t, r.factory.SynchronizeStream(stream, device.Forever))
	capture := dev.BeginCapture()
	for _, h := range []MemoryHandle{src, dst} {
		requireError(t, r.factory.Free(h), device.CodeInvalidState)
		_, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
	}
	require.True(t, capture.End())
	for _, h := range []MemoryHandle{src, dst} {
		require.NoError(t, r.factory.Free(h))
	}
}
