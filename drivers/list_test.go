package drivers_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/discover"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
)

// The list holds exactly the backends of the header, in their order.
func TestListHasTheBackendsOfTheHeader(t *testing.T) {
	made, err := drivers.New(drivers.Settings{Host: host.Config{Devices: 1, MemoryBytes: 1 << 20}})
	require.NoError(t, err)
	opened := make([]string, len(made))
	for i, driver := range made {
		opened[i] = driver.Backend()
	}
	require.Subset(t, discover.Names(), opened)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(opened))), len(opened), "each once")
	listed := opened[:1]
	for _, surveyor := range drivers.Surveyors() {
		listed = append(listed[:len(listed):len(listed)], surveyor.Backend())
	}
	require.Equal(t, discover.Names(), listed)
}

// The list holds the driver of every vendor folder.
func TestListHasEveryFolder(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	// These folders are no backends: helpers of drivers, the library of this product, the probe
	// process, and suites.
	others := []string{"installed", "internal", "probe", "testdevice"}
	folders := []string{}
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains(others, entry.Name()) {
			folders = append(folders, entry.Name())
		}
	}
	backends := discover.Names()
	backends[0] = "host"
	slices.Sort(backends)
	require.Equal(t, backends, folders)
	for _, vendor := range discover.Names()[1:] {
		require.DirExists(t, filepath.Join(vendor, vendor+"probe"))
	}
}

func TestInvalidSettingsCreateNoDrivers(t *testing.T) {
	made, err := drivers.New(drivers.Settings{Host: host.Config{Devices: -1}})
	require.Error(t, err)
	require.Nil(t, made)
}
