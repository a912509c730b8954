package cuda

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
)

func TestVirtualMemoryConforms(t *testing.T) {
	if !alone(t, "SIMCUDA_BYTES=96M", "SIMCUDA_GRANULARITY=64K", "SIMCUDA_JITTER_US=0") {
		return
	}
	virtualtest.RunEager(t, func(t *testing.T) device.Device { return open(t, 0) })
	sim := newSimulator(t)
	require.Empty(t, sim.text("simcuda_leaks"))
	// The library checks imported memory by driver calls, which fail if another process
	// exported something else. The simulator reports these calls.
	broken := regexp.MustCompile(`cuMemMap 801: \S+ \d+ bytes, of a handle of \d+|` +
		`cuMemImportFromShareableHandle (1: \d+ is not a descriptor of exported memory|999: \d+ is the descriptor of a file)`)
	require.Empty(t, strings.TrimSpace(broken.ReplaceAllString(sim.text("simcuda_violations"), "")), "broken rules")
	require.Positive(t, sim.calls("cuMemSetAccess"))
}
