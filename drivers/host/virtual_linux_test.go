package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
	"ferrum_mem/drivers/host/mapping"
)

// openForced is a device whose memory is its own, whatever the system has.
func openForced(t testing.TB, m mapping.Calls) *openDevice {
	t.Helper()
	d, err := newDriver(Config{MemoryBytes: gib, MemoryForced: true}, noEnv, newSystem("/"), m)
	require.NoError(t, err)
	dev, err := d.Open(0)
	require.NoError(t, err)
	return dev.(*openDevice)
}

func TestVirtualMemoryConforms(t *testing.T) {
	virtualtest.Run(t, func(t *testing.T) device.Device { return openForced(t, mapping.System()) })
}
