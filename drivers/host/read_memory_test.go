package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

func TestReadMemoryEqualsTheOpenDevices(t *testing.T) {
	d, err := newDriver(Config{Devices: 3, MemoryBytes: gib, MemoryForced: true}, noEnv, newSystem(files(t, nil)), mapping.System())
	require.NoError(t, err)
	for index, open := range openAll(t, d) {
		want, err := open.Memory()
		require.NoError(t, err)
		got, err := d.ReadMemory(index)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, index := range []int{-1, 3} {
		_, err = d.ReadMemory(index)
		requireCode(t, device.CodeDeviceNotFound, err)
	}
	blank, err := newDriver(Config{}, noEnv, newSystem(files(t, nil)), mapping.System())
	require.NoError(t, err)
	_, err = blank.ReadMemory(0)
	requireCode(t, device.CodeBackendUnavailable, err, EnvMemory)
}
