package main

import (
	"fmt"
	"io"

	"ferrum_mem/core/device"
)

// printDevices prints the devices, each with the id that --device takes.
func printDevices(out io.Writer, found backends, best string) error {
	for _, b := range found.Backends {
		if !b.Available {
			fmt.Fprintf(out, "✗ %s\n    %s\n", b.Name, *b.Error)
			continue
		}
		fmt.Fprintf(out, "✓ %s\n", b.Name)
		for _, d := range b.Devices {
			fmt.Fprintf(out, "    %s  %s: %s", d.ID, d.Name, totalText(d.TotalBytes))
			if d.FreeBytes != nil {
				fmt.Fprintf(out, " (%s free)", device.FormatBytes(*d.FreeBytes))
			}
			if d.ComputeCapability != nil {
				fmt.Fprintf(out, " (compute %s)", *d.ComputeCapability)
			}
			// The host's own memory is always unified, so the text is left out there.
			if d.UnifiedMemory && b.Backend != "cpu" {
				fmt.Fprint(out, " (unified memory)")
			}
			fmt.Fprintln(out)
			for _, process := range d.Processes {
				used := "unknown memory"
				if process.UsedBytes != nil {
					used = device.FormatBytes(*process.UsedBytes)
				}
				fmt.Fprintf(out, "        process %d: %s\n", process.PID, used)
			}
		}
		if !b.Usable {
			fmt.Fprintln(out, "    Note: this build has no driver that opens them")
		}
	}
	_, err := fmt.Fprintf(out, "\nRecommended backend: %s\n", best)
	return err
}
