package main

import (
	"strconv"
	"time"

	"ferrum_mem/core/device"
)

// formatBytes shows a size, everywhere in the command.
var formatBytes = device.FormatBytes

// formatTime shows a time of a trace: in hours, minutes and seconds, or as the
// bare number that it is for lifetimes.
func formatTime(at int64, unit string) string {
	if unit != "ns" {
		return strconv.FormatInt(at, 10)
	}
	return time.Duration(at).Round(time.Millisecond).String()
}

// formatRatio shows a ratio; 0 stands for none.
func formatRatio(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return strconv.FormatFloat(ratio, 'f', 3, 64)
}
