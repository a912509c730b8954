package main

import (
	"fmt"
	"strconv"
	"time"
)

// formatBytes shows a size with two digits in the largest unit that fits; bytes
// are shown whole.
func formatBytes(bytes uint64) string {
	units := []struct {
		name string
		size uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
	for _, unit := range units {
		if bytes >= unit.size && (unit.size != 1<<40 || bytes >= 10*unit.size) {
			return fmt.Sprintf("%.2f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return strconv.FormatUint(bytes, 10) + " B"
}

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
