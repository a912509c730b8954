//go:build linux

package probe_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
)

// The runtimes of this machine are queried unchanged. Each reports devices or a reason, and
// none ends the process. PoCL provides a device without any hardware.
func TestRuntimesOfThisMachine(t *testing.T) {
	absences := []device.Absence{
		device.AbsenceLibraryNotFound, device.AbsenceLibraryUnusable, device.AbsenceSymbolMissing, device.AbsenceTooOld,
		device.AbsenceNoDevice, device.AbsenceDriverError, device.AbsenceSystem,
	}
	for _, backend := range discover.Names()[1:] {
		found := world{backend: backend}.look(t)
		t.Logf("%s: library %q, version %q, devices %d, %s", backend, found.Library, found.Version, len(found.Devices), found.Reason())
		if !found.Available {
			require.True(t, slices.Contains(absences, found.Absence), "%s: %s", found.Absence, found.Reason())
			require.NotEmpty(t, found.Reason())
			continue
		}
		require.NotEmpty(t, found.Library)
		for i := range found.Devices {
			one := &found.Devices[i]
			require.NotEmpty(t, one.Name)
			require.NotZero(t, one.TotalBytes)
			require.True(t, !one.FreeKnown || one.FreeBytes <= one.TotalBytes, one.String())
		}
	}
}
