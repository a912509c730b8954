package discover

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

func usedText(process device.ProcessUse) string {
	if process.UsedBytes == nil {
		return "unknown memory"
	}
	return fmt.Sprintf("%.2f GB", gigabytes(*process.UsedBytes))
}

// Best returns the backend that the automatic choice tries first: the first of CUDA,
// ROCm, Metal and OpenCL that can be used here and has a device, otherwise the CPU.
func (d *Discovery) Best() BackendType {
	for _, one := range preferred() {
		if b := d.find(one.Name()); b != nil && b.Usable && len(b.Devices) > 0 {
			return one
		}
	}
	return BackendCPU
}

// Summary describes all backends for people:
//
//	=== Available Backends ===
//	✓ CPU (CPU)
//	    [0] name: 32.00 GB (28.50 GB free)
//	        process 4711: 3.50 GB
//	✗ CUDA (CUDA)
//	    Error: library not found, tried: libcuda.so.1, libcuda.so
//
//	Recommended backend: CPU
func (d *Discovery) Summary() string {
	var text strings.Builder
	text.WriteString("=== Available Backends ===\n")
	for i := range d.Backends {
		b := &d.Backends[i]
		mark := "✗"
		if b.Available {
			mark = "✓"
		}
		fmt.Fprintf(&text, "%s %s (%s)\n", mark, b.DisplayName(), b.DisplayName())
		for j := range b.Devices {
			fmt.Fprintf(&text, "    %s\n", b.Devices[j].String())
			for _, process := range b.Devices[j].Processes {
				fmt.Fprintf(&text, "        process %d: %s\n", process.PID, usedText(process))
			}
		}
		switch {
		case !b.Available:
			fmt.Fprintf(&text, "    Error: %s\n", b.Reason())
		case !b.Usable:
			fmt.Fprintf(&text, "    Note: %s\n", noDriver)
		}
	}
	fmt.Fprintf(&text, "\nRecommended backend: %s\n", d.Best())
	return text.String()
}
