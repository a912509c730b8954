package main

import (
	"strconv"
	"time"

	"ferrum_mem/core/device"
)

// formatBytes formats a size everywhere in the command.
var formatBytes = device.FormatBytes

// formatTime formats a time of a trace: as hours, minutes and seconds, or as a plain number
// for lifetimes.
func formatTime(at int64, unit string) string {
	if unit != "ns" {
		return strconv.FormatInt(at, 10)
	}
	return time.Duration(at).Round(time.Millisecond).String()
}

// formatRatio formats a ratio. 0 means that there is none.
func formatRatio(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return strconv.FormatFloat(ratio, 'f', 3, 64)
}
