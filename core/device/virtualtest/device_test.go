package virtualtest_test

import (
	"os"
	"testing"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
	"ferrum_mem/drivers/testdevice"
)

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

// The drivers run the suite on their own devices. This test runs it on the device that the
// environment names.
func TestOnDeviceVirtualMemoryConforms(t *testing.T) {
	if testdevice.OnHost() {
		t.Skip("the host's driver runs this suite itself")
	}
	virtualtest.RunShared(t, func(t *testing.T) device.Device {
		return testdevice.Open(t, 640<<20)
	})
}
