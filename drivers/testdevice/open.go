package testdevice

import (
	"fmt"
	"os"
	"sync"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
)

// Env is the environment variable that names the first device of the suites: "cuda:0".
// Empty: the host.
const Env = "FERRUM_TEST_DEVICE"

// OnHost states whether the suites run on the host.
func OnHost() bool { return os.Getenv(Env) == "" }

// theDriver is the driver of the device that Env names. A process has only one.
var theDriver = sync.OnceValues(func() (device.Driver, error) {
	id, err := device.ParseID(os.Getenv(Env))
	if err != nil {
		return nil, err
	}
	all, err := drivers.New(drivers.Settings{})
	if err != nil {
		return nil, err
	}
	for _, driver := range all {
		if driver.Backend() == id.Backend && id.Backend != host.Backend {
			return driver, driver.Probe()
		}
	}
	return nil, fmt.Errorf("%s=%s: the suites know the host (empty) and the backends that have a driver", Env, os.Getenv(Env))
})

// Driver returns the driver of the device that Env names.
func Driver() (device.Driver, error) { return theDriver() }

// Open opens a device with at least this many bytes. The host has exactly this many.
func Open(t require.TestingT, bytes uint64) device.Device { return OpenAll(t, 1, bytes)[0] }

// OpenAll opens several devices of one driver. If the machine has fewer, it opens some more
// than once; each call returns a new Device.
func OpenAll(t require.TestingT, devices int, bytesEach uint64) []device.Device {
	var driver device.Driver
	first, count := 0, devices
	if OnHost() {
		var err error
		driver, err = host.New(host.Config{Devices: devices, MemoryBytes: uint64(devices) * bytesEach})
		require.NoError(t, err)
	} else {
		var err error
		driver, err = theDriver()
		require.NoError(t, err)
		infos, err := driver.Devices()
		require.NoError(t, err)
		id, err := device.ParseID(os.Getenv(Env))
		require.NoError(t, err)
		require.Less(t, id.Index, len(infos), "%s names a device that is not there", Env)
		first, count = id.Index, len(infos)
	}
	all := make([]device.Device, devices)
	for i := range all {
		dev, err := driver.Open((first + i) % count)
		require.NoError(t, err)
		require.GreaterOrEqual(t, dev.Info().TotalBytes, bytesEach, "the device is too small for the suite")
		all[i] = dev
	}
	return all
}

// Count returns the number of devices that a suite uses at once: all, but at least two and
// at most four.
func Count(t require.TestingT) int {
	if OnHost() {
		return 2
	}
	driver, err := theDriver()
	require.NoError(t, err)
	infos, err := driver.Devices()
	require.NoError(t, err)
	return min(max(len(infos), 2), 4)
}

// PageBytes returns the page size for a suite: onHost on the host, and the recommended size
// on other devices.
func PageBytes(dev device.Device, onHost uint64) uint64 {
	if OnHost() {
		return onHost
	}
	return dev.(device.VirtualMemory).Granularity().RecommendedBytes
}

// Times returns how often a suite repeats something: onHost times on the host, and a
// twentieth of that on other devices, where each read of bytes is a copy.
func Times(onHost int) int {
	if OnHost() {
		return onHost
	}
	return max(onHost/20, 1)
}
