//go:build !darwin

package metalprobe

import "ferrum_mem/core/device"

// Survey says that there is no Metal here.
func (p Prober) Survey() device.Survey {
	absent, _ := p.Unsupported()
	return absent
}
