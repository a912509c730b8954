package device

import (
	"fmt"
	"strconv"
	"strings"
)

// units are the units of sizes with the least size that is shown in each, largest first.
var units = [...]struct {
	name        string
	size, least uint64
}{{"TiB", 1 << 40, 10 << 40}, {"GiB", 1 << 30, 1 << 30}, {"MiB", 1 << 20, 1 << 20}, {"KiB", 1 << 10, 1 << 10}}

// FormatBytes formats a size for people: with two digits, in the largest unit that
// fits, which is GiB below 10 TiB. Sizes below 1 KiB are in bytes.
func FormatBytes(bytes uint64) string {
	for _, unit := range units {
		if bytes >= unit.least {
			return fmt.Sprintf("%.2f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return strconv.FormatUint(bytes, 10) + " B"
}

// exactBytes is the least size that a message shows in a larger unit than bytes.
const exactBytes = 64 << 10

// ByteCount is a size in a message, such as "1.50 GiB (1610612736 bytes)". Create it with
// Size.
type ByteCount uint64

// Size returns a number of bytes as a value for messages, which the verb %v formats.
func Size[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr](bytes T) ByteCount {
	return ByteCount(bytes)
}

// String formats the size: in bytes below 64 KiB, else in the unit of FormatBytes. The
// exact number of bytes follows unless the size is a whole number of units.
func (b ByteCount) String() string {
	exact := Count(b, "byte")
	if b < exactBytes {
		return exact
	}
	text := FormatBytes(uint64(b))
	number, unit, _ := strings.Cut(text, " ")
	whole, isWhole := strings.CutSuffix(number, ".00")
	for _, u := range units {
		if u.name == unit && isWhole && uint64(b)%u.size == 0 {
			return whole + " " + unit
		}
	}
	return text + " (" + exact + ")"
}

// Count returns a number with its noun for messages, such as "1 block" or "2 blocks". The
// plural of the noun ends in s.
func Count[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
