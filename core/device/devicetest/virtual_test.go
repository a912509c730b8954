package devicetest_test

import (
	"testing"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/device/virtualtest"
)

func TestVirtualMemoryConforms(t *testing.T) {
	virtualtest.Run(t, func(*testing.T) device.Device {
		return devicetest.Open(devicetest.Config{Backed: true, TotalBytes: 64 << 20})
	})
}
