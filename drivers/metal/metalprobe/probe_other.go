//go:build !darwin

package metalprobe

import "ferrum_mem/core/device"

// Survey reports that this system has no Metal.
func (p Prober) Survey() device.Survey {
	absent, _ := p.Unsupported()
	return absent
}
