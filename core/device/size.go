package device

import (
	"fmt"
	"strconv"
)

// FormatBytes formats a size for people: with two digits, in the largest unit that
// fits, which is GiB below 10 TiB. Sizes below 1 KiB are in bytes.
func FormatBytes(bytes uint64) string {
	units := []struct {
		name        string
		size, least uint64
	}{{"TiB", 1 << 40, 10 << 40}, {"GiB", 1 << 30, 1 << 30}, {"MiB", 1 << 20, 1 << 20}, {"KiB", 1 << 10, 1 << 10}}
	for _, unit := range units {
		if bytes >= unit.least {
			return fmt.Sprintf("%.2f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return strconv.FormatUint(bytes, 10) + " B"
}
