package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
)

func TestVirtualMemoryConforms(t *testing.T) {
	if !alone(t, "SIMCUDA_BYTES=640M", "SIMCUDA_JITTER_US=0") {
		return
	}
	virtualtest.RunEager(t, func(t *testing.T) device.Device { return open(t, 0) })
	newSimulator(t).clean()
	require.Positive(t, newSimulator(t).calls("cuMemSetAccess"))
}
