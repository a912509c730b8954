package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestOnCloseRunsOnceAfterClose(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	told := 0
	_, err := m.OnClose(func() {
		told++
		_, err := m.MemoryInfo()
		requireError(t, err, device.CodeInvalidHandle)
	})
	require.NoError(t, err)
	forget, err := m.OnClose(func() { t.Error("told although it was forgotten") })
	require.NoError(t, err)
	forget()
	forget()
	h := m.mustAlloc(t, 64)
	requireError(t, m.Close(false), device.CodeBusy)
	require.Zero(t, told, "a close that is refused is none")
	require.NoError(t, r.factory.Free(h))
	require.NoError(t, m.Close(false))
	require.Equal(t, 1, told)
	requireError(t, m.Close(false), device.CodeInvalidHandle)
	require.Equal(t, 1, told)
	_, err = m.OnClose(func() {})
	requireError(t, err, device.CodeInvalidHandle)
}
